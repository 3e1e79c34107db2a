package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// markUndoable sets which effects of the plan can be undone, and remembers why the others cannot. Only built-in tools make
// their changes through the journal, and programs only where they run on a copy.
func (d *decision) markUndoable(ctx context.Context) {
	d.notUndoable, d.journalled = nil, false
	if !d.spec.Source.BuiltIn() {
		return
	}
	runs := (d.spec.Needs | d.spec.Optional).Has(tongs.Execute) ||
		slices.ContainsFunc(d.effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute })
	if runs && !(d.plan.Contained && !d.direct && d.engine.opt.Outcomes(ctx)) {
		d.notUndoable = map[tongs.Path]string{}
		for _, e := range d.effects {
			d.notUndoable[e.Path] = "the command cannot be run on a copy of the files: " + d.whyNoCopy()
		}
		return
	}
	d.journalled = true
	d.setUndoable(ctx, d.effects)
}

// setUndoable sets which of the effects, that go through the journal, can be undone.
func (d *decision) setUndoable(ctx context.Context, groups ...[]tongs.Effect) {
	d.notUndoable = nil
	if d.engine.opt.Workspace == nil {
		return
	}
	var at []*tongs.Effect
	var changes []tongs.Effect
	for _, effects := range groups {
		for i := range effects {
			e := &effects[i]
			if !d.mayUndo(*e) {
				continue
			}
			e.Undoable = true
			all := []tongs.Effect{*e}
			if e.Repository && len(d.parts[e.Path]) > 0 {
				all = d.parts[e.Path]
			}
			for _, part := range all {
				at, changes = append(at, e), append(changes, part)
			}
		}
	}
	if len(changes) == 0 {
		return
	}
	for i, why := range d.engine.opt.Workspace.Undoable(ctx, changes) {
		if why == "" {
			continue
		}
		if d.notUndoable == nil {
			d.notUndoable = map[tongs.Path]string{}
		}
		at[i].Undoable, d.notUndoable[at[i].Path] = false, why
	}
}

// mayUndo reports whether an effect is of a kind that the journal keeps, and did not turn out to be one that it cannot keep.
func (d *decision) mayUndo(e tongs.Effect) bool {
	return (e.Kind == tongs.EffectWrite || e.Kind == tongs.EffectDelete) && !e.Unknown && !e.ByName() &&
		!slices.ContainsFunc(d.unkept, e.SameTarget)
}

// markOwn sets which of the effects that a verdict asks for are about files that the session made, and reports whether there
// are any. It is worth a look only where a rule frees them.
func (d *decision) markOwn(ctx context.Context, v policy.Verdict, effects []tongs.Effect) (some bool) {
	if d.engine.opt.Workspace == nil || !d.journalled || v.Decision != tongs.Ask || !d.freesUndoable() {
		return false
	}
	for i := range effects {
		e := &effects[i]
		if v.Effects[i].Decision == tongs.Ask && !e.Undoable && d.mayUndo(*e) && d.engine.opt.Workspace.Own(ctx, d.call.Session, e.Path) {
			e.Own, some = true, true
		}
	}
	return some
}

// freesUndoable reports whether a rule pre-approves what can be undone.
func (d *decision) freesUndoable() bool {
	return slices.ContainsFunc(d.engine.opt.Rules(), func(r tongs.Rule) bool {
		return r.Undoable && r.Decision == tongs.PreApproved && !r.Untrusted
	})
}

// byUndoable reports whether nothing but that it can be undone, or is the session's own, freed an effect.
func byUndoable(j policy.Judgement) bool {
	return j.Decision == tongs.PreApproved && j.Rule != nil && j.Rule.Undoable
}

// tellNotUndoable tells a person, where a rule frees what can be undone, why what a verdict asks for does not count as that.
func (d *decision) tellNotUndoable(v *policy.Verdict, effects []tongs.Effect) {
	if v.Decision != tongs.Ask || !d.freesUndoable() {
		return
	}
	for i, e := range effects {
		if why := d.notUndoable[e.Path]; why != "" && !e.Undoable && v.Effects[i].Decision == tongs.Ask {
			v.Reason = strings.TrimSpace(v.Reason + " It does not count as undoable: " + why + ".")
			return
		}
	}
}
