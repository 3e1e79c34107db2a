package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/policy"
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
		{"a host", policy.Input{Effects: []tongs.Effect{run, {Kind: tongs.EffectNetwork, Host: "example.com"}}}, false},
		{"blocked", policy.Input{Effects: []tongs.Effect{run}, Chain: word(tongs.Rule{Tool: "shell", Decision: tongs.Blocked})}, false},
		{"may be blocked", policy.Input{
			Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Unknown: true}},
			Chain:   word(tongs.Rule{Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "rm ", Decision: tongs.Blocked}),
		}, false},
		{"hides a built-in", policy.Input{Effects: []tongs.Effect{run}, Shadowed: &tongs.Spec{Name: "shell"}, Spec: &tongs.Spec{
			Name: "shell", Source: tongs.Source{Kind: tongs.SourceCustom, Digest: "1"}, Default: tongs.PreApproved,
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
