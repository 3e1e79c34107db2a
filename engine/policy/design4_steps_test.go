package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// The tests of this file and of its neighbours are named after the rows of the design: section 4 (decide and ask) and
// section 9 (where the founding documents disagree).

func TestDesign4_EachEffectIsDecidedAndTheStrictestWins(t *testing.T) {
	rules := []tongs.Rule{command("git", tongs.PreApproved), command("rm", tongs.Blocked)}
	v := want(t, input(shell(), effects(run("git log"), run("make"), run("rm x")), rules...), tongs.Blocked, policy.StepBlocked)
	got := []tongs.Decision{v.Effects[0].Decision, v.Effects[1].Decision, v.Effects[2].Decision}
	if got[0] != tongs.PreApproved || got[1] != tongs.Ask || got[2] != tongs.Blocked {
		t.Errorf("judgements %v", got)
	}
	want(t, input(shell(), effects(run("git log"), run("make")), rules...), tongs.Ask, policy.StepDefault)
	want(t, input(shell(), effects(run("git log"), run("git status")), rules...), tongs.PreApproved, policy.StepRule)
}

func TestDesign4_ZeroDecisionIsAsk(t *testing.T) {
	want(t, policy.Input{}, tongs.Ask, policy.StepDefault)
	want(t, input(&tongs.Spec{Name: "x"}, nil), tongs.Ask, policy.StepDefault)
	for _, d := range []tongs.Decision{-2, -128} {
		want(t, input(tool("x", "", 0, d), nil), tongs.Ask, policy.StepDefault)
		want(t, input(tool("x", "", 0, tongs.PreApproved), nil, appliesToTool("x", d)), tongs.Ask, policy.StepRule)
	}
	want(t, input(tool("x", "", 0, 2), nil), tongs.Blocked, policy.StepBlocked)
}

func TestDesign4_UntrustedLayerCanOnlyNarrow(t *testing.T) {
	in := effects(write("a"))
	want(t, input(edit(), in, untrusted(appliesToTool("edit", tongs.PreApproved))), tongs.Ask, policy.StepDefault)
	want(t, input(edit(), in, untrusted(fallback("filesystem", tongs.PreApproved))), tongs.Ask, policy.StepDefault)
	free := tool("read_file", "filesystem", tongs.Read, tongs.PreApproved)
	want(t, input(free, effects(read("a")), untrusted(appliesToTool("read_file", tongs.Ask))), tongs.Ask, policy.StepRule)
	want(t, input(free, effects(read("a")), untrusted(fallback("filesystem", tongs.Ask))), tongs.Ask, policy.StepDefault)
	want(t, input(free, effects(read("a")), untrusted(appliesToTool("read_file", tongs.Blocked))), tongs.Blocked, policy.StepBlocked)
	// Neither its ask nor its preApproved lifts what is blocked by default.
	for _, d := range []tongs.Decision{tongs.PreApproved, tongs.Ask} {
		for _, def := range []tongs.Rule{fallback("shell", tongs.Blocked), untrusted(fallback("shell", tongs.Blocked))} {
			want(t, input(shell(), effects(run("git log")), def, untrusted(command("git", d))), tongs.Blocked, policy.StepBlocked)
		}
	}
}

