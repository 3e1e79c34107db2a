package commands

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/system"
)

func TestMain(m *testing.M) {
	system.Main()
	os.Exit(m.Run())
}

// row is a command of a set, with what must hold of it.
type row struct{ label, command string }

// read returns the commands of a set. Those of a set without labels have none.
func read(t *testing.T, name string, labelled bool) (rows []row) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "#  ") {
			continue
		}
		r := row{command: line}
		if labelled {
			r.label, r.command, _ = strings.Cut(line, " ")
		}
		if strings.HasPrefix(r.command, `"`) && strings.HasSuffix(r.command, `"`) {
			if r.command, err = strconv.Unquote(r.command); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		rows = append(rows, r)
	}
	return rows
}

// files are those of the project that the commands are for.
var files = map[string]string{
	"README.md": "# Shop\n\nTODO: a cart.\n", "docs/guide.md": "# Guide\n", "Makefile": "all:\n\t@echo all\nupload:\n\t@echo no\n",
	"go.mod": "module example.com/shop\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() {}\n",
	"cart/cart.go": "package cart\n\nfunc Total() int { return 0 }\n", "cart/cart_test.go": "package cart\n",
	"package.json":      `{"name": "shop", "version": "1.0.0", "scripts": {"test": "node --test", "build": "tsc"}}`,
	"src/index.ts":      "export const add = (a: number, b: number) => a + b\n",
	"src/app.py":        "import json\n\ndef total(): return 0\n",
	"tests/test_app.py": "def test_total(): pass\n", "data.csv": "a,1,x\nb,2,y\n", "list.txt": "README.md\n",
	"data.json": `{"items": [{"name": "apple", "price": 12}]}`, "logs/app.log": "GET /\nerror\n",
	"scripts/build.sh": "#!/bin/sh\necho built\n", "scripts/env.sh": "export MODE=dev\n", ".gitignore": ".env\n*.pem\nnode_modules\n",
	".env": "SECRET=" + secret + "\n", "key.pem": "-----BEGIN PRIVATE KEY-----\n" + secret + "\n", "x": "#!/bin/sh\n",
}

// secret is what no command may show.
const secret = "canary-4f1d7c"

// place is a home with secrets in it, and in it a workspace.
type place struct {
	home, work string
	system     *system.System
}

// open makes a place and opens a system there, with the default configuration and this machine's sandbox.
func open(t *testing.T, config string) *place {
	t.Helper()
	dir, err := os.MkdirTemp(".", "place-") // /tmp is private to commands
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &place{home: filepath.Join(dir, "home"), work: filepath.Join(dir, "home", "shop")}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		write(filepath.Join(p.work, name), text)
	}
	for _, name := range []string{".ssh/id_rsa", ".aws/credentials", ".netrc"} {
		write(filepath.Join(p.home, name), secret+"\n")
	}
	write(filepath.Join(p.home, ".bashrc"), "# mine\n")
	write(filepath.Join(dir, "config", "config.yaml"), config)
	if err := os.Chmod(filepath.Join(p.work, "scripts/build.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", p.home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache")) // Tongs' own locks
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	p.git(t, "init", "-q", "-b", "main")
	p.git(t, "add", "-A")
	p.git(t, "commit", "-qm", "first")
	p.system, err = system.Open(t.Context(), system.Options{
		Workspace: p.work, Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state"), CustomTools: filepath.Join(dir, "tools"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.system.Close() })
	return p
}

// git runs git in the workspace.
func (p *place) git(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"-C", p.work, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// call is the call of shell with a command. The home of root in it is that of the place.
func (p *place) call(t *testing.T, command string, more map[string]any) *tongs.Call {
	t.Helper()
	args := map[string]any{"command": strings.ReplaceAll(command, "/root/", p.home+"/"), "timeout": 1}
	maps.Copy(args, more)
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return &tongs.Call{Tool: "shell", Args: data, Session: "s"}
}

// decision is how a command is decided before it runs.
type decision struct {
	*tongs.Explanation
	// runs is set where nobody is asked before it runs.
	runs bool
}

// decide returns the decision. A command that is refused does not run.
func (p *place) decide(t *testing.T, command string, more map[string]any) decision {
	t.Helper()
	e, err := p.system.Explain(t.Context(), p.call(t, command, more))
	if err != nil {
		return decision{&tongs.Explanation{Decision: tongs.Blocked, Reason: err.Error()}, false}
	}
	return decision{e, e.Decision == tongs.PreApproved || e.Deferred && e.Decision == tongs.Ask}
}

// contained reports whether a command that runs without a question runs on a copy, or reads only, and reaches no host.
func (d decision) contained() bool {
	for _, e := range d.Effects {
		switch {
		case e.Kind == tongs.EffectNetwork, e.MustAsk:
			return false
		case d.Deferred || e.Kind == tongs.EffectExecute && !e.Unknown:
		case e.Kind != tongs.EffectRead || e.Unknown && !e.Confined:
			return false
		}
	}
	return true
}
