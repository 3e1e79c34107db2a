package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

// mcpWait is how long a call waits for a person who is not shown its question: clients give up after a minute.
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
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		in, ok := a.in.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(a.in)
		}
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		server, sys, err := a.openServer(ctx, mode(), *wait)
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
	return cmd.Flags().Duration("wait", mcpWait, "the `time` a call waits for an answer if its client cannot ask")
}

// openServer wires a system that serves MCP clients, and what else is beside them.
func (a *app) openServer(
	ctx context.Context, mode *tongs.Mode, wait time.Duration, beside ...func(*wire.Options),
) (*mcpserver.Server, *wire.System, error) {
	if wait < 0 {
		return nil, nil, cli.Usagef("--wait must not be negative")
	}
	channel := &mcpserver.Channel{}
	o := wire.Options{Mode: mode, Caller: channel, Wait: wait, Lives: true}
	for _, add := range beside {
		add(&o)
	}
	host := a.host()
	host.Attended = false // a client starts it, or a person for clients
	sys, err := host.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	server, err := sys.Serve(ctx, channel)
	if err != nil {
		_ = sys.Close()
		return nil, nil, err
	}
	return server, sys, nil
}
