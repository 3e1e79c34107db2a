package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func TestDesign4_RedirectTakesTheRulesOfBothNames(t *testing.T) {
	custom := outside(tongs.SourceForge, "deploy", tongs.Ask)
	via := tool("run_custom_tool", "forge", tongs.Execute, tongs.Ask)
	in := input(custom, effects(unknown(tongs.EffectExecute)))
	in.Names, in.Via = []string{"run_custom_tool", "deploy"}, via
	for _, name := range in.Names {
		in.Chain = [][]tongs.Rule{{appliesToTool(name, tongs.Blocked), appliesToTool("deploy", tongs.PreApproved)}}
		want(t, in, tongs.Blocked, policy.StepBlocked)
	}
	in.Chain = [][]tongs.Rule{{appliesToTool("deploy", tongs.PreApproved), appliesToTool("run_custom_tool", tongs.Ask)}}
	want(t, in, tongs.Ask, policy.StepRule)
	in.Chain = [][]tongs.Rule{{tongs.Rule{Toolset: "forge", Decision: tongs.Blocked}}}
	want(t, in, tongs.Blocked, policy.StepBlocked)
	// A lenient word about the redirecting toolset is not one about what would run.
	in.Chain = [][]tongs.Rule{{tongs.Rule{Toolset: "forge", Decision: tongs.PreApproved}}}
	want(t, in, tongs.Ask, policy.StepDefault)
}

func TestDesign4_ShadowInheritsAskAndBlockedOnly(t *testing.T) {
	custom := outside(tongs.SourceForge, "edit", tongs.PreApproved)
	shadow := func(builtin *tongs.Spec, rules ...tongs.Rule) policy.Input {
		in := input(custom, effects(unknown(tongs.EffectExecute)), rules...)
		in.Shadowed, in.Reviewed = builtin, true
		return in
	}
	free := tool("edit", "filesystem", tongs.Write, tongs.PreApproved)
	free.Aliases = []string{"edit_file"}
	want(t, shadow(free), tongs.Ask, policy.StepAsk)
	want(t, shadow(free, appliesToTool("edit", tongs.PreApproved)), tongs.Ask, policy.StepAsk)
	want(t, shadow(free, appliesToTool("edit_file", tongs.Blocked)), tongs.Blocked, policy.StepBlocked)
	want(t, shadow(free, tongs.Rule{Toolset: "filesystem", Decision: tongs.Blocked}), tongs.Blocked, policy.StepBlocked)
	want(t, shadow(free, tongs.Rule{Toolset: "filesystem", Decision: tongs.PreApproved}), tongs.Ask, policy.StepAsk)
	want(t, shadow(free, fallback("filesystem", tongs.Blocked), appliesToTool("edit", tongs.PreApproved)), tongs.Blocked, policy.StepBlocked)
	// A word for the custom tool itself counts, beside what is inherited.
	own := tongs.Rule{Layer: tongs.LayerUser, Toolset: "custom", Tool: "edit", Decision: tongs.PreApproved}
	want(t, shadow(free, own), tongs.PreApproved, policy.StepRule)
	want(t, shadow(free, own, appliesToTool("edit", tongs.Ask)), tongs.Ask, policy.StepRule)
	// The built-in's own ask outlasts the custom tool's say and its toolset's default.
	in := shadow(edit(), fallback("custom", tongs.PreApproved))
	in.Say = decision(tongs.PreApproved)
	want(t, in, tongs.Ask, policy.StepDefault)
	blocked := shadow(tool("edit", "filesystem", tongs.Write, tongs.Blocked), own)
	want(t, blocked, tongs.Blocked, policy.StepBlocked)
	// Grants of the built-in are for another source.
	g := grantFor(t, input(edit(), effects(write("a"))))
	want(t, granted(shadow(free), g), tongs.Ask, policy.StepAsk)
}

func TestDesign4_DelegatedCallIsTheStrictestOverTheChain(t *testing.T) {
	in := input(edit(), effects(write("a")), appliesToTool("edit", tongs.PreApproved))
	in.Chain = append(in.Chain, nil)
	want(t, in, tongs.PreApproved, policy.StepRule)
	in.Chain = append(in.Chain, []tongs.Rule{at(tongs.LayerWorker, appliesToTool("edit", tongs.Ask))})
	want(t, in, tongs.Ask, policy.StepRule)
	// A link cannot loosen what the base asks for.
	in.Chain = [][]tongs.Rule{nil, {appliesToTool("edit", tongs.PreApproved)}}
	want(t, in, tongs.Ask, policy.StepDefault)
	// Of two asks the one that no grant answers is the verdict.
	in.Chain = [][]tongs.Rule{nil, {at(tongs.LayerManaged, appliesToTool("edit", tongs.Ask))}}
	if v := want(t, in, tongs.Ask, policy.StepMustAsk); v.Rememberable {
		t.Error("rememberable")
	}
}

func TestDesign4_ShellRulesMatchWholeTokens(t *testing.T) {
	git := command("git ", tongs.PreApproved)
	want(t, input(shell(), effects(run("git status")), git), tongs.PreApproved, policy.StepRule)
	want(t, input(shell(), effects(run("gitk")), git), tongs.Ask, policy.StepDefault)
	want(t, input(shell(), effects(run("git status"), run("gitk")), git), tongs.Ask, policy.StepDefault)
	want(t, input(shell(), effects(run("git log"), write("out.txt")), git), tongs.Ask, policy.StepDefault)
}

