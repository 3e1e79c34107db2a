package audit_test

import (
	"encoding/json"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
)

// A log says where it did not keep the effects, or what a decision rested on, as they were.
func TestRedactedIntents(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	run := func(words ...string) tongs.Effect { return tongs.Effect{Kind: tongs.EffectExecute, Argv: words} }
	for name, c := range map[string]struct {
		in   audit.Intent
		want bool
	}{
		"plain":          {audit.Intent{Effects: []tongs.Effect{run("git", "push")}, Basis: json.RawMessage(`[{"spec":{"name":"shell"}}]`)}, false},
		"nothing":        {audit.Intent{}, false},
		"a word of ours": {audit.Intent{Effects: []tongs.Effect{run("echo", "[redacted secret]")}}, false},
		"a secret":       {audit.Intent{Effects: []tongs.Effect{run("ls"), run("curl", secret)}}, true},
		"after a flag":   {audit.Intent{Effects: []tongs.Effect{run("login", "--password", "x")}}, true},
		"in a path":      {audit.Intent{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: tongs.Path{Rel: secret}}}}, true},
		"not UTF-8":      {audit.Intent{Effects: []tongs.Effect{run("cat", "a\xff")}}, true},
		"in why":         {audit.Intent{Effects: []tongs.Effect{{Kind: tongs.EffectRead, Why: secret}}}, false},
		"in the basis":   {audit.Intent{Basis: json.RawMessage(`[{"names":["` + secret + `"]}]`)}, true},
	} {
		data, err := (*audit.Redactor)(nil).Intent(&c.in)
		var kept audit.Intent
		if err != nil || json.Unmarshal(data, &kept) != nil || kept.Redacted != c.want {
			t.Errorf("%s: %v, %s", name, err, data)
		}
	}
}
