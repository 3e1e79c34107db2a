package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// A variable that make takes among its words is covered by a token that names it, not by a *.
func TestStarsNameNoVariables(t *testing.T) {
	for _, c := range []struct {
		pattern string
		argv    []string
		want    bool
	}{
		{"= make *", []string{"make", "test"}, true},
		{"= make *", []string{"make", "TOOL=sh evil.sh"}, false},
		{"make * test", []string{"make", "TOOL=sh evil.sh", "test"}, false},
		{"make T*", []string{"make", "TOOL=sh evil.sh"}, false},
		{"make *", []string{"make", "TOOL=sh evil.sh"}, false},
		{"= make TOOL=*", []string{"make", "TOOL=sh evil.sh"}, true},
		{"= make 'TOOL=sh evil.sh'", []string{"make", "TOOL=sh evil.sh"}, true},
		{"*=* make *", []string{"make", "TOOL=sh evil.sh"}, true},
	} {
		e := tongs.Effect{Kind: tongs.EffectExecute, Argv: c.argv}
		for _, word := range c.argv[1:] {
			if word != "test" {
				e.Env = append(e.Env, word)
			}
		}
		if got := policy.Match(tongs.EffectExecute, c.pattern, e); got != c.want {
			t.Errorf("%s covers %q: %v, want %v", c.pattern, c.argv, got, c.want)
		}
	}
}
