package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func TestDesign4_GrantAnswersAnAskOfSteps4To6(t *testing.T) {
	for name, in := range map[string]policy.Input{
		"rule":    input(shell(), effects(run("git push")), command("git push", tongs.Ask)),
		"default": input(edit(), effects(write("a"), write("b"))),
		"ask":     input(outside(tongs.SourceMCP, "s__x", tongs.PreApproved), effects(get("example.com"))),
	} {
		t.Run(name, func(t *testing.T) {
			g := grantFor(t, in)
			v := want(t, granted(in, g), tongs.PreApproved, policy.StepGrant)
			if v.Grant != "g_1" || v.Rememberable {
				t.Errorf("grant %q, rememberable %v", v.Grant, v.Rememberable)
			}
			more := in
			more.Effects = append(more.Effects[:len(more.Effects):len(more.Effects)], write("c"))
			if policy.Decide(granted(more, g)).Decision != tongs.Ask {
				t.Error("a grant answered for an effect it does not cover")
			}
		})
	}
}

func TestDesign4_GrantsCoverTogether(t *testing.T) {
	push, commit := command("git push", tongs.Ask), command("git commit", tongs.Ask)
	one := grantFor(t, input(shell(), effects(run("git push")), push, commit))
	two := grantFor(t, input(shell(), effects(run("git commit")), push, commit))
	two.ID = "g_2"
	both := input(shell(), effects(run("git commit"), run("git push")), push, commit)
	v := want(t, granted(both, one, two), tongs.PreApproved, policy.StepGrant)
	if v.Grant != "g_2,g_1" {
		t.Errorf("grant %q", v.Grant)
	}
	want(t, granted(both, one), tongs.Ask, policy.StepRule)
	// What was approved by itself holds beside what other rules allow.
	add := command("git add", tongs.PreApproved)
	want(t, granted(input(shell(), effects(run("git add ."), run("git push")), push, add), one), tongs.PreApproved, policy.StepGrant)
}

func TestDesign4_GrantIsKeyedBySourceAndDigest(t *testing.T) {
	in := input(outside(tongs.SourceForge, "edit", tongs.Ask), effects(run("edit-tool")))
	g := grantFor(t, in)
	want(t, granted(in, g), tongs.PreApproved, policy.StepGrant)
	spoil := map[string]func(*policy.Key){
		"digest":  func(k *policy.Key) { k.Source.Digest = "sha256:2" },
		"kind":    func(k *policy.Key) { k.Source.Kind = tongs.SourceBuiltin },
		"source":  func(k *policy.Key) { k.Source.Name = "other" },
		"tool":    func(k *policy.Key) { k.Tool = "other" },
		"roots":   func(k *policy.Key) { k.Roots = "elsewhere" },
		"agents":  func(k *policy.Key) { k.Agents = []string{"child"} },
		"nothing": func(k *policy.Key) { *k = policy.Key{} },
	}
	for name, f := range spoil {
		t.Run(name, func(t *testing.T) {
			other := g
			f(&other.Key)
			want(t, granted(in, other), tongs.Ask, policy.StepDefault)
			call := granted(in, g)
			f(&call.Key)
			want(t, call, tongs.Ask, policy.StepDefault)
		})
	}
	// Without a digest there is nothing to bind it to.
	bare := *in.Spec
	bare.Source.Digest = ""
	if policy.Decide(input(&bare, in.Effects)).Rememberable {
		t.Error("rememberable without a digest")
	}
	// A key that is not the tool's own answers nothing, even where the grant has the same.
	stolen := granted(in, g)
	stolen.Key.Source.Digest, stolen.Grants[0].Key.Source.Digest = "sha256:2", "sha256:2"
	want(t, stolen, tongs.Ask, policy.StepDefault)
}

func TestDesign4_GrantOfASessionEndsWithIt(t *testing.T) {
	in := input(edit(), effects(write("a")))
	g := grantFor(t, in)
	g.Scope, g.Key.Session = policy.ScopeSession, "s"
	want(t, granted(in, g), tongs.PreApproved, policy.StepGrant)
	other := granted(in, g)
	other.Key.Session = "t"
	want(t, other, tongs.Ask, policy.StepDefault)
	g.Key.Session = ""
	none := granted(in, g)
	none.Key.Session = ""
	want(t, none, tongs.Ask, policy.StepDefault)
	g.Scope = "forever"
	want(t, granted(in, g), tongs.Ask, policy.StepDefault)
}

func TestDesign4_GrantLapsesWhenTheRulesThatMatchedChange(t *testing.T) {
	push := command("git push", tongs.Ask)
	in := func(r ...tongs.Rule) policy.Input { return input(shell(), effects(run("git push")), r...) }
	g := grantFor(t, in(push))
	moved := push
	moved.Origin = "config.yaml:99"
	want(t, granted(in(command("git log", tongs.Ask), moved), g), tongs.PreApproved, policy.StepGrant)
	want(t, granted(in(push, push), g), tongs.PreApproved, policy.StepGrant)
	delegated := in()
	delegated.Chain = append(delegated.Chain, []tongs.Rule{push})
	want(t, granted(delegated, g), tongs.Ask, policy.StepRule)
	for name, rules := range map[string][]tongs.Rule{
		"gone":      nil,
		"wider":     {command("git", tongs.Ask)},
		"one more":  {push, appliesToTool("shell", tongs.Ask)},
		"layer":     {at(tongs.LayerWorker, push)},
		"untrusted": {untrusted(push)},
		"default":   {push, fallback("shell", tongs.Ask)},
	} {
		t.Run(name, func(t *testing.T) {
			if v := policy.Decide(granted(in(rules...), g)); v.Decision != tongs.Ask {
				t.Errorf("%s by %s", v.Decision, v.By)
			}
		})
	}
}

