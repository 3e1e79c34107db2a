//go:build unix

package shellsyntax_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// fragments are pieces of shell that carry a harmless command over into a harmful one if one of them is misread.
var fragments = []string{
	"x=rm", "x=ls", "x='rm y'", "y=$x", "$x", "$x y", `"$x" y`, "${x} y", "x=$(git log)", "x+=m", "set -- rm y",
	"set -- ls", `"$@"`, "$1 y", "$*",
	"shift", "f() { X; }", "f", "f rm", "git() { X; }", "ls() { command ls; }", "unset x", "read x < a.txt",
	"read -r x y <<< 'rm z'", "printf -v x rm",
	"local x=rm", "declare x=rm", "export x=rm", "readonly x=ls", "a=(rm y)", `"${a[@]}"`, "${a[0]} y", "a+=(z)", "IFS=,",
	"x=rm,y; $x", "for x in rm ls; do X; done",
	"for x; do $x y; done", "while read x; do X; break; done <<< rm", "if X; then x=rm; else x=ls; fi", "true && x=rm",
	"false || x=rm", "(x=rm)", "{ x=rm; }",
	"x=rm | cat", "case $x in r*) X;; esac", "return", "break", "continue", "exit", "eval X", `eval "$x y"`,
	"eval '$x y'", "X &", "wait", "trap X EXIT", "cd src",
	"cd src && X", "cd nosuch; X", "cat < a.txt", "cat <<< X", "bash -c 'X'", `bash -c "X"`, "bash -c '$1 y' _ rm",
	"sh -c 'X'", "bash <<< 'X'", "echo X | bash", "echo 'X' | sh",
	"env X", "env x=rm X", "timeout 1 X", "nice X", "xargs X < a.txt", "xargs -n1 X", "echo rm | xargs -I% %",
	"find . -maxdepth 0 -exec X \\;", "find . -maxdepth 0 -exec X {} +",
	"i=0", "((i++))", "i=$((i+1))", "echo $((i))", "echo $((x))", "x='a[$(rm z)]'", "[[ $i -eq 0 ]] && X",
	"[[ $x -eq 0 ]]", "echo ${a[i]}", "echo ${a[x]}", "${x:-rm} y",
	"${x:=rm} y", "${x/l/r}", "${x%s}", "echo {a,b}", "{rm,y}", "$x{m,y}", "x=ls xm=rm; $x{m,y}", "ls *.txt", "cat ./*.txt", "./*", "alias l=rm",
	"alias ls='rm y'", "shopt -s expand_aliases", "l y", "ls",
	"select x in rm; do X; break; done <<< 1", "coproc X", "cat <(X)", "echo $(X)", "echo `X`", "\"$(X)\"",
	"$(echo rm) y", "! X", "time X", "X > /dev/null", "X 2>&1",
	"command X", "builtin eval X", "exec X", "X \\\n y", "r\\m y", "'r'm y", "$'r\\x6d' y", "# X", "git status # X",
	"set -e", "set -f", "set -o pipefail", "git log $x",
	"git \"$x\"", "echo \"$x\" $y", "grep \"$x\" a.txt", "cat $x", "function g { X; }", "g", "until X; do Y; break; done",
	"for ((i=0;i<2;i++)); do X; done", "f() { x=rm; }", "f() { $1 y; }",
	"f() ( X )", "f() { f() { rm y; }; }", "[ -f a.txt ] && X", "test -n \"$x\" && X", "type git", "hash -r", "let i=1",
	"let x", "mapfile -t a <<< rm", "getopts r: x -r rm", "echo ${!x}",
	"# comment \\\nX", "X # \\\nY", "echo ${x:-X}", "echo ${x:-<(X)}", "echo \"${x:-$(X)}\"", "readonly x=rm",
	"declare -r x=ls", "trap 'x=rm' DEBUG", "trap X DEBUG",
	"{ head -1; bash; } <<'EOF'\ncat <<'X1'\nX\nX1\nEOF", "bash <<EOF\necho \\\"; X; echo \\\"\nEOF",
	"bash <<EOF\n\\$x y\nEOF", "[ $x ]", "[ \"$x\" ]", "[ -n \"$x\" ]",
	"printf \"$x\" y", "echo \"a\\\"; X; echo \\\"b\"", "echo 'a'\\''; X; echo '", "echo a\\ b; X", "echo \"\\`X\\`\"",
	"echo \\$(X)", "echo '$(X)'", "echo \"'$(X)'\"", "echo $\"X\"", "echo $'a\\'; X; echo b'",
	"x=$'r\\tm'", "echo \\\\$(X)", "echo `echo \\`X\\``", "echo \"`echo \\\"X\\\"`\"", "((x=1)) && X", "((1)) || X",
	"let i=i+1", "echo $((X))", "echo $[1+1]; X", "case a in (a) X;; esac", "case X in a|b) Y;; esac",
	"if [[ a == b ]]; then X; fi", "[[ a =~ ^(X)$ ]]", "[[ -n X || -z Y ]]", "{ X; } 2>&1 | Y", "X | { Y; }", "X |& Y",
	"(X) | (Y)", "! { X; }", "echo {X,Y}", "echo {a..c}", "x={rm,y}; $x", "$x{m,y}", "echo a{,b}",
	"set -- a b; shift; echo $1", "set rm y; $1 $2", "f() { local x=rm; g; }", "g() { $x y; }",
	"f() { set -- rm; }; f; $1", "f() { shift; \"$@\"; }; f ls rm y", "eval \"f() { X; }\"; f", "unset -f git",
	"git() { X; }; unset -f git; git status",
	"x=ls; { x=rm; } | cat; $x y", "x=ls; (x=rm); $x .", "x=ls; x=rm & wait; $x .", "x=ls; true && x=rm; $x y",
	"x=ls; for x in rm; do :; done; $x y", "x=ls; while x=rm; do break; done; $x y", "x=ls; f() { x=rm; }; f | cat; $x .",
	"x=ls y=$x; $y .", "x=ls; y=${x}; $y .", "x=l; x+=s; $x .", "x=r; x+=m; $x y", "a=(ls .); ${a[0]}",
	"a=(ls); a[0]=rm; \"${a[@]}\" y", "read x < <(echo rm); $x y", "read -r x <<EOF\nrm\nEOF\n$x y",
	"while read x; do $x y; done < a.txt",
	"exec 3<a.txt; read x <&3", "exec {fd}</dev/null", "cat 3</dev/null <&3", "X <&-", "X 2>&1 >/dev/null",
	"bash -s < a.txt", "bash -s <<< 'X'", "bash -ec 'X'", "bash -c 'X' -- Y", "env -i X", "env -u x X",
	"env -S 'git status'",
	"time -p X", "nohup X", "timeout -s KILL 1 X", "nice -n 1 X", "stdbuf -o0 X", "xargs -0 X", "xargs -r -n 1 X",
	"xargs", "find . -maxdepth 0 -exec sh -c 'X' \\;", "find . -maxdepth 0 -exec sh -c '$1 y' _ rm \\;",
	"find src docs -maxdepth 0 -exec X {} +",
	"x=ls; for i in 1 2; do $x y; x=rm; done", "f() { return; x=ls; }", "x=rm; f; $x y", "x=ls y=rm; ${y} z",
	"cat <<EOF\nX\n$(Y)\nEOF", "cat <<'EOF'\n$(X)\nEOF", "bash <<EOF\nX\nEOF",
}

