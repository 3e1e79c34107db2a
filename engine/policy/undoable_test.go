package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// undoable is the rule of approval.undoable.
func undoable(d tongs.Decision) tongs.Rule {
	return tongs.Rule{
		Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), Undoable: true, Decision: d,
		Origin: "config.yaml:2",
	}
}

// kept is an effect that the journal can take back.
func kept(e tongs.Effect) tongs.Effect {
	e.Undoable = true
	return e
}

func TestUndoableChangesAreFree(t *testing.T) {
	free := undoable(tongs.PreApproved)
	for _, e := range effects(kept(write("a.go")), kept(remove("a.go"))) {
		v := want(t, input(edit(), effects(e), free), tongs.PreApproved, policy.StepRule)
		if !strings.Contains(v.Reason, "since it can be undone") || !strings.Contains(v.By, "undoable write,delete: preApproved (user, config.yaml:2)") {
			t.Errorf("by %q, reason %q", v.By, v.Reason)
		}
		want(t, input(edit(), effects(e)), tongs.Ask, policy.StepDefault)
		want(t, input(edit(), effects(e), free, fallback("filesystem", tongs.Ask)), tongs.PreApproved, policy.StepRule)
	}
	own := write("a.go")
	own.Own = true
	if v := want(t, input(edit(), effects(own), free), tongs.PreApproved, policy.StepRule); !strings.Contains(v.Reason, "this session made the file") {
		t.Errorf("reason %q", v.Reason)
	}
}

// What is not undoable is decided as if the rule were not there.
func TestOnlyUndoableChangesAreFree(t *testing.T) {
	free := undoable(tongs.PreApproved)
	opaque := unknown(tongs.EffectWrite)
	opaque.Undoable = true
	for _, e := range effects(write("a.go"), remove("a.go"), opaque, kept(read("a.go")), kept(run("rm a.go")), kept(get("example.com"))) {
		want(t, input(edit(), effects(e), free), tongs.Ask, policy.StepDefault)
	}
	want(t, input(edit(), effects(kept(write("a.go")), remove("b.go")), free), tongs.Ask, policy.StepDefault)
	for _, kind := range []tongs.SourceKind{tongs.SourceForge, tongs.SourceMCP} {
		want(t, input(outside(kind, "edit", tongs.Ask), effects(kept(write("a.go"))), free), tongs.Ask, policy.StepDefault)
	}
}

func TestStricterWordsGoBeforeUndoable(t *testing.T) {
	free := undoable(tongs.PreApproved)
	path := tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "a.go", Decision: tongs.Ask}
	e := kept(write("a.go"))
	for name, c := range map[string]struct {
		rule tongs.Rule
		want tongs.Decision
		step policy.Step
	}{
		"blocked tool":         {appliesToTool("edit", tongs.Blocked), tongs.Blocked, policy.StepBlocked},
		"blocked of workspace": {untrusted(appliesToTool("edit", tongs.Blocked)), tongs.Blocked, policy.StepBlocked},
		"blocked default":      {fallback("", tongs.Blocked), tongs.Blocked, policy.StepBlocked},
		"managed ask":          {at(tongs.LayerManaged, appliesToTool("edit", tongs.Ask)), tongs.Ask, policy.StepMustAsk},
		"managed undoable ask": {at(tongs.LayerManaged, undoable(tongs.Ask)), tongs.Ask, policy.StepMustAsk},
		"ask for the tool":     {appliesToTool("edit", tongs.Ask), tongs.Ask, policy.StepRule},
		"ask for the path":     {path, tongs.Ask, policy.StepRule},
		"ask of workspace":     {untrusted(undoable(tongs.Ask)), tongs.Ask, policy.StepRule},
	} {
		t.Run(name, func(t *testing.T) { want(t, input(edit(), effects(e), free, c.rule), c.want, c.step) })
	}
	in := input(edit(), effects(e), free)
	in.Mode = tongs.ModeNone
	want(t, in, tongs.Ask, policy.StepMode)
	protected, steers := e, e
	protected.MustAsk, steers.Steers = true, true
	want(t, input(edit(), effects(protected), free), tongs.Ask, policy.StepMustAsk)
	want(t, input(edit(), effects(steers), free), tongs.Ask, policy.StepSteers)
	want(t, input(edit(), effects(e), untrusted(free)), tongs.Ask, policy.StepDefault)
	// The rules of a caller further down loosen nothing, and can take it away.
	in = input(edit(), effects(e))
	in.Chain = append(in.Chain, []tongs.Rule{free})
	want(t, in, tongs.Ask, policy.StepDefault)
	in = input(edit(), effects(e), free)
	in.Chain = append(in.Chain, []tongs.Rule{undoable(tongs.Ask)})
	want(t, in, tongs.Ask, policy.StepRule)
}