func TestDesign4_Step1BlockedIsFinal(t *testing.T) {
	block := appliesToTool("edit", tongs.Blocked)
	cases := map[string]policy.Input{
		"tool":          input(edit(), effects(write("a")), block),
		"pattern":       input(edit(), effects(write("a")), appliesToTool("ed*", tongs.Blocked)),
		"toolset":       input(edit(), effects(write("a")), tongs.Rule{Toolset: "filesystem", Decision: tongs.Blocked}),
		"effect":        input(edit(), effects(write("a")), tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "a", Decision: tongs.Blocked}),
		"untrusted":     input(edit(), effects(write("a")), untrusted(block)),
		"worker":        input(edit(), effects(write("a")), at(tongs.LayerWorker, block), at(tongs.LayerManaged, appliesToTool("edit", tongs.PreApproved))),
		"default":       input(edit(), effects(write("a")), fallback("filesystem", tongs.Blocked)),
		"default, all":  input(edit(), effects(write("a")), fallback("", tongs.Blocked)),
		"spec":          input(tool("edit", "filesystem", tongs.Write, tongs.Blocked), effects(write("a"))),
		"one of many":   input(edit(), effects(write("b"), read("c"), write("a")), tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "a", Decision: tongs.Blocked}),
		"must ask":      input(edit(), effects(tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "a"}, MustAsk: true}), block),
		"unknown, tool": input(edit(), effects(unknown(tongs.EffectWrite)), block),
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []tongs.Mode{tongs.ModeAll, tongs.ModeSafe, tongs.ModeNone} {
				in.Mode = mode
				v := want(t, in, tongs.Blocked, policy.StepBlocked)
				if v.Rememberable || v.RulesDigest != "" {
					t.Error("blocked is rememberable")
				}
				said := in
				said.Say, said.Default = decision(tongs.PreApproved), decision(tongs.PreApproved)
				if name != "spec" {
					want(t, said, tongs.Blocked, policy.StepBlocked)
				}
				want(t, granted(in, anyGrant(in)), tongs.Blocked, policy.StepBlocked)
			}
		})
	}
}

func TestDesign4_Step1BlockedInAnyLink(t *testing.T) {
	for link := range 3 {
		in := input(edit(), effects(write("a")), appliesToTool("edit", tongs.PreApproved))
		in.Chain = append(in.Chain, nil, nil)
		in.Chain[link] = append(in.Chain[link], untrusted(appliesToTool("edit", tongs.Blocked)))
		in.Mode = tongs.ModeAll
		want(t, in, tongs.Blocked, policy.StepBlocked)
	}
}

func TestDesign4_Step1BlockedDefaultIsLiftedByItsOwnLayerOnly(t *testing.T) {
	git := command("git log", tongs.PreApproved)
	want(t, input(shell(), effects(run("git log")), fallback("shell", tongs.Blocked), git), tongs.PreApproved, policy.StepRule)
	want(t, input(shell(), effects(run("git push")), fallback("shell", tongs.Blocked), git), tongs.Blocked, policy.StepBlocked)
	want(t, input(shell(), effects(run("git push")), fallback("shell", tongs.Blocked), command("git", tongs.Ask)), tongs.Ask, policy.StepRule)
	for _, l := range []tongs.Layer{tongs.LayerManaged, tongs.LayerWorkspace, tongs.LayerWorker} {
		want(t, input(shell(), effects(run("git log")), at(l, fallback("shell", tongs.Blocked)), git), tongs.Blocked, policy.StepBlocked)
	}
	// The allow-list of a child is not widened by its parent's words, nor the parent's by the child's.
	child := input(shell(), effects(run("git log")), at(tongs.LayerWorker, git))
	child.Chain = append(child.Chain, []tongs.Rule{at(tongs.LayerWorker, fallback("shell", tongs.Blocked))})
	want(t, child, tongs.Blocked, policy.StepBlocked)
	child.Chain[0], child.Chain[1] = child.Chain[1], child.Chain[0]
	want(t, child, tongs.Blocked, policy.StepBlocked)
	// Within a layer the toolset's default stands before the general one.
	want(t, input(edit(), effects(write("a")), fallback("", tongs.Blocked), fallback("filesystem", tongs.PreApproved)),
		tongs.PreApproved, policy.StepDefault)
}

