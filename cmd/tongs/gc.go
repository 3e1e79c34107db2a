package main

import (
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
)

func (a *app) gcCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "gc", Short: "Delete data older than the configured retention",
		Long: "Delete log entries, answered questions, spilled output and undo data that are older than the configured " +
			"retention, the oldest undo data beyond limits.journalBytes but none of the last 7 days, and build caches of sessions that were not used for " +
			"a day. The log stays verifiable: it records what was removed from its start.",
		Example: "  tongs gc", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		removed, err := a.host().Collect(cmd.Context())
		if err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(removed)
		}
		return a.Collected(removed)
	})
	return cmd
}
