// Package policy decides calls. Decide is a pure function of the tool's spec, the effects of the call, the rules in
// force, the mode and the grants a person left: it reads no file, asks nobody, and looks at effects only, never at
// the spelling of an argument.
package policy

import (
	"github.com/tongs-ai/tongs"
)

// Input is everything a decision rests on.
type Input struct {
	// Spec is the tool that would run.
	Spec *tongs.Spec
	// Names are all the names that rules may know the call by: the called name, the tool's own, its aliases, and,
	// for a redirect, the same of the redirecting tool.
	Names []string
	// Shadowed is the built-in tool that a custom tool of the same name hides, nil where there is none: its ask and
	// blocked are inherited, its preApproved is not.
	Shadowed *tongs.Spec
	// Effects are never empty: see Unplanned.
	Effects []tongs.Effect
	// Default and Say are the plan's.
	Default, Say *tongs.Decision
	Mode         tongs.Mode
	// Chain holds the rules of each caller on the way, the base rules first. Each link is judged with the base rules
	// and its own; the strictest judgement holds.
	Chain [][]tongs.Rule
	// Grants are the remembered answers that may apply (right source, workspace and session; not lapsed in time).
	Grants []Grant
}

// Verdict is a decision and what made it.
type Verdict struct {
	Decision tongs.Decision
	// Step is the row of the decision table that decided.
	Step Step
	// Rule is the rule that decided, nil where a default, the mode or a grant did.
	Rule *tongs.Rule
	// Grant is the ID of the grant that answered an ask, if one did.
	Grant string
	// By names what decided in a few words, for explain and for the log; Reason is a sentence for a person.
	By, Reason string
	// Effects holds the judgement of each effect of the input, in its order.
	Effects []Judgement
	// Rememberable is true where a person's approval may be kept beyond this call.
	Rememberable bool
	// RulesDigest identifies the rules that matched; a grant lapses when they change.
	RulesDigest string
}

// Judgement is the decision about one effect.
type Judgement struct {
	Decision tongs.Decision
	Step     Step
	Rule     *tongs.Rule
	By       string
}

// Step is a row of the decision table.
type Step string
