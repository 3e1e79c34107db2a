package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

// byProgram follows the kind of a change where an effect says why it is there.
const byProgram = " by the program"

// maxShown is how many changes a question, and the row of the call, list one by one.
const maxShown = 500

// defers reports whether the call runs on a copy before it is decided: nobody said anything about what it would do, all
// of that can be taken back, and nobody gave it more than a call begins with.
func (d *decision) defers(ctx context.Context) bool {
	return d.verdict.Deferrable && d.containable() && d.engine.opt.Outcomes(ctx)
}

// containable reports whether the call itself could run on a copy before it is decided. Hosts are decided before it runs, and
// keep it from nothing.
func (d *decision) containable() bool {
	other := func(e tongs.Effect) bool { return e.Kind != tongs.EffectNetwork }
	return !d.engine.opt.Direct && d.plan.Contained && !slices.ContainsFunc(d.needed, other) && len(d.sent) == 0 &&
		!slices.ContainsFunc(d.approved, other) &&
		!slices.ContainsFunc(d.effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectNetwork && (e.Sends || e.Unknown) })
}

// contacts returns the hosts that somebody must still be asked about, where the rest of the call can be decided by what it does
// on a copy. Then the question, and what is remembered of the answer, is about these hosts only. Ok is false where the call
// cannot be decided so.
func (d *decision) contacts(ctx context.Context) (open []tongs.Effect, ok bool, err error) {
	if !d.verdict.Contact || !d.containable() || !d.engine.opt.Outcomes(ctx) {
		return nil, false, nil
	}
	hosts := *d
	hosts.effects = slices.DeleteFunc(slices.Clone(d.effects), func(e tongs.Effect) bool { return e.Kind != tongs.EffectNetwork })
	if err := hosts.judge(ctx); err != nil {
		return nil, false, err
	}
	d.asksFor(&hosts.verdict)
	return hosts.unanswered(), true, nil
}

// writesWithoutRule reports whether the call is free, would write, and no rule of anybody frees what it runs: it only writes what a
// tool for files may write as well. On a copy that can be undone as if such a tool had done it.
func (d *decision) writesWithoutRule() bool {
	writes := false
	for i := range min(len(d.effects), len(d.verdict.Effects)) {
		switch rule := d.verdict.Effects[i].Rule; d.effects[i].Kind {
		case tongs.EffectWrite, tongs.EffectDelete:
			writes = true
		case tongs.EffectExecute:
			if rule == nil || !rule.Fallback {
				return false
			}
		}
	}
	return writes && d.verdict.Decision == tongs.PreApproved
}

// mustCopy applies a rule that has a program run on a copy. If it cannot, what the rule pre-approved is asked about, except
// in mode all.
func (d *decision) mustCopy(ctx context.Context) {
	v := &d.verdict
	if !v.Outcome {
		d.forUndo = d.plan.Records && v.Decision == tongs.PreApproved && !d.writesWithoutRule() && d.containable() && d.engine.opt.Outcomes(ctx)
		d.onCopy = d.forUndo || d.writesWithoutRule() && d.containable() && d.engine.opt.Outcomes(ctx)
		return
	}
	d.forUndo = false
	if d.onCopy = d.plan.Contained && !d.direct && d.engine.opt.Outcomes(ctx); d.onCopy || d.engine.opt.Mode == tongs.ModeAll {
		return
	}
	for i := range min(len(d.effects), len(v.Effects)) {
		if j := &v.Effects[i]; d.effects[i].Kind == tongs.EffectExecute && j.Decision == tongs.PreApproved {
			j.Decision, j.By = tongs.Ask, j.By+"; not without a copy"
		}
	}
	if v.Decision == tongs.PreApproved {
		v.Decision, v.By, v.Rememberable = tongs.Ask, v.By+"; not without a copy", false
		v.Reason = "A rule lets it run on a copy of the files, and it cannot be run so: " + d.whyNoCopy() + "."
	}
}

func (d *decision) whyNoCopy() string {
	if !d.plan.Contained {
		return "it goes on in the background, or does more than run one program"
	}
	return "this machine or the files do not allow it; 'tongs doctor' says more"
}

// rehearsable refuses a dry run of what cannot be run on a copy.
func (d *decision) rehearsable(ctx context.Context) error {
	if !d.plan.Contained {
		return tongs.Errorf(tongs.CodeInvalidArgs,
			"%s cannot be run dry: only a call can that runs one program to its end, and does nothing else. 'tongs explain' says what it would do",
			d.spec.Name)
	}
	if !d.engine.opt.Outcomes(ctx) {
		return tongs.Errorf(tongs.CodeSandboxUnavailable,
			"%s cannot be run dry, since programs cannot be run on a copy of the files here; 'tongs doctor' says why", d.spec.Name)
	}
	return nil
}

