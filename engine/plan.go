package engine

import (
	"context"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// makePlan asks the tool what the call would do, and checks that: paths must be resolved ones, and what is special
// about them is marked here, so that no tool can forget it.
func (w *walk) makePlan(ctx context.Context) (err error) {
	defer w.stage("plan")(&err)
	d := &w.decision
	d.plan, d.onCopy = &tongs.Plan{}, false
	planner, plans := w.tool.(tongs.Planner)
	d.unplanned = !plans
	if plans {
		if d.plan, err = w.callPlan(ctx, planner); err != nil {
			return err
		}
	}
	effects := slices.Clip(d.plan.Effects)
	if len(effects) == 0 {
		effects = policy.Unplanned(w.spec)
	}
	if !w.spec.Source.BuiltIn() && !slices.ContainsFunc(effects, w.runsElsewhere) {
		effects = append(effects, tongs.Effect{Kind: tongs.EffectExecute, Unknown: true, Why: "runs outside this program"})
	}
	if d.effects, err = w.check(merge(effects, d.needed)); err != nil {
		return err
	}
	d.markUndoable(ctx)
	if !w.call.DryRun {
		return nil
	}
	return d.rehearsable(ctx)
}

// needsNoPermission reports whether the tool is a built-in one without any permission. A caller with zones can call it, and it is
// given no files then.
func (w *walk) needsNoPermission() bool {
	return w.spec.Source.BuiltIn() && w.spec.Needs|w.spec.Optional == 0
}

// runsElsewhere reports whether an effect says where a tool that is not built in runs: the program that it starts or, for
// one of an MCP server, the host that it is called at.
func (w *walk) runsElsewhere(e tongs.Effect) bool {
	return e.Kind == tongs.EffectExecute ||
		w.spec.Source.Kind == tongs.SourceMCP && e.Kind == tongs.EffectNetwork && !e.Unknown && e.Host != ""
}

func (w *walk) callPlan(ctx context.Context, planner tongs.Planner) (*tongs.Plan, error) {
	view, call := w.view(), w.toolCall()
	plan, err := await(ctx, w.engine.opt.Grace, func() (plan *tongs.Plan, err error) {
		defer w.guard("planning", &err)
		return planner.Plan(ctx, view, call)
	})
	if err == nil && plan == nil {
		plan = &tongs.Plan{}
	}
	return plan, err
}

// check refuses effects that the tool may not have and marks those that are special.
func (w *walk) check(effects []tongs.Effect) ([]tongs.Effect, error) {
	if !w.spec.Source.BuiltIn() && slices.ContainsFunc(effects, func(e tongs.Effect) bool { return e.Repository }) {
		effects = slices.Clone(effects)
		for i := range effects {
			effects[i].Repository = false
		}
	}
	return w.checkRepository(effects)
}

// checkRepository is check for what programs did to git's own records, whatever tool ran them.
func (w *walk) checkRepository(effects []tongs.Effect) ([]tongs.Effect, error) {
	if err := w.permitted(effects); err != nil {
		return nil, err
	}
	if w.engine.opt.Workspace == nil {
		for _, e := range effects {
			if e.Kind.OnPath() && !e.Unknown {
				return nil, tongs.Errorf(tongs.CodeConfigError, "%s needs a workspace, and there is none", w.spec.Name)
			}
		}
		return unmark(slices.Clone(effects)), nil
	}
	checked, err := w.engine.opt.Workspace.Check(effects)
	return unmark(checked), err
}

// checkNew is check for paths where what is there now goes first.
func (w *walk) checkNew(effects []tongs.Effect) ([]tongs.Effect, error) {
	if w.engine.opt.Workspace == nil {
		return w.check(effects)
	}
	if err := w.permitted(effects); err != nil {
		return nil, err
	}
	checked, err := w.engine.opt.Workspace.CheckNew(effects)
	return unmark(checked), err
}

// unmark removes the marks that only the engine sets.
func unmark(effects []tongs.Effect) []tongs.Effect {
	for i := range effects {
		effects[i].Undoable, effects[i].Own = false, false
	}
	return effects
}

// permitted refuses effects that the tool has no permission for.
func (w *walk) permitted(effects []tongs.Effect) error {
	allowed := w.permissions()
	for _, e := range effects {
		if !allowed.Has(e.Kind.Permission()) && !(e.Unknown && w.spec.Needs == 0) {
			return tongs.Errorf(tongs.CodePermissionDenied, "%s may not %s: it has the permissions %q", w.spec.Name, e, allowed)
		}
	}
	return nil
}

// permissions are those of the tool that are granted here.
func (w *walk) permissions() tongs.Permissions {
	return (w.spec.Needs | w.spec.Optional) & w.caller.granted()
}

// merge adds effects that a running tool met. One that it planned as well, in a state that has since changed, is the
// one that counts.
func merge(planned, met []tongs.Effect) []tongs.Effect {
	if len(met) > 0 {
		planned = slices.Clone(planned)
	}
	for _, e := range met {
		i := slices.IndexFunc(planned, func(p tongs.Effect) bool { return coversMet(p, e) })
		switch {
		case i < 0:
			planned = append(planned, e)
		case e.MustAsk && !planned[i].MustAsk:
			planned[i].MustAsk = true // its path may not tell
			if planned[i].Why == "" {
				planned[i].Why = e.Why
			}
		}
	}
	return planned
}

// coversMet reports whether a planned effect stands for one that a running tool met. What is special about a path is
// marked later, for both; a request that carries data out, or leads to a private address, is another effect than one that
// does not.
func coversMet(planned, met tongs.Effect) bool {
	return planned.SameTarget(met) && (met.Kind.OnPath() || planned.Sends == met.Sends && planned.MustAsk == met.MustAsk && planned.Private == met.Private)
}
