package packages

import (
	"fmt"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// step is a command of the session, and what somebody is asked about it: "" for nothing, or the host that it reaches first, or
// a push.
type step struct{ command, asks string }

// The session: sixty git and package commands in a repository with a project of Go, of Node and of Python. {npm}, {pip} and {go} are
// mirrors, {git} is the server of the remote.
var session = []step{
	{"git status", ""},
	{"git log --oneline", ""},
	{"git branch -a", ""},
	{"git switch -c packages", ""},
	{"cd node && npm install one", "npm"},
	{"git diff --stat", ""},
	{"git add node/package.json node/package-lock.json", ""},
	{"git commit -m 'node: one'", ""},
	{"cd node && npm install two three", ""},
	{"cd node && npm ls", ""},
	{"cd node && npm test", ""},
	{"git add -A node", ""},
	{"git commit -m 'node: two and three'", ""},
	{"cd node && npm install --save-dev four", ""},
	{"cd node && npm outdated || true", ""},
	{"cd node && npm uninstall two", ""},
	{"cd node && rm -rf node_modules && npm ci", ""},
	{"cd node && npm run build", ""},
	{"cd node && npm pkg get dependencies", ""},
	{"git commit -am 'node: four for two'", ""},
	{"git tag node-done", ""},
	{"cd go && go get example.org/greet", "go"},
	{"cd go && go mod tidy", ""},
	{"cd go && go build ./...", ""},
	{"cd go && go test ./...", ""},
	{"git add go", ""},
	{"git commit -m 'go: greet'", ""},
	{"cd go && go get example.org/other@v1.0.0", ""},
	{"cd go && go list -m all", ""},
	{"cd go && go mod graph", ""},
	{"cd go && go mod download", ""},
	{"cd go && go vet ./...", ""},
	{"cd go && go get example.org/other@none", ""},
	{"git diff HEAD", ""},
	{"git checkout -- go", ""},
	{"git stash list", ""},
	{"cd py && python3 -m pip install --target lib tiny", "pip"},
	{"cd py && python3 -m pip install --target lib small", ""},
	{"cd py && PYTHONPATH=lib python3 -m unittest", ""},
	{"cd py && python3 -m pip list --path lib", ""},
	{"cd py && python3 -m pip download --dest wheels tiny", ""},
	{"cd py && python3 -m pip install --target lib --upgrade tiny small", ""},
	{"cd py && rm -rf wheels", ""},
	{"echo lib/ >> py/.gitignore", ""},
	{"git add py/.gitignore", ""},
	{"git commit -m 'py: lib is not ours'", ""},
	{"git show --stat HEAD", ""},
	{"git log --oneline main..packages", ""},
	{"git switch main", ""},
	{"git merge --no-ff -m 'Merge packages' packages", ""},
	{"git branch -d packages", ""},
	{"git log --graph --oneline", ""},
	{"git fetch origin", "git"},
	{"git status -sb", ""},
	{"git push origin main", "push"},
	{"git fetch origin", ""},
	{"git push origin node-done", "push"},
	{"cd node && npm install five", ""},
	{"cd go && go get example.org/last", ""},
	{"git commit -am 'Five, and the last'", ""},
}

// gitServer serves the repository below a directory, for reading and writing.
func gitServer(t testing.TB, host, dir string) string {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=test"},
	})
	_ = s.Listener.Close()
	if s.Listener, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Close)
	return fmt.Sprintf("http://%s", net.JoinHostPort(host, fmt.Sprint(s.Listener.Addr().(*net.TCPAddr).Port)))
}

// projects makes the repository of the session, with a remote.
func (b *bench) projects(npm, git, remotes string) {
	b.Helper()
	for name, text := range map[string]string{
		"node/package.json": `{"name": "shop", "version": "1.0.0", "scripts": {"test": "node test.js", "build": "node -p 1+1"}}`,
		"node/.npmrc":       "registry=" + npm + "/npm/\n", "node/test.js": "require('one')();\n",
		"go/go.mod": "module example.org/shop\n\ngo 1.21\n", "go/main.go": "package main\n\nimport \"example.org/greet\"\n\nfunc main() { println(greet.Name()) }\n",
		"go/main_test.go": "package main\n\nimport \"testing\"\n\nfunc Test(*testing.T) { main() }\n",
		"py/test_it.py":   "import unittest, tiny\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(tiny.name(), 'tiny')\n",
		".gitignore":      "node_modules/\n.npmrc\n",
	} {
		b.write(name, text)
	}
	remote, ws := filepath.Join(remotes, "shop.git"), b.opt.Workspace
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", remote},
		{"-C", remote, "config", "http.receivepack", "true"},
		{"-C", ws, "init", "-q", "-b", "main"},
		{"-C", ws, "config", "user.name", "A Person"},
		{"-C", ws, "config", "user.email", "person@example.org"},
		{"-C", ws, "remote", "add", "origin", git + "/shop.git"},
		{"-C", ws, "add", "-A"},
		{"-C", ws, "commit", "-q", "-m", "Begin"},
		{"-C", ws, "push", "-q", remote, "main"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// A person is asked for the first contact with a host, and for pushes, and about nothing else. Local git is free.
func TestSessionAsksForHostsAndPushes(t *testing.T) {
	host := name(t)
	npm, pip, golang := newMirror(t, host), newMirror(t, host), newMirror(t, host)
	remotes := t.TempDir()
	git := gitServer(t, host, remotes)
	t.Setenv("GOPROXY", golang.URL+"/go")
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("PIP_INDEX_URL", pip.URL+"/pypi/simple/")
	t.Setenv("PIP_TRUSTED_HOST", host)
	hosts := map[string]string{"npm": npm.Host(), "pip": pip.Host(), "go": golang.Host(), "git": strings.TrimPrefix(git, "http://")}
	// A remote without encryption must be named by a rule.
	b := newBench(t, coding(t)+"\nsandbox: {network: {hosts: [{host: '"+hosts["git"]+"', approval: ask}]}}\n")
	b.projects(npm.URL, git, remotes)
	if len(session) < 60 {
		t.Fatalf("%d commands", len(session))
	}
	for _, s := range session {
		res, code := b.sh(s.command)
		if res.Error != nil || code != 0 {
			t.Errorf("%s: code %d\n%s", s.command, code, res.Content)
		}
		asked := b.asked()
		switch {
		case s.asks == "" && len(asked) > 0:
			t.Errorf("%s: asked %q", s.command, asked)
		case s.asks == "push" && (len(asked) != 1 || !strings.Contains(asked[0], "push")):
			t.Errorf("%s: asked %q", s.command, asked)
		case hosts[s.asks] != "" && (len(asked) != 1 || !strings.Contains(asked[0], hosts[s.asks])):
			t.Errorf("%s: asked %q, not about %s", s.command, asked, hosts[s.asks])
		}
	}
}
