package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// RuleHits lists rules with how often each decided.
func (p *Printer) RuleHits(list []insight.Ruled, w insight.Window) error {
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
	if err := p.Table([]string{"CALLS", "LAST", "LAYER", "WHERE", "ID", "RULE"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Err, "Calls since %s that a rule decided something about; %s that come with Tongs decided nothing.\n"+
		"'tongs replay --without ID' shows what would change without a rule.\n", w.Since.Local().Format(time.DateTime), terminal.Plural(left, "rule"))
	return err
}

// Stats prints the numbers: a few lines of words, then the tools.
func (p *Printer) Stats(s *insight.Stats) error {
	since := s.Window.Since.Local().Format(time.DateTime)
	_, err := fmt.Fprintf(p.Out, "Since %s: %s in %s.\n", since, terminal.Plural(s.Calls, "call"), terminal.Plural(s.Sessions, "session"))
	if err != nil || s.Calls == 0 {
		return err
	}
	var b strings.Builder
	for _, line := range statLines(s) {
		fmt.Fprintf(&b, "%-12s %s\n", line[0], line[1])
	}
	if _, err := fmt.Fprintf(p.Out, "\n%s\n", b.String()); err != nil {
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
	return p.Table([]string{"TOOL", "CALLS", "SUCCESS", "FAILED", "REFUSED", "P50", "P95", "ASKED", "SPARED", "LAST USED"}, rows)
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

// ForgeStats shows how custom tools were used.
func (p *Printer) ForgeStats(f *insight.ForgeStats) error {
	slices.SortFunc(f.Tools, func(x, y *insight.ForgeTool) int { return strings.Compare(x.Tool, y.Tool) })
	rows := make([][]string, 0, len(f.Tools))
	for _, t := range f.Tools {
		rate, p50, last := "", "", "never"
		if t.Runs > 0 {
			rate, p50 = fmt.Sprintf("%d%%", 100*t.OK/t.Runs), fmt.Sprintf("%d ms", t.P50)
			last = t.LastUsed.Format(time.DateTime)
		}
		rows = append(rows, []string{t.Tool, t.State, fmt.Sprint(t.Runs), rate, p50, last})
	}
	if err := p.Table([]string{"TOOL", "STATE", "RUNS", "SUCCESS", "P50", "LAST USED"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.Err, "%d created, %d of them by create_custom_tool; %d of %d builds succeeded; %d of %d tools were used more than once; looking for changes takes %d µs.\n",
		f.Created, f.ByCall, f.BuildsOK, f.BuildsTried, f.Reused, len(f.Tools), f.RefreshMicro)
	return err
}

// ForgeHistory shows the versions of a custom tool, the newest first.
func (p *Printer) ForgeHistory(list []forge.Version) error {
	rows := make([][]string, 0, len(list))
	for _, v := range list {
		state := "not approved"
		if v.ApprovedBy != "" {
			state = "approved by " + v.ApprovedBy
		}
		if v.Current {
			state += ", current"
		}
		rows = append(rows, []string{v.ID(), v.Version, v.At.Format(time.DateTime), state})
	}
	return p.Table([]string{"ID", "VERSION", "KEPT", "STATE"}, rows)
}

// ForgeRolledBack tells what a custom tool is now; nil tells nothing.
func (p *Printer) ForgeRolledBack(name string, v *forge.Version) error {
	if v == nil {
		return nil
	}
	next := "It is approved, as it was then."
	if v.ApprovedBy == "" {
		next = "Nobody approved this version: tongs forge approve " + name
	}
	_, err := fmt.Fprintf(p.Err, "%s is version %s (%s) again. %s\n", terminal.Clean(name), terminal.Clean(v.Version), v.ID(), terminal.Clean(next))
	return err
}
