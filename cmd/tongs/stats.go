package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/output"
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
	selectFlags(cmd, &f, &code)
	cmd.Flags().BoolVar(&rules, "rules", false, "list the rules in force with how often each decided")
	formatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		now := time.Now()
		from, err := moment(since, now)
		switch {
		case err != nil:
			return err
		case !from.Before(now):
			return usagef("%q is not in the past", since)
		}
		if f.Code, err = codeOf(code); err != nil {
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
			return a.json(s)
		}
		return a.showStats(s)
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
		return a.json(list)
	}
	return a.showHits(list, w)
}

func (a *app) showHits(list []insight.Ruled, w insight.Window) error {
	rows := make([][]string, 0, len(list))
	left := 0
	for _, r := range list {
		last, rule := "never", r.Rule
		if r.Hits.Calls == 0 && r.BuiltIn {
			left++
			continue
		}
		if r.Hits.Calls > 0 {
			last = r.Hits.Last.Local().Format(time.DateTime)
		}
		text := strings.TrimSuffix(rule.String(), " ("+rule.Layer.String()+", "+rule.Origin+")")
		if r.Void {
			text += " (does not count: not trusted)"
		}
		rows = append(rows, []string{fmt.Sprint(r.Hits.Calls), last, rule.Layer.String(), rule.Origin, r.ID, text})
	}
	if err := a.table([]string{"CALLS", "LAST", "LAYER", "WHERE", "ID", "RULE"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.err, "Calls since %s that a rule decided something about; %s that come with Tongs decided nothing.\n"+
		"'tongs replay --without ID' shows what would change without a rule.\n", w.Since.Local().Format(time.DateTime), counted(left, "rule"))
	return err
}

// showStats prints the numbers: a few lines of words, then the tools.
func (a *app) showStats(s *insight.Stats) error {
	since := s.Window.Since.Local().Format(time.DateTime)
	_, err := fmt.Fprintf(a.out, "Since %s: %s in %s.\n", since, counted(s.Calls, "call"), counted(s.Sessions, "session"))
	if err != nil || s.Calls == 0 {
		return err
	}
	var b strings.Builder
	for _, line := range statLines(s) {
		fmt.Fprintf(&b, "%-12s %s\n", line[0], line[1])
	}
	if _, err := fmt.Fprintf(a.out, "\n%s\n", b.String()); err != nil {
		return err
	}
	rows := make([][]string, 0, len(s.Tools))
	for _, t := range s.Tools {
		success := "-"
		if t.OK+t.Errors+t.Cancelled > 0 {
			success = fmt.Sprintf("%.0f%%", math.Floor(100*t.SuccessRate))
		}
		rows = append(rows, []string{
			t.Tool, fmt.Sprint(t.Calls), success, fmt.Sprint(t.Errors), fmt.Sprint(t.Refused), t.P50.String(), t.P95.String(),
			fmt.Sprint(t.Asked), output.Bytes(t.Bytes.Saved), t.LastUsed.Local().Format(time.DateTime),
		})
	}
	return a.table([]string{"TOOL", "CALLS", "SUCCESS", "FAILED", "REFUSED", "P50", "P95", "ASKED", "SPARED", "LAST USED"}, rows)
}

// statLines are the numbers that are not of one tool, each with its name.
func statLines(s *insight.Stats) [][2]string {
	d, n, bytes := s.Decisions, s.Denials, s.Bytes
	list := [][2]string{{"outcomes", words(
		some{s.OK, "ok"}, some{s.Errors, "failed"}, some{s.Refused, "refused"}, some{s.Cancelled, "cancelled"},
		some{s.Running, "running"}, some{s.Interrupted, "interrupted"},
	)}}
	if len(s.Codes) > 0 {
		codes := make([]string, len(s.Codes))
		for i, c := range s.Codes {
			codes[i] = fmt.Sprintf("%s %d", c.Code, c.Calls)
		}
		list = append(list, [2]string{"codes", strings.Join(codes, ", ")})
	}
	list = append(list,
		[2]string{"decisions", words(some{d.PreApproved, "pre-approved"}, some{d.Copy, "on a copy"}, some{d.Ask, "to ask for"}, some{d.Blocked, "blocked"})},
		[2]string{"not allowed", words(some{n.Person, "by a person"}, some{n.Rule, "by a rule"}, some{n.Unanswered, "unanswered"})})
	if ap := s.Approval; ap.Asked > 0 {
		answered := fmt.Sprintf("%d asked, %d approved", ap.Asked, ap.Approved)
		if ap.Max > 0 {
			answered += fmt.Sprintf("; an answer took %s at the median, p95 %s, at most %s", ap.P50, ap.P95, ap.Max)
		}
		list = append(list, [2]string{"approval", answered})
	}
	list = append(list, [2]string{"time", fmt.Sprintf("%s running, %s waiting for a person", s.Ran, s.Approval.Total)})
	return append(list, [2]string{"output", fmt.Sprintf("%s, of which the model was shown %s and spared %s",
		output.Bytes(bytes.Output), output.Bytes(bytes.Shown), output.Bytes(bytes.Saved))})
}

// some is a number of things.
type some struct {
	count int
	what  string
}

// words lists the numbers that are not zero.
func words(list ...some) string {
	var parts []string
	for _, item := range list {
		if item.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", item.count, item.what))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
