package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) forgeExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export NAME [FILE]", Short: "Export a custom tool to an archive", Example: "  tongs forge export word-count word-count.tar.gz", Args: cobra.RangeArgs(1, 2),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			set, err := a.host().OpenForge()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return set.Export(args[0], a.Out)
			}
			f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return err
			}
			if err := set.Export(args[0], f); err != nil {
				f.Close()
				os.Remove(args[1])
				return err
			}
			return f.Close()
		}),
	}
}

func (a *app) forgeImportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Import a custom tool (unapproved)", Example: "  tongs forge import word-count.tar.gz", Args: cobra.ExactArgs(1),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			set, err := a.host().OpenForge()
			if err != nil {
				return err
			}
			in := a.in
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = io.Reader(f)
			}
			name, err := set.Import(in)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "Imported %s.\nNext: tongs forge approve %s\n", terminal.Clean(name), terminal.Clean(name))
			return nil
		}),
	}
}

func (a *app) forgeStatsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "stats", Short: "Show how custom tools were used", Example: "  tongs forge stats", Args: cobra.NoArgs,
		Long: "Show how often each custom tool ran, how often it succeeded, how long it took and when it was last used, from " +
			"the log of calls.",
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		set, err := a.host().OpenForge()
		if err != nil {
			return err
		}
		if _, err := set.Scan(); err != nil { // with everything known: what a turn costs
			return err
		}
		st, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer st.Close()
		rows, err := st.Audit.Rows(cmd.Context(), audit.Filter{})
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := set.Scan(); err != nil {
			return err
		}
		stats := insight.CountForge(rows, set.States())
		stats.RefreshMicro = time.Since(began).Microseconds()
		if format == "json" {
			return a.JSON(stats)
		}
		return a.ForgeStats(stats)
	})
	return cmd
}
