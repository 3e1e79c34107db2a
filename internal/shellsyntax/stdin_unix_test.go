//go:build unix

package shellsyntax_test

import (
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
)

// What an interpreter reads from an input that others read too, or that is made by a program, is not what stands there.
// Each command is asked about, even where the rules pre-approve every shell, and really runs what does not stand there.
func TestSharedInputIsAsked(t *testing.T) {
	r := newRecorder(t)
	rules := permissiveRules()
	for _, name := range []string{"bash", "sh", "timeout", "source", ".", "eval", "exec", "mapfile", "readarray", "read"} {
		rules = append(rules, rule(name, tongs.PreApproved))
	}
	for _, src := range table(t, "stdin.txt") {
		if v, effects, _ := r.decide(src, rules...); v.Decision == tongs.PreApproved {
			t.Errorf("%q: preApproved%s", src, explain(v, effects))
		}
		ran := r.run(t, src)
		if !slices.ContainsFunc(ran, func(argv []string) bool { return argv[0] == "rm" }) {
			t.Errorf("%q ran %q, and no rm: it shows nothing", src, ran)
		}
		r.made(t)
	}
}
