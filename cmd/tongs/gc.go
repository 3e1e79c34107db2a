package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func (a *app) gcCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "gc", Short: "Delete data older than the configured retention",
		Long: "Delete log entries, answered questions, spilled output and undo data that are older than the configured " +
			"retention, the oldest undo data beyond limits.journalBytes, and build caches of sessions that were not used for " +
			"a day. The log stays verifiable: it records what was removed from its start.",
		Example: "  tongs gc", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		p, err := a.host().Locate()
		if err != nil {
			return err
		}
		cfg, err := a.host().Configure(p, nil)
		if err != nil {
			return err
		}
		st, err := wire.OpenState(p.StateDir, nil)
		if err != nil {
			return err
		}
		defer st.Close()
		r := cfg.Retention
		removed, err := st.DB.GC(cmd.Context(), state.Retention{
			Rows: r.Rows, Questions: r.Questions, Grants: r.Grants, State: r.Sessions,
		})
		if err != nil {
			return err
		}
		report := gcReport{Report: removed}
		if report.Sessions, err = pruneSessions(cmd.Context(), p.StateDir, r.Sessions); err != nil {
			return err
		}
		if r.Spills != 0 {
			spill, err := output.OpenSpill(filepath.Join(p.StateDir, "spill"))
			if err != nil {
				return err
			}
			if report.SpillBytes, err = spill.Prune(time.Now().Add(-r.Spills)); err != nil {
				return err
			}
		}
		if report.Caches, err = wire.Caches(p.StateDir).Prune(time.Now().Add(-sandbox.UnusedCache)); err != nil {
			return err
		}
		if report.Journal, err = collect(cmd.Context(), p.StateDir, cfg); err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(report)
		}
		_, err = fmt.Fprintf(a.Out, "Removed %s from the log, %s, %s, %s of sessions, %s of spilled output, %s of sessions that are over, and %s that could be undone (%s; %s are left).\n",
			terminal.Plural(int(removed.Rows), "call"), terminal.Plural(removed.Questions, "question"), terminal.Plural(removed.Grants, "grant"),
			terminal.Plural(removed.State, "value"), output.Bytes(report.SpillBytes), terminal.Plural(report.Caches, "build cache"),
			terminal.Plural(report.Journal.Entries, "change"), output.Bytes(report.Journal.Bytes), output.Bytes(report.Journal.Left))
		return err
	})
	return cmd
}

type gcReport struct {
	state.Report
	Sessions   int            `json:"workerSessions"`
	SpillBytes int64          `json:"spillBytes"`
	Caches     int            `json:"buildCaches"`
	Journal    journal.Report `json:"journal"`
}
