package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/question"
)

func (a *app) logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "log", Short: "Read and verify the log of calls",
		Example: "  tongs log list --limit 20\n  tongs log verify\n  tongs log export --jsonl > calls.jsonl",
	}
	cmd.AddCommand(a.logListCommand(), a.logShowCommand(), a.logVerifyCommand(), a.logAcceptCommand(),
		a.logCheckpointCommand(), a.logExportCommand())
	return cmd
}

func (a *app) logListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List calls, newest first", Args: cobra.NoArgs,
		Example: "  tongs log list\n  tongs log list --tool edit --outcome refused --since 24h",
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	filter := cli.FilterFlags(cmd, 50)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		f, err := filter()
		if err != nil {
			return err
		}
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		rows, err := sys.Audit.Rows(cmd.Context(), f)
		if err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(cli.List(rows))
		}
		return a.Calls(rows)
	})
	return cmd
}

func (a *app) logShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show CALL", Short: "Show everything logged about a call", Example: "  tongs log show c_19f2", Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			sys, err := a.host().OpenState()
			if err != nil {
				return err
			}
			defer sys.Close()
			rows, err := sys.Audit.Rows(cmd.Context(), audit.Filter{Call: args[0]})
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return tongs.Errorf(tongs.CodeInvalidArgs, "there is no call %q; 'tongs log list' shows them", args[0])
			}
			data, err := json.Marshal(rows[0])
			if err != nil {
				return err
			}
			return a.Content(question.Indented(data))
		}),
	}
}

func (a *app) logExportCommand() *cobra.Command {
	var jsonl bool
	cmd := &cobra.Command{
		Use: "export --jsonl", Short: "Export calls as JSON lines, newest first",
		Example: "  tongs log export --jsonl > calls.jsonl", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "JSON, one object per line (the only format)")
	filter := cli.FilterFlags(cmd, 0)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if !jsonl {
			return cli.Usagef("say the format: tongs log export --jsonl")
		}
		f, err := filter()
		if err != nil {
			return err
		}
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		return audit.Export(cmd.Context(), sys.Audit, f, a.Out)
	})
	return cmd
}
