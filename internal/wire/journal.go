package wire

import (
	"errors"
	"math"
	"path/filepath"

	"github.com/tongs-ai/tongs/internal/config"
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
	opt := undo.Options{Journal: s.Journal, Roots: map[string]string{}}
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

// NewestChange is the call that undo, or redo, without a call is about: the newest one of the workspace, in whichever session.
// It is empty where there is none.
func (s *System) NewestChange(redo bool) (call string, err error) {
	list, err := s.Journal.Select(journal.Selector{Redo: redo, Top: s.Files.Dir()})
	if errors.Is(err, journal.ErrNothing) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if call = list[0].Call; call == "" {
		call = list[0].ID
	}
	return call, nil
}
