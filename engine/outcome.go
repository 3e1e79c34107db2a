package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/approval"
	"github.com/tongs-ai/tongs/policy"
)

// maxShown is how many changes a question, and the row of the call, list one by one.
const maxShown = 500

var _ tongs.Judging = (*grant)(nil)

// defers reports whether the call runs on a copy before it is decided: nobody said anything about what it would do, all
// of that can be taken back, and nobody gave it more than a call begins with.
func (w *walk) defers(ctx context.Context) bool {
	return w.plan.Contained && w.verdict.Deferrable && len(w.needed) == 0 && len(w.sent) == 0 && len(w.approved) == 0 &&
		!slices.ContainsFunc(w.effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectNetwork }) &&
		w.engine.opt.Outcomes(ctx)
}

// rehearsable refuses a dry run of what cannot be run on a copy.
func (w *walk) rehearsable(ctx context.Context) error {
	if !w.plan.Contained {
		return tongs.Errorf(tongs.CodeInvalidArgs,
			"%s cannot be run dry, since it does more than run one program to its end; explain says what it would do", w.spec.Name)
	}
	if !w.engine.opt.Outcomes(ctx) {
		return tongs.Errorf(tongs.CodeSandboxUnavailable,
			"%s cannot be run dry, since programs cannot be run on a copy of the files here; 'tongs doctor' says why", w.spec.Name)
	}
	return nil
}

// Deferred implements tongs.Judging.
func (g *grant) Deferred() bool { return g.walk.deferred || g.walk.call.DryRun }

// Judge implements tongs.Judging.
func (g *grant) Judge(ctx context.Context, o *tongs.Outcome) (keep []tongs.Change, err error) {
	err = g.asking(ctx, func(ctx context.Context) error {
		keep, err = g.walk.settle(ctx, o)
		return err
	})
	return keep, err
}

// settle decides what a program did to a copy, and returns what of it may hold.
func (w *walk) settle(ctx context.Context, o *tongs.Outcome) (keep []tongs.Change, err error) {
	if w.call.DryRun || len(o.Changes) == 0 {
		return nil, nil
	}
	verdict, plan, question := w.verdict, w.plan, w.question
	defer func() { w.verdict, w.plan, w.question = verdict, plan, question }()
	effects, err := w.check(changed(o.Changes))
	if err != nil {
		return nil, err
	}
	shown := effects[:min(len(effects), maxShown)]
	open, err := w.judgeChanges(ctx, o.Changes, effects)
	switch {
	case err != nil:
		return nil, w.refuse(shown, err)
	case len(open) == 0:
		return o.Changes, w.intent(shown)
	}
	w.plan, w.verdict.Rememberable = &tongs.Plan{Preview: o.Preview}, false
	answer, err := w.answer(ctx, w.newOutcomeQuestion(o, effects, open))
	if err != nil {
		return nil, w.refuse(shown, err)
	}
	w.answered = strings.TrimSuffix(answer.Channel+":"+answer.By, ":")
	if !answer.Approved {
		return nil, w.refuse(shown, dropped(denied(answer)))
	}
	return kept(o.Changes, answer.Keep), w.intent(shown)
}

// changed are the effects of changes, each in the state that the copy is in.
func changed(changes []tongs.Change) []tongs.Effect {
	effects := make([]tongs.Effect, len(changes))
	for i, c := range changes {
		e := tongs.Effect{Kind: tongs.EffectWrite, Path: c.Path, Version: c.Version, Why: string(c.Kind) + " by the program"}
		if c.Kind == tongs.Deleted {
			e.Kind, e.NoGrant = tongs.EffectDelete, true
		}
		effects[i] = e
	}
	return effects
}

// fileTool is the tool whose rules decide a change.
func fileTool(c tongs.Change) (name string, free bool) {
	switch {
	case c.Kind == tongs.Deleted:
		return "delete_file", false
	case c.Kind == tongs.Modified:
		return "edit", false
	default: // as with write_file, what is new is free; a link is not what that would make
		return "write_file", c.Type == tongs.FileRegular || c.Type == tongs.FileDirectory
	}
}

