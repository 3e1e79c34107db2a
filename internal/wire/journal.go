package wire

import (
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
