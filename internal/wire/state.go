package wire

import (
	"os"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/attendance"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/state"
)

// State is what outlives a run.
type State struct {
	DB        *state.DB
	Audit     audit.Log
	Questions *Late
	Previews  *approval.Previews
	Grants    policy.Book
	// Waiting tells which questions calls wait for.
	Waiting attendance.Room
}

// Close closes it.
func (s *State) Close() error {
	if s.DB == nil {
		return nil
	}
	return s.DB.Close()
}

// OpenState opens the state alone, for commands that look at it.
func (h Host) OpenState() (*State, error) {
	p, err := h.StatePlace()
	if err != nil {
		return nil, err
	}
	st, err := OpenState(p.StateDir, nil)
	if err == nil {
		st.Questions.rules = &lateRules{host: h}
	}
	return st, err
}

// OpenState opens the state of a directory, which sends checkpoints of the log where that is configured. It makes no changes that waited
// for an answer, since it knows no rules.
func OpenState(dir string, c *config.Checkpoint) (*State, error) {
	if err := config.MakeStateDir(dir); err != nil {
		return nil, err
	}
	db, err := state.OpenWith(dir, state.Options{Environ: os.Environ(), Checkpoint: checkpoint(c, dir)})
	if err != nil {
		return nil, err
	}
	st := &State{DB: db, Audit: db.Audit(), Previews: PreviewsIn(dir), Grants: db.Grants(), Waiting: AttendanceIn(dir)}
	st.Questions = newLate(db, st.Audit, st.Previews, dir)
	return st, nil
}
