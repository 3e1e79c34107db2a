package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/question"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) validateCommand() *cobra.Command {
	var text, format string
	cmd := &cobra.Command{
		Use:   "validate TOOL [key=value ...] [--json JSON | -]",
		Short: "Check the arguments of a call without running it",
		Long: "Check arguments the way a call does: repair what is unambiguous, add defaults, then validate. Prints the " +
			"arguments that the tool would get. Invalid arguments exit with 2.",
		Example:           "  tongs validate read_file path=go.mod limit=5\n  tongs validate edit --json '{\"path\":\"a.go\"}'",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeTools,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().StringVar(&text, "json", "", "the arguments as a `JSON` object, or - for standard input")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		v, err := a.validate(cmd.Context(), args[0], text, args[1:])
		if err != nil {
			if format != "json" {
				return err
			}
			if err := a.JSON(cli.ResultJSON(cli.Failed(err))); err != nil {
				return err
			}
			return shown(err)
		}
		if format == "json" {
			return a.JSON(v)
		}
		for _, r := range v.Repaired {
			fmt.Fprintln(a.Err, "repaired: "+terminal.Clean(r))
		}
		return a.Content(question.Indented(v.Args))
	})
	return cmd
}

// valid is what validate prints as JSON.
type valid struct {
	OK       bool            `json:"ok"`
	Args     json.RawMessage `json:"args"`
	Repaired []string        `json:"repaired,omitempty"`
}

func (a *app) validate(ctx context.Context, tool, text string, words []string) (valid, error) {
	sys, err := a.open(ctx, wire.Options{Memory: true})
	if err != nil {
		return valid{}, err
	}
	defer sys.Close()
	args, err := cli.Arguments(ctx, sys.Spec(tool), text, words, a.in)
	if err != nil {
		return valid{}, err
	}
	checked, err := sys.Engine.Validate(ctx, tool, args)
	return valid{err == nil, checked.Args, checked.Repaired}, err
}

func (a *app) explainCommand() *cobra.Command {
	var text, format, session string
	cmd := &cobra.Command{
		Use:   "explain TOOL [key=value ...] [--json JSON | -]",
		Short: "Show what a call would do and which rule decides",
		Long:  "Show what a call would do and which rule decides, without running it.",
		Example: "  tongs explain delete_file path=go.mod\n" +
			"  tongs explain write_file path=a.txt content=x --mode none --format json",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeTools,
	}
	mode := cli.ModeFlag(cmd)
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().StringVar(&text, "json", "", "the arguments as a `JSON` object, or - for standard input")
	cmd.Flags().StringVar(&session, "session", "", "use the remembered approvals of this session `ID` (default: $TONGS_SESSION)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		ex, err := a.explain(cmd.Context(), mode(), session, args[0], text, args[1:])
		if err != nil {
			if format != "json" {
				return err
			}
			if err := a.JSON(cli.ResultJSON(cli.Failed(err))); err != nil {
				return err
			}
			return shown(err)
		}
		if format == "json" {
			return a.JSON(cli.ExplanationJSON(ex))
		}
		return a.Explanation(ex)
	})
	return cmd
}

func (a *app) explain(ctx context.Context, mode *tongs.Mode, session, tool, text string, words []string) (*tongs.Explanation, error) {
	sys, err := a.open(ctx, wire.Options{Mode: mode, Tool: tool})
	if err != nil {
		return nil, err
	}
	defer sys.Close()
	args, err := cli.Arguments(ctx, sys.Spec(tool), text, words, a.in)
	if err != nil {
		return nil, err
	}
	return sys.Engine.Explain(ctx, &tongs.Call{Tool: tool, Args: args, Session: sessionOr(session)})
}
