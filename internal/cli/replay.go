package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// ProposedRules reads rules from lines of the command line and from files, where - is in.
func ProposedRules(lines, files []string, in io.Reader) (rules []tongs.Rule, err error) {
	for _, line := range lines {
		parsed, err := config.ParseRuleLine(line)
		if err != nil {
			return nil, UsageError{err}
		}
		list, err := parsed.Rules()
		if err != nil {
			return nil, UsageError{err}
		}
		rules = append(rules, list...)
	}
	for _, name := range files {
		data, err := readProposal(name, in)
		if err != nil {
			return nil, UsageError{err}
		}
		list, err := config.ReadRules(data, name)
		if err != nil {
			return nil, UsageError{err}
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

// Replay shows which calls would be decided differently.
func (p *Printer) Replay(r *insight.Replay) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d decided again: ", terminal.Plural(r.Calls, "call"), r.Judged)
	if r.Changed == 0 {
		fmt.Fprintf(&b, "none would be decided differently.\n")
	} else {
		fmt.Fprintf(&b, "%d would be decided differently, %s.\n", r.Changed, words(some{r.Stricter, "more strictly"}, some{r.Looser, "more leniently"}))
	}
	for _, t := range r.Turns {
		fmt.Fprintf(&b, "  %5d  %s, now %s\n", t.Calls, inWords(t.Then), inWords(t.Now))
	}
	if _, err := fmt.Fprint(p.Out, b.String()); err != nil {
		return err
	}
	if len(r.Changes) > 0 {
		rows := make([][]string, 0, len(r.Changes))
		for _, c := range r.Changes {
			what := strings.Join(c.Effects, "; ")
			rows = append(rows, []string{c.Started.Local().Format(time.DateTime), c.Call, c.Tool, inWords(c.Now), inWords(c.Then), c.Outcome, shorten(what, 80), c.ThenBy})
		}
		fmt.Fprintln(p.Out)
		if err := p.Table([]string{"STARTED", "CALL", "TOOL", "NOW", "THEN", "ENDED", "WHAT", "BY"}, rows); err != nil {
			return err
		}
	}
	if left := r.Changed - len(r.Changes); left > 0 {
		fmt.Fprintf(p.Err, "%s more; --show 0 lists them all.\n", terminal.Plural(left, "call"))
	}
	return p.showUnjudged(r)
}

func (p *Printer) showUnjudged(r *insight.Replay) error {
	u := r.Unjudged
	if here := words(
		some{u[insight.NotDecided], "never got to a decision"}, some{u[insight.Redacted], "hold something that the log did not keep"},
		some{u[insight.Older], "were logged by an older version"},
	); here != "none" {
		fmt.Fprintf(p.Err, "Not decided again: %s.\n", here)
	}
	if k := u[insight.Elsewhere]; k > 0 {
		fmt.Fprintf(p.Err, "Left out: %s of other workspaces.\n", terminal.Plural(k, "call"))
	}
	if r.Drifted > 0 {
		fmt.Fprintf(p.Err, "%s decided differently when made: rules or remembered approvals have changed since.\n", terminal.Plural(r.Drifted, "call"))
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
