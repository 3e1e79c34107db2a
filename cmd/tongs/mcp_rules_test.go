//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/config"
)

// A running server takes up rules that a person adds, and what becomes of the trust in a workspace, with the next call.
func TestMCPTakesUpNewRules(t *testing.T) {
	d := newDesk(t)
	configDir := filepath.Join(d.dir, "home", ".config", "tongs")
	if err := os.MkdirAll(configDir, 0o700); err != nil {
		t.Fatal(err)
	}
	// Both directories are those of the user: a server does not take the word of others that the environment names.
	state, err := config.OwnStateDir(filepath.Join(d.dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "TONGS_CONFIG_DIR="+configDir, "TONGS_STATE_DIR="+state)
	c, _ := d.mcpClient("--wait", "0s")
	n := 0
	edit := func(path string) string {
		t.Helper()
		n++
		d.write(path, "one\n")
		said := mcpCall(t, c, "edit", map[string]any{"path": path, "oldString": "one", "newString": strings.Repeat("x", n)})
		code, _, _ := strings.Cut(said, ":")
		if d.read(path) == "one\n" {
			return code
		}
		return "edited"
	}
	want := func(when, path, want string) {
		t.Helper()
		if got := edit(path); got != want {
			t.Errorf("%s: %s is %s, want %s", when, path, got, want)
		}
	}
	run := func(args ...string) {
		t.Helper()
		if out, stderr, code := d.run(args...); code != 0 {
			t.Fatalf("%v: exit %d: %s%s", args, code, out, stderr)
		}
	}
	want("at first", "a.txt", "APPROVAL_REQUIRED")
	run("allow", "--edits", "a*.txt", "--yes")
	want("after allow", "a.txt", "edited")
	want("after allow", "b.txt", "APPROVAL_REQUIRED")
	run("deny", "--edits", "b.txt", "--yes")
	want("after deny", "b.txt", "BLOCKED")

	d.write("tongs.yaml", "approval: {tools: {edit: preApproved}}\n")
	want("untrusted", "c.txt", "APPROVAL_REQUIRED")
	tty := d.terminal("trust")
	tty.typing(tty.expect(`type (\w+) and press Enter: `)[1] + "\r")
	if code := tty.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, tty.screen())
	}
	want("trusted", "c.txt", "edited")
	run("trust", "--revoke")
	want("trust revoked", "d.txt", "APPROVAL_REQUIRED")
	d.write("tongs.yaml", "approval: {tools: {edit: blocked}}\n")
	want("blocked in the workspace", "e.txt", "BLOCKED")
	if err := os.Remove(filepath.Join(d.dir, "ws", "tongs.yaml")); err != nil {
		t.Fatal(err)
	}
	want("without that file", "a2.txt", "edited")

	before, err := os.ReadFile(filepath.Join(configDir, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(configDir, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("approval: {tools: {edit: perhaps}}\n")
	said := mcpCall(t, c, "read_file", map[string]any{"path": "a.txt"})
	if !strings.HasPrefix(said, "BLOCKED") || !strings.Contains(said, "cannot be read") || !strings.Contains(said, "perhaps") {
		t.Errorf("a configuration that cannot be read: %s", said)
	}
	write(string(before))
	want("mended", "a3.txt", "edited")
	want("mended", "b.txt", "BLOCKED")
}
