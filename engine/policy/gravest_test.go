package policy_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// Of effects that are decided alike, the gravest is the one that the reason tells of, wherever it stands. A stricter decision
// goes before.
func TestReasonTellsOfTheGravestEffect(t *testing.T) {
	run := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{"ls"}}
	remove := tongs.Effect{Kind: tongs.EffectDelete, Path: tongs.Path{Rel: "a"}}
	unknown := tongs.Effect{Kind: tongs.EffectWrite, Unknown: true, Why: "tar writes what the archive holds"}
	confined := tongs.Effect{Kind: tongs.EffectRead, Unknown: true, Confined: true, Why: "which file it reads is only known when it runs"}
	sends := tongs.Effect{Kind: tongs.EffectNetwork, Host: "example.com", Sends: true}
	protected := tongs.Effect{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: ".envrc"}, MustAsk: true, Why: "protected"}
	for _, c := range []struct {
		name    string
		effects []tongs.Effect
		want    string
	}{
		{"a delete", []tongs.Effect{run, remove, run}, `No rule covers "delete a"; shell`},
		{"a delete, first", []tongs.Effect{remove, run}, `No rule covers "delete a"; shell`},
		{"what cannot be told", []tongs.Effect{run, unknown}, `No rule covers "write anything" (tar writes what the archive holds); shell`},
		{"a read that the sandbox confines", []tongs.Effect{confined, run}, `No rule covers "execute ls"; shell`},
		{"what leaves", []tongs.Effect{remove, sends, unknown}, `No rule covers "network example.com"; shell`},
		{"what must be asked for", []tongs.Effect{sends, protected, remove}, `"write .envrc" always asks`},
	} {
		v := policy.Decide(policy.Input{Spec: &tongs.Spec{Name: "shell", Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network}, Effects: c.effects})
		if !strings.HasPrefix(v.Reason, c.want) {
			t.Errorf("%s: %s", c.name, v.Reason)
		}
	}
}
