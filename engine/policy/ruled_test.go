package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
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

func TestRuledBelow(t *testing.T) {
	rule := func(pattern string, d tongs.Decision) tongs.Rule {
		return tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectRead), Pattern: pattern, Decision: d}
	}
	at := func(rel string) tongs.Path { return tongs.Path{Rel: rel} }
	for name, test := range map[string]struct {
		rule      tongs.Rule
		dir, path string
		want      bool
	}{
		"named":                                  {rule("private/**", tongs.Blocked), ".", "private/a", true},
		"not named":                              {rule("private/**", tongs.Blocked), ".", "public/a", false},
		"asked for":                              {rule("private/**", tongs.Ask), ".", "private/a", true},
		"asked for, and answered for the whole":  {rule("private/**", tongs.Ask), "private", "private/a", false},
		"asked for, and answered for another":    {rule("*/private/*", tongs.Ask), "a", "a/private/b", true},
		"blocked, though the directory is named": {rule("private/**", tongs.Blocked), "private", "private/a", true},
		"malformed":                              {rule("[", tongs.Blocked), ".", "a", true},
		"lenient":                                {rule("private/**", tongs.PreApproved), ".", "private/a", false},
		"of a zone":                              {rule("/zone/**", tongs.Blocked), ".", "zone/a", false},
	} {
		in := policy.Input{Spec: &tongs.Spec{Name: "glob"}, Chain: [][]tongs.Rule{nil, {test.rule}}}
		ruled := policy.RuledBelow(in, at(test.dir))
		if got := ruled != nil && ruled(at(test.path)); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	other := policy.Input{Spec: &tongs.Spec{Name: "glob"}, Chain: [][]tongs.Rule{{
		{Tool: "grep", Effects: tongs.Kinds(tongs.EffectRead), Pattern: "a", Decision: tongs.Blocked},
		{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "a", Decision: tongs.Blocked},
		{Effects: tongs.Kinds(tongs.EffectRead), Decision: tongs.Ask},
	}}}
	if policy.RuledBelow(other, at(".")) != nil {
		t.Error("rules of other tools, about other effects or about every path are not nil")
	}
}
