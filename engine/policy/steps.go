package policy

import (
	"slices"

	"github.com/tongs-ai/tongs"
)

// Step is a row of the decision table.
type Step string

// The rows, in the order in which they are tried, and the grants that may answer an ask of the last three.
const (
	StepBlocked Step = "blocked"
	StepMustAsk Step = "mustAsk"
	StepMode    Step = "mode"
	StepSteers  Step = "steers"
	StepRule    Step = "rule"
	StepDefault Step = "default"
	StepAsk     Step = "ask"
	StepGrant   Step = "grant"
)

// Row describes a step for people.
type Row struct {
	Step Step
	// When says what makes the step decide, Then what it decides.
	When, Then string
	// Grants is true where an ask of this step can be answered by a remembered grant, and so be remembered.
	Grants bool
}

// step is a row together with the code that decides it: false means that the next one is tried.
type step struct {
	Row
	decide func(*judge) (finding, bool)
}

// table is the decision table. The first row that speaks decides an effect.
var table = [...]step{
	{Row{
		Step: StepBlocked,
		When: "A `blocked` setting for the tool or the effect, in any layer, trusted or not, of any caller in the chain; " +
			"the tool's own `blocked`; a `blocked` default, unless a setting of the same layer is more specific.",
		Then: "`blocked`. No mode, grant or person overrides it.",
	}, (*judge).blocked},
	{Row{
		Step: StepMustAsk,
		When: "An effect that must be asked for (protected names, unreviewed code, secrets leaving); an `ask` setting in " +
			"the managed layer; an effect of a built-in tool that cannot be told and might be one that is `blocked`.",
		Then: "`ask`, in every mode, each time.",
	}, (*judge).mustAsk},
	{Row{
		Step: StepMode,
		When: "The mode is `none` or `all`.",
		Then: "`none`: `ask`, each time. `all`: `preApproved`.",
	}, (*judge).mode},
	{Row{
		Step:   StepSteers,
		When:   "A change of instructions that agents follow, such as `AGENTS.md`.",
		Then:   "`ask`, whatever the rules say. An approval can be remembered for the session, and for that file only.",
		Grants: true,
	}, (*judge).steers},
	{Row{
		Step: StepRule,
		When: "An `ask` or `preApproved` setting for the tool or the effect, in any layer, or the tool's own setting.",
		Then: "The strictest of them. A `preApproved` of an untrusted layer or of unreviewed code counts as absent. " +
			"`undoable: preApproved` counts for changes that undo takes back and for files that the session made; it lifts no `blocked` default.",
		Grants: true,
	}, (*judge).word},
	{Row{
		Step: StepDefault,
		When: "A default: that of the toolset before the general one, the strictest over the layers; without one, the " +
			"plan's; then the tool's, where it is built in.",
		Then:   "The default.",
		Grants: true,
	}, (*judge).byDefault},
	{Row{
		Step:   StepAsk,
		When:   "Anything else, and data sent out that the rows above would pre-approve, except a push that a rule about pushes allows.",
		Then:   "`ask`. Sent data is asked for each time.",
		Grants: true,
	}, (*judge).ask},
}

// Steps returns the decision table. The last row is the grants, which answer an ask of the rows marked for it.
func Steps() []Row {
	rows := make([]Row, 0, len(table)+1)
	for _, s := range table {
		rows = append(rows, s.Row)
	}
	return append(rows, Row{
		Step: StepGrant,
		When: "Everything that is asked comes from `steers`, `rule`, `default` or `ask`, and remembered grants of this very tool, " +
			"workspace and agent cover it under unchanged rules.",
		Then: "`preApproved`. Never for deletes, sent data, and what must be asked for.",
	})
}

// rank orders the steps; an ask of a smaller rank is the harder one to answer.
func (s Step) rank() int {
	for i := range table {
		if table[i].Step == s {
			return i
		}
	}
	return len(table)
}

// cause says what in a step decided, for the words of an explanation.
type cause uint8

const (
	byNothing cause = iota
	byRule
	byMaybe // a rule that the effect may meet
	byMark  // the effect's own MustAsk
	byKind  // no known kind of effect
	byMode
	bySteers
	bySay
	byPlan
	bySpec
	byShadowed
	bySends
	byPrivate // an address of this machine or network, which nothing but a rule for that host frees
	byOther   // the effect comes with another one, which is judged by itself
)

