//go:build unix

package shellsyntax_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// echoes is a program that the corpus calls instead of the builtin echo, so that the recorder sees its arguments.
const echoes = "xecho"

var echoWord = regexp.MustCompile(`\becho\b`)

// TestShellCorpus compares the planner with bash on every script of a corpus: what bash runs must be in the plan, unless
// the plan says that anything may run. Make target shell-corpus runs it; SHELL_CORPUS names a directory with files
// *.test.sh, in which a line "#### title" begins a script that ends before a line that begins with "## ".
//
// Nothing of a script really runs: the programs are stubs that write down their arguments, and bash itself has another
// user, an empty directory, and a second.
func TestShellCorpus(t *testing.T) {
	dir := os.Getenv("SHELL_CORPUS")
	if dir == "" {
		t.Skip("there is no corpus; run make shell-corpus DIR=...")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.test.sh"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.test.sh in %s (%v)", dir, err)
	}
	r := newRecorder(t)
	r.stub(t, echoes, `echo "$@"`)
	for _, name := range []string{"argv.py", "printenv.py", "argv", "stdout_stderr.py", "foo", "a", "b"} {
		r.stub(t, name, "")
	}
	var all []script
	for _, file := range files {
		all = append(all, scripts(t, file)...)
	}
	count := map[string]int{}
	for _, s := range all {
		count[r.against(t, s.title, s.text)]++
		count[r.against(t, s.title, echoWord.ReplaceAllString(s.text, echoes))]++
	}
	t.Logf("scripts: %v", count)
	// Then some of them put together, and with a line continuation somewhere.
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	count = map[string]int{}
	for range 2 * len(all) {
		x, y := all[dice.IntN(len(all))], all[dice.IntN(len(all))]
		src := echoWord.ReplaceAllString(compose(strings.TrimSpace(x.text), strings.TrimSpace(y.text), uint8(dice.IntN(256))), echoes)
		if at := dice.IntN(2 * len(src)); at < len(src) {
			src = src[:at] + "\\\n" + src[at:]
		}
		count[r.against(t, x.title+" and "+y.title, src)]++
	}
	t.Logf("put together: %v", count)
}

// against compares one script, and returns what came of it.
func (r *recorder) against(t *testing.T, title, src string) string {
	t.Helper()
	an, err := shellsyntax.Analyse(src, r.world, shellsyntax.Options{})
	switch {
	case err != nil:
		return "refused"
	case slices.ContainsFunc(an.Effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute && e.Unknown }):
		return "may run anything"
	case !runnable(src):
		return "names places outside"
	}
	r.compare(t, title, src, an.Effects)
	return "compared"
}

type script struct{ title, text string }

func scripts(t *testing.T, file string) []script {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []script
	for part := range strings.SplitSeq("\n"+string(data), "\n#### ") {
		title, rest, ok := strings.Cut(part, "\n")
		if !ok || strings.HasPrefix(part, "\n") {
			continue
		}
		text, about, _ := strings.Cut("\n"+rest, "\n## ")
		if code, ok := strings.CutPrefix(about, "code: "); ok && strings.TrimSpace(text) == "" {
			text, _, _ = strings.Cut(code, "\n")
		}
		if strings.TrimSpace(text) != "" {
			list = append(list, script{title, strings.TrimPrefix(text, "\n") + "\n"})
		}
	}
	return list
}

// compare runs a script and fails where it did what no effect tells.
func (r *recorder) compare(t *testing.T, title, src string, effects []tongs.Effect) {
	t.Helper()
	ran := r.run(t, src)
	argv := uncovered(ran, effects)
	if argv != nil {
		argv = uncovered(r.run(t, src), effects) // a process that a script before left behind may have written this
	}
	if argv != nil {
		t.Errorf("%s\n%s\nran %q, which no effect tells: %v", title, src, argv, effects)
	}
	writes := slices.ContainsFunc(effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectWrite && e.Unknown })
	for _, name := range r.made(t) {
		if !writes && !slices.ContainsFunc(effects, func(e tongs.Effect) bool {
			return e.Kind == tongs.EffectWrite && (e.Path.Rel == name || strings.HasPrefix(e.Path.Rel, name+"/"))
		}) {
			t.Errorf("%s\n%s\nmade %q, which no effect tells: %v", title, src, name, effects)
		}
	}
}

// TestContinuations puts a line continuation in every place of commands: where the parser and bash disagree on what it
// joins, the plan says that anything may run.
func TestContinuations(t *testing.T) {
	r := newRecorder(t)
	r.stub(t, echoes, `echo "$@"`)
	compared := 0
	for _, src := range []string{
		"xecho $?", "xecho $x", "xecho ${x}", "xecho $(ls)", "xecho $((1+2))", "xecho `ls`", "ls && rm x", "ls || rm x", "ls | cat",
		"ls; rm x", "ls & wait", "cat <<< x", "cat <(ls)", "xecho 'a b'", `xecho "a b"`, "xecho $'a\\tb'", "xecho a\\ b", "x=ls; $x y",
		"f() { ls; }; f", "if ls; then cat; fi", "for i in a b; do ls; done", "case a in a) ls;; esac", "[[ a == b ]] || ls",
		"((1)) && ls", "a=(ls y); \"${a[@]}\"", "xecho {a,b}", "xecho ~", "! ls", "ls # rm", "xecho ${x:-a} b", "xecho \"$(ls)\"",
		"cat <<E\n$(ls)\nE\n", "cat <<'E'\n$(ls)\nE\n", "ls 2>&1", "ls >/dev/null", "ls |& cat", "eval 'ls y'", "bash -c 'ls y'",
		"xecho $\"a\"", "xecho \"\\$(ls)\"", "xecho '$(ls)'", "xecho a#b", "time ls", "{ ls; }", "(ls)", "xecho $((x=1))", "xecho !(a)",
	} {
		for i := range len(src) + 1 {
			broken := src[:i] + "\\\n" + src[i:]
			if r.against(t, "continuation", broken) == "compared" {
				compared++
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d were compared", compared)
	}
}
