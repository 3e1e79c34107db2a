package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// A new file that a command makes is free if the command is; a word about it still holds, and so do must-ask, mode and
// the limits of the mark: not for what is unknown, deleted, alone, or a tool from outside.
func TestIncidentalEffectFollowsTheRestOfTheCall(t *testing.T) {
	run := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"touch", "new"}}
	made := tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "new"}, Incidental: true}
	spec := &tongs.Spec{Name: "shell", Toolset: "shell"}
	touch := tongs.Rule{Toolset: "shell", Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "touch", Decision: tongs.PreApproved}
	with := func(change func(*tongs.Effect)) tongs.Effect { e := made; change(&e); return e }
	for _, tc := range []struct {
		name string
		in   policy.Input
		want tongs.Decision
	}{
		{"with its command", policy.Input{Spec: spec, Effects: []tongs.Effect{run, made}, Chain: [][]tongs.Rule{{touch}}}, tongs.PreApproved},
		{"command asked", policy.Input{Spec: spec, Effects: []tongs.Effect{run, made}}, tongs.Ask},
		{"blocked path", policy.Input{Spec: spec, Effects: []tongs.Effect{run, made}, Chain: [][]tongs.Rule{{touch, {Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "new", Decision: tongs.Blocked}}}}, tongs.Blocked},
		{"asked path", policy.Input{Spec: spec, Effects: []tongs.Effect{run, made}, Chain: [][]tongs.Rule{{touch, {Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "new", Decision: tongs.Ask}}}}, tongs.Ask},
		{"mode none", policy.Input{Spec: spec, Mode: tongs.ModeNone, Effects: []tongs.Effect{run, made}, Chain: [][]tongs.Rule{{touch}}}, tongs.Ask},
		{"must ask", policy.Input{Spec: spec, Effects: []tongs.Effect{run, with(func(e *tongs.Effect) { e.MustAsk = true })}, Chain: [][]tongs.Rule{{touch}}}, tongs.Ask},
		{"unknown", policy.Input{Spec: spec, Effects: []tongs.Effect{run, with(func(e *tongs.Effect) { e.Unknown = true })}, Chain: [][]tongs.Rule{{touch}}}, tongs.Ask},
		{"deleted", policy.Input{Spec: spec, Effects: []tongs.Effect{run, with(func(e *tongs.Effect) { e.Kind = tongs.EffectDelete })}, Chain: [][]tongs.Rule{{touch}}}, tongs.Ask},
		{"alone", policy.Input{Spec: spec, Effects: []tongs.Effect{made}, Chain: [][]tongs.Rule{{touch}}}, tongs.Ask},
		{"from outside", policy.Input{Spec: &tongs.Spec{Name: "x", Toolset: "shell", Source: tongs.Source{Kind: tongs.SourceMCP}}, Effects: []tongs.Effect{run, made}, Chain: [][]tongs.Rule{{touch}}}, tongs.Ask},
	} {
		if v := policy.Decide(tc.in); v.Decision != tc.want {
			t.Errorf("%s: %s by %s, want %s", tc.name, v.Decision, v.By, tc.want)
		}
	}
}
