package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
)

func (a *app) changesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "changes", Short: "List file changes that undo can revert",
		Example: "  tongs changes list\n  tongs changes show c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m",
	}
	cmd.AddCommand(a.changesListCommand(), a.changesShowCommand(), a.changesDiffCommand())
	return cmd
}

func (a *app) changesListCommand() *cobra.Command {
	var format, since string
	var l cli.ChangeList
	cmd := &cobra.Command{
		Use: "list", Short: "List changes, newest first", Args: cobra.NoArgs,
		Example: "  tongs changes list\n  tongs changes list --session s1 --since 2h\n  tongs changes list --all --format json",
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().StringVar(&l.Session, "session", "", "only changes by this session `ID`")
	cmd.Flags().StringVar(&since, "since", "", "only changes since this `time`: 2h, or 2026-01-31")
	cmd.Flags().IntVar(&l.Limit, "limit", 50, "list at most `N`, 0 for all")
	cmd.Flags().BoolVar(&l.All, "all", false, "changes in all workspaces")
	cmd.RunE = a.run(func(*cobra.Command, []string) error {
		var err error
		if l.Since, err = cli.Moment(since, time.Now()); err != nil {
			return err
		}
		return a.Changes(a.host(), l, format)
	})
	return cmd
}

func (a *app) changesShowCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show CALL", Short: "Show which paths a call changed", Args: cobra.ExactArgs(1),
		Example: "  tongs changes show c_06ezk1vq8b3m\n  tongs changes show c_06ezk1vq8b3m --format json",
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(_ *cobra.Command, args []string) error {
		return a.Change(a.host(), args[0], format)
	})
	return cmd
}

func (a *app) changesDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff CALL [PATH ...]", Short: "Show what a call changed, as a diff", Args: cobra.MinimumNArgs(1),
		Example: "  tongs changes diff c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m src/a.go",
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			return a.Diff(a.host(), args[0], args[1:])
		}),
	}
}