func TestDesign4_UnresolvedIsAsk(t *testing.T) {
	all := effects(unknown(tongs.EffectExecute))
	want(t, input(shell(), all, command("*", tongs.PreApproved)), tongs.Ask, policy.StepDefault)
	want(t, input(shell(), all, command("rm", tongs.Ask), appliesToTool("shell", tongs.PreApproved)), tongs.Ask, policy.StepRule)
	// What might be a blocked command is asked for in every mode, and never remembered.
	for _, mode := range []tongs.Mode{tongs.ModeAll, tongs.ModeSafe} {
		in := input(shell(), all, command("rm", tongs.Blocked), appliesToTool("shell", tongs.PreApproved))
		in.Mode, in.Unplanned = mode, true
		if v := want(t, in, tongs.Ask, policy.StepMustAsk); v.Rememberable {
			t.Error("rememberable")
		}
	}
	// Nor does it slip past an administrator's ask.
	managed := input(shell(), all, at(tongs.LayerManaged, command("rm", tongs.Ask)))
	managed.Mode = tongs.ModeAll
	want(t, managed, tongs.Ask, policy.StepMustAsk)
	// An unknown write may be a delete.
	keep := tongs.Rule{Effects: tongs.Kinds(tongs.EffectDelete), Decision: tongs.Blocked}
	want(t, input(edit(), effects(unknown(tongs.EffectWrite)), keep, appliesToTool("edit", tongs.PreApproved)), tongs.Ask, policy.StepMustAsk)
	// A tool without the permission can do nothing of the kind.
	todo := tool("todo_write", "todo", 0, tongs.PreApproved)
	hidden := tongs.Rule{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "secrets/**", Decision: tongs.Blocked}
	want(t, input(todo, policy.Unplanned(todo), hidden), tongs.PreApproved, policy.StepDefault)
	// A malformed effect is no way around.
	for _, e := range effects(tongs.Effect{}, tongs.Effect{Kind: 3}, tongs.Effect{Kind: 64}) {
		want(t, input(edit(), effects(e), appliesToTool("edit", tongs.PreApproved)), tongs.Ask, policy.StepMustAsk)
	}
	for _, e := range effects(tongs.Effect{Kind: tongs.EffectExecute}, tongs.Effect{Kind: tongs.EffectWrite}) {
		bare := tongs.Rule{Effects: tongs.Kinds(e.Kind), Pattern: "*", Decision: tongs.PreApproved}
		if v := policy.Decide(input(shell(), effects(e), bare)); v.Decision != tongs.Ask || v.Rememberable {
			t.Errorf("%v: %s by %s", e, v.Decision, v.By)
		}
	}
}

func TestDesign4_ToolFromOutsideIsJudgedByItsSource(t *testing.T) {
	// The execute effect of an outside tool is unknown; a person's word about it counts beside rules about commands.
	custom := outside(tongs.SourceForge, "fib", tongs.Ask)
	block := tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "rm", Decision: tongs.Blocked}
	want(t, input(custom, policy.Unplanned(custom), block, appliesToTool("fib", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
	want(t, input(custom, policy.Unplanned(custom), block, fallback("custom", tongs.PreApproved)), tongs.Ask, policy.StepDefault)
}

func TestDesign4_DeleteOfADirectoryMeetsTheRulesBelowIt(t *testing.T) {
	del := tool("delete_file", "filesystem", tongs.Write, tongs.Ask)
	free := appliesToTool("delete_file", tongs.PreApproved)
	keep := func(pattern string) tongs.Rule {
		return tongs.Rule{Effects: tongs.Kinds(tongs.EffectDelete), Pattern: pattern, Decision: tongs.Blocked}
	}
	for _, c := range []struct {
		path, pattern string
		want          tongs.Decision
		step          policy.Step
	}{
		{"src", "src/keep/**", tongs.Blocked, policy.StepBlocked},
		{"src", "src/keep", tongs.Blocked, policy.StepBlocked},
		{"src", "src/*.go", tongs.Blocked, policy.StepBlocked},
		{".", "**/*.go", tongs.Blocked, policy.StepBlocked},
		{"src/a", "**/*.go", tongs.Ask, policy.StepMustAsk},
		{"src/a", "src/*/keep", tongs.Ask, policy.StepMustAsk},
		{"src/a/b", "src/*/keep", tongs.PreApproved, policy.StepRule},
		{"srcs", "src/keep/**", tongs.PreApproved, policy.StepRule},
		{"docs", "src/keep/**", tongs.PreApproved, policy.StepRule},
		{"cache", "/cache/keep", tongs.PreApproved, policy.StepRule},
	} {
		t.Run(c.path+" "+c.pattern, func(t *testing.T) {
			for _, mode := range []tongs.Mode{tongs.ModeSafe, tongs.ModeAll} {
				in := input(del, effects(remove(c.path)), free, keep(c.pattern))
				in.Mode = mode
				step := c.step
				if mode == tongs.ModeAll && c.want == tongs.PreApproved {
					step = policy.StepMode
				}
				want(t, in, c.want, step)
			}
		})
	}
}

func TestDesign4_Zones(t *testing.T) {
	cache := tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "/cache/**", Decision: tongs.PreApproved}
	zone := tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Root: "cache", Rel: "a/b"}}
	want(t, input(edit(), effects(zone), cache), tongs.PreApproved, policy.StepRule)
	want(t, input(edit(), effects(write("cache/a")), cache), tongs.Ask, policy.StepDefault)
	other := tongs.Effect{Kind: tongs.EffectDelete, Path: tongs.Path{Root: "cache", Rel: "a/b"}}
	want(t, input(edit(), effects(other), cache), tongs.Ask, policy.StepDefault)
	// A pattern of the workspace is not one of the zones.
	all := tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "**", Decision: tongs.PreApproved}
	want(t, input(edit(), effects(zone), all), tongs.Ask, policy.StepDefault)
}