func TestDesign4_Step2MustAskIsAskedInEveryMode(t *testing.T) {
	hook := write(".git/hooks/pre-commit")
	hook.MustAsk, hook.Why = true, "protected: git hooks run on commit"
	for _, mode := range []tongs.Mode{tongs.ModeAll, tongs.ModeSafe, tongs.ModeNone} {
		in := input(edit(), effects(hook, write("a")), appliesToTool("edit", tongs.PreApproved))
		in.Mode, in.Say = mode, decision(tongs.PreApproved)
		v := want(t, in, tongs.Ask, policy.StepMustAsk)
		if v.Rememberable || v.By != "must ask: protected: git hooks run on commit" {
			t.Errorf("rememberable %v, by %q", v.Rememberable, v.By)
		}
		want(t, granted(in, anyGrant(in)), tongs.Ask, policy.StepMustAsk)
	}
}

func TestDesign4_Step2ManagedAskIsAskedInEveryMode(t *testing.T) {
	for _, mode := range []tongs.Mode{tongs.ModeAll, tongs.ModeSafe, tongs.ModeNone} {
		in := input(edit(), effects(write("a")), at(tongs.LayerManaged, appliesToTool("edit", tongs.Ask)), appliesToTool("edit", tongs.PreApproved))
		in.Mode = mode
		v := want(t, in, tongs.Ask, policy.StepMustAsk)
		if v.Rememberable {
			t.Error("rememberable")
		}
		g := anyGrant(in)
		g.RulesDigest = policy.Decide(input(edit(), effects(write("a")))).RulesDigest
		want(t, granted(in, g), tongs.Ask, policy.StepMustAsk)
	}
	// Only an explicit one: a managed default is a default.
	in := input(edit(), effects(write("a")), at(tongs.LayerManaged, fallback("filesystem", tongs.Ask)))
	in.Mode = tongs.ModeAll
	want(t, in, tongs.PreApproved, policy.StepMode)
}

func TestDesign4_Step3ModeNoneAsksForEveryCall(t *testing.T) {
	free := tool("read_file", "filesystem", tongs.Read, tongs.PreApproved)
	in := input(free, effects(read("a")), appliesToTool("read_file", tongs.PreApproved))
	in.Say, in.Default = decision(tongs.PreApproved), decision(tongs.PreApproved)
	for _, mode := range []tongs.Mode{tongs.ModeNone, 2, 127, -2} {
		in.Mode = mode
		if v := want(t, in, tongs.Ask, policy.StepMode); v.Rememberable {
			t.Error("rememberable")
		}
		want(t, granted(in, anyGrant(in)), tongs.Ask, policy.StepMode)
	}
}

func TestDesign4_Step3ModeAllPreApproves(t *testing.T) {
	in := input(shell(), effects(run("make"), post("example.com"), remove("a")), command("make", tongs.Ask), untrusted(appliesToTool("shell", tongs.Ask)))
	in.Mode = tongs.ModeAll
	want(t, in, tongs.PreApproved, policy.StepMode)
}

