package cli

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// explainedEffect is an effect with its target in one word beside what it is made of.
type explainedEffect struct {
	tongs.Effect
	Target string `json:"target"`
}

// ExplanationJSON is the explanation as --format json prints it.
func ExplanationJSON(ex *tongs.Explanation) any {
	effects := make([]explainedEffect, len(ex.Effects))
	for i, e := range ex.Effects {
		effects[i] = explainedEffect{e, e.Target()}
	}
	return struct {
		tongs.Explanation
		Headline string            `json:"headline"`
		Effects  []explainedEffect `json:"effects"`
	}{*ex, ex.Headline(), effects}
}

// explained is how far the text of an explanation is from the left.
const explained = 14

// Explanation shows what a call would do and which rule decides. At a terminal long lines are broken between words.
func (p *Printer) Explanation(ex *tongs.Explanation) error {
	var b strings.Builder
	wide := terminal.Columns(p.Out)
	fact := func(label, text string) {
		if wide > 2*explained {
			text = strings.ReplaceAll(ansi.Wrap(text, wide-explained, ""), "\n", "\n"+strings.Repeat(" ", explained))
		}
		fmt.Fprintf(&b, "  %-*s%s\n", explained-2, label, text)
	}
	fmt.Fprintf(&b, "%s: %s\n", terminal.Clean(ex.Tool), ex.Headline())
	fact("decision:", ex.Decision.String())
	if ex.Via != "" {
		fact("called as:", terminal.Clean(ex.Via))
	}
	for i, line := range terminal.EffectLines(approval.ByGravity(ex.Effects)) {
		label := ""
		if i == 0 {
			label = "it would:"
		}
		fact(label, line)
	}
	for i, line := range ex.Tells {
		label := ""
		if i == 0 {
			label = "git would:"
		}
		fact(label, terminal.Clean(line))
	}
	fact("rule:", terminal.Clean(strings.TrimPrefix(ex.Rule, "rule: ")))
	fact("because:", terminal.Clean(ex.Reason))
	for _, r := range ex.Repaired {
		fact("repaired:", terminal.Clean(r))
	}
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}