// An ask about what can be undone is about what cannot, too: else the graver change would be the freer one.
func TestUndoableAskIsAboutEveryChange(t *testing.T) {
	rules := []tongs.Rule{appliesToTool("edit", tongs.PreApproved), undoable(tongs.Ask)}
	for _, e := range effects(kept(write("a.go")), write("a.go"), remove("a.go"), unknown(tongs.EffectWrite)) {
		want(t, input(edit(), effects(e), rules...), tongs.Ask, policy.StepRule)
	}
	want(t, input(edit(), effects(read("a.go")), rules...), tongs.PreApproved, policy.StepRule)
}

// A program is run on a copy where nothing else than that it can be undone frees what it would do.
func TestUndoableProgramsRunOnACopy(t *testing.T) {
	free, rm := undoable(tongs.PreApproved), command("rm", tongs.PreApproved)
	in := input(shell(), effects(run("rm a.go"), kept(remove("a.go"))), free, rm)
	if v := want(t, in, tongs.PreApproved, policy.StepRule); !v.Outcome {
		t.Error("a program that is free since it can be undone runs directly")
	}
	if v := want(t, input(shell(), effects(kept(write("a.go"))), free), tongs.PreApproved, policy.StepRule); !v.Outcome {
		t.Error("a redirection alone is written directly")
	}
	deletes := tongs.Rule{Layer: tongs.LayerUser, Toolset: "shell", Effects: tongs.Kinds(tongs.EffectDelete), Pattern: "*.go", Decision: tongs.PreApproved}
	if v := want(t, input(shell(), in.Effects, free, rm, deletes), tongs.PreApproved, policy.StepRule); v.Outcome {
		t.Error("a program that other rules free is run on a copy")
	}
	if v := want(t, input(edit(), effects(kept(write("a.go"))), free), tongs.PreApproved, policy.StepRule); v.Outcome {
		t.Error("no program, and it should run on a copy")
	}
	asked := input(shell(), effects(run("rm a.go"), kept(remove("a.go"))), free)
	if v := want(t, asked, tongs.Ask, policy.StepDefault); v.Outcome || !v.Deferrable {
		t.Errorf("outcome %v, deferrable %v", v.Outcome, v.Deferrable)
	}
	// A remembered approval of the program does not take the copy away.
	if v := want(t, granted(asked, grantFor(t, asked)), tongs.PreApproved, policy.StepGrant); !v.Outcome {
		t.Error("with a grant the program runs directly")
	}
}

func TestUndoableRulesAreValid(t *testing.T) {
	if err := policy.Validate(undoable(tongs.PreApproved)); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*tongs.Rule){
		func(r *tongs.Rule) { r.Effects = 0 },
		func(r *tongs.Rule) { r.Effects |= tongs.Kinds(tongs.EffectExecute) },
		func(r *tongs.Rule) { r.Effects = tongs.Kinds(tongs.EffectRead) },
		func(r *tongs.Rule) { r.Fallback = true },
	} {
		r := undoable(tongs.PreApproved)
		if change(&r); policy.Validate(r) == nil {
			t.Errorf("%s is valid", r)
		}
	}
	a, b := undoable(tongs.PreApproved), undoable(tongs.PreApproved)
	b.Undoable = false
	if policy.RuleID(a) == policy.RuleID(b) {
		t.Error("a rule about what can be undone has the ID of one about everything")
	}
}

// That something can be undone loosens only what such a rule covers, and never makes an ask of what was free.
func TestPropertyUndoable(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		bare := clone(in)
		for i := range bare.Effects {
			bare.Effects[i].Undoable, bare.Effects[i].Own = false, false
		}
		before, after := policy.Decide(bare), policy.Decide(in)
		if after.Decision > before.Decision {
			t.Errorf("undoable made %s (%s) of %s\n%+v", after.Decision, after.By, before.Decision, in)
		}
		freed := func(i int) bool {
			r, e := after.Effects[i].Rule, in.Effects[i]
			return r != nil && r.Undoable && !r.Untrusted && r.Decision == tongs.PreApproved && (e.Undoable || e.Own) && !e.MustAsk && in.Mode == tongs.ModeSafe
		}
		for i := range in.Effects {
			if after.Effects[i].Decision != before.Effects[i].Decision && !freed(i) {
				t.Errorf("effect %d became %s (%s) from %s\n%+v", i, after.Effects[i].Decision, after.Effects[i].By, before.Effects[i].Decision, in)
			}
		}
		runs := slices.ContainsFunc(in.Effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute })
		if before.Decision != tongs.PreApproved && after.Decision == tongs.PreApproved && runs && !after.Outcome {
			t.Errorf("free since it can be undone, and not on a copy\n%+v", in)
		}
	})
}
