package wire

import (
	"context"
	"errors"
	"math"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/guard"
	"github.com/tongs-ai/tongs/tools/undo"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// OpenJournal opens the journal of changes with the limits of the configuration; nil uses the defaults.
func OpenJournal(stateDir string, cfg *config.Config) (*journal.Journal, error) {
	opt := journal.Options{Dir: filepath.Join(stateDir, "journal")}
	if cfg != nil {
		opt.MaxBytes, opt.MaxAge = cfg.Limits.JournalBytes, cfg.Retention.Changes
		opt.MaxChange = min(opt.MaxBytes, 4<<30)
		opt.CallFiles, opt.CallBytes, opt.HourFiles = int(cfg.Limits.UndoableFiles), cfg.Limits.UndoableBytes, int(cfg.Limits.UndoableHour)
		if opt.MaxAge == 0 {
			opt.MaxAge = math.MaxInt64
		}
	}
	return journal.Open(opt)
}

// addUndo registers undo and redo.
func (s *System) addUndo() error {
	opt := undo.Options{Journal: s.Journal, Roots: map[string]string{}, Settle: s.settle}
	if s.Files != nil {
		for _, r := range s.Files.Roots() {
			opt.Roots[r.Name] = r.Dir
		}
	}
	list, err := undo.Tools(opt)
	if err != nil {
		return err
	}
	return s.builtIn.RegisterAll(list...)
}

// settle has what agents changed with their own tools in the journal. A fault is said: undo goes on with what is there.
func (s *System) settle(ctx context.Context) {
	if s.Journal == nil || s.Files == nil {
		return
	}
	if err := guard.Settle(ctx, s.Journal, s.Files.Dir()); err != nil {
		s.host.warn("the newest changes of agents may be missing: " + err.Error())
	}
}

// NewestChange is the call that undo, or redo, without a call is about: the newest one of the workspace, in whichever session.
func (s *System) NewestChange(redo bool) (call string, err error) {
	verb := "undo"
	if redo {
		verb = "redo"
	}
	list, err := s.Journal.Select(journal.Selector{Redo: redo, Top: s.Files.Dir()})
	if errors.Is(err, journal.ErrNothing) {
		return "", tongs.Errorf(tongs.CodeExecutionError, "there is nothing to %s in %s; 'tongs changes list' shows what was changed", verb, s.Files.Dir())
	}
	if err != nil {
		return "", err
	}
	if call = list[0].Call; call == "" {
		call = list[0].ID
	}
	return call, nil
}

// FindChange finds what undo is about: the newest call, with prompt what an agent changed since the newest prompt, and its newest session
// where that is called last.
func (s *System) FindChange(call *string, newest, prompt bool, session *string) (err error) {
	s.settle(context.Background())
	if newest {
		*call, err = s.NewestChange(false)
		return err
	}
	if !prompt && *session != "last" {
		return nil
	}
	list, err := s.Journal.Select(journal.Selector{All: true, Top: s.Files.Dir()})
	if err != nil && !errors.Is(err, journal.ErrNothing) {
		return err
	}
	for _, e := range list {
		switch {
		case e.Client == "":
		case prompt && e.Prompt != "":
			*call = e.Prompt
			return nil
		case !prompt:
			*session = e.Session
			return nil
		}
	}
	return tongs.Errorf(tongs.CodeExecutionError, "there is nothing to undo in %s: no agent changed anything with its own tools; see 'tongs guard --help'", s.Files.Dir())
}
