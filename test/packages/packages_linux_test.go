package packages

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/preset"
	"github.com/tongs-ai/tongs/system"
	"github.com/tongs-ai/tongs/test/packages/mirror"
)

func TestMain(m *testing.M) {
	system.Main()
	os.Exit(m.Run())
}

// person allows hosts for always, and everything else once.
type person struct {
	mu    sync.Mutex
	asked []approval.Question
	deny  func(approval.Question) bool
}

func (p *person) Ask(_ context.Context, q approval.Question) (*approval.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, q)
	if p.deny != nil && p.deny(q) {
		return &approval.Answer{Channel: "test"}, nil
	}
	a := &approval.Answer{Approved: true, Channel: "test"}
	if slices.Contains(q.Scopes, approval.Always) && slices.ContainsFunc(q.Effects, isHost) {
		a.Scope, a.Remember = approval.Always, q.Remember
	}
	return a, nil
}

func isHost(e tongs.Effect) bool { return e.Kind == tongs.EffectNetwork }

// bench is the whole system over a workspace.
type bench struct {
	testing.TB
	*system.System
	person *person
	opt    system.Options
}

func newBench(t testing.TB, config string) *bench {
	t.Helper()
	for _, program := range []string{"npm", "node", "python3", "go", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the test needs %s: %v", program, err)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, person: &person{}}
	b.opt = system.Options{
		Workspace: filepath.Join(dir, "work"), Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state"),
		CustomTools: filepath.Join(dir, "tools"), Attended: true, Channels: []approval.Channel{b.person},
	}
	for _, d := range []string{b.opt.Workspace, b.opt.Config} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.opt.Config, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if b.System, err = system.Open(t.Context(), b.opt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) write(name, text string) {
	b.Helper()
	file := filepath.Join(b.opt.Workspace, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) sh(command string) (res *tongs.Result, code int) {
	b.Helper()
	args, err := json.Marshal(map[string]any{"command": command, "timeout": 600})
	if err != nil {
		b.Fatal(err)
	}
	res = b.Call(b.Context(), &tongs.Call{Tool: "shell", Args: args, Session: "s1", Agents: []string{"test"}})
	code, _ = res.Metadata["exitCode"].(int)
	return res, code
}

// ok runs a command that succeeds and says something.
func (b *bench) ok(command, says string) {
	b.Helper()
	res, code := b.sh(command)
	if res.Error != nil || code != 0 || !strings.Contains(res.Content, says) {
		b.Fatalf("%s: code %d\n%s", command, code, res.Content)
	}
}

// noHost stands for a question that is about no host.
const noHost = "no host"

// asked are the hosts of the questions since the last time, one line each.
func (b *bench) asked() (hosts []string) {
	b.person.mu.Lock()
	defer b.person.mu.Unlock()
	for _, q := range b.person.asked {
		what := noHost
		for _, e := range q.Effects {
			if isHost(e) {
				what = e.Host + " (" + e.Why + ")"
			}
		}
		hosts = append(hosts, what)
	}
	b.person.asked = nil
	return hosts
}

// name is a name of this machine. To programs in the sandbox 127.0.0.1 is the sandbox itself.
func name(t testing.TB) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.LookupHost(name); err != nil {
		t.Fatalf("this machine does not know its own name: %v", err)
	}
	return name
}

func newMirror(t testing.TB, host string) *mirror.Mirror {
	t.Helper()
	m, err := mirror.Start(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func coding(t testing.TB) string {
	t.Helper()
	p, err := preset.Find(preset.Coding)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Real package managers use mirrors on this machine through the guard of the network: each host is asked about once, whatever
// else they install, and what they installed works.
func TestMirrorsAreUsedByRealPackageManagers(t *testing.T) {
	host := name(t)
	npm, pip, golang := newMirror(t, host), newMirror(t, host), newMirror(t, host)
	b := newBench(t, coding(t))
	b.write("node/package.json", `{"name": "shop", "version": "1.0.0"}`)
	b.write("node/.npmrc", "registry="+npm.URL+"/npm/\n")
	b.write("go/go.mod", "module example.org/shop\n\ngo 1.21\n")
	b.write("go/main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/greet\"\n)\n\nfunc main() { fmt.Println(greet.Name()) }\n")

	b.ok("cd node && npm install one", "added 1 package")
	if got := b.asked(); len(got) != 1 || !strings.HasPrefix(got[0], npm.Host()+" (") {
		t.Errorf("asked for npm: %q", got)
	}
	b.ok("cd node && npm install two && npm install three", "added 1 package")
	b.ok(`cd node && node -e 'console.log(require("one")() + require("two")())'`, "onetwo")
	b.ok("cd node && rm -rf node_modules && npm ci", "added 3 packages")
	if got := b.asked(); len(got) != 0 {
		t.Errorf("asked again for npm: %q", got)
	}

	pypi := "python3 -m pip install -q --target lib --trusted-host " + host + " --index-url " + pip.URL + "/pypi/simple/ "
	b.ok(pypi+"tiny", "")
	if got := b.asked(); len(got) != 1 || !strings.HasPrefix(got[0], pip.Host()+" (") {
		t.Errorf("asked for pip: %q", got)
	}
	b.ok(pypi+"small", "")
	b.ok("PYTHONPATH=lib python3 -c 'import tiny, small; print(tiny.name() + small.name())'", "tinysmall")
	if got := b.asked(); len(got) != 0 {
		t.Errorf("asked again for pip: %q", got)
	}

	proxied := "cd go && GONOSUMDB=* GOPROXY=" + golang.URL + "/go go "
	b.ok(proxied+"get example.org/greet@v1.0.0", "")
	if got := b.asked(); len(got) != 1 || !strings.HasPrefix(got[0], golang.Host()+" (") {
		t.Errorf("asked for go: %q", got)
	}
	b.ok(proxied+"get example.org/other", "")
	b.ok("cd go && go run .", "example.org/greet")
	if got := b.asked(); len(got) != 0 {
		t.Errorf("asked again for go: %q", got)
	}
	for m, want := range map[*mirror.Mirror]string{
		npm: "GET /npm/one/-/one-1.0.0.tgz", pip: "GET /pypi/files/tiny/tiny-1.0.0-py3-none-any.whl", golang: "GET /go/example.org/greet/@v/v1.0.0.zip",
	} {
		if !slices.Contains(m.Requests(), want) {
			t.Errorf("nobody asked for %s: %q", want, m.Requests())
		}
	}
}

// A registry that is configured to be at localhost is one of this machine, although localhost is the sandbox itself to a program:
// it is reached once a person allowed that very host. Tokens beside it stay hidden.
func TestMirrorsOnLocalhost(t *testing.T) {
	npm, golang := newMirror(t, "127.0.0.1"), newMirror(t, "127.0.0.1")
	t.Setenv("GOPROXY", golang.URL+"/go")
	t.Setenv("GONOSUMDB", "*")
	b := newBench(t, coding(t))
	b.write("package.json", `{"name": "shop", "version": "1.0.0"}`)
	b.write(".npmrc", "registry="+npm.URL+"/npm/\n//"+npm.Host()+"/npm/:_authToken=very-secret\n")
	b.write("go.mod", "module example.org/shop\n\ngo 1.21\n")

	b.ok("npm install one && npm install two", "added 1 package")
	got := b.asked()
	if len(got) != 1 || !strings.HasPrefix(got[0], npm.Host()+" (") || !strings.Contains(got[0], "named by .npmrc of this project") {
		t.Errorf("asked for npm: %q", got)
	}
	b.ok("go get example.org/greet", "")
	if got := b.asked(); len(got) != 1 || !strings.Contains(got[0], golang.Host()+" (go registry, named by GOPROXY; ") {
		t.Errorf("asked for go: %q", got)
	}
	b.ok("npm install three && go get example.org/other", "added 1 package")
	if got := b.asked(); len(got) != 0 {
		t.Errorf("asked again: %q", got)
	}
	if res, _ := b.sh("cat .npmrc"); strings.Contains(res.Content, "very-secret") && len(b.asked()) == 0 {
		t.Errorf("a command reads the token: %s", res.Content)
	}
	if res, _ := b.sh("python3 -c 'print(open(\".npmrc\").read())'"); strings.Contains(res.Content, "very-secret") || !strings.Contains(res.Content, "registry="+npm.URL) {
		t.Errorf("a program sees of .npmrc: %s", res.Content)
	}
}

// What a person refuses is not reached, and the result says so. A host that a rule blocks is not asked about, and the result tells
// which rule.
func TestRefusedMirrors(t *testing.T) {
	host := name(t)
	npm, blocked := newMirror(t, host), newMirror(t, host)
	b := newBench(t, coding(t)+"\nsandbox:\n  network:\n    hosts:\n      - {host: '"+blocked.Host()+"', approval: blocked}\n      - {host: limited.example, methods: [GET]}\n")
	b.write("package.json", `{"name": "shop", "version": "1.0.0"}`)
	b.person.deny = func(approval.Question) bool { return true }
	res, _ := b.sh("npm install one --registry " + npm.URL + "/npm/")
	if res.Error == nil || res.Error.Code != tongs.CodeDenied || len(b.asked()) != 1 {
		t.Errorf("refused: %s", res.Content)
	}
	res, code := b.sh("npm install one --fetch-retries=0 --registry " + blocked.URL + "/npm/")
	if code == 0 || !strings.Contains(res.Content, "no connection: ") || !strings.Contains(res.Content, "config.yaml") || len(b.asked()) != 0 {
		t.Errorf("blocked, code %d: %s", code, res.Content)
	}
	for _, m := range []*mirror.Mirror{npm, blocked} {
		if got := m.Requests(); len(got) != 0 {
			t.Errorf("reached: %q", got)
		}
	}
	res, _ = b.sh("python3 -c 'import urllib.request as r; r.urlopen(\"https://limited.example/\")'")
	if !strings.Contains(res.Content, "cannot be seen") {
		t.Errorf("https to a host with methods: %s", res.Content)
	}
	res, _ = b.sh("python3 -c 'import urllib.request as r; r.urlopen(\"http://limited.example/\", b\"data\")'")
	if !strings.Contains(res.Content, "POST") {
		t.Errorf("POST to a host with GET: %s", res.Content)
	}
}