// class is how a change is decided: by the rules of the tool for files that would have made it, and where they say nothing,
// freely or not. Over says that it comes to where something else has to go first.
type class struct {
	kind       tongs.ChangeKind
	free, over bool
	// repository says that git recorded its work.
	repository bool
}

var classes = []class{
	{kind: tongs.Deleted},
	{kind: tongs.Modified},
	{kind: tongs.Added},
	{kind: tongs.Added, free: true},
	{kind: tongs.Added, over: true},
	{kind: tongs.Added, free: true, over: true},
	{kind: tongs.Modified, repository: true},
}

// tool is the one whose rules decide changes of the class.
func (c class) tool() tongs.Spec {
	if c.repository {
		return tongs.RepositoryTool()
	}
	return c.kind.FileTool()
}

// changed are the effects of changes, each in the state that the copy is in, by how they are decided. A new file is free, as
// one is that a tool for files makes; a link is not. What became something else was deleted and made.
func changed(changes []tongs.Change) map[class][]tongs.Effect {
	groups := map[class][]tongs.Effect{}
	replaced := map[tongs.Path]bool{}
	for _, c := range changes {
		if c.Kind == tongs.Modified && c.Was != "" && (c.Was != c.Type || c.Was == tongs.FileSymlink) {
			replaced[c.Path] = true
		}
	}
	for _, c := range changes {
		add := func(class class, kind tongs.EffectKind, p tongs.Path, v tongs.Version) {
			groups[class] = append(groups[class], tongs.Effect{
				Kind: kind, Path: p, Version: v, NoGrant: kind == tongs.EffectDelete, MustAsk: p == c.Path && c.Protected != "",
				Why: string(c.Kind) + byProgram,
			})
		}
		switch {
		case c.Repository:
			of := class{kind: tongs.Modified, repository: true}
			groups[of] = append(groups[of], tongs.Effect{
				Kind: tongs.EffectWrite, Path: c.Path, Version: c.Version, Repository: true, Why: strings.Join(c.Does, "; "),
			})
		case c.Kind == tongs.Deleted:
			add(classes[0], tongs.EffectDelete, c.Path, c.Version)
		case c.Kind == tongs.Added || c.Kind == tongs.Renamed:
			plain := c.Type == tongs.FileRegular || c.Type == tongs.FileDirectory
			add(class{kind: tongs.Added, free: plain, over: below(replaced, c.Path)}, tongs.EffectWrite, c.Path, c.Version)
			if c.From != nil {
				add(classes[0], tongs.EffectDelete, *c.From, "")
			}
		case replaced[c.Path]:
			add(classes[0], tongs.EffectDelete, c.Path, c.Version)
			add(class{kind: tongs.Added, over: true}, tongs.EffectWrite, c.Path, c.Version)
		default:
			add(classes[1], tongs.EffectWrite, c.Path, c.Version)
		}
	}
	return groups
}

// below reports whether one of the paths is above p.
func below(paths map[tongs.Path]bool, p tongs.Path) bool {
	for len(paths) > 0 && p.Rel != "." {
		if p = p.Dir(); paths[p] {
			return true
		}
	}
	return false
}

