package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// Only what nobody said anything about, and what a run on a copy shows, can be decided after the fact.
func TestDeferrable(t *testing.T) {
	spec := &tongs.Spec{Name: "shell", Toolset: "shell", Needs: tongs.Execute}
	run := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"./migrate.sh"}}
	write := tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "a"}}
	ask := tongs.Rule{Tool: "shell", Decision: tongs.Ask}
	word := func(r tongs.Rule) [][]tongs.Rule { return [][]tongs.Rule{{r}} }
	say := tongs.Ask
	for _, c := range []struct {
		name string
		in   policy.Input
		want bool
	}{
		{"nobody said anything", policy.Input{Effects: []tongs.Effect{run, write}}, true},
		{"unresolved", policy.Input{Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Unknown: true}}}, true},
		{"one part is allowed", policy.Input{Effects: []tongs.Effect{run, write}, Chain: word(tongs.Rule{Effects: tongs.Kinds(tongs.EffectWrite), Decision: tongs.PreApproved})}, true},
		{"an explicit ask", policy.Input{Effects: []tongs.Effect{run}, Chain: word(ask)}, false},
		{"an explicit ask of a caller", policy.Input{Effects: []tongs.Effect{run}, Chain: [][]tongs.Rule{nil, {ask}}}, false},
		{"a default that somebody wrote", policy.Input{Effects: []tongs.Effect{run}, Chain: word(tongs.Rule{Toolset: "shell", Decision: tongs.Ask, Fallback: true})}, false},
		{"the tool's own say", policy.Input{Effects: []tongs.Effect{run}, Say: &say}, false},
		{"must ask", policy.Input{Effects: []tongs.Effect{run, {Kind: tongs.EffectWrite, Path: tongs.Path{Rel: ".envrc"}, MustAsk: true}}}, false},
		{"mode none", policy.Input{Effects: []tongs.Effect{run}, Mode: tongs.ModeNone}, false},
		{"mode all", policy.Input{Effects: []tongs.Effect{run}, Mode: tongs.ModeAll}, false},
		{"a read", policy.Input{Effects: []tongs.Effect{run, {Kind: tongs.EffectRead, Unknown: true}}}, false},
		{"a read that the sandbox confines", policy.Input{Effects: []tongs.Effect{run, {Kind: tongs.EffectRead, Unknown: true, Confined: true}}}, true},
		{"a confined read that may be blocked", policy.Input{
			Effects: []tongs.Effect{run, {Kind: tongs.EffectRead, Unknown: true, Confined: true}}, Spec: &tongs.Spec{Name: "shell", Needs: tongs.Execute, Optional: tongs.Read},
			Chain: word(tongs.Rule{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "keys/**", Decision: tongs.Blocked}),
		}, false},
		{"a confined read that must be asked for", policy.Input{Effects: []tongs.Effect{run, {Kind: tongs.EffectRead, Unknown: true, Confined: true, MustAsk: true}}}, false},
		{"a host that is called confined", policy.Input{Effects: []tongs.Effect{run, {Kind: tongs.EffectNetwork, Unknown: true, Confined: true}}}, false},
		{"a host", policy.Input{Effects: []tongs.Effect{run, {Kind: tongs.EffectNetwork, Host: "example.com"}}}, false},
		{"blocked", policy.Input{Effects: []tongs.Effect{run}, Chain: word(tongs.Rule{Tool: "shell", Decision: tongs.Blocked})}, false},
		{"may be blocked", policy.Input{
			Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Unknown: true}},
			Chain:   word(tongs.Rule{Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "rm ", Decision: tongs.Blocked}),
		}, false},
		{"hides a built-in", policy.Input{Effects: []tongs.Effect{run}, Shadowed: &tongs.Spec{Name: "shell"}, Spec: &tongs.Spec{
			Name: "shell", Source: tongs.Source{Kind: tongs.SourceForge, Digest: "1"}, Default: tongs.PreApproved,
		}, Reviewed: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.in.Spec == nil {
				c.in.Spec = spec
			}
			if v := policy.Decide(c.in); v.Deferrable != c.want {
				t.Errorf("deferrable is %t, by %q", v.Deferrable, v.By)
			}
		})
	}
}

// A rule can pre-approve a program on a copy only. It is the stricter of two, and no word of others.
func TestOutcomeOfRules(t *testing.T) {
	run := []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"make", "build"}}, {Kind: tongs.EffectExecute, Argv: []string{"go", "vet"}}}
	free := func(pattern string, outcome bool) tongs.Rule {
		return tongs.Rule{Effects: tongs.Kinds(tongs.EffectExecute), Pattern: pattern, Decision: tongs.PreApproved, Outcome: outcome}
	}
	untrusted := free("make ", true)
	untrusted.Untrusted = true
	for name, c := range map[string]struct {
		chain [][]tongs.Rule
		want  bool
	}{
		"none":               {[][]tongs.Rule{{free("make ", false), free("go ", false)}}, false},
		"one of two effects": {[][]tongs.Rule{{free("make ", false), free("go ", true)}}, true},
		"one of two rules":   {[][]tongs.Rule{{free("make ", false), free("make build", true), free("go ", false)}}, true},
		"another command":    {[][]tongs.Rule{{free("make ", false), free("go ", false), free("npm ", true)}}, false},
		"an untrusted one":   {[][]tongs.Rule{{free("make ", false), free("go ", false), untrusted}}, false},
		"of a caller":        {[][]tongs.Rule{{free("make ", false), free("go ", false)}, {free("make ", true)}}, true},
		"of the base":        {[][]tongs.Rule{{free("make ", true), free("go ", false)}, {free("make ", false)}}, true},
	} {
		v := policy.Decide(policy.Input{Spec: &tongs.Spec{Name: "shell", Toolset: "shell"}, Effects: run, Chain: c.chain})
		if v.Outcome != c.want || v.Decision != tongs.PreApproved {
			t.Errorf("%s: outcome %t, %s", name, v.Outcome, v.Decision)
		}
	}
	for _, wrong := range []tongs.Rule{
		{Effects: tongs.Kinds(tongs.EffectExecute), Decision: tongs.Ask, Outcome: true},
		{Effects: tongs.Kinds(tongs.EffectExecute), Decision: tongs.Blocked, Outcome: true},
		{Effects: tongs.Kinds(tongs.EffectWrite), Decision: tongs.PreApproved, Outcome: true},
		{Tool: "shell", Decision: tongs.PreApproved, Outcome: true},
		{Effects: tongs.Kinds(tongs.EffectExecute), Decision: tongs.PreApproved, Outcome: true, Fallback: true},
	} {
		if policy.Validate(wrong) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
