package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/internal/wire"
)

// replayFlags are those of 'tongs replay'.
type replayFlags struct {
	files, lines, without []string
	last, shown           int
	since, format         string
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay [--rule 'DECISION KIND PATTERN']... [--rules FILE]... [--without ID]...",
		Short: "Show which past calls a new rule would decide differently",
		Long: "Decide the newest calls of this workspace again from the log, with the rules in force and with the proposed " +
			"ones. Nothing is executed and nothing is saved.\n\n" +
			"A rule on one line is a decision (preApproved, ask, blocked), a kind (" +
			strings.Join(config.RuleKinds, ", ") + ") and a pattern. A rules file contains a part of a configuration: approval, and rules of toolsets. --without " +
			"removes a rule; 'tongs stats --rules' shows the IDs.\n\n" +
			"Calls that cannot be decided again are counted, never guessed: calls that never reached a decision, calls whose " +
			"effects contain a secret that the log did not store, and calls of other workspaces.",
		Example: "  tongs replay --rule 'ask command git push'\n" +
			"  tongs replay -n 5000 --rule 'blocked write secrets/**' \\\n" +
			"      --rule 'preApproved command make test'\n" +
			"  tongs replay --rules proposed.yaml --since 7d\n" +
			"  tongs replay --without r_1f3a5b7c9d0e --json",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringArrayVar(&f.lines, "rule", nil, "a proposed `rule` on one line (repeatable)")
	cmd.Flags().StringArrayVar(&f.files, "rules", nil, "a `file` of proposed rules in configuration format, or - for standard input")
	cmd.Flags().StringArrayVar(&f.without, "without", nil, "the `ID` of a rule to remove (repeatable)")
	cmd.Flags().IntVarP(&f.last, "last", "n", 1000, "decide the newest `N` calls, 0 for all")
	cmd.Flags().IntVar(&f.shown, "show", 50, "list at most `N` changed calls, 0 for all")
	cmd.Flags().StringVar(&f.since, "since", "", "only calls since this `time`: 2h, 7d, or 2026-01-31")
	formatFlag(cmd, &f.format, "table", "table", "json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if asJSON {
			f.format = "json"
		}
		return a.replay(cmd.Context(), f)
	})
	return cmd
}

func (a *app) replay(ctx context.Context, f replayFlags) error {
	added, err := a.proposed(f)
	if err != nil {
		return err
	}
	if len(added)+len(f.without) == 0 {
		return usagef("say what is proposed, as in: tongs replay --rule 'ask command git push'")
	}
	if f.last < 0 || f.shown < 0 {
		return usagef("--last and --show are numbers of calls, 0 for all")
	}
	sys, err := a.open(ctx, wire.Options{})
	if err != nil {
		return err
	}
	defer sys.Close()
	p, err := sys.Proposal(ctx)
	if err != nil {
		return err
	}
	for _, id := range f.without {
		if !slices.ContainsFunc(p.Rules, func(r tongs.Rule) bool { return policy.RuleID(r) == id }) {
			return usagef("no rule in force here has the ID %q; 'tongs stats --rules' shows them", id)
		}
	}
	p.Add, p.Without, p.Last, p.Changes = added, f.without, f.last, f.shown
	if p.Since, err = moment(f.since, time.Now()); err != nil {
		return err
	}
	r, err := insight.Try(ctx, sys.Audit, p)
	if err != nil {
		return err
	}
	if f.format == "json" {
		return a.json(r)
	}
	return a.showReplay(r)
}

// proposed reads the rules of the command line.
func (a *app) proposed(f replayFlags) (rules []tongs.Rule, err error) {
	for _, line := range f.lines {
		parsed, err := config.ParseRuleLine(line)
		if err != nil {
			return nil, usage{err}
		}
		r, err := parsed.Rule()
		if err != nil {
			return nil, usage{err}
		}
		rules = append(rules, r)
	}
	for _, name := range f.files {
		data, err := readProposal(name, a.in)
		if err != nil {
			return nil, usage{err}
		}
		list, err := config.ReadRules(data, name)
		if err != nil {
			return nil, usage{err}
		}
		rules = append(rules, list...)
	}
	return rules, nil
}

func readProposal(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(in, 2<<20))
	}
	return os.ReadFile(name)
}

func (a *app) showReplay(r *insight.Replay) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d decided again: ", counted(r.Calls, "call"), r.Judged)
	if r.Changed == 0 {
		fmt.Fprintf(&b, "none would be decided differently.\n")
	} else {
		fmt.Fprintf(&b, "%d would be decided differently, %s.\n", r.Changed, words(some{r.Stricter, "more strictly"}, some{r.Looser, "more leniently"}))
	}
	for _, t := range r.Turns {
		fmt.Fprintf(&b, "  %5d  %s, now %s\n", t.Calls, inWords(t.Then), inWords(t.Now))
	}
	if _, err := fmt.Fprint(a.out, b.String()); err != nil {
		return err
	}
	if len(r.Changes) > 0 {
		rows := make([][]string, 0, len(r.Changes))
		for _, c := range r.Changes {
			what := strings.Join(c.Effects, "; ")
			rows = append(rows, []string{c.Started.Local().Format(time.DateTime), c.Call, c.Tool, inWords(c.Now), inWords(c.Then), c.Outcome, shorten(what, 80), c.ThenBy})
		}
		fmt.Fprintln(a.out)
		if err := a.table([]string{"STARTED", "CALL", "TOOL", "NOW", "THEN", "ENDED", "WHAT", "BY"}, rows); err != nil {
			return err
		}
	}
	if left := r.Changed - len(r.Changes); left > 0 {
		fmt.Fprintf(a.err, "%s more; --show 0 lists them all.\n", counted(left, "call"))
	}
	return a.showUnjudged(r)
}

func (a *app) showUnjudged(r *insight.Replay) error {
	u := r.Unjudged
	if here := words(
		some{u[insight.NotDecided], "never got to a decision"}, some{u[insight.Redacted], "hold something that the log did not keep"},
		some{u[insight.Older], "were logged by an older version"},
	); here != "none" {
		fmt.Fprintf(a.err, "Not decided again: %s.\n", here)
	}
	if k := u[insight.Elsewhere]; k > 0 {
		fmt.Fprintf(a.err, "Left out: %s of other workspaces.\n", counted(k, "call"))
	}
	if r.Drifted > 0 {
		fmt.Fprintf(a.err, "%s decided differently when made: rules or remembered approvals have changed since.\n", counted(r.Drifted, "call"))
	}
	return nil
}

func inWords(d insight.Decision) string {
	if d == insight.Copy {
		return "on a copy"
	}
	return string(d)
}

// shorten cuts a text to some characters.
func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
