package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// A decision made again from what was kept of it is the same one, by the same rules or by others.
func TestBasisDecidesTheSame(t *testing.T) {
	check(t, func(m maker, in policy.Input) {
		in.Key = policy.Key{Tool: in.Spec.Name, Source: in.Spec.Source, Roots: "0123456789abcdef0123", Session: "s", Agents: []string{"a"}}
		if v := policy.Decide(in); v.Rememberable && m.chance(50) {
			g := policy.Grant{ID: "g", Scope: policy.ScopeAlways, Key: in.Key, Covers: policy.Propose(v.Asked(in.Effects)), RulesDigest: v.RulesDigest}
			g.Key.Session = ""
			in.Grants = []policy.Grant{g}
		}
		data, err := json.Marshal(in.Basis())
		if err != nil {
			t.Fatal(err)
		}
		var b policy.Basis
		if err := json.Unmarshal(data, &b); err != nil {
			t.Fatal(err)
		}
		if m.chance(50) {
			in.Chain[0] = append(in.Chain[0], m.rule())
		}
		again := b.Input(in.Effects, in.Chain[0], in.Key.Roots, "s", []string{"a"})
		again.Grants = in.Grants
		want, got := policy.Decide(in), policy.Decide(again)
		if want.Decision != got.Decision || want.Step != got.Step || want.By != got.By || want.Grant != got.Grant || want.RulesDigest != got.RulesDigest ||
			want.Deferrable != got.Deferrable || want.Outcome != got.Outcome || want.Rememberable != got.Rememberable {
			t.Errorf("%s\nwas %+v\nis  %+v", data, want, got)
		}
	})
}

func TestBasisOfAnotherWorkspace(t *testing.T) {
	in := policy.Input{Spec: &tongs.Spec{Name: "edit"}, Effects: []tongs.Effect{write("a")}, Key: policy.Key{Tool: "edit", Roots: "here"}}
	if again := in.Basis().Input(in.Effects, nil, "elsewhere", "", nil); again.Key.Tool != "" {
		t.Errorf("a grant could answer: %+v", again.Key)
	}
}

func TestRuleID(t *testing.T) {
	r := tongs.Rule{Layer: tongs.LayerUser, Origin: "config.yaml:3", Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "git push *", Decision: tongs.Ask}
	moved, other := r, r
	moved.Origin, other.Decision = "config.yaml:9", tongs.Blocked
	if policy.RuleID(r) != policy.RuleID(moved) || policy.RuleID(r) == policy.RuleID(other) {
		t.Error(policy.RuleID(r), policy.RuleID(moved), policy.RuleID(other))
	}
	in := policy.Input{
		Spec: &tongs.Spec{Name: "shell"}, Effects: []tongs.Effect{run("ls"), run("git push origin"), run("git push x")},
		Chain: [][]tongs.Rule{{r, {Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "ls", Decision: tongs.PreApproved}}},
	}
	ids := policy.Decide(in).RuleIDs()
	if len(ids) != 2 || ids[0] != policy.RuleID(r) || ids[1] != policy.RuleID(in.Chain[0][1]) {
		t.Errorf("%v: the rule that decided the whole comes first, each once", ids)
	}
}
