package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) callCommand() *cobra.Command {
	var in callFlags
	var format string
	cmd := &cobra.Command{
		Use:   "call TOOL [key=value ...] [--json JSON | -]",
		Short: "Call a tool",
		Long: "Call a tool. Arguments are key=value words, typed by the tool's schema, or a JSON object.\n\n" +
			"Updates go to standard error and the content to standard output. The exit code is 0 if the call succeeded, 1 if " +
			"it failed, 2 for wrong usage, invalid arguments or an unknown tool, and 3 if it was refused.\n\n" +
			"A call that needs approval asks at the terminal. Without a terminal it fails with APPROVAL_REQUIRED and the ID " +
			"of a question; answer it with 'tongs approvals', then make the same call again.\n\n" +
			"With --dry-run a command runs on a copy of the files. Its changes are shown and dropped. The call is decided and " +
			"logged like any other.",
		Example: "  tongs call read_file path=go.mod limit=5\n" +
			"  tongs call shell command=./migrate.sh --dry-run\n" +
			"  tongs call write_file --json '{\"path\":\"notes.txt\",\"content\":\"hello\"}'\n" +
			"  jq -n '{path: \"go.mod\"}' | tongs call read_file - --format json",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeTools,
	}
	mode := cli.ModeFlag(cmd)
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().BoolVar(&in.dry, "dry-run", false, "run a command on a copy, show its changes, and drop them")
	cmd.Flags().StringVar(&in.json, "json", "", "the arguments as a `JSON` object, or - for standard input")
	cmd.Flags().StringVar(&in.session, "session", "", "the session `ID` of the call (default: $TONGS_SESSION, or a new one)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		in.mode, in.tool, in.words = mode(), args[0], args[1:]
		res, err := a.call(cmd.Context(), in, format)
		if err != nil {
			if format != "json" {
				return err
			}
			res = cli.Failed(err)
			a.exit = exitCode(err)
		}
		return a.printed(res, format)
	})
	return cmd
}

// callFlags are what a call is made of.
type callFlags struct {
	mode                *tongs.Mode
	tool, json, session string
	words               []string
	dry                 bool
}

// call makes the call. An error means that it could not be made.
func (a *app) call(ctx context.Context, in callFlags, format string) (*tongs.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sys, err := a.openAsking(ctx, wire.Options{Mode: in.mode, Tool: in.tool}, cancel, nil)
	if err != nil {
		return nil, err
	}
	defer sys.Close()
	args, err := cli.Arguments(ctx, sys.Spec(in.tool), in.json, in.words, a.in)
	if err != nil {
		return nil, err
	}
	return sys.Engine.Call(ctx, &tongs.Call{
		Tool: in.tool, Args: args, Session: sessionOr(in.session), DryRun: in.dry, Sink: a.Sink(format),
	}), nil
}

// sessionOr returns the session that was named, or the environment's; empty means a new one.
func sessionOr(named string) string {
	if named != "" {
		return named
	}
	return os.Getenv("TONGS_SESSION")
}

// printed shows the result and sets the exit code.
func (a *app) printed(res *tongs.Result, format string) error {
	if res.Error != nil && a.exit == exitOK {
		a.exit = exitCode(res.Error)
	}
	return a.Result(res, format)
}