func TestDesign4_ExecutingAWorkspaceFileBindsItsContent(t *testing.T) {
	script := run("./build.sh")
	script.Version = "sha256:a"
	in := input(shell(), effects(script))
	g := grantFor(t, in)
	want(t, granted(in, g), tongs.PreApproved, policy.StepGrant)
	for _, v := range []tongs.Version{"sha256:b", ""} {
		changed := script
		changed.Version = v
		want(t, granted(input(shell(), effects(changed)), g), tongs.Ask, policy.StepDefault)
	}
	g.Covers[0].Version = ""
	want(t, granted(in, g), tongs.Ask, policy.StepDefault)
}

func TestDesign4_NoGrantEffectsAreNeverCovered(t *testing.T) {
	del := tool("delete_file", "filesystem", tongs.Write, tongs.Ask)
	in := input(del, effects(remove("a")))
	if v := want(t, in, tongs.Ask, policy.StepDefault); v.Rememberable {
		t.Error("a delete is rememberable")
	}
	g := anyGrant(in)
	g.RulesDigest = policy.Decide(input(edit(), effects(write("a")))).RulesDigest
	want(t, granted(in, g), tongs.Ask, policy.StepDefault)
	plain := remove("a")
	plain.NoGrant = false
	if policy.Decide(input(del, effects(plain))).Rememberable {
		t.Error("a delete without the mark is rememberable")
	}
	special := write("a")
	special.NoGrant = true
	if policy.Decide(input(edit(), effects(special, write("b")))).Rememberable {
		t.Error("NoGrant beside another effect is rememberable")
	}
	// A rule that a person wrote counts.
	want(t, input(del, effects(remove("a")), appliesToTool("delete_file", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
}

func TestDesign4_SendsAreNeverCoveredByHostRulesOrGrants(t *testing.T) {
	fetch := tool("web_fetch", "web", tongs.Network, tongs.PreApproved)
	host := tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "api.example.com", Decision: tongs.PreApproved}
	want(t, input(fetch, effects(get("api.example.com")), host), tongs.PreApproved, policy.StepRule)
	for name, in := range map[string]policy.Input{
		"host":    input(fetch, effects(post("api.example.com")), host),
		"tool":    input(fetch, effects(post("api.example.com")), appliesToTool("web_fetch", tongs.PreApproved)),
		"toolset": input(fetch, effects(post("api.example.com")), fallback("web", tongs.PreApproved)),
		"spec":    input(fetch, effects(post("api.example.com"))),
	} {
		t.Run(name, func(t *testing.T) {
			if v := want(t, in, tongs.Ask, policy.StepAsk); v.Rememberable || v.By != "sends data" {
				t.Errorf("rememberable %v, by %q", v.Rememberable, v.By)
			}
			g := anyGrant(in)
			g.RulesDigest = policy.Decide(input(fetch, effects(get("x")))).RulesDigest
			want(t, granted(in, g), tongs.Ask, policy.StepAsk)
		})
	}
	// A host on the list is asked for, not blocked, where the rest is blocked by default.
	want(t, input(fetch, effects(post("api.example.com")), at(tongs.LayerUser, host), fallback("web", tongs.Blocked)), tongs.Ask, policy.StepAsk)
}

func TestDesign4_UnknownEffectIsRememberedOnlyForAToolWithoutAPlan(t *testing.T) {
	custom := outside(tongs.SourceForge, "fib", tongs.Ask)
	in := input(custom, policy.Unplanned(custom))
	in.Unplanned, in.Reviewed = true, true
	g := grantFor(t, in)
	want(t, granted(in, g), tongs.PreApproved, policy.StepGrant)
	for name, f := range map[string]func(*policy.Input){
		"planned":    func(in *policy.Input) { in.Unplanned, in.Effects = false, effects(unknown(tongs.EffectWrite)) },
		"unreviewed": func(in *policy.Input) { in.Reviewed = false },
	} {
		t.Run(name, func(t *testing.T) {
			other := granted(in, g)
			f(&other)
			if v := want(t, other, tongs.Ask, policy.StepDefault); v.Rememberable {
				t.Error("rememberable")
			}
		})
	}
	// A plan of a tool from outside does not tell what its own program does; a built-in one's unknown is this call's.
	planned := in
	planned.Unplanned, planned.Effects = false, effects(unknown(tongs.EffectExecute), get("example.com"))
	want(t, granted(planned, grantFor(t, planned)), tongs.PreApproved, policy.StepGrant)
	unresolved := input(shell(), effects(unknown(tongs.EffectExecute)))
	if policy.Decide(unresolved).Rememberable {
		t.Error("a command that could not be read is rememberable")
	}
}
