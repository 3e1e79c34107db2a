package policy_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/policy"
)

// The tests in this file are named after the rows of the design: section 4 (decide and ask) and section 9 (where
// the founding documents disagree).

func read(rel string) tongs.Effect {
	return tongs.Effect{Kind: tongs.EffectRead, Path: tongs.Path{Rel: rel}}
}

func write(rel string) tongs.Effect {
	return tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: rel}}
}

func remove(rel string) tongs.Effect {
	return tongs.Effect{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: rel}, NoGrant: true}
}

func run(command string) tongs.Effect {
	return tongs.Effect{Kind: tongs.EffectExecute, Argv: strings.Fields(command)}
}

func get(host string) tongs.Effect { return tongs.Effect{Kind: tongs.EffectNetwork, Host: host} }

func post(host string) tongs.Effect {
	return tongs.Effect{Kind: tongs.EffectNetwork, Host: host, Sends: true}
}

func unknown(kind tongs.EffectKind) tongs.Effect { return tongs.Effect{Kind: kind, Unknown: true} }

func tool(name, toolset string, needs tongs.Permissions, d tongs.Decision) *tongs.Spec {
	return &tongs.Spec{
		Name: name, Toolset: toolset, Needs: needs, Default: d,
		Source: tongs.Source{Kind: tongs.SourceBuiltin},
	}
}

func outside(kind tongs.SourceKind, name string, d tongs.Decision) *tongs.Spec {
	return &tongs.Spec{
		Name: name, Toolset: "custom", Needs: tongs.Execute, Default: d,
		Source: tongs.Source{Kind: kind, Name: name, Digest: "sha256:1"},
	}
}

func shell() *tongs.Spec { return tool("shell", "shell", tongs.Execute|tongs.Write, tongs.Ask) }

func edit() *tongs.Spec { return tool("edit", "filesystem", tongs.Read|tongs.Write, tongs.Ask) }

func input(spec *tongs.Spec, effects []tongs.Effect, rules ...tongs.Rule) policy.Input {
	return policy.Input{Spec: spec, Names: []string{spec.Name}, Effects: effects, Chain: [][]tongs.Rule{rules}}
}

func effects(e ...tongs.Effect) []tongs.Effect { return e }

func about(toolName string, d tongs.Decision) tongs.Rule {
	return tongs.Rule{Layer: tongs.LayerUser, Tool: toolName, Decision: d}
}

func command(pattern string, d tongs.Decision) tongs.Rule {
	return tongs.Rule{
		Layer: tongs.LayerUser, Toolset: "shell", Effects: tongs.Kinds(tongs.EffectExecute), Pattern: pattern, Decision: d,
	}
}

func fallback(toolset string, d tongs.Decision) tongs.Rule {
	return tongs.Rule{Layer: tongs.LayerUser, Toolset: toolset, Decision: d, Fallback: true}
}

func untrusted(r tongs.Rule) tongs.Rule {
	r.Layer, r.Untrusted = tongs.LayerWorkspace, true
	return r
}

func at(l tongs.Layer, r tongs.Rule) tongs.Rule {
	r.Layer = l
	return r
}

// want decides and holds the verdict against the expected decision and step.
func want(t *testing.T, in policy.Input, d tongs.Decision, s policy.Step) policy.Verdict {
	t.Helper()
	v := policy.Decide(in)
	if v.Decision != d || v.Step != s {
		t.Errorf("got %s by step %s (%s), want %s by step %s", v.Decision, v.Step, v.By, d, s)
	}
	if v.By == "" || v.Reason == "" {
		t.Errorf("a verdict without words: by %q, reason %q", v.By, v.Reason)
	}
	return v
}

// grantFor returns the grant that a person's "always" leaves for the input, which must be one that can be remembered.
func grantFor(t *testing.T, in policy.Input) policy.Grant {
	t.Helper()
	v := policy.Decide(in)
	if !v.Rememberable {
		t.Fatalf("not rememberable: %s by %s", v.Decision, v.By)
	}
	return policy.Grant{
		ID: "g_1", Scope: policy.ScopeAlways, Key: policy.Key{Tool: in.Spec.Name, Source: in.Spec.Source, Roots: "r"},
		Covers: policy.Propose(v.Asked(in.Effects)), RulesDigest: v.RulesDigest,
	}
}

