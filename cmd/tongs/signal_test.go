//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// A call that waits for a lock is cancelled by Ctrl-C, and its row says so.
func TestInterruptCancelsTheCall(t *testing.T) {
	d := newDesk(t)
	home := filepath.Join(d.dir, "home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	ws, err := workspace.Open(workspace.Options{Dir: filepath.Join(d.dir, "ws")})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	unlock, err := ws.Lock(t.Context(), tongs.Path{Rel: "a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	cmd := d.command("call", "write_file", "path=a.txt", "content=two", "--mode", "all")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.eventually(func() bool {
		out, _, _ := d.run("log", "list", "--format", "json")
		return strings.Contains(out, `"intent"`)
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != 1 || !strings.Contains(stderr.String(), "CANCELLED") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	if d.read("a.txt") != "one\n" {
		t.Errorf("the file is %q", d.read("a.txt"))
	}
	if out, _, _ := d.run("log", "list", "--format", "json"); !strings.Contains(out, `"outcome":"cancelled"`) {
		t.Errorf("log: %s", out)
	}
}

// Ctrl-C also ends a command that waits for its arguments.
func TestInterruptEndsReadingOfStdin(t *testing.T) {
	d := newDesk(t)
	c := d.terminal("call", "read_file", "-")
	d.eventually(func() bool { // the state is there once the command is about to read
		d.run("version")
		_, err := os.Stat(filepath.Join(d.dir, "home", "state", "spill"))
		return err == nil
	})
	c.typing("\x03")
	c.expect(`CANCELLED`)
	if code := c.exit(); code != 1 {
		t.Errorf("exit %d", code)
	}
}