// judgeChanges decides each change as if the tool for files had made it. The verdict of the walk becomes that of the
// strictest; shown are some of the effects, for the row.
func (d *decision) judgeChanges(ctx context.Context, changes []tongs.Change) (asked bool, shown []tongs.Effect, err error) {
	d.verdict, d.basis, d.rules = policy.Verdict{Decision: tongs.PreApproved, By: "what it changed is free"}, nil, nil
	d.grounds = nil
	groups := changed(changes)
	d.parts = partsOf(changes)
	if err := d.checkChanges(ctx, groups); err != nil {
		return false, nil, dropped(err)
	}
	relied := map[tongs.Path]bool{}
	d.recorded = nil
	others := false
	for _, c := range classes {
		group := groups[c]
		if len(group) == 0 {
			continue
		}
		protect(changes, group)
		v, basis, err := d.judgeAs(ctx, c, group)
		d.freeForUndo(&v)
		before := len(shown)
		shown = append(shown, group[:min(len(group), max(maxShown-len(shown), 0))]...)
		if reason := d.caller.outside(group); reason != "" {
			return asked, shown, dropped(tongs.Errorf(tongs.CodeBlocked, "%s", reason))
		}
		if err != nil {
			return asked, shown, err
		}
		d.grounds = append(d.grounds, ground{basis, group})
		basis.Effects, basis.Changed, basis.Cut = len(shown)-before, true, len(shown)-before < len(group)
		d.basis, d.rules = append(d.basis, basis), append(d.rules, v.RuleIDs()...)
		if harder := v.Step == policy.StepMustAsk && d.verdict.Step != policy.StepMustAsk; v.Decision > d.verdict.Decision ||
			v.Decision == d.verdict.Decision && harder {
			d.verdict = v
		}
		asked = asked || v.Decision == tongs.Ask
		if others = others || v.Decision == tongs.Ask && !c.repository; c.repository && v.Decision == tongs.Ask && v.Rememberable {
			d.recorded = &recorded{group, v.RulesDigest}
		}
		for i, e := range group {
			relied[e.Path] = relied[e.Path] || e.Undoable && byUndoable(v.Effects[i])
		}
	}
	if ruled, err := d.judgeParts(ctx, changes); err != nil {
		return asked, shown, err
	} else if ruled {
		asked, others = true, true
	}
	if others {
		d.recorded = nil
	}
	for i := range changes { // where somebody is asked, they decide about what cannot be undone, too
		c := &changes[i]
		c.Undoable = !asked && (relied[c.Path] || c.From != nil && relied[*c.From])
	}
	if d.verdict.Decision == tongs.Blocked {
		return asked, shown, dropped(tongs.Errorf(tongs.CodeBlocked, "%s", d.verdict.Reason).With("rule", d.verdict.By))
	}
	return asked, shown, nil
}

// checkChanges makes the effects of changes complete, all of them before any is judged: what is undoable depends on how much
// the call changes.
func (d *decision) checkChanges(ctx context.Context, groups map[class][]tongs.Effect) error {
	var all [][]tongs.Effect
	for _, c := range classes {
		if len(groups[c]) == 0 {
			continue
		}
		check := d.check
		switch {
		case c.over:
			check = d.checkNew
		case c.repository:
			check = d.checkRepository
		}
		group, err := check(groups[c])
		if err != nil {
			return err
		}
		groups[c], all = group, append(all, group)
	}
	d.journalled = true
	d.setUndoable(ctx, all...)
	return nil
}

// protect says at each change what is special about its path.
func protect(changes []tongs.Change, checked []tongs.Effect) {
	special := map[tongs.Path]string{}
	for _, e := range checked {
		if e.ByName() {
			_, why, _ := strings.Cut(e.Why, byProgram+"; ")
			special[e.Path] = why
		}
	}
	if len(special) == 0 {
		return
	}
	for i := range changes {
		c := &changes[i]
		if why := special[c.Path]; why != "" {
			c.Protected = why
		} else if c.From != nil && special[*c.From] != "" {
			c.Protected = special[*c.From]
		}
	}
}

// judgeAs decides effects by the rules of a tool.
func (d *decision) judgeAs(ctx context.Context, c class, effects []tongs.Effect) (policy.Verdict, policy.Basis, error) {
	w := d.walk
	own := c.tool()
	spec := &own
	if entry, ok := w.engine.supplies.Set().Lookup(own.Name); ok && entry.Kind == tongs.SourceBuiltin {
		spec = entry.Tool.Spec()
	}
	in := w.input()
	in.Spec, in.Names, in.Via, in.Shadowed, in.Effects = spec, spec.Aliases, nil, nil, effects
	decision := tongs.Ask
	if c.free {
		decision = tongs.PreApproved
	}
	in.Default = &decision
	in.Key = w.grantKey()
	in.Key.Tool, in.Key.Source = spec.Name, spec.Source
	var err error
	if in.Grants, err = w.engine.opt.Grants.Find(ctx, in.Key); err != nil {
		return policy.Verdict{}, policy.Basis{}, fmt.Errorf("remembered approvals could not be read: %w", err)
	}
	v := policy.Decide(in)
	if d.markOwn(ctx, v, effects) {
		v = policy.Decide(in)
	}
	d.tellNotUndoable(&v, effects)
	return v, in.Basis(), nil
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

// dropped says that no change was kept.
func dropped(err error) error {
	if e, ok := err.(*tongs.Error); ok {
		e.Message = strings.TrimSuffix(e.Message, ".") + "; none of its changes were kept"
	}
	return err
}

// exactly says how far a late approval of changes reaches.
func exactly(err error) error {
	if e, ok := err.(*tongs.Error); ok {
		e.Message = strings.TrimSuffix(e.Message, ".") + ". An approval is for exactly these changes: should it do anything else the next " +
			"time, it asks again"
	}
	return err
}
