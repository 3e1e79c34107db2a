package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) mcpReviewCommand() *cobra.Command {
	var show, update bool
	cmd := &cobra.Command{
		Use: "review NAME", Short: "Review and approve an MCP server",
		Long: "Start an MCP server, show which program it runs and how it describes itself and its tools, and approve exactly " +
			"that: all of it the first time, later what changed since you last approved it. A model reads these descriptions, " +
			"so look for anything that tells it to do something. A model is not shown what is not approved, and every call of " +
			"it asks. The package of an npx server is installed into a private directory first, without running its install " +
			"scripts. You confirm by typing at a real terminal.",
		Example: "  tongs mcp review github\n  tongs mcp review github --show", Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&show, "show", false, "show it without approving")
	cmd.Flags().BoolVar(&update, "update", false, "first reinstall the package of an npx server")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		sys, v, err := a.look(cmd.Context(), args[0], update)
		if err != nil {
			return err
		}
		defer sys.Close()
		if !v.Changed {
			fmt.Fprintf(a.Err, "%s runs and says what you approved.\n", terminal.Clean(v.State.Name))
			return nil
		}
		if show {
			_, err := fmt.Fprintln(a.Out, terminal.CleanLines(v.Text))
			return err
		}
		if err := a.Approve(cmd.Context(), sys.MCP, v, serverApproval); err != nil {
			return err
		}
		a.ServerTools(v)
		return nil
	})
	return cmd
}

var serverApproval = cli.ReviewText{
	Noun: "an MCP server", Command: "tongs mcp review",
	First:   "This is what the MCP server %s runs, and what it says of itself, in its own words",
	Changed: "This is what the MCP server %s changed",
}

// look wires a system and has it look at a server.
func (a *app) look(ctx context.Context, name string, update bool) (*wire.System, *tongs.Review, error) {
	sys, err := a.open(ctx, wire.Options{})
	if err != nil {
		return nil, nil, err
	}
	v, err := sys.LookAtServer(ctx, name, update)
	if err != nil {
		_ = sys.Close()
		return nil, nil, err
	}
	return sys, v, nil
}

func (a *app) mcpTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: "Start an MCP server and report the result",
		Long: "Start an MCP server as a call would, in the sandbox unless it is switched off for this server, list its tools, " +
			"and stop it. No tool is called and nothing is approved.",
		Example: "  tongs mcp test github", Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			began := time.Now()
			sys, v, err := a.look(cmd.Context(), args[0], false)
			if err != nil {
				return err
			}
			took := time.Since(began)
			defer sys.Close()
			return a.ServerAnswer(v, took, sys.MCP.Unconfined(args[0]))
		}),
	}
}
