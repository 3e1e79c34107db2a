package main

import (
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func (a *app) changesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "changes", Short: "List file changes that undo can revert",
		Example: "  tongs changes list\n  tongs changes show c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m",
	}
	cmd.AddCommand(a.changesListCommand(), a.changesShowCommand(), a.changesDiffCommand())
	return cmd
}

// readJournal runs f with the journal and the directory of the workspace.
func (a *app) readJournal(f func(j *journal.Journal, top string) error) error {
	p, err := a.host().Locate()
	if err != nil {
		return err
	}
	st, err := wire.OpenState(p.StateDir, nil) // makes the directory as it should be
	if err != nil {
		return err
	}
	defer st.Close()
	j, err := wire.OpenJournal(p.StateDir, nil)
	if err != nil {
		return err
	}
	defer j.Close()
	top, err := filepath.EvalSymlinks(p.Workspace)
	if err != nil {
		return err
	}
	return f(j, top)
}

func (a *app) changesListCommand() *cobra.Command {
	var format, since string
	var f journal.Filter
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List changes, newest first", Args: cobra.NoArgs,
		Example: "  tongs changes list\n  tongs changes list --session s1 --since 2h\n  tongs changes list --all --format json",
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().StringVar(&f.Session, "session", "", "only changes by this session `ID`")
	cmd.Flags().StringVar(&since, "since", "", "only changes since this `time`: 2h, or 2026-01-31")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "list at most `N`, 0 for all")
	cmd.Flags().BoolVar(&all, "all", false, "changes in all workspaces")
	cmd.RunE = a.run(func(*cobra.Command, []string) error {
		var err error
		if f.Since, err = cli.Moment(since, time.Now()); err != nil {
			return err
		}
		return a.readJournal(func(j *journal.Journal, top string) error {
			if !all {
				f.Top = top
			}
			list, err := j.List(f)
			if err != nil {
				return err
			}
			if format == "json" {
				return a.JSON(cli.List(list))
			}
			return a.Changes(j, list)
		})
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
		return a.readJournal(func(j *journal.Journal, _ string) error {
			return a.Change(j, args[0], format)
		})
	})
	return cmd
}

func (a *app) changesDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff CALL [PATH ...]", Short: "Show what a call changed, as a diff", Args: cobra.MinimumNArgs(1),
		Example: "  tongs changes diff c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m src/a.go",
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			return a.readJournal(func(j *journal.Journal, _ string) error {
				return a.Diff(j, args[0], args[1:])
			})
		}),
	}
}