// judgeChanges decides each change as if the tool for files had made it, and returns those that must be asked about. The
// verdict of the walk becomes that of the strictest.
func (w *walk) judgeChanges(ctx context.Context, changes []tongs.Change, effects []tongs.Effect) (open []tongs.Effect, err error) {
	if reason := w.caller.outside(effects); reason != "" {
		return nil, tongs.Errorf(tongs.CodeBlocked, "%s", reason)
	}
	type class struct {
		name string
		free bool
	}
	groups := map[class][]tongs.Effect{}
	for i, c := range changes {
		name, free := fileTool(c)
		groups[class{name, free}] = append(groups[class{name, free}], effects[i])
	}
	w.verdict = policy.Verdict{Decision: tongs.PreApproved, By: "what it changed is free"}
	for _, c := range []class{{"delete_file", false}, {"edit", false}, {"write_file", false}, {"write_file", true}} {
		group := groups[c]
		if len(group) == 0 {
			continue
		}
		v, err := w.judgeAs(ctx, c.name, c.free, group)
		if err != nil {
			return nil, err
		}
		if v.Decision > w.verdict.Decision {
			w.verdict = v
		}
		open = append(open, v.Asked(group)...)
	}
	if w.verdict.Decision == tongs.Blocked {
		return nil, dropped(tongs.Errorf(tongs.CodeBlocked, "%s", w.verdict.Reason).With("rule", w.verdict.By))
	}
	return open, nil
}

// judgeAs decides effects by the rules of the named tool.
func (w *walk) judgeAs(ctx context.Context, name string, free bool, effects []tongs.Effect) (policy.Verdict, error) {
	spec := &tongs.Spec{Name: name, Toolset: "filesystem"}
	if entry, ok := w.engine.opt.Registry.Set().Lookup(name); ok && entry.Tool.Spec().Source.BuiltIn() {
		spec = entry.Tool.Spec()
	}
	in := w.input()
	in.Spec, in.Names, in.Via, in.Shadowed, in.Effects = spec, spec.Aliases, nil, nil, effects
	decision := tongs.Ask
	if free {
		decision = tongs.PreApproved
	}
	in.Default = &decision
	in.Key = w.grantKey()
	in.Key.Tool, in.Key.Source = spec.Name, spec.Source
	var err error
	if in.Grants, err = w.engine.opt.Grants.Find(ctx, in.Key); err != nil {
		return policy.Verdict{}, fmt.Errorf("remembered approvals could not be read: %w", err)
	}
	return policy.Decide(in), nil
}

// newOutcomeQuestion asks which of the changes may hold.
func (w *walk) newOutcomeQuestion(o *tongs.Outcome, effects, open []tongs.Effect) approval.Question {
	q := w.newQuestion(effects, open)
	q.Effects = effects[:min(len(effects), maxShown)]
	q.Changes, q.ChangeCount = o.Changes[:min(len(o.Changes), maxShown)], len(o.Changes)
	q.Message = w.spec.DisplayName() + " ran on a copy, where it " + summary(o.Changes)
	q.Notes = append(q.Notes, o.Notes...)
	return q
}

// summary counts changes: "added 2 files and deleted 1".
func summary(changes []tongs.Change) string {
	count := map[tongs.ChangeKind]int{}
	for _, c := range changes {
		count[c.Kind]++
	}
	var parts []string
	for _, kind := range []tongs.ChangeKind{tongs.Deleted, tongs.Modified, tongs.Added} {
		if n := count[kind]; n == 1 {
			parts = append(parts, string(kind)+" 1 path")
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%s %d paths", kind, n))
		}
	}
	return strings.Join(parts, ", ")
}

// kept are the changes that a person keeps.
func kept(changes []tongs.Change, keep []string) []tongs.Change {
	if keep == nil {
		return changes
	}
	var list []tongs.Change
	for _, c := range changes {
		if slices.ContainsFunc(keep, func(path string) bool { return approval.Keeps(path, c) }) {
			list = append(list, c)
		}
	}
	return list
}

// dropped says that nothing of an outcome holds.
func dropped(err error) error {
	if e, ok := err.(*tongs.Error); ok {
		e.Message += "; nothing that it changed holds"
	}
	return err
}