// anyGrant returns a grant that would answer everything in the input, if anything could.
func anyGrant(in policy.Input) policy.Grant {
	covers := policy.Propose(in.Effects)
	for _, k := range []tongs.EffectKind{tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete} {
		covers = append(covers, policy.Cover{Kind: k, Pattern: "**"}, policy.Cover{Kind: k, Pattern: policy.UnknownPattern})
	}
	covers = append(covers, policy.Cover{Kind: tongs.EffectNetwork, Pattern: "*"}, policy.Cover{Kind: tongs.EffectExecute, Pattern: "*"})
	return policy.Grant{
		ID: "g_any", Scope: policy.ScopeAlways, Key: policy.Key{Tool: in.Spec.Name, Source: in.Spec.Source, Roots: "r"},
		Covers: covers, RulesDigest: policy.Decide(in).RulesDigest,
	}
}

func granted(in policy.Input, g ...policy.Grant) policy.Input {
	in.Grants = g
	in.Key = policy.Key{Tool: in.Spec.Name, Source: in.Spec.Source, Roots: "r", Session: "s"}
	return in
}

func decision(d tongs.Decision) *tongs.Decision { return &d }

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
		want(t, input(tool("x", "", 0, tongs.PreApproved), nil, about("x", d)), tongs.Ask, policy.StepRule)
	}
	want(t, input(tool("x", "", 0, 2), nil), tongs.Blocked, policy.StepBlocked)
}

func TestDesign4_UntrustedLayerCanOnlyNarrow(t *testing.T) {
	in := effects(write("a"))
	want(t, input(edit(), in, untrusted(about("edit", tongs.PreApproved))), tongs.Ask, policy.StepDefault)
	want(t, input(edit(), in, untrusted(fallback("filesystem", tongs.PreApproved))), tongs.Ask, policy.StepDefault)
	free := tool("read_file", "filesystem", tongs.Read, tongs.PreApproved)
	want(t, input(free, effects(read("a")), untrusted(about("read_file", tongs.Ask))), tongs.Ask, policy.StepRule)
	want(t, input(free, effects(read("a")), untrusted(fallback("filesystem", tongs.Ask))), tongs.Ask, policy.StepDefault)
	want(t, input(free, effects(read("a")), untrusted(about("read_file", tongs.Blocked))), tongs.Blocked, policy.StepBlocked)
	// Neither its ask nor its preApproved lifts what is blocked by default.
	for _, d := range []tongs.Decision{tongs.PreApproved, tongs.Ask} {
		for _, def := range []tongs.Rule{fallback("shell", tongs.Blocked), untrusted(fallback("shell", tongs.Blocked))} {
			want(t, input(shell(), effects(run("git log")), def, untrusted(command("git", d))), tongs.Blocked, policy.StepBlocked)
		}
	}
}

func TestDesign4_Step1BlockedIsFinal(t *testing.T) {
	block := about("edit", tongs.Blocked)
	cases := map[string]policy.Input{
		"tool":          input(edit(), effects(write("a")), block),
		"pattern":       input(edit(), effects(write("a")), about("ed*", tongs.Blocked)),
		"toolset":       input(edit(), effects(write("a")), tongs.Rule{Toolset: "filesystem", Decision: tongs.Blocked}),
		"effect":        input(edit(), effects(write("a")), tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "a", Decision: tongs.Blocked}),
		"untrusted":     input(edit(), effects(write("a")), untrusted(block)),
		"worker":        input(edit(), effects(write("a")), at(tongs.LayerWorker, block), at(tongs.LayerManaged, about("edit", tongs.PreApproved))),
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
		in := input(edit(), effects(write("a")), about("edit", tongs.PreApproved))
		in.Chain = append(in.Chain, nil, nil)
		in.Chain[link] = append(in.Chain[link], untrusted(about("edit", tongs.Blocked)))
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
		in := input(edit(), effects(hook, write("a")), about("edit", tongs.PreApproved))
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
		in := input(edit(), effects(write("a")), at(tongs.LayerManaged, about("edit", tongs.Ask)), about("edit", tongs.PreApproved))
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
	in := input(free, effects(read("a")), about("read_file", tongs.PreApproved))
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
	in := input(shell(), effects(run("make"), post("example.com"), remove("a")), command("make", tongs.Ask), untrusted(about("shell", tongs.Ask)))
	in.Mode = tongs.ModeAll
	want(t, in, tongs.PreApproved, policy.StepMode)
}