// composer makes commands from fragments.
type composer struct {
	*rand.Rand
	pool []string
}

func (c *composer) command(depth int) string {
	s := c.pool[c.IntN(len(c.pool))]
	if c.IntN(3) > 0 {
		s = fragments[c.IntN(len(fragments))]
	}
	if depth > 0 && c.IntN(3) == 0 {
		s = compose("X", "Y", uint8(c.IntN(256)))
	}
	for _, place := range []string{"X", "Y"} {
		if !strings.Contains(s, place) {
			continue
		}
		inner := "git status"
		if depth > 0 {
			inner = c.command(depth - 1)
		}
		s = strings.ReplaceAll(s, place, inner)
	}
	return s
}

func (c *composer) script() string {
	n := 1 + c.IntN(4)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = c.command(2)
	}
	return strings.Join(parts, []string{"; ", "\n", " && ", " || "}[c.IntN(4)])
}

// TestComposed runs approved compositions of fragments. COMMAND_SOAK says how many to try; a few are tried always.
func TestComposed(t *testing.T) {
	tries, seed := 1000, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("COMMAND_SOAK")); err == nil {
		tries, seed = n, rand.Uint64()
		t.Logf("seed %d", seed)
	}
	r := newRecorder(t)
	c := &composer{Rand: rand.New(rand.NewPCG(seed, 0)), pool: table(t, "approved.txt")}
	rules := permissiveRules()
	ran := 0
	for range tries {
		src := c.script()
		if strings.Contains(src, "sleep") || strings.Contains(src, "while") && !strings.Contains(src, "break") {
			continue
		}
		v, effects, err := r.decide(src, rules...)
		if err != nil || v.Decision != tongs.PreApproved || !runnable(src) {
			continue
		}
		ran++
		r.check(t, src, effects)
	}
	t.Logf("%d of %d were approved and run", ran, tries)
	if ran < tries/100 {
		t.Errorf("only %d of %d were run, too few to mean anything", ran, tries)
	}
}
