package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
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
	formatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().StringVar(&text, "json", "", "the arguments as a `JSON` object, or - for standard input")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		v, err := a.validate(cmd.Context(), args[0], text, args[1:])
		if err != nil {
			if format != "json" {
				return err
			}
			if err := a.json(resultJSON(tongs.Failure(asError(err)))); err != nil {
				return err
			}
			return shown(err)
		}
		if format == "json" {
			return a.json(v)
		}
		for _, r := range v.Repaired {
			fmt.Fprintln(a.err, "repaired: "+terminal.Clean(r))
		}
		return a.printContent(terminal.Indented(v.Args))
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
	args, err := arguments(ctx, sys.Spec(tool), text, words, a.in)
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
	mode := modeFlag(cmd)
	formatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().StringVar(&text, "json", "", "the arguments as a `JSON` object, or - for standard input")
	cmd.Flags().StringVar(&session, "session", "", "use the remembered approvals of this session `ID` (default: $TONGS_SESSION)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		ex, err := a.explain(cmd.Context(), mode(), session, args[0], text, args[1:])
		if err != nil {
			if format != "json" {
				return err
			}
			if err := a.json(resultJSON(tongs.Failure(asError(err)))); err != nil {
				return err
			}
			return shown(err)
		}
		if format == "json" {
			return a.json(explanationJSON(ex))
		}
		return a.printExplanation(ex)
	})
	return cmd
}

func (a *app) explain(ctx context.Context, mode *tongs.Mode, session, tool, text string, words []string) (*tongs.Explanation, error) {
	sys, err := a.open(ctx, wire.Options{Mode: mode, Tool: tool})
	if err != nil {
		return nil, err
	}
	defer sys.Close()
	args, err := arguments(ctx, sys.Spec(tool), text, words, a.in)
	if err != nil {
		return nil, err
	}
	return sys.Engine.Explain(ctx, &tongs.Call{Tool: tool, Args: args, Session: sessionOr(session)})
}

// explainedEffect is an effect with its target in one word beside what it is made of.
type explainedEffect struct {
	tongs.Effect
	Target string `json:"target"`
}

func explanationJSON(ex *tongs.Explanation) any {
	effects := make([]explainedEffect, len(ex.Effects))
	for i, e := range ex.Effects {
		effects[i] = explainedEffect{e, e.Target()}
	}
	return struct {
		tongs.Explanation
		Effects []explainedEffect `json:"effects"`
	}{*ex, effects}
}

func (a *app) printExplanation(ex *tongs.Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", terminal.Clean(ex.Tool), ex.Decision)
	if ex.Via != "" {
		fmt.Fprintf(&b, "  called as:  %s\n", terminal.Clean(ex.Via))
	}
	for i, line := range terminal.EffectLines(ex.Effects) {
		label := ""
		if i == 0 {
			label = "it would:"
		}
		fmt.Fprintf(&b, "  %-11s %s\n", label, line)
	}
	fmt.Fprintf(&b, "  %-11s %s\n", "rule:", terminal.Clean(ex.Rule))
	fmt.Fprintf(&b, "  %-11s %s\n", "because:", terminal.Clean(ex.Reason))
	if ex.Deferred {
		fmt.Fprintf(&b, "  %-11s %s\n", "on a copy:", "it would run on a copy of the files first; what it changes there is decided then")
	}
	for _, r := range ex.Repaired {
		fmt.Fprintf(&b, "  %-11s %s\n", "repaired:", terminal.Clean(r))
	}
	_, err := fmt.Fprint(a.out, b.String())
	return err
}
