package cli

import (
	"fmt"
	"strings"

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

// Explanation shows what a call would do and which rule decides.
func (p *Printer) Explanation(ex *tongs.Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", terminal.Clean(ex.Tool), ex.Headline())
	fmt.Fprintf(&b, "  %-11s %s\n", "decision:", ex.Decision)
	if ex.Via != "" {
		fmt.Fprintf(&b, "  called as:  %s\n", terminal.Clean(ex.Via))
	}
	for i, line := range terminal.EffectLines(approval.ByGravity(ex.Effects)) {
		label := ""
		if i == 0 {
			label = "it would:"
		}
		fmt.Fprintf(&b, "  %-11s %s\n", label, line)
	}
	fmt.Fprintf(&b, "  %-11s %s\n", "rule:", terminal.Clean(strings.TrimPrefix(ex.Rule, "rule: ")))
	fmt.Fprintf(&b, "  %-11s %s\n", "because:", terminal.Clean(ex.Reason))
	for _, r := range ex.Repaired {
		fmt.Fprintf(&b, "  %-11s %s\n", "repaired:", terminal.Clean(r))
	}
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}