func TestDesign4_Step4StrictestExplicitWordWins(t *testing.T) {
	in := effects(write("src/a.go"))
	src := tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "src/**", Layer: tongs.LayerWorkspace}
	free, ask := src, src
	free.Decision = tongs.PreApproved
	want(t, input(edit(), in, appliesToTool("edit", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
	want(t, input(edit(), in, free), tongs.PreApproved, policy.StepRule)
	v := want(t, input(edit(), in, appliesToTool("edit", tongs.PreApproved), ask), tongs.Ask, policy.StepRule)
	if v.Rule == nil || v.Rule.Pattern != "src/**" {
		t.Errorf("decided by %v", v.Rule)
	}
	// An effect word is about the effects it matches, a tool word about all of the call.
	want(t, input(edit(), effects(write("src/a.go"), write("b")), free), tongs.Ask, policy.StepDefault)
	want(t, input(edit(), effects(write("src/a.go"), write("b")), appliesToTool("edit", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
}

func TestDesign4_Step4SayIsAWord(t *testing.T) {
	in := input(tool("x", "", tongs.Read, tongs.PreApproved), effects(read("a")))
	in.Say = decision(tongs.Ask)
	want(t, in, tongs.Ask, policy.StepRule)
	in.Chain = [][]tongs.Rule{{appliesToTool("x", tongs.PreApproved)}}
	want(t, in, tongs.Ask, policy.StepRule)
	in.Say = decision(tongs.Blocked)
	in.Mode = tongs.ModeAll
	want(t, in, tongs.Blocked, policy.StepBlocked)
}

func TestDesign4_Step4SayOfUnreviewedModuleCountsAsAbsent(t *testing.T) {
	spec := outside(tongs.SourceModule, "fib", tongs.Ask)
	in := input(spec, effects(unknown(tongs.EffectExecute)))
	in.Say = decision(tongs.PreApproved)
	want(t, in, tongs.Ask, policy.StepDefault)
	in.Reviewed = true
	want(t, in, tongs.PreApproved, policy.StepRule)
	noDigest := *spec
	noDigest.Source.Digest = ""
	in.Spec = &noDigest
	want(t, in, tongs.Ask, policy.StepDefault)
	in.Say = decision(tongs.Ask)
	in.Chain = [][]tongs.Rule{{appliesToTool("fib", tongs.PreApproved)}}
	want(t, in, tongs.Ask, policy.StepRule)
}

func TestDesign4_Step5ToolsetDefaultThenPlanThenSpec(t *testing.T) {
	in := input(edit(), effects(write("a")))
	want(t, in, tongs.Ask, policy.StepDefault)
	in.Default = decision(tongs.PreApproved)
	if v := want(t, in, tongs.PreApproved, policy.StepDefault); v.By != "plan of edit" {
		t.Errorf("by %q", v.By)
	}
	in.Chain = [][]tongs.Rule{{fallback("filesystem", tongs.Ask)}}
	want(t, in, tongs.Ask, policy.StepDefault)
	in.Chain = [][]tongs.Rule{{fallback("", tongs.Ask), fallback("filesystem", tongs.PreApproved)}}
	want(t, in, tongs.PreApproved, policy.StepDefault)
	in.Chain = [][]tongs.Rule{{fallback("", tongs.PreApproved), fallback("filesystem", tongs.Ask)}}
	want(t, in, tongs.Ask, policy.StepDefault)
	// Over the layers the stricter wins, whichever has more authority.
	for _, l := range []tongs.Layer{tongs.LayerManaged, tongs.LayerWorker} {
		in.Chain = [][]tongs.Rule{{fallback("filesystem", tongs.PreApproved), at(l, fallback("", tongs.Ask))}}
		want(t, in, tongs.Ask, policy.StepDefault)
	}
}

func TestDesign4_Step5ReadsInTheWorkspaceAreFreeInSafe(t *testing.T) {
	want(t, input(tool("read_file", "filesystem", tongs.Read, tongs.PreApproved), effects(read("a"))), tongs.PreApproved, policy.StepDefault)
}

func TestDesign4_Step5CustomExternalAndMCPToolsAsk(t *testing.T) {
	for _, kind := range []tongs.SourceKind{tongs.SourceForge, tongs.SourceModule, tongs.SourceMCP, tongs.SourceWorker, "other"} {
		in := input(outside(kind, "x", tongs.PreApproved), nil)
		in.Default, in.Reviewed = decision(tongs.PreApproved), true
		want(t, in, tongs.Ask, policy.StepAsk)
		in.Chain = [][]tongs.Rule{{fallback("", tongs.PreApproved)}}
		want(t, in, tongs.Ask, policy.StepAsk)
		in.Chain = [][]tongs.Rule{{fallback("custom", tongs.PreApproved)}}
		want(t, in, tongs.PreApproved, policy.StepDefault)
	}
}

func TestDesign4_Step6Ask(t *testing.T) {
	in := input(outside(tongs.SourceMCP, "s__x", tongs.PreApproved), effects(unknown(tongs.EffectExecute)))
	if v := want(t, in, tongs.Ask, policy.StepAsk); v.By != "no setting for s__x" {
		t.Errorf("by %q", v.By)
	}
}
