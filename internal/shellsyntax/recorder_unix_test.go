//go:build unix

package shellsyntax_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// recorder runs commands with the real bash where every program is a stub that writes down its arguments, and answers
// with text that is harmful if anything takes it for commands, options or numbers. Only programs that do nothing but
// run others are real.
type recorder struct {
	*site
	bin, log string
	sys      *syscall.SysProcAttr
}

const stub = `#!/bin/sh
printf '%s\0' "$#" "${0##*/}" "$@" >> LOG
ANSWER
`

func newRecorder(t testing.TB) *recorder {
	t.Helper()
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Fatalf("the recorder needs /bin/bash: %v", err)
	}
	base := t.TempDir()
	r := &recorder{site: newSite(t), bin: filepath.Join(base, "bin"), log: filepath.Join(base, "log")}
	if err := os.Mkdir(r.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	names := append(strings.Fields(`rm curl wget kill touch cp mv mkdir chmod ssh perl node ruby sudo su doas tar dd less man base64 tr cut stat
 file id uname basename true false test x y z evil`), permissive...)
	for _, name := range names {
		answer := `printf '%s\n' 'rm x' -exec rm push 'a[$(rm z)]' '$(rm y)' '; rm w' /etc/passwd`
		switch name {
		case "wc", "date", "nproc":
			answer = "echo 3"
		case "true", "test":
			answer = "exit 0"
		case "false":
			answer = "exit 1"
		}
		r.stub(t, name, answer)
	}
	for _, name := range []string{"env", "timeout", "nice", "nohup", "stdbuf", "xargs", "find", "bash", "sh"} {
		path := filepath.Join(r.bin, name)
		_ = os.Remove(path)
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, path); err != nil {
			t.Fatal(err)
		}
	}
	r.sys = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		// Somebody who can change nothing but what is made for it.
		r.sys.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for _, dir := range []string{base, filepath.Dir(base), filepath.Dir(r.dir)} {
		chmod(t, dir, 0o755)
	}
	chmod(t, r.dir, 0o777)
	return r
}

