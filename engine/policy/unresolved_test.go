package policy_test

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
)

// A word of a command that is only known when it runs holds a NUL byte. No pattern may see past it: a lenient one does
// not match it, a strict one may.
func TestUnresolvedWords(t *testing.T) {
	exec := func(argv ...string) tongs.Effect { return tongs.Effect{Kind: tongs.EffectExecute, Argv: argv} }
	for _, tt := range []struct {
		name    string
		pattern string
		effect  tongs.Effect
		lenient bool
		blocked tongs.Decision
	}{
		{"before it", "git", exec("git", "\x00$X"), true, tongs.Blocked},
		{"a star for the rest", "git *", exec("git", "\x00$X"), true, tongs.Blocked},
		{"a literal", "git push", exec("git", "\x00$X"), false, tongs.Ask},
		{"a star in a word", "git p*", exec("git", "\x00$X"), false, tongs.Ask},
		{"a lone star in the middle", "go * ./...", exec("go", "\x00$X", "./..."), false, tongs.Ask},
		{"behind it", "git push origin", exec("git", "push", "\x00$X", "origin"), false, tongs.Ask},
		{"exact", "= git push", exec("git", "push", "\x00$X"), false, tongs.Ask},
		{"exact with a star", "= git push *", exec("git", "push", "\x00$X"), false, tongs.Ask},
		{"another beginning", "git push", exec("git", "--x=\x00$X"), false, tongs.PreApproved},
		{"the same beginning", "git push", exec("git", "pu\x00$X"), false, tongs.Ask},
		{"another word before", "git push", exec("git", "log", "\x00$X"), false, tongs.PreApproved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := policy.Match(tongs.EffectExecute, tt.pattern, tt.effect); got != tt.lenient {
				t.Errorf("Match(%q) = %v, want %v", tt.pattern, got, tt.lenient)
			}
			v := policy.Decide(input(shell(), effects(tt.effect), command(tt.pattern, tongs.Blocked), command("g*", tongs.PreApproved)))
			if v.Decision != tt.blocked {
				t.Errorf("with %q blocked: %s (%s), want %s", tt.pattern, v.Decision, v.By, tt.blocked)
			}
			if tt.blocked == tongs.Ask && v.Rememberable {
				t.Error("an answer about a word that is not known could be remembered")
			}
		})
	}
	if got := policy.Propose(effects(exec("git", "add", "\x00*.go"))); got != nil {
		t.Errorf("a grant is proposed for a word that is not known: %v", got)
	}
}
