package wire

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/internal/state/sessions"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// pruneSessions removes sessions of workers that did not change for as long as they are kept; zero keeps them.
func pruneSessions(ctx context.Context, stateDir string, keep time.Duration) (int, error) {
	if _, err := os.Stat(filepath.Join(stateDir, sessions.FileName)); err != nil || keep == 0 {
		return 0, nil
	}
	store := &Sessions{Dir: stateDir}
	defer store.Close()
	return store.Prune(ctx, time.Now().Add(-keep))
}

// collectJournal removes what the journal need not keep any longer.
func collectJournal(ctx context.Context, stateDir string, cfg *config.Config) (journal.Report, error) {
	j, err := OpenJournal(stateDir, cfg)
	if err != nil {
		return journal.Report{}, err
	}
	defer j.Close()
	return j.GC(ctx)
}

// Collected is what was deleted.
type Collected struct {
	state.Report
	Sessions   int   `json:"workerSessions"`
	SpillBytes int64 `json:"spillBytes"`
	Caches     int   `json:"buildCaches"`
	// Unused counts caches that nobody used for long, Kept is what the others take.
	Unused  int                  `json:"unusedCaches"`
	Kept    []sandbox.CacheUsage `json:"keptCaches,omitempty"`
	Journal journal.Report       `json:"journal"`
}

// Collect deletes what is older than the configuration keeps it.
func (h Host) Collect(ctx context.Context) (report Collected, err error) {
	p, err := h.Locate()
	if err != nil {
		return report, err
	}
	cfg, err := h.Configure(p, nil)
	if err != nil {
		return report, err
	}
	st, err := OpenState(p.StateDir, nil)
	if err != nil {
		return report, err
	}
	defer st.Close()
	r := cfg.Retention
	report.Report, err = st.DB.GC(ctx, state.Retention{Rows: r.Rows, Questions: r.Questions, Grants: r.Grants, State: r.Sessions})
	if err != nil {
		return report, err
	}
	if report.Sessions, err = pruneSessions(ctx, p.StateDir, r.Sessions); err != nil {
		return report, err
	}
	if r.Spills != 0 {
		spill, err := output.OpenSpill(filepath.Join(p.StateDir, "spill"))
		if err != nil {
			return report, err
		}
		if report.SpillBytes, err = spill.Prune(time.Now().Add(-r.Spills)); err != nil {
			return report, err
		}
	}
	if report.Caches, err = Caches(p.StateDir).Prune(time.Now().Add(-sandbox.UnusedCache)); err != nil {
		return report, err
	}
	caches := Caches(p.StateDir)
	if report.Unused, err = caches.PruneUnused(time.Now()); err != nil {
		return report, err
	}
	report.Kept = caches.Usage()
	report.Journal, err = collectJournal(ctx, p.StateDir, cfg)
	return report, err
}
