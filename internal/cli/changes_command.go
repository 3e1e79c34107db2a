package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/wire"
)

// Run makes a command's function of one that returns its error.
type Run func(func(*cobra.Command, []string) error) func(*cobra.Command, []string) error

// ChangesCommand lists what was changed. Host is asked once the flags are read.
func (p *Printer) ChangesCommand(run Run, host func() wire.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use: "changes", Short: "List file changes that undo can revert",
		Example: "  tongs changes list\n  tongs changes show c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m",
	}
	cmd.AddCommand(p.changesList(run, host), p.changesShow(run, host), p.changesDiff(run, host))
	return cmd
}

func (p *Printer) changesList(run Run, host func() wire.Host) *cobra.Command {
	var format, since string
	var l ChangeList
	cmd := &cobra.Command{
		Use: "list", Short: "List changes, newest first", Args: cobra.NoArgs,
		Example: "  tongs changes list\n  tongs changes list --session s1 --since 2h\n  tongs changes list --all --format json",
	}
	FormatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().StringVar(&l.Session, "session", "", "only changes by this session `ID`")
	cmd.Flags().StringVar(&since, "since", "", "only changes since this `time`: 2h, or 2026-01-31")
	cmd.Flags().IntVar(&l.Limit, "limit", 50, "list at most `N`, 0 for all")
	cmd.Flags().BoolVar(&l.All, "all", false, "changes in all workspaces")
	cmd.RunE = run(func(*cobra.Command, []string) error {
		var err error
		if l.Since, err = Moment(since, time.Now()); err != nil {
			return err
		}
		return p.Changes(Kept(host()), l, format)
	})
	return cmd
}

func (p *Printer) changesShow(run Run, host func() wire.Host) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show CALL", Short: "Show which paths a call changed", Args: cobra.ExactArgs(1),
		Example: "  tongs changes show c_06ezk1vq8b3m\n  tongs changes show c_06ezk1vq8b3m --format json",
	}
	FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = run(func(_ *cobra.Command, args []string) error {
		return p.Change(Kept(host()), args[0], format)
	})
	return cmd
}

func (p *Printer) changesDiff(run Run, host func() wire.Host) *cobra.Command {
	return &cobra.Command{
		Use: "diff CALL [PATH ...]", Short: "Show what a call changed, as a diff", Args: cobra.MinimumNArgs(1),
		Example: "  tongs changes diff c_06ezk1vq8b3m\n  tongs changes diff c_06ezk1vq8b3m src/a.go",
		RunE: run(func(_ *cobra.Command, args []string) error {
			return p.Diff(Kept(host()), args[0], args[1:])
		}),
	}
}
