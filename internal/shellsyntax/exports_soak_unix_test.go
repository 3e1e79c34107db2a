//go:build unix

package shellsyntax_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// giving are pieces of shell that give T to a program, or nearly. X is another piece.
var giving = []string{
	"make test", "make test", "make test", "X", "T=1", "export T", "export T=1", "T=1 X", "declare T=1", "declare -x T", "declare -x T=1", "typeset -x T=2", "readonly T=1",
	"unset T", "export -n T", "T=", "T+=1", "read T <<< 1", "read T < a.txt", "printf -v T 1", "for T in 1 2; do X; done", "for i in 1 2; do X; X; done",
	"f() { X; }", "f", "T=1 f", "T=1 eval 'X'", "eval 'X'", "eval X", "(X)", "{ X; }", "{ X; X; }", "X | X", "X && X", "X || X", "! X", "true && X", "false || X",
	"if true; then X; fi", "if X; then X; else X; fi", "while X; do X; break; done", "until X; do X; break; done", "case 1 in 1) X;; esac", "bash -c 'X'", "T=1 bash -c 'X'",
	"sh -c 'X'", "bash <<< 'X'", "bash <<E\nX\nE", "echo 'X' | bash", "env T=1 make test", "env -u T make test", "env make test", "env -i make test", "env T=1 bash -c 'X'",
	"timeout 1 make test", "nice env T=1 nice make test", "trap 'X' EXIT", "trap X EXIT", "local T=1", "f() { local T=1; X; }", "f() { local -x T=1; X; }", "f() { export T=1; }",
	": ${T:=1}", "((T=1))", "let T=1", "X &", "wait", "command X", "exec make test", "T=1 :", "T=1 true", "set -a", "set -o allexport", "set +a", "alias make='env T=1 make'",
	"echo $(X)", "cat <(X)", "X > /dev/null", "time X", "export T=1 U=2", "U=1 T=2 X", "export U; U=$T", "T=$(echo 1) X", "select T in 1; do X; break; done <<< 1", "getopts ab T -a",
	"mapfile T <<< 1", "T=(1 2)", "export T=(1)", "declare -xa T", "source script.sh", "xargs -n1 make < a.txt", "find . -maxdepth 0 -exec env T=1 make test \\;", "cd src && X", "cd docs; X",
}

func fill(rng *rand.Rand, depth int) string {
	piece := giving[rng.IntN(len(giving))]
	for strings.Contains(piece, "X") {
		inner := "make test"
		if depth > 0 {
			inner = fill(rng, depth-1)
		}
		piece = strings.Replace(piece, "X", inner, 1)
	}
	return piece
}

// TestWhatProgramsAreGiven composes scripts and runs them in the real bash: one that gives make a variable is not covered
// by rules that do not name it. TONGS_SOAK is how many scripts.
func TestWhatProgramsAreGiven(t *testing.T) {
	r := newRecorder(t)
	stub := "#!/bin/sh\n[ -z \"${T+x}\" ] || printf '%s\\0' 0 given >> '" + r.log + "'\n"
	if err := os.WriteFile(filepath.Join(r.bin, "make"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	rules := shellsyntax.Defaults("shell")
	for _, name := range append([]string{"echo", "source"}, permissive...) {
		rules = append(rules, rule(name, tongs.PreApproved))
	}
	n := 400
	if s := os.Getenv("TONGS_SOAK"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	approved, gave := 0, 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 14))
		var parts []string
		for range 1 + rng.IntN(4) {
			parts = append(parts, fill(rng, 2))
		}
		src := strings.Join(parts, []string{"; ", "\n", " && "}[rng.IntN(3)])
		v, effects, err := r.decide(src, rules...)
		if err != nil || v.Decision != tongs.PreApproved || !runnable(src) {
			continue
		}
		approved++
		for _, ran := range r.run(t, src) {
			if ran[0] == "given" {
				gave++
				t.Errorf("seed %d: make is given T by\n%s\n%v", seed, src, effects)
			}
		}
	}
	t.Logf("%d of %d scripts approved, %d gave T", approved, n, gave)
	if approved < n/50 {
		t.Errorf("only %d of %d scripts were approved, so that little was tried", approved, n)
	}
}
