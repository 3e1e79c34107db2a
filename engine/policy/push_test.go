package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// A rule about pushes allows what it names and nothing besides; what asks or blocks is not evaded.
func TestPushRules(t *testing.T) {
	shell := &tongs.Spec{Name: "shell", Toolset: "shell", Needs: tongs.Execute, Optional: tongs.Network, Source: tongs.Source{Kind: tongs.SourceBuiltin}}
	custom := &tongs.Spec{Name: "mine", Toolset: "shell", Needs: tongs.Execute, Source: tongs.Source{Kind: tongs.SourceForge}}
	network := tongs.Kinds(tongs.EffectNetwork)
	allow := tongs.Rule{Layer: tongs.LayerUser, Toolset: "shell", Effects: network, Pattern: "github.com", Branch: "agent/*", Decision: tongs.PreApproved}
	host := tongs.Rule{Layer: tongs.LayerUser, Toolset: "shell", Effects: network, Pattern: "github.com", Decision: tongs.PreApproved, Origin: "a"}
	block := tongs.Rule{Layer: tongs.LayerUser, Effects: network, Pattern: "*", Branch: "main", Decision: tongs.Blocked}
	push := func(host string, plain bool, refs ...string) tongs.Effect {
		return tongs.Effect{Kind: tongs.EffectNetwork, Host: host, Sends: true, Push: &tongs.Push{Refs: refs, Plain: plain}}
	}
	const topic, main = "refs/heads/agent/x", "refs/heads/main"
	must := push("github.com", false, topic)
	must.MustAsk = true
	private := push("github.com", true, topic)
	private.Private = true
	for name, c := range map[string]struct {
		e     tongs.Effect
		spec  *tongs.Spec
		rules []tongs.Rule
		mode  tongs.Mode
		want  tongs.Decision
	}{
		"allowed":                       {e: push("github.com", true, topic), rules: []tongs.Rule{allow}, want: tongs.PreApproved},
		"allowed beside a host":         {e: push("github.com", true, topic), rules: []tongs.Rule{host, allow}, want: tongs.PreApproved},
		"allowed over ssh":              {e: push("github.com:22", true, topic), rules: []tongs.Rule{allow}, want: tongs.PreApproved},
		"by a host alone":               {e: push("github.com", true, topic), rules: []tongs.Rule{host}, want: tongs.Ask},
		"another port":                  {e: push("github.com:8022", true, topic), rules: []tongs.Rule{allow}, want: tongs.Ask},
		"a host that looks like it":     {e: push("github.com.evil.example", true, topic), rules: []tongs.Rule{allow}, want: tongs.Ask},
		"another branch too":            {e: push("github.com", true, topic, main), rules: []tongs.Rule{allow}, want: tongs.Ask},
		"a tag":                         {e: push("github.com", true, "refs/tags/agent/x"), rules: []tongs.Rule{allow}, want: tongs.Ask},
		"no reference":                  {e: push("github.com", true), rules: []tongs.Rule{allow}, want: tongs.Ask},
		"not plain":                     {e: push("github.com", false, topic), rules: []tongs.Rule{allow}, want: tongs.Ask},
		"a force push":                  {e: must, rules: []tongs.Rule{allow}, want: tongs.Ask},
		"a force push in mode all":      {e: must, rules: []tongs.Rule{allow}, mode: tongs.ModeAll, want: tongs.Ask},
		"in mode none":                  {e: push("github.com", true, topic), rules: []tongs.Rule{allow}, mode: tongs.ModeNone, want: tongs.Ask},
		"a tool from outside":           {e: push("github.com", true, topic), spec: custom, rules: []tongs.Rule{allow}, want: tongs.Ask},
		"no push":                       {e: tongs.Effect{Kind: tongs.EffectNetwork, Host: "github.com", Sends: true}, rules: []tongs.Rule{allow}, want: tongs.Ask},
		"only a contact":                {e: tongs.Effect{Kind: tongs.EffectNetwork, Host: "github.com"}, rules: []tongs.Rule{allow}, want: tongs.Ask},
		"blocked":                       {e: push("github.com", true, topic, main), rules: []tongs.Rule{allow, block}, want: tongs.Blocked},
		"blocked in mode all":           {e: push("other.example:22", false, main), rules: []tongs.Rule{block}, mode: tongs.ModeAll, want: tongs.Blocked},
		"not the blocked branch":        {e: push("github.com", true, topic), rules: []tongs.Rule{allow, block}, want: tongs.PreApproved},
		"sent in another way":           {e: tongs.Effect{Kind: tongs.EffectNetwork, Host: "github.com", Sends: true}, rules: []tongs.Rule{block}, mode: tongs.ModeAll, want: tongs.Ask},
		"a contact beside a block":      {e: tongs.Effect{Kind: tongs.EffectNetwork, Host: "github.com"}, rules: []tongs.Rule{host, block}, want: tongs.PreApproved},
		"a private address by its name": {e: private, rules: []tongs.Rule{allow}, want: tongs.PreApproved},
	} {
		spec := shell
		if c.spec != nil {
			spec = c.spec
		}
		if got := policy.Decide(policy.Input{Spec: spec, Effects: []tongs.Effect{c.e}, Mode: c.mode, Chain: [][]tongs.Rule{c.rules}}); got.Decision != c.want {
			t.Errorf("%s: %s by %s", name, got.Decision, got.By)
		}
	}
	same := allow
	if same.Branch = "agent/y"; policy.RuleID(same) == policy.RuleID(allow) || policy.RuleID(host) == policy.RuleID(allow) {
		t.Error("rules about different branches have one ID")
	}
}
