//go:build unix

package main

import (
	"bufio"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/mcp/oauth"
	"github.com/tongs-ai/tongs/mcp/oauth/oauthtest"
)

// logIn runs 'tongs mcp login' and goes where it sends a person. Arrive, if any, is told of the
// address first. It returns all that was said.
func (d *desk) logIn(arrive func(page string), args ...string) (said string) {
	d.t.Helper()
	page := ""
	cmd := d.command(append([]string{"mcp", "login"}, args...)...)
	out, err := cmd.StderrPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if line := strings.TrimSpace(lines.Text()); strings.HasPrefix(line, "http") {
			page = line
		}
		if strings.HasPrefix(lines.Text(), "Waiting") {
			if arrive != nil {
				arrive(page)
			}
			if err := oauthtest.Browse(d.t.Context(), oauth.Visit{URL: page}); err != nil {
				d.t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		d.t.Fatalf("%v: %s", err, said)
	}
	return said
}

func TestMCPLogin(t *testing.T) {
	d := newDesk(t)
	a := oauthtest.New(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1"}, nil)
	a.Protect(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	if _, said, code := d.run("mcp", "add", "tracker", "--url", a.MCP()); code != 0 {
		t.Fatal(said)
	}
	if _, said, code := d.run("mcp", "test", "tracker"); code == 0 || !strings.Contains(said, "tongs mcp login tracker") {
		t.Fatalf("%d %s", code, said)
	}
	said := d.logIn(nil, "tracker", "--no-browser", "--scope", "read,write")
	if !strings.Contains(said, "Logged in to tracker with "+a.URL+", for read, write.") || !strings.Contains(said, "Next: tongs mcp review tracker") {
		t.Error(said)
	}
	out, said, code := d.run("mcp", "test", "tracker")
	if code != 0 || !strings.Contains(out, "tracker answers") {
		t.Errorf("%d %s %s", code, out, said)
	}
	// Only the login holds what is secret.
	inside := append(a.Secrets(), "code_verifier")
	found := 0
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, s := range inside {
			if strings.Contains(string(data), s) {
				found++
				if info, _ := e.Info(); filepath.Base(filepath.Dir(path)) != "logins" || info.Mode().Perm() != 0o600 {
					t.Errorf("%s holds a secret", path)
				}
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d %v", found, err)
	}
	if _, said, code = d.run("mcp", "logout", "tracker"); code != 0 || !strings.Contains(said, "Logged out of tracker.") {
		t.Errorf("%d %s", code, said)
	}
	if _, said, _ = d.run("mcp", "logout", "tracker"); !strings.Contains(said, "Nobody is logged in to tracker.") {
		t.Error(said)
	}
	for _, args := range [][]string{{"tracker", "--client-secret-env", "NOT_SET_ANYWHERE"}, {"tracker", "--port", "70000"}, {}} {
		if _, said, code := d.run(append([]string{"mcp", "login"}, args...)...); code != 2 {
			t.Errorf("%v: %d %s", args, code, said)
		}
	}
	if runtime.GOOS == "linux" {
		d.loginByBrowser("tracker")
	}
	if _, said, code := d.run("mcp", "remove", "tracker"); code != 0 {
		t.Error(said)
	}
	if left, _ := filepath.Glob(filepath.Join(d.dir, "home", "state", "mcp", "logins", "*.json")); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// loginByBrowser logs in with a browser that writes down where it was sent.
func (d *desk) loginByBrowser(name string) {
	d.t.Helper()
	bin := filepath.Join(d.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		d.t.Fatal(err)
	}
	opened := filepath.Join(d.dir, "opened")
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nprintf %s \"$*\" >'"+opened+"'\n"), 0o755); err != nil {
		d.t.Fatal(err)
	}
	d.env = append(d.env, "PATH="+bin+":"+os.Getenv("PATH"))
	d.logIn(func(page string) {
		if data, err := os.ReadFile(opened); err != nil || string(data) != page {
			d.t.Errorf("the browser was sent to %q rather than %q: %v", data, page, err)
		}
	}, name)
}