// finding is a judgement before it is put in words.
type finding struct {
	decision tongs.Decision
	step     Step
	cause    cause
	rule     *tongs.Rule
	// outcome is set where a rule wants what the program changes to be decided.
	outcome bool
}

// stricter reports whether f is stricter than g. Of two asks, the one that no grant can answer is.
func (f finding) stricter(g finding) bool {
	if f.decision != g.decision {
		return f.decision > g.decision
	}
	return f.decision == tongs.Ask && f.step != g.step && f.step.rank() < g.step.rank()
}

// deferrable reports whether an ask can wait for what the call did: nobody's word made it, and a run on a copy shows it.
// What is read, or leaves the machine, cannot be taken back: a read can wait only where the sandbox of such a run hides what
// must not be seen.
func (f finding) deferrable(e *tongs.Effect) bool {
	unsaid := f.cause == byNothing || f.cause == byPlan || f.cause == bySpec
	if !unsaid || f.step != StepDefault && f.step != StepAsk {
		return false
	}
	switch e.Kind {
	case tongs.EffectExecute, tongs.EffectWrite, tongs.EffectDelete:
		return true
	case tongs.EffectRead:
		return e.Confined
	default:
		return false
	}
}

// contact reports whether an ask is about a known host that can be decided apart from the rest of the call: nothing is said to
// be sent there, and an approval may be remembered.
func (f finding) contact(e *tongs.Effect) bool {
	return e.Kind == tongs.EffectNetwork && !opaque(e) && grantable(e) && table[f.step.rank()].Grants
}

// judge decides the effects of one call.
type judge struct {
	in   *Input
	spec *tongs.Spec
	// lenient is true where the tool's own word may free a call: built in, or reviewed at its digest.
	lenient bool
	// e and w are the effect at hand and what the rules of the link at hand say about it.
	e *tongs.Effect
	w words
}

func newJudge(in *Input) *judge {
	if in.Spec == nil {
		in.Spec = &tongs.Spec{Source: tongs.Source{Kind: "unknown"}}
	}
	if len(in.Effects) == 0 {
		in.Effects, in.Unplanned = Unplanned(in.Spec), true
	}
	src := in.Spec.Source
	return &judge{in: in, spec: in.Spec, lenient: src.BuiltIn() || in.Reviewed && src.Digest != ""}
}

// effect returns the strictest finding about e over the links of the chain.
func (j *judge) effect(e *tongs.Effect) finding {
	j.e = e
	var base words
	if len(j.in.Chain) > 0 {
		base = j.gather(j.in.Chain[0])
	}
	j.w = base
	best := j.link()
	for _, rules := range j.in.Chain[min(1, len(j.in.Chain)):] {
		if len(rules) == 0 {
			continue
		}
		j.w = base.with(j.gather(rules))
		f := j.link()
		f.outcome = f.outcome || best.outcome
		if best.outcome = f.outcome; f.stricter(best) {
			best = f
		}
	}
	return best
}

// link takes the table from the top.
func (j *judge) link() finding {
	for i := range table {
		if f, ok := table[i].decide(j); ok {
			f.outcome = j.w.outcome
			return f
		}
	}
	return finding{decision: tongs.Ask, step: StepAsk}
}

func (j *judge) blocked() (finding, bool) {
	f := finding{decision: tongs.Blocked, step: StepBlocked}
	in, own, ownCause := j.in, j.spec.Default, bySpec
	if in.Default != nil && *in.Default > own {
		own, ownCause = *in.Default, byPlan
	}
	switch {
	case j.w.word.is(tongs.Blocked):
		f.cause, f.rule = byRule, j.w.word.rule
	case in.Say != nil && *in.Say > tongs.Ask:
		f.cause = bySay
	case j.w.blockedDefault != nil:
		f.cause, f.rule = byRule, j.w.blockedDefault
	case own > tongs.Ask && !j.w.trusted:
		f.cause = ownCause
	case in.Shadowed != nil && in.Shadowed.Default > tongs.Ask:
		f.cause = byShadowed
	default:
		return f, false
	}
	return f, true
}

func (j *judge) mustAsk() (finding, bool) {
	f := finding{decision: tongs.Ask, step: StepMustAsk}
	switch {
	case j.e.MustAsk:
		f.cause = byMark
	case !known(j.e.Kind):
		f.cause = byKind
	case j.w.managedAsk != nil:
		f.cause, f.rule = byRule, j.w.managedAsk
	case j.w.maybe != nil:
		f.cause, f.rule = byMaybe, j.w.maybe
	default:
		return f, false
	}
	return f, true
}

