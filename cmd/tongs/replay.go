package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
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
	cli.FormatFlag(cmd, &f.format, "table", "table", "json")
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
	added, err := cli.ProposedRules(f.lines, f.files, a.in)
	if err != nil {
		return err
	}
	if len(added)+len(f.without) == 0 {
		return cli.Usagef("say what is proposed, as in: tongs replay --rule 'ask command git push'")
	}
	if f.last < 0 || f.shown < 0 {
		return cli.Usagef("--last and --show are numbers of calls, 0 for all")
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
		if !p.Has(id) {
			return cli.Usagef("no rule in force here has the ID %q; 'tongs stats --rules' shows them", id)
		}
	}
	p.Add, p.Without, p.Last, p.Changes = added, f.without, f.last, f.shown
	if p.Since, err = cli.Moment(f.since, time.Now()); err != nil {
		return err
	}
	r, err := insight.Try(ctx, sys.Audit, p)
	if err != nil {
		return err
	}
	if f.format == "json" {
		return a.JSON(r)
	}
	return a.Replay(r)
}
