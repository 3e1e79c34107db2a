package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/wire"
)

// mcpWait is how long a call waits at least for a person who is not shown its question: some clients give up after a minute. Those
// that are known to wait longer do, unless --wait says something else.
const mcpWait = 45 * time.Second

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools to an MCP client over stdio; manage servers",
		Long: "Serve the tools to an MCP client over standard input and output. The client starts this command; 'tongs setup' " +
			"shows how.\n\n" +
			"A call that needs approval is shown as a form in the client, if the client supports it. Otherwise the question " +
			"waits for 'tongs approvals' or the console. Mode 'all' counts only in your own configuration file, and a " +
			"configuration directory named by the environment can only narrow.",
		Example: "  tongs mcp --workspace ~/src/project\n  tongs mcp --mode none",
		Args:    cobra.NoArgs,
	}
	mode := cli.ModeFlag(cmd)
	wait := waitFlag(cmd)
	prefix := cmd.Flags().String("prefix", "", "put this `word` before the names of the tools")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		in, ok := a.in.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(a.in)
		}
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		if *wait < 0 {
			return errWait
		}
		server, sys, err := a.host().OpenServer(ctx, wire.Options{Mode: mode(), Wait: *wait, Prefix: *prefix, Patient: !cmd.Flags().Changed("wait"), Notify: true})
		if err != nil {
			return err
		}
		defer sys.Close()
		return server.ServeStdio(ctx, in, a.Out)
	})
	cmd.AddCommand(a.mcpCommands()...)
	return cmd
}

func waitFlag(cmd *cobra.Command) *time.Duration {
	return cmd.Flags().Duration("wait", mcpWait, "the `time` a call waits for an answer if its client cannot ask; by default up to 5m for clients that wait so long")
}

// errWait is for a --wait that makes no sense.
var errWait = cli.Usagef("--wait must not be negative")
