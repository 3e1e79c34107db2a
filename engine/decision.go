package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
)

// decision is what is decided about effects of a call, and how far that is. What is decided while the tool runs is a copy of
// the walk's own, of which the walk takes over what counts from then on.
type decision struct {
	*walk

	// plan is what a person is shown; effects are what is decided.
	plan    *tongs.Plan
	effects []tongs.Effect
	verdict policy.Verdict
	basis   []policy.Basis // what the verdict rests on, for the row
	rules   []string       // the IDs of the rules that decided
	// early is the question that changes are kept for while it is asked; carriedOut is what became of them where somebody else did that.
	early      string
	carriedOut *approval.Parked
	grounds    []ground // the same with all effects, for changes of programs
	// unplanned means that the tool has no plan at all; deferred that the call runs on a copy before it is decided; onCopy
	// that a rule wants the program run on a copy.
	unplanned, deferred, onCopy bool
	// forUndo says that the call was allowed as it is, and runs on a copy only so that it can be undone.
	forUndo bool

	needed   []tongs.Effect // what running tools met
	approved []tongs.Effect // what a person approved, in the state they saw
	notes    []string       // what a person should know before answering
	met      string         // what a running tool met, in its words
	question string
	answered string
	// journalled says that what is changed goes through the journal; notUndoable why changes cannot be undone, by their path.
	journalled  bool
	notUndoable map[tongs.Path]string
	// recorded is what an approval for the session would be remembered for: where nothing is asked about but what git recorded.
	recorded *recorded
	// parts are the effects on the files of a git directory that an effect on it stands for.
	parts map[tongs.Path][]tongs.Effect
	// late says that the last answer came when no call waited for it; personWrote that whoever gave it also wrote the arguments.
	late, personWrote bool
}

// decide and ask are the stages of the walk.
func (w *walk) decide(ctx context.Context) error { return w.decision.decide(ctx) }

// ask reports whether a person approved other arguments than those asked about; then nothing is settled yet.
func (w *walk) ask(ctx context.Context) (edited bool, err error) {
	args, err := w.decision.ask(ctx)
	if err != nil || len(args) == 0 {
		return false, w.withEdited(err)
	}
	w.edit(args)
	return true, nil
}

// extend decides what a running tool met. What was refused leaves no trace in what the call may do, and the call goes on as
// it was approved.
func (w *walk) extend(ctx context.Context, more tongs.More) (effects []tongs.Effect, err error) {
	d := w.decision
	d.journalled, d.notUndoable = false, nil // what a running tool met may be done already
	d.met = more.Message
	shown := *d.plan
	if more.Preview != nil {
		shown.Preview, shown.Kind = more.Preview, ""
	}
	shown.Default, shown.Say = unlessFree(shown.Default), unlessFree(shown.Say)
	d.plan = &shown
	if d.effects, err = w.check(more.Effects); err != nil {
		return nil, err
	}
	if more.Unasked {
		if known, err := d.isFree(ctx); err != nil || known {
			return nil, err
		}
	}
	if err := d.decide(ctx); err != nil {
		return nil, err
	}
	if more.Unsaid && d.unsaid() {
		return nil, d.intent(d.effects)
	}
	if !more.Unasked {
		d.notes = append(slices.Clip(d.notes), more.Reason)
	}
	d.needed = append(slices.Clip(d.needed), d.effects...)
	args, err := d.ask(ctx)
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		return nil, tongs.Errorf(tongs.CodeDenied, "the arguments were edited while the tool ran; call it again with the new ones")
	}
	w.decision.goOn(d)
	return d.effects, nil
}

// maxMet is how many effects a running tool may meet that nobody is asked about.
const maxMet = 1000

// isFree refuses effects that somebody would have to be asked about. Known says that they were allowed before, and still are: a program
// may connect to a host any number of times.
func (d *decision) isFree(ctx context.Context) (known bool, err error) {
	if err := d.judge(ctx); err != nil {
		return false, err
	}
	known = !slices.ContainsFunc(d.effects, func(e tongs.Effect) bool { return !slices.ContainsFunc(d.needed, e.Same) })
	switch {
	case d.verdict.Decision == tongs.Blocked:
		return false, tongs.Errorf(tongs.CodeBlocked, "%s", d.verdict.Reason).With("rule", d.verdict.By)
	case len(d.unanswered()) > 0:
		return false, tongs.Errorf(tongs.CodeApprovalRequired, "%s", d.verdict.Reason)
	case !known && len(d.needed) >= maxMet:
		return false, tongs.Errorf(tongs.CodePermissionDenied, "the call met more than %d things besides its plan", maxMet)
	}
	return known, nil
}

// unlessFree is a decision that came with a plan, for what was not planned: what it frees is no more than the plan says.
func unlessFree(d *tongs.Decision) *tongs.Decision {
	if d != nil && *d == tongs.PreApproved {
		return nil
	}
	return d
}

