package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) statsCommand() *cobra.Command {
	var since, format, code string
	var asJSON, rules bool
	var f audit.Filter
	cmd := &cobra.Command{
		Use: "stats", Short: "Show tool usage, decisions and approval wait times",
		Long: "Summarise the log of calls: outcomes and error codes, decisions and the rules that made them, approval wait " +
			"times, running times by tool, and how much output was kept from the model. With --rules, list the rules in force " +
			"and how often each decided.",
		Example: "  tongs stats\n  tongs stats --since 7d --tool shell\n  tongs stats --rules\n  tongs stats --json | jq '.tools[] | {tool, p95Ms}'",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&since, "since", "1d", "only calls since this `time`: 1h, 1d, 2w, or 2026-01-31")
	cli.SelectFlags(cmd, &f, &code)
	cmd.Flags().BoolVar(&rules, "rules", false, "list the rules in force with how often each decided")
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		now := time.Now()
		from, err := cli.Moment(since, now)
		switch {
		case err != nil:
			return err
		case !from.Before(now):
			return cli.Usagef("%q is not in the past", since)
		}
		if f.Code, err = cli.Code(code); err != nil {
			return err
		}
		return a.stats(cmd, insight.Last(now.Sub(from), now), f, rules, asJSON || format == "json")
	})
	return cmd
}

func (a *app) stats(cmd *cobra.Command, w insight.Window, f audit.Filter, rules, asJSON bool) error {
	st, err := a.host().OpenState()
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := insight.Summarize(cmd.Context(), st.Audit, w, f)
	if err != nil {
		return err
	}
	if !rules {
		if asJSON {
			return a.JSON(s)
		}
		return a.Stats(s)
	}
	place, err := a.host().Locate()
	if err != nil {
		return err
	}
	cfg, err := a.host().Configure(place, nil)
	if err != nil {
		return err
	}
	list := s.InForce(wire.Rules(cfg))
	if asJSON {
		return a.JSON(list)
	}
	return a.RuleHits(list, w)
}