func TestDesign4_Step4StrictestExplicitWordWins(t *testing.T) {
	in := effects(write("src/a.go"))
	src := tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "src/**", Layer: tongs.LayerWorkspace}
	free, ask := src, src
	free.Decision = tongs.PreApproved
	want(t, input(edit(), in, about("edit", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
	want(t, input(edit(), in, free), tongs.PreApproved, policy.StepRule)
	v := want(t, input(edit(), in, about("edit", tongs.PreApproved), ask), tongs.Ask, policy.StepRule)
	if v.Rule == nil || v.Rule.Pattern != "src/**" {
		t.Errorf("decided by %v", v.Rule)
	}
	// An effect word is about the effects it matches, a tool word about all of the call.
	want(t, input(edit(), effects(write("src/a.go"), write("b")), free), tongs.Ask, policy.StepDefault)
	want(t, input(edit(), effects(write("src/a.go"), write("b")), about("edit", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
}

func TestDesign4_Step4SayIsAWord(t *testing.T) {
	in := input(tool("x", "", tongs.Read, tongs.PreApproved), effects(read("a")))
	in.Say = decision(tongs.Ask)
	want(t, in, tongs.Ask, policy.StepRule)
	in.Chain = [][]tongs.Rule{{about("x", tongs.PreApproved)}}
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
	in.Chain = [][]tongs.Rule{{about("fib", tongs.PreApproved)}}
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
	for _, kind := range []tongs.SourceKind{tongs.SourceCustom, tongs.SourceModule, tongs.SourceMCP, tongs.SourceWorker, "other"} {
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
	if v := want(t, in, tongs.Ask, policy.StepAsk); v.By != "no word about s__x" {
		t.Errorf("by %q", v.By)
	}
}

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
	in := input(outside(tongs.SourceCustom, "edit", tongs.Ask), effects(run("edit-tool")))
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
	for name, rules := range map[string][]tongs.Rule{
		"gone":      nil,
		"wider":     {command("git", tongs.Ask)},
		"one more":  {push, about("shell", tongs.Ask)},
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
	want(t, input(del, effects(remove("a")), about("delete_file", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
}

func TestDesign4_SendsAreNeverCoveredByHostRulesOrGrants(t *testing.T) {
	fetch := tool("web_fetch", "web", tongs.Network, tongs.PreApproved)
	host := tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "api.example.com", Decision: tongs.PreApproved}
	want(t, input(fetch, effects(get("api.example.com")), host), tongs.PreApproved, policy.StepRule)
	for name, in := range map[string]policy.Input{
		"host":    input(fetch, effects(post("api.example.com")), host),
		"tool":    input(fetch, effects(post("api.example.com")), about("web_fetch", tongs.PreApproved)),
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

func TestDesign4_RedirectTakesTheRulesOfBothNames(t *testing.T) {
	custom := outside(tongs.SourceCustom, "deploy", tongs.Ask)
	via := tool("run_custom_tool", "forge", tongs.Execute, tongs.Ask)
	in := input(custom, effects(unknown(tongs.EffectExecute)))
	in.Names, in.Via = []string{"run_custom_tool", "deploy"}, via
	for _, name := range in.Names {
		in.Chain = [][]tongs.Rule{{about(name, tongs.Blocked), about("deploy", tongs.PreApproved)}}
		want(t, in, tongs.Blocked, policy.StepBlocked)
	}
	in.Chain = [][]tongs.Rule{{about("deploy", tongs.PreApproved), about("run_custom_tool", tongs.Ask)}}
	want(t, in, tongs.Ask, policy.StepRule)
	in.Chain = [][]tongs.Rule{{tongs.Rule{Toolset: "forge", Decision: tongs.Blocked}}}
	want(t, in, tongs.Blocked, policy.StepBlocked)
	// A lenient word about the redirecting toolset is not one about what would run.
	in.Chain = [][]tongs.Rule{{tongs.Rule{Toolset: "forge", Decision: tongs.PreApproved}}}
	want(t, in, tongs.Ask, policy.StepDefault)
}

func TestDesign4_ShadowInheritsAskAndBlockedOnly(t *testing.T) {
	custom := outside(tongs.SourceCustom, "edit", tongs.PreApproved)
	shadow := func(builtin *tongs.Spec, rules ...tongs.Rule) policy.Input {
		in := input(custom, effects(unknown(tongs.EffectExecute)), rules...)
		in.Shadowed, in.Reviewed = builtin, true
		return in
	}
	free := tool("edit", "filesystem", tongs.Write, tongs.PreApproved)
	free.Aliases = []string{"edit_file"}
	want(t, shadow(free), tongs.Ask, policy.StepAsk)
	want(t, shadow(free, about("edit", tongs.PreApproved)), tongs.Ask, policy.StepAsk)
	want(t, shadow(free, about("edit_file", tongs.Blocked)), tongs.Blocked, policy.StepBlocked)
	want(t, shadow(free, tongs.Rule{Toolset: "filesystem", Decision: tongs.Blocked}), tongs.Blocked, policy.StepBlocked)
	want(t, shadow(free, tongs.Rule{Toolset: "filesystem", Decision: tongs.PreApproved}), tongs.Ask, policy.StepAsk)
	want(t, shadow(free, fallback("filesystem", tongs.Blocked), about("edit", tongs.PreApproved)), tongs.Blocked, policy.StepBlocked)
	// A word for the custom tool itself counts, beside what is inherited.
	own := tongs.Rule{Layer: tongs.LayerUser, Toolset: "custom", Tool: "edit", Decision: tongs.PreApproved}
	want(t, shadow(free, own), tongs.PreApproved, policy.StepRule)
	want(t, shadow(free, own, about("edit", tongs.Ask)), tongs.Ask, policy.StepRule)
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
	in := input(edit(), effects(write("a")), about("edit", tongs.PreApproved))
	in.Chain = append(in.Chain, nil)
	want(t, in, tongs.PreApproved, policy.StepRule)
	in.Chain = append(in.Chain, []tongs.Rule{at(tongs.LayerWorker, about("edit", tongs.Ask))})
	want(t, in, tongs.Ask, policy.StepRule)
	// A link cannot loosen what the base asks for.
	in.Chain = [][]tongs.Rule{nil, {about("edit", tongs.PreApproved)}}
	want(t, in, tongs.Ask, policy.StepDefault)
	// Of two asks the one that no grant answers is the verdict.
	in.Chain = [][]tongs.Rule{nil, {at(tongs.LayerManaged, about("edit", tongs.Ask))}}
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
	want(t, input(shell(), all, command("rm", tongs.Ask), about("shell", tongs.PreApproved)), tongs.Ask, policy.StepRule)
	// What might be a blocked command is asked for in every mode, and never remembered.
	for _, mode := range []tongs.Mode{tongs.ModeAll, tongs.ModeSafe} {
		in := input(shell(), all, command("rm", tongs.Blocked), about("shell", tongs.PreApproved))
		in.Mode, in.Unplanned = mode, true
		if v := want(t, in, tongs.Ask, policy.StepMustAsk); v.Rememberable {
			t.Error("rememberable")
		}
	}
	// An unknown write may be a delete.
	keep := tongs.Rule{Effects: tongs.Kinds(tongs.EffectDelete), Decision: tongs.Blocked}
	want(t, input(edit(), effects(unknown(tongs.EffectWrite)), keep, about("edit", tongs.PreApproved)), tongs.Ask, policy.StepMustAsk)
	// A tool without the permission can do nothing of the kind.
	todo := tool("todo_write", "todo", 0, tongs.PreApproved)
	hidden := tongs.Rule{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "secrets/**", Decision: tongs.Blocked}
	want(t, input(todo, policy.Unplanned(todo), hidden), tongs.PreApproved, policy.StepDefault)
	// A malformed effect is no way around.
	for _, e := range effects(tongs.Effect{}, tongs.Effect{Kind: 3}, tongs.Effect{Kind: 64}) {
		want(t, input(edit(), effects(e), about("edit", tongs.PreApproved)), tongs.Ask, policy.StepMustAsk)
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
	custom := outside(tongs.SourceCustom, "fib", tongs.Ask)
	block := tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "rm", Decision: tongs.Blocked}
	want(t, input(custom, policy.Unplanned(custom), block, about("fib", tongs.PreApproved)), tongs.PreApproved, policy.StepRule)
	want(t, input(custom, policy.Unplanned(custom), block, fallback("custom", tongs.PreApproved)), tongs.Ask, policy.StepDefault)
}

func TestDesign4_UnknownEffectIsRememberedOnlyForAToolWithoutAPlan(t *testing.T) {
	custom := outside(tongs.SourceCustom, "fib", tongs.Ask)
	in := input(custom, policy.Unplanned(custom))
	in.Unplanned, in.Reviewed = true, true
	g := grantFor(t, in)
	want(t, granted(in, g), tongs.PreApproved, policy.StepGrant)
	for name, f := range map[string]func(*policy.Input){
		"planned":    func(in *policy.Input) { in.Unplanned = false },
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
}

func TestDesign4_DeleteOfADirectoryMeetsTheRulesBelowIt(t *testing.T) {
	del := tool("delete_file", "filesystem", tongs.Write, tongs.Ask)
	free := about("delete_file", tongs.PreApproved)
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

func TestDesign9_AliasesAreNamesInRules(t *testing.T) {
	spec := tool("read_file", "filesystem", tongs.Read, tongs.PreApproved)
	spec.Aliases = []string{"read"}
	want(t, input(spec, effects(read("a")), about("read", tongs.Blocked)), tongs.Blocked, policy.StepBlocked)
}

func TestDesign9_WriteFileAsksOnOverwrite(t *testing.T) {
	spec := tool("write_file", "filesystem", tongs.Write, tongs.Ask)
	in := input(spec, effects(write("new")))
	in.Default = decision(tongs.PreApproved) // what the plan says of a file that is not there yet
	want(t, in, tongs.PreApproved, policy.StepDefault)
	in.Default = decision(tongs.Ask)
	want(t, in, tongs.Ask, policy.StepDefault)
	in.Default, in.Chain = decision(tongs.PreApproved), [][]tongs.Rule{{about("write_file", tongs.Ask)}}
	want(t, in, tongs.Ask, policy.StepRule)
}

func TestDesign9_NeedsApprovalBeatsDefaultsAndTheStrictestWordWins(t *testing.T) {
	in := input(outside(tongs.SourceModule, "fib", tongs.Ask), nil, fallback("custom", tongs.Ask))
	in.Say, in.Reviewed = decision(tongs.PreApproved), true
	want(t, in, tongs.PreApproved, policy.StepRule)
	in.Chain[0] = append(in.Chain[0], about("fib", tongs.Ask))
	want(t, in, tongs.Ask, policy.StepRule)
	in.Say, in.Chain = decision(tongs.Ask), [][]tongs.Rule{{fallback("custom", tongs.PreApproved), about("fib", tongs.PreApproved)}}
	want(t, in, tongs.Ask, policy.StepRule)
}

func TestDesign9_WebFetchOffTheAllowListAsks(t *testing.T) {
	fetch := tool("web_fetch", "web", tongs.Network, tongs.Ask)
	host := tongs.Rule{Toolset: "web", Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "*.example.com", Decision: tongs.PreApproved}
	want(t, input(fetch, effects(get("api.example.com")), host), tongs.PreApproved, policy.StepRule)
	want(t, input(fetch, effects(get("example.org")), host), tongs.Ask, policy.StepDefault)
}

func TestDesign9_ShellWithoutAMatchingRuleAsks(t *testing.T) {
	git := command("git", tongs.PreApproved)
	want(t, input(shell(), effects(run("make")), git), tongs.Ask, policy.StepDefault)
	def := fallback("shell", tongs.Blocked)
	def.Effects = tongs.Kinds(tongs.EffectExecute)
	in := input(shell(), effects(run("make")), git, def)
	want(t, in, tongs.Blocked, policy.StepBlocked)
	in.Mode = tongs.ModeAll
	want(t, in, tongs.Blocked, policy.StepBlocked)
	want(t, input(shell(), effects(unknown(tongs.EffectExecute)), git, def), tongs.Blocked, policy.StepBlocked)
}

func TestDesign9_BlockedMeansBlockedInEveryMode(t *testing.T) {
	for _, mode := range []tongs.Mode{tongs.ModeAll, tongs.ModeSafe, tongs.ModeNone, 9, -9} {
		in := input(shell(), effects(run("rm x")), command("rm", tongs.Blocked))
		in.Mode = mode
		want(t, in, tongs.Blocked, policy.StepBlocked)
	}
}