// unsaid reports whether no rule and no mode covers any of the effects. An address of this machine or network is always
// asked about.
func (d *decision) unsaid() bool {
	private := func(e tongs.Effect) bool { return e.Private }
	return !slices.ContainsFunc(d.effects, private) && !slices.ContainsFunc(d.verdict.Effects, func(j policy.Judgement) bool {
		return j.Rule != nil || j.Decision != tongs.PreApproved && j.Step != policy.StepDefault && j.Step != policy.StepAsk
	})
}

// goOn takes over what a decision that was made meanwhile leaves for the rest of the call.
func (d *decision) goOn(with decision) {
	d.needed, d.approved, d.notes = with.needed, with.approved, with.notes
	d.question, d.answered = with.question, with.answered
}

// decide judges the effects and refuses what is blocked.
func (d *decision) decide(ctx context.Context) (err error) {
	defer d.stage("decide")(&err)
	if err := d.judge(ctx); err != nil {
		return err
	}
	if d.verdict.Decision == tongs.Blocked {
		return d.refuse(tongs.Errorf(tongs.CodeBlocked, "%s", d.verdict.Reason).With("rule", d.verdict.By))
	}
	return nil
}

// judge sets the verdict about the effects.
func (d *decision) judge(ctx context.Context) error {
	in := d.input()
	in.Effects, in.Key = d.effects, d.grantKey()
	in.Default, in.Say, in.Unplanned = d.plan.Default, d.plan.Say, d.unplanned
	if slices.ContainsFunc(d.needed, func(e tongs.Effect) bool { return e.Kind == tongs.EffectNetwork }) {
		in.Default, in.Say = unlessFree(in.Default), unlessFree(in.Say) // what made the call free did not know of hosts
	}
	in.Reviewed = d.supply.reviewed(d.spec.Source)
	d.basis, d.rules = []policy.Basis{d.based(in)}, nil
	if reason := d.caller.outside(d.effects); reason != "" && !d.needsNoPermission() {
		d.verdict = policy.Verdict{Decision: tongs.Blocked, By: "zones of the caller", Reason: reason}
		d.basis[0].Outside = true
		return nil
	}
	d.verdict = policy.Decide(in)
	if d.markOwn(ctx, d.verdict, d.effects) {
		d.verdict = policy.Decide(in)
	}
	defer func() { d.tellNotUndoable(&d.verdict, d.effects) }()
	defer d.mustCopy(ctx)
	defer func() { d.rules = d.verdict.RuleIDs() }()
	if d.verdict.Decision != tongs.Ask || !d.verdict.Rememberable {
		return nil // a grant answers only what is asked and may be remembered: most calls need not look for one
	}
	var err error
	if in.Grants, err = d.engine.opt.Grants.Find(ctx, in.Key); err != nil {
		return fmt.Errorf("remembered approvals could not be read: %w", err)
	}
	if len(in.Grants) > 0 {
		d.verdict = policy.Decide(in)
	}
	return nil
}

// bound returns the effects as a permit has them, with conditions: a read that only the sandbox makes harmless stays bound to
// it, and a change that is free since it can be undone is made only if it still can. What a person, another rule or the mode
// allowed is free of both.
func (d *decision) bound() []tongs.Effect {
	if !slices.ContainsFunc(d.effects, func(e tongs.Effect) bool { return e.Confined || e.Undoable }) {
		return d.effects
	}
	effects := slices.Clone(d.effects)
	for i := range effects {
		e := &effects[i]
		if i >= len(d.verdict.Effects) {
			continue
		}
		by := d.verdict.Effects[i]
		if e.Confined && !d.deferred {
			e.Confined = by.Decision == tongs.PreApproved && by.Step == policy.StepDefault && by.Rule == nil
		}
		e.Undoable = e.Undoable && byUndoable(by) && !slices.ContainsFunc(d.approved, e.Same)
	}
	return effects
}

// based is what the decision about the input rests on.
func (d *decision) based(in policy.Input) policy.Basis {
	b := in.Basis()
	b.Contained, b.Defers = d.plan.Contained && !d.direct, d.containable()
	return b
}

// refuse records the decision before the refusal is returned.
func (d *decision) refuse(refusal error) error {
	if err := d.intent(d.effects); err != nil {
		return err
	}
	return refusal
}

// intent records what was decided. What cannot be recorded does not run.
func (d *decision) intent(effects []tongs.Effect) error {
	basis, err := json.Marshal(d.basis)
	if err != nil {
		return tongs.Errorf(tongs.CodeInternal, "the call was not run, since the decision could not be logged: %w", err)
	}
	err = d.engine.opt.Audit.Intent(d.always, d.call.ID, &audit.Intent{
		Tool: d.spec.Name, Via: d.viaName(), Source: d.spec.Source, Repaired: d.repaired, Effects: effects,
		Decision: d.verdict.Decision, By: d.verdict.By, Question: d.question, Answered: d.answered,
		Step: string(d.verdict.Step), Rules: d.rules, Copy: d.deferred || d.onCopy, Basis: basis, Args: d.ranWith(),
	})
	if err != nil {
		return tongs.Errorf(tongs.CodeInternal, "the call was not run, since the audit log could not be written: %w", err)
	}
	return nil
}
