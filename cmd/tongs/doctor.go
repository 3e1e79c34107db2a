package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/doctor"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) doctorCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the installation and what the sandbox enforces",
		Long:    "Check the configuration files, the directories, the workspace, the database and what is enforced here. It changes\nnothing. The exit code is 1 if a check fails.",
		Example: "  tongs doctor\n  tongs doctor --format json", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		checks := doctor.Diagnose(cmd.Context(), a.host())
		for _, c := range checks {
			if c.State == "fail" {
				a.exit = exitFailed
			}
		}
		if format == "json" {
			return a.JSON(checks)
		}
		for _, c := range checks {
			if _, err := fmt.Fprintf(a.Out, "%-4s  %-13s %s\n", c.State, c.Name, terminal.CleanLines(c.Detail)); err != nil {
				return err
			}
		}
		return nil
	})
	return cmd
}