// stub makes a program that writes down its arguments, and then runs the answer.
func (r *recorder) stub(t testing.TB, name, answer string) {
	t.Helper()
	text := strings.NewReplacer("LOG", "'"+r.log+"'", "ANSWER", answer).Replace(stub)
	if err := os.WriteFile(filepath.Join(r.bin, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func chmod(t testing.TB, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// runnable reports whether a command may be run here: nothing in it names a place outside, or could stop a process.
func runnable(src string) bool {
	bare := strings.NewReplacer(`\`, "", `'`, "", `"`, "", "\n", "").Replace(src)
	if strings.Contains(bare, "..") || strings.Contains(bare, "~") || strings.Contains(bare, "kill") ||
		strings.Contains(bare, "ulimit") ||
		strings.Contains(bare, "PWD") || strings.Contains(bare, "suspend") {
		return false
	}
	bare = strings.ReplaceAll(bare, "/dev/null", "")
	for i, c := range bare {
		if c == '/' && (i == 0 || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.",
			rune(bare[i-1]))) {
			return false
		}
	}
	return true
}

// run runs a command and returns the programs that it ran, each with its arguments.
func (r *recorder) run(t testing.TB, src string) [][]string {
	t.Helper()
	if err := os.WriteFile(r.log, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	chmod(t, r.log, 0o666)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", `ulimit -t 1; ulimit -f 4096; ulimit -c 0; exec /bin/bash -c "$1"`,
		"bash", src)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + r.bin, "HOME=/home/somebody"}
	cmd.SysProcAttr = r.sys
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // how it ends does not matter, only what it ran
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	data, err := os.ReadFile(r.log)
	if err != nil {
		t.Fatal(err)
	}
	var ran [][]string
	for fields := strings.Split(string(data), "\x00"); len(fields) > 1; {
		n, err := strconv.Atoi(fields[0])
		if err != nil || n+2 > len(fields) {
			break // cut off in the middle
		}
		ran = append(ran, fields[1:n+2])
		fields = fields[n+2:]
	}
	return ran
}

// made returns the names in the workspace that were not there before, and removes them.
func (r *recorder) made(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	known := " a.txt b.txt src docs tool.py script.sh Makefile package.json .env .gitignore .git out-link "
	var made []string
	for _, e := range entries {
		if !strings.Contains(known, " "+e.Name()+" ") {
			made = append(made, e.Name())
			_ = os.RemoveAll(filepath.Join(r.dir, e.Name()))
		}
	}
	return made
}

// check runs a command that was approved, and fails where it did what no effect tells.
func (r *recorder) check(t testing.TB, src string, effects []tongs.Effect) {
	t.Helper()
	var before string
	for again := range 2 {
		argv := uncovered(r.run(t, src), effects)
		if argv == nil {
			break
		}
		// A process that a command before left behind may have written this; it does not do so twice.
		if now := strings.Join(argv, " "); again == 0 {
			before = now
		} else if now == before {
			t.Errorf("%q ran %q, which no effect tells: %v", src, argv, effects)
		}
	}
	if made := r.made(t); made != nil {
		t.Errorf("%q made %q, which no effect tells: %v", src, made, effects)
	}
}

// uncovered returns the first program that ran and that no effect tells of.
func uncovered(ran [][]string, effects []tongs.Effect) []string {
	for _, argv := range ran {
		if !slices.ContainsFunc(effects, func(e tongs.Effect) bool {
			return e.Kind == tongs.EffectExecute && !e.Unknown && covers(e.Argv, argv)
		}) {
			return argv
		}
	}
	return nil
}

// covers reports whether the words of an effect stand for what ran. A word with a NUL byte stands for anything from
// there on that begins as it does.
func covers(effect, ran []string) bool {
	if effect[0] != ran[0] {
		return false
	}
	if ran[0] == "git" && len(effect) > 1 {
		for len(ran) > 1 && ran[1] != effect[1] && strings.HasPrefix(ran[1], "-") {
			if ran[1] == "-C" && len(ran) > 2 {
				ran = ran[1:]
			}
			ran = ran[1:]
		}
		ran = append([]string{"git"}, ran[min(1, len(ran)):]...)
	}
	for i, word := range effect {
		begin, src, open := strings.Cut(word, "\x00")
		switch {
		case open:
			// A pattern that matches nothing may leave no word.
			return i >= len(ran) || strings.HasPrefix(ran[i], begin) || strings.ContainsAny(src, "*?[")
		case i < len(ran) && i > 0 && strings.HasSuffix(word, "/"+ran[i]): // told by where it is
		case i >= len(ran) || ran[i] != word:
			return false
		}
	}
	return len(ran) == len(effect)
}

// TestRecorder makes sure that the recorder sees what runs, so that a fuzz test that finds nothing means something.
func TestRecorder(t *testing.T) {
	r := newRecorder(t)
	for src, want := range map[string]string{
		"ls; rm x":                         "ls|rm x",
		"env timeout 5 rm x":               "rm x",
		"echo a | xargs rm":                "rm a",
		"find . -maxdepth 0 -exec rm {} +": "rm .",
		`git() { rm x; }; git status`:      "rm x",
		`$(git log | head -1)`:             "git log|rm x -exec rm push a[$(rm z)] $(rm y) ; rm w /etc/passwd",
		`x='a[$(rm x)]'; : $((x))`:         "rm x",
		"bash -c 'rm x'":                   "rm x",
	} {
		var got []string
		for _, argv := range r.run(t, src) {
			got = append(got, strings.Join(argv, " "))
		}
		// The commands of a pipeline start in any order.
		for _, line := range strings.Split(want, "|") {
			if !strings.Contains("|"+strings.Join(got, "|")+"|", "|"+line+"|") {
				t.Errorf("%q ran %q, want %q", src, got, want)
			}
		}
	}
	r.run(t, "echo x > planted")
	if made := r.made(t); len(made) != 1 || made[0] != "planted" {
		t.Errorf("made %q, want the planted file", made)
	}
}

// TestApprovedRuns runs the table of approved commands: each does what its effects say and no more.
func TestApprovedRuns(t *testing.T) {
	r := newRecorder(t)
	ran := 0
	for _, src := range table(t, "approved.txt") {
		v, effects, err := r.decide(src, permissiveRules()...)
		if err != nil || v.Decision != tongs.PreApproved || !runnable(src) {
			continue
		}
		r.check(t, src, effects)
		ran++
	}
	if ran < 100 {
		t.Errorf("only %d commands were run", ran)
	}
}

// FuzzApproved joins and mutates commands, and runs those that are approved: nothing may run that was not.
func FuzzApproved(f *testing.F) {
	approved, asked := table(f, "approved.txt"), table(f, "asked.txt")
	for i, src := range asked {
		f.Add(approved[i%len(approved)], src, uint8(i))
	}
	r := newRecorder(f)
	rules := permissiveRules()
	f.Fuzz(func(t *testing.T, x, y string, how uint8) {
		src := compose(x, y, how)
		if len(src) > 4096 {
			return
		}
		v, effects, err := r.decide(src, rules...)
		if err != nil || v.Decision != tongs.PreApproved || !runnable(src) {
			return
		}
		r.check(t, src, effects)
	})
}

// compose puts two commands together in one of the ways a shell knows.
func compose(x, y string, how uint8) string {
	forms := []string{
		"X", "X; Y", "X && Y", "X || Y", "X | Y", "X & Y", "X\nY", "(X; Y)", "{ X\nY\n}", "X $(Y)", "X `Y`", "X \"$(Y)\"",
		"X <(Y)",
		"if X; then Y; fi", "for i in X; do Y; done", "f() { X\n}; f Y", "x='X'; $x Y", "x=\"X\"; Y", "env X; Y",
		"timeout 2 X; Y",
		"bash -c 'X' Y", "eval 'X'; Y", "X <<EOF\nY\nEOF", "X <<'EOF'\nY\nEOF\n", "case X in Y) X;; esac",
		"X > /dev/null; Y", "set -- X; Y",
		"while X; do Y; break; done", "X {Y,a}", "[[ X ]] && Y", "echo $((X)); Y", "xargs X; Y", "alias a='X'\nY",
		"trap 'X' EXIT; Y",
		"a=(X); Y", "echo ${x:-X}; Y", "X \\\nY", "echo X|Y", "find . -maxdepth 1 -exec X \\; ; Y", "bash <<< 'X'; Y", "XY",
		"X'Y'", "X\"Y\"",
	}
	return strings.NewReplacer("X", x, "Y", y).Replace(forms[int(how)%len(forms)])
}
