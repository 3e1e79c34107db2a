package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/mcpclient"
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
			fmt.Fprintf(a.err, "%s runs and says what you approved.\n", terminal.Clean(v.Server))
			return nil
		}
		if show {
			_, err := fmt.Fprintln(a.out, terminal.CleanLines(v.Text))
			return err
		}
		return a.approveServer(cmd.Context(), sys, v)
	})
	return cmd
}

func (a *app) approveServer(ctx context.Context, sys *wire.System, v *mcpclient.Review) error {
	t, err := terminal.Open()
	if err != nil {
		fmt.Fprintln(a.out, terminal.CleanLines(v.Text))
		return tongs.Errorf(tongs.CodeApprovalRequired, "approving an MCP server needs a person at a real terminal, and this process has none; "+
			"run 'tongs mcp review %s' in one", v.Server)
	}
	defer t.Close()
	what := "runs, and what it says of itself, in its own words"
	quote := t.Quote
	if v.Before != nil {
		what, quote = "changed", t.QuoteDiff
	}
	fmt.Fprintf(t, "This is what the MCP server %s %s:\n", terminal.Clean(v.Server), what)
	quote(v.Text)
	if err := t.Confirm(ctx, "approve this"); err != nil {
		return err
	}
	if err := sys.MCP.Approve(v, terminal.Whoami()); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s is approved as it is now: %s.\n", terminal.Clean(v.Server), terminal.Plural(len(v.Now.Tools), "tool"))
	return nil
}

// look wires a system and has it look at a server.
func (a *app) look(ctx context.Context, name string, update bool) (*wire.System, *mcpclient.Review, error) {
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
			n := v.Now
			lines := []string{
				fmt.Sprintf("%s answers: %s %s, protocol %s, after %s", v.Server, n.Title, n.Version, n.Protocol, took.Round(time.Millisecond)),
				fmt.Sprintf("%s, %s, %s of instructions", terminal.Plural(len(n.Tools), "tool"), terminal.Plural(len(n.Prompts), "prompt"), terminal.Plural(len(n.Instructions), "byte")),
			}
			for _, s := range sys.MCP.States() {
				if s.Name != args[0] {
					continue
				}
				for _, t := range s.Tools {
					lines = append(lines, strings.TrimSuffix(fmt.Sprintf("  %s: %s %s", t.Name, t.Status, t.Detail), " "))
				}
				if s.Server.Unconfined {
					lines = append(lines, "it runs outside the sandbox")
				}
			}
			if v.Changed {
				lines = append(lines, "next: tongs mcp review "+v.Server)
			}
			_, err = fmt.Fprintln(a.out, terminal.CleanLines(strings.Join(lines, "\n")))
			return err
		}),
	}
}
