// Package policy decides whether a call may run, must be asked about, or is blocked. Decide is a pure function of the tool's spec, the effects of the call, the rules in
// force, the mode and the grants a person left: it reads no file, asks nobody, and looks at effects only, never at
// the spelling of an argument.
//
// The rows of the decision table are [Steps]; docs/policy.md shows the same table. What a rule's pattern matches is
// in [Match], what a person's "always" saves in [Propose] and [Cover].
package policy

import (
	"github.com/tongs-ai/tongs"
)

// Input is everything a decision rests on. Decide changes nothing in it.
type Input struct {
	// Spec is the tool that would run. Nil is a tool that nothing is known of: nothing about it is lenient.
	Spec *tongs.Spec
	// Names are all the names that rules may know the call by: the called name, the tool's own, its aliases, and,
	// for a redirect, the same of the redirecting tool. The spec's own name and aliases count in any case.
	Names []string
	// Via is the tool that redirected the call, nil where none did: what its toolset blocks or asks for holds too.
	Via *tongs.Spec
	// Shadowed is the built-in tool that a custom tool of the same name hides, nil where there is none: its ask and
	// blocked are inherited, its preApproved is not.
	Shadowed *tongs.Spec
	// Reviewed is true where a person approved the code of the tool at exactly the digest in Spec.Source. Built-in
	// tools need no review.
	Reviewed bool
	// Effects are never empty: see Unplanned. An empty list is judged as Unplanned(Spec).
	Effects []tongs.Effect
	// Unplanned is true where the effects are those of Unplanned, because the tool has no plan. Only then can an
	// unknown effect be remembered, besides the execution of a tool from outside: one in a plan is one that could not
	// be told this time.
	Unplanned bool
	// Default and Say are the plan's.
	Default, Say *tongs.Decision
	Mode         tongs.Mode
	// Chain holds the rules of each caller on the way, the base rules first. Each link is judged with the base rules
	// and its own; the strictest judgement holds.
	Chain [][]tongs.Rule
	// Grants are the remembered answers that may apply. Each is held against Key once more.
	Grants []Grant
	// Key is the identity of the call that a grant must have. With a zero key no grant answers.
	Key Key
}

// Verdict is a decision and what made it.
type Verdict struct {
	Decision tongs.Decision
	// Step is the row of the decision table that decided.
	Step Step
	// Rule is the rule that decided, nil where a default, the mode or a grant did. It points into the input.
	Rule *tongs.Rule
	// Grant is the ID of the grant that answered an ask, if one did; several are separated by commas.
	Grant string
	// By names what decided in a few words, for explain and for the log; Reason is a sentence for a person.
	By, Reason string
	// Effects holds the judgement of each effect of the input, in its order.
	Effects []Judgement
	// Deferrable is true where everything that is asked is asked because nobody said anything about it, in mode safe, and
	// is something that a run on a copy of the files can show instead: programs, and what they change.
	Deferrable bool
	// Contact is true where the same holds except for hosts that are asked about: once they are decided, the rest can be shown
	// by a run on a copy.
	Contact bool
	// Outcome is true where a rule pre-approves a program to be run on a copy only, and what it changes to be decided then: by
	// its own words, or since nothing but that it can be undone frees something that the program would do.
	Outcome bool
	// Rememberable is true where a person's approval may be kept beyond this call.
	Rememberable bool
	// SessionOnly is true where it may be kept for the session, and not longer.
	SessionOnly bool
	// RulesDigest identifies the rules that matched what is asked; a grant lapses when they change. It is empty where
	// nothing is asked that a grant could answer.
	RulesDigest string
}

// Judgement is the decision about one effect.
type Judgement struct {
	Decision tongs.Decision
	Step     Step
	Rule     *tongs.Rule
	By       string
}

// Unplanned returns the effects of a call whose tool has no plan: one unknown effect for each permission it needs,
// and at least one. A tool that is not built in runs as a program, so it always has an execute effect.
func Unplanned(spec *tongs.Spec) []tongs.Effect {
	var needs tongs.Permissions
	outside := spec == nil || !spec.Source.BuiltIn()
	if spec != nil {
		needs = spec.Needs
	}
	if outside {
		needs |= tongs.Execute
	}
	if needs == 0 {
		return []tongs.Effect{{Kind: tongs.EffectRead, Unknown: true}}
	}
	effects := make([]tongs.Effect, 0, 4)
	for _, k := range [...]tongs.EffectKind{tongs.EffectRead, tongs.EffectWrite, tongs.EffectExecute, tongs.EffectNetwork} {
		if needs.Has(k.Permission()) {
			effects = append(effects, tongs.Effect{Kind: k, Unknown: true})
		}
	}
	return effects
}

// Decide judges a call: each of its effects takes the rows of the decision table from the top, for each link of the
// chain, and the strictest judgement is the verdict. It is deterministic and safe for concurrent use.
func Decide(in Input) Verdict {
	j := newJudge(&in)
	v := Verdict{Effects: make([]Judgement, len(in.Effects))}
	var lead, last finding
	at, deferrable, contact, freed := 0, in.Mode == tongs.ModeSafe, in.Mode == tongs.ModeSafe, false
	runs := (in.Spec.Needs | in.Spec.Optional).Has(tongs.Execute) // "> a" runs a shell, and no program in it
	for i := range in.Effects {
		f := j.effect(&in.Effects[i])
		v.Effects[i] = Judgement{Decision: f.decision, Step: f.step, Rule: f.rule}
		if i > 0 && f == last && f.cause != byMark && f.cause != bySteers {
			v.Effects[i].By = v.Effects[i-1].By
		} else {
			v.Effects[i].By = f.words(&in, &in.Effects[i])
		}
		if i == 0 || f.stricter(lead) || !lead.stricter(f) && in.Effects[i].Gravity() > in.Effects[at].Gravity() {
			lead, at = f, i
		}
		v.Outcome = v.Outcome || f.outcome
		freed = freed || f.decision == tongs.PreApproved && f.rule != nil && f.rule.Undoable
		runs = runs || in.Effects[i].Kind == tongs.EffectExecute
		defers := f.decision != tongs.Ask || f.deferrable(&in.Effects[i])
		deferrable, contact = deferrable && defers, contact && (defers || f.contact(&in.Effects[i]))
		last = f
	}
	v.Decision, v.Step, v.Rule, v.By = lead.decision, lead.step, lead.rule, v.Effects[at].By
	answered := v.Decision == tongs.Ask && j.remember(&v) && j.granted(&v)
	v.Outcome = v.Outcome || freed && runs && v.Decision == tongs.PreApproved
	if answered {
		return v
	}
	v.Deferrable = v.Decision == tongs.Ask && deferrable
	v.Contact = v.Decision == tongs.Ask && contact && !deferrable
	v.Reason = lead.sentence(&in, &in.Effects[at], v.By)
	return v
}

// Asked returns those of the input's effects that the verdict asks for: what a question is about and what [Propose]
// should cover.
func (v Verdict) Asked(effects []tongs.Effect) []tongs.Effect {
	var asked []tongs.Effect
	for i := range min(len(effects), len(v.Effects)) {
		if v.Effects[i].Decision == tongs.Ask {
			asked = append(asked, effects[i])
		}
	}
	return asked
}