func (j *judge) mode() (finding, bool) {
	f := finding{step: StepMode, cause: byMode}
	switch j.in.Mode {
	case tongs.ModeSafe:
		return f, false
	case tongs.ModeAll:
		if f.decision = tongs.PreApproved; j.e.Private {
			return f, false
		}
	default:
		f.decision = tongs.Ask
	}
	return f, true
}

func (j *judge) steers() (finding, bool) {
	return finding{decision: tongs.Ask, step: StepSteers, cause: bySteers}, j.e.Steers
}

func (j *judge) word() (finding, bool) {
	f := finding{decision: tongs.PreApproved, step: StepRule}
	spoken := false
	if j.w.word.rule != nil {
		f.decision, f.cause, f.rule = j.w.word.decision, byRule, j.w.word.rule
		spoken = true
	}
	if d, ok := j.toolDefault(); ok && (!spoken || d > f.decision) {
		f.decision, f.cause, f.rule = d, bySay, nil
		spoken = true
	}
	return j.sending(f), spoken
}

// toolDefault returns the tool's own word, where it counts. Leniency needs code that a person knows, and a tool that hides a
// built-in one cannot talk itself out of the question that it inherits.
func (j *judge) toolDefault() (tongs.Decision, bool) {
	if j.in.Say == nil {
		return tongs.Ask, false
	}
	d := clampDecision(*j.in.Say)
	if d == tongs.PreApproved && (!j.lenient || j.in.Shadowed != nil && j.in.Shadowed.Default != tongs.PreApproved) {
		return tongs.Ask, false
	}
	return d, true
}

func (j *judge) byDefault() (finding, bool) {
	f := finding{step: StepDefault}
	found := true
	switch own := j.in.Default; {
	case j.w.fallback.rule != nil:
		f.decision, f.cause, f.rule = j.w.fallback.decision, byRule, j.w.fallback.rule
	case j.incidental():
		f.decision, f.cause = tongs.PreApproved, byOther
	case own != nil && (j.spec.Source.BuiltIn() || *own != tongs.PreApproved):
		f.decision, f.cause = clampDecision(*own), byPlan
	case j.spec.Source.BuiltIn() || j.spec.Default != tongs.PreApproved:
		f.decision, f.cause = clampDecision(j.spec.Default), bySpec
	default:
		found = false
	}
	if s := j.in.Shadowed; s != nil && s.Default != tongs.PreApproved && (!found || f.decision < tongs.Ask) {
		f.decision, f.cause, f.rule, found = tongs.Ask, byShadowed, nil, true
	}
	if floor := j.w.floor; floor.rule != nil && (!found || floor.decision > f.decision) {
		f.decision, f.cause, f.rule, found = floor.decision, byRule, floor.rule, true
	}
	return j.sending(f), found
}

// incidental reports whether the effect comes with one of a built-in tool's that is judged by itself.
func (j *judge) incidental() bool {
	return j.e.Incidental && !j.e.Unknown && j.e.Kind != tongs.EffectDelete && j.spec.Source.BuiltIn() &&
		slices.ContainsFunc(j.in.Effects, func(e tongs.Effect) bool { return !e.Incidental })
}

func (j *judge) ask() (finding, bool) {
	return finding{decision: tongs.Ask, step: StepAsk}, true
}

// sending turns leniency about data that leaves into a question: no word or default is about what is sent. The same holds for
// addresses of this machine or network, unless a rule names the host.
func (j *judge) sending(f finding) finding {
	if j.e.Private && f.decision == tongs.PreApproved && (f.rule == nil || f.rule.Pattern == "") {
		return finding{decision: tongs.Ask, step: StepAsk, cause: byPrivate}
	}
	if j.e.Sends && f.decision == tongs.PreApproved && !j.w.pushes {
		return finding{decision: tongs.Ask, step: StepAsk, cause: bySends}
	}
	return f
}

// clampDecision maps any value to one of the three decisions, an unknown one to the stricter neighbour.
func clampDecision(d tongs.Decision) tongs.Decision {
	switch {
	case d > tongs.Ask:
		return tongs.Blocked
	case d == tongs.PreApproved:
		return d
	default:
		return tongs.Ask
	}
}

// known reports whether k is exactly one of the kinds of effect.
func known(k tongs.EffectKind) bool {
	switch k {
	case tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete, tongs.EffectExecute, tongs.EffectNetwork:
		return true
	default:
		return false
	}
}
