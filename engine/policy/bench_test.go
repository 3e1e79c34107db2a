package policy_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

func BenchmarkDecide(b *testing.B) {
	free := tool("read_file", "filesystem", tongs.Read, tongs.PreApproved)
	for _, n := range []int{0, 10, 200} {
		rules := manyRules(n)
		b.Run(fmt.Sprintf("free/rules=%d", n), func(b *testing.B) { benchDecide(b, input(free, effects(read("src/a.go")), rules...)) })
		b.Run(fmt.Sprintf("ask/rules=%d", n), func(b *testing.B) { benchDecide(b, input(edit(), effects(write("src/a.go")), rules...)) })
		b.Run(fmt.Sprintf("shell/rules=%d", n), func(b *testing.B) {
			benchDecide(b, input(shell(), effects(run("git log --oneline")), append(rules, command("git log", tongs.PreApproved))...))
		})
		b.Run(fmt.Sprintf("grant/rules=%d", n), func(b *testing.B) {
			in := input(edit(), effects(write("src/a.go")), rules...)
			benchDecide(b, granted(in, anyGrant(in)))
		})
	}
}

func benchDecide(b *testing.B, in policy.Input) {
	b.ReportAllocs()
	for b.Loop() {
		policy.Decide(in)
	}
}

// manyRules returns rules of every form, none of which is about src/a.go or git log.
func manyRules(n int) []tongs.Rule {
	rules := make([]tongs.Rule, 0, n+1)
	for i := range n {
		r := []tongs.Rule{
			command(fmt.Sprintf("tool%d run *", i), tongs.Ask),
			{Toolset: "web", Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: fmt.Sprintf("*.host%d.com", i), Decision: tongs.PreApproved},
			{Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectRead), Pattern: fmt.Sprintf("dir%d/**", i), Decision: tongs.Ask},
			appliesToTool(fmt.Sprintf("other_tool_%d", i), tongs.Ask),
		}[i%4]
		r.Origin = fmt.Sprintf("config.yaml:%d", i)
		rules = append(rules, r)
	}
	return rules
}

// BenchmarkBasis is the cost of what a decision rests on, as the log keeps it.
func BenchmarkBasis(b *testing.B) {
	in := policy.Input{
		Spec:    &tongs.Spec{Name: "read_file", Aliases: []string{"read"}, Toolset: "filesystem", Needs: tongs.Read, Default: tongs.PreApproved},
		Effects: []tongs.Effect{read("src/a.go")}, Chain: [][]tongs.Rule{{}}, Key: policy.Key{Roots: "0123456789abcdef0123"},
	}
	var n int
	for b.Loop() {
		data, err := json.Marshal([]policy.Basis{in.Basis()})
		if err != nil {
			b.Fatal(err)
		}
		n = len(data)
	}
	b.ReportMetric(float64(n), "bytes")
}
