package guard

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs/workspace/journal"
)

// A file that the user cannot read stands in nobody's way: the rest is kept. The hook runs as a user without privileges.
func TestUnreadable(t *testing.T) {
	b := newBench(t, "claude-code")
	dir, err := os.MkdirTemp("", "tongs-hook-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b.k.StateDir = filepath.Join(dir, "state")
	program := filepath.Join(dir, "hook")
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err != nil || to.Close() != nil {
		t.Fatal(err)
	}
	b.sh("echo x > shut; mkdir dark; echo d > dark/d")
	var who *syscall.Credential
	if os.Geteuid() == 0 {
		who = &syscall.Credential{Uid: 65534, Gid: 65534}
		for _, name := range []string{dir, b.top, filepath.Join(b.top, "src"), filepath.Join(b.top, "src/a"), filepath.Join(b.top, "dark")} {
			if err := os.Chown(name, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		for at := b.top; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.sh("chmod 000 shut dark")
	hook := func(event string) {
		t.Helper()
		cmd := exec.Command(program, "guard", "hook", "claude-code")
		cmd.Dir, cmd.Env = "/", []string{"TONGS_STATE_DIR=" + b.k.StateDir, "HOME=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s1","cwd":%q,"hook_event_name":%q,"tool_name":"Bash","tool_use_id":"t"}`, b.top, event))
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Fatalf("%s: %v: %s", event, err, out)
		}
	}
	hook("PreToolUse")
	b.sh("rm -rf src")
	hook("PostToolUse")
	b.sh("chmod 600 shut; chmod 755 dark")
	list, err := b.journal().List(journal.Filter{Top: b.top})
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	if list[0].Changes != 2 || list[0].Tool != "Bash" {
		t.Errorf("%+v", list[0])
	}
	if err := b.undo(journal.Selector{Call: list[0].ID}); err != nil {
		t.Fatal(err)
	}
	b.is(map[string]string{"src/a": "a\n", "shut": "x\n", "dark/d": "d\n"})
}
