package policy_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

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

func appliesToTool(toolName string, d tongs.Decision) tongs.Rule {
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
