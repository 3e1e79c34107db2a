//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/wire"
)

// The browser is given a page that only its owner can read: the link stands in no process's arguments. Where the server is
// stands in the state directory while it runs.
func TestServeOpensABrowser(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	seen := filepath.Join(t.TempDir(), "seen")
	browser := filepath.Join(t.TempDir(), "browser")
	if err := syscall.Mkfifo(seen, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n{ echo \"$@\"; ls -l \"$1\"; cat \"$1\"; } > " + seen + "\n"
	if err := os.WriteFile(browser, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := d.command("serve", "--addr", "127.0.0.1:0", "--open")
	cmd.Env = append(cmd.Environ(), "BROWSER="+browser)
	cmd.Stdout = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	guard := time.AfterFunc(time.Minute, func() { _ = os.WriteFile(seen, nil, 0o600) })
	defer guard.Stop()
	data, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(data)+"\n\n", "\n", 3)
	if strings.Contains(lines[0], "#") || !strings.HasPrefix(lines[1], "-rw-------") || !strings.Contains(lines[2], "/login#") {
		t.Errorf("the browser was given %q", data)
	}
	page := lines[0]
	file := filepath.Join(filepath.Dir(page), wire.AddressFile)
	var at wire.Address
	if data, err = os.ReadFile(file); err == nil {
		err = json.Unmarshal(data, &at)
	}
	if err != nil || at.PID != cmd.Process.Pid {
		t.Fatalf("%s: %v", data, err)
	}
	if _, stderr, code := d.run("call", "edit", "path=a.txt", "oldString=one", "newString=two"); code != exitRefused || !strings.Contains(stderr, at.URL+"/approvals#q") {
		t.Errorf("a question says (%d) %s", code, stderr)
	}
	res, err := http.Get(at.URL + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusOK {
		t.Errorf("health: %d", res.StatusCode)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for _, name := range []string{page, file} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s is left behind", name)
		}
	}
}
