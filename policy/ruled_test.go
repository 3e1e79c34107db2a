package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/policy"
)

func TestRuled(t *testing.T) {
	read := func(rel string) tongs.Effect { return tongs.Effect{Kind: tongs.EffectRead, Path: tongs.Path{Rel: rel}} }
	rule := tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectRead), Pattern: "private/**", Decision: tongs.Blocked}
	with := func(change func(*tongs.Rule)) tongs.Rule { r := rule; change(&r); return r }
	for name, test := range map[string]struct {
		rule   tongs.Rule
		effect tongs.Effect
		mode   tongs.Mode
		want   bool
	}{
		"named":                     {rule, read("private/a"), tongs.ModeSafe, true},
		"named, in mode all":        {rule, read("private/a"), tongs.ModeAll, true},
		"another path":              {rule, read("public/a"), tongs.ModeSafe, false},
		"a directory above":         {rule, read("."), tongs.ModeSafe, false},
		"another kind":              {rule, tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: "private/a"}}, tongs.ModeSafe, false},
		"unknown":                   {rule, tongs.Effect{Kind: tongs.EffectRead, Unknown: true}, tongs.ModeSafe, false},
		"of an untrusted layer":     {with(func(r *tongs.Rule) { r.Untrusted = true }), read("private/a"), tongs.ModeSafe, true},
		"ask":                       {with(func(r *tongs.Rule) { r.Decision = tongs.Ask }), read("private/a"), tongs.ModeSafe, true},
		"ask, in mode all":          {with(func(r *tongs.Rule) { r.Decision = tongs.Ask }), read("private/a"), tongs.ModeAll, false},
		"managed ask, in mode all":  {with(func(r *tongs.Rule) { r.Decision, r.Layer = tongs.Ask, tongs.LayerManaged }), read("private/a"), tongs.ModeAll, true},
		"lenient":                   {with(func(r *tongs.Rule) { r.Decision = tongs.PreApproved }), read("private/a"), tongs.ModeSafe, false},
		"without a pattern":         {with(func(r *tongs.Rule) { r.Pattern = "" }), read("private/a"), tongs.ModeSafe, false},
		"about this tool":           {with(func(r *tongs.Rule) { r.Tool = "gr*" }), read("private/a"), tongs.ModeSafe, true},
		"about another tool":        {with(func(r *tongs.Rule) { r.Tool = "edit" }), read("private/a"), tongs.ModeSafe, false},
		"malformed: names anything": {with(func(r *tongs.Rule) { r.Pattern = "private/[" }), read("public/a"), tongs.ModeSafe, true},
		"of a caller in the chain":  {tongs.Rule{}, read("child/a"), tongs.ModeSafe, true},
	} {
		child := tongs.Rule{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "child", Decision: tongs.Blocked, Layer: tongs.LayerWorker}
		in := policy.Input{Spec: &tongs.Spec{Name: "grep"}, Mode: test.mode, Chain: [][]tongs.Rule{{test.rule}, {child}}}
		if got := policy.Ruled(in, test.effect); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
