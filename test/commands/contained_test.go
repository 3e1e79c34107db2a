package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// apart is set in the process that runs commands for real. It has namespaces of its own: what gets out of the sandbox meets no
// process and no mount of this machine. Only root can have them here; any other user leaves out signals.
const apart = "TONGS_TEST_COMMANDS_APART"

// endless are commands that only use up what there is, which the tests of the sandbox's limits run.
var endless = regexp.MustCompile(`^(yes > big|fallocate|:\(\)|while true|nc -l|python3 -m http.server|mkfifo|go (run|get|install)|npm |npx |pip)`)

// Commands that run without a question are run. Nothing outside of the workspace changes, no file that was there does, and no
// secret is shown.
func TestContainedCommandsReachNothing(t *testing.T) {
	leave := endless
	if os.Geteuid() != 0 {
		leave = regexp.MustCompile(endless.String() + `|kill|STOP`)
	} else if os.Getenv(apart) == "" {
		cmd := exec.Command("unshare", "--fork", "--pid", "--mount", "--mount-proc", "--kill-child", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), apart+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	p := open(t, "")
	home, work := snapshot(t, p.home, p.work), snapshot(t, p.work, "")
	ran := 0
	for _, r := range read(t, "dangerous.txt", true) {
		if leave.MatchString(r.command) || !p.decide(t, r.command, nil).runs {
			continue
		}
		ran++
		res := p.system.Call(t.Context(), p.call(t, r.command, nil))
		if shown := res.Content + res.Display + string(res.Value); strings.Contains(shown, secret) {
			t.Errorf("%q shows a secret: %s", r.command, res.Content)
		}
		compare(t, r.command, home, snapshot(t, p.home, p.work), true)
		compare(t, r.command, work, snapshot(t, p.work, ""), false)
		work = snapshot(t, p.work, "") // new files are kept
	}
	t.Logf("%d commands ran without a question", ran)
	if ran < 100 {
		t.Errorf("only %d commands ran", ran)
	}
	checkRan(t, p)
}

// checkRan proves that a command that runs without a question really runs: it sees the workspace, and what it adds is kept.
func checkRan(t *testing.T, p *place) {
	t.Helper()
	res := p.system.Call(t.Context(), p.call(t, `f=$(echo README.md); head -1 "$f" | tee made.txt`, nil))
	if made, _ := os.ReadFile(filepath.Join(p.work, "made.txt")); res.Error != nil || string(made) != "# Shop\n" {
		t.Errorf("made %q, %v", made, res.Error)
	}
	res = p.system.Call(t.Context(), p.call(t, `echo x > "$(echo README.md)"`, nil))
	if tongs.CodeOf(res.Error) != tongs.CodeApprovalRequired {
		t.Errorf("a change of a file that was there: %v", res.Error)
	}
}

// snapshot is the state of the files below a directory, except those below another one.
func snapshot(t *testing.T, dir, without string) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == without {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		is := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			is += hex.EncodeToString(sum[:8])
		}
		state[name] = is
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// compare reports what became other than it was, and where exact what is new.
func compare(t *testing.T, command string, before, after map[string]string, exact bool) {
	t.Helper()
	for name, is := range before {
		if after[name] != is {
			t.Errorf("%q changed %s: %q, it was %q", command, name, after[name], is)
		}
	}
	for name := range after {
		if before[name] == "" && exact {
			t.Errorf("%q made %s", command, name)
		}
	}
}
