package gitremote

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// ruled is a clone whose person has rules about pushes.
func ruled(t *testing.T, s *server, rules string) (x *site, bare string) {
	t.Helper()
	bare = s.repository(t, "shop.git")
	x = newSite(t, s)
	git(t, x.ws, "clone", "-q", bare, ".")
	git(t, x.ws, "remote", "set-url", "origin", s.url("shop.git"))
	file := filepath.Join(x.home, "config", "config.yaml")
	old, err := os.ReadFile(file)
	must(t, err)
	// The server is on this machine, so its name alone is allowed too.
	x.put(file, string(old)+"approval: {undoable: preApproved}\nsandbox:\n  network:\n    hosts: [\""+s.host()+"\"]\n    pushes:\n"+rules)
	return x.open(), bare
}

// A rule pre-approves pushes to a host by the branch. Everything else asks as before, and a force push or a deletion whatever the rule is.
func TestPushesByRule(t *testing.T) {
	s := newServer(t)
	other := s.repository(t, "other.git")
	x, bare := ruled(t, s, "      - {host: \""+s.host()+"\", branch: agent/*, approval: preApproved}\n")
	free := func(command string, want bool) {
		t.Helper()
		x.sh(command)
		if asked := x.pushes(); (len(asked) == 0) != want {
			t.Errorf("%s: asked %d times", command, len(asked))
		}
	}
	free("git commit -q --allow-empty -m one && git push -q origin HEAD:refs/heads/agent/one", true)
	if got := git(t, bare, "log", "-1", "--format=%s", "agent/one"); got != "one" {
		t.Errorf("the remote has %q", got)
	}
	free("git commit -q --allow-empty -m two && git push -q origin HEAD:agent/one", true)
	free("git commit -q --allow-empty -m three && git push -q origin HEAD:agent/one HEAD:main", false)
	free("git commit -q --allow-empty -m four && git push -q origin HEAD:main", false)
	free("git push -q origin HEAD:refs/tags/agent/v1", false)
	free("git reset -q --hard HEAD~3 && git commit -q --allow-empty -m five && git push -q -f origin HEAD:agent/one", false)
	free("git push -q origin :agent/one", false)
	git(t, bare, "config", "receive.advertisePushOptions", "true")
	free("git commit -q --allow-empty -m six && git push -q -o merge origin HEAD:refs/heads/agent/two", false)
	free("git push -q "+s.url("other.git")+" HEAD:refs/heads/agent/three", false)
	if git(t, other, "rev-parse", "agent/three") == "" {
		t.Error("the other push was not made")
	}
}

// A rule blocks pushes to a branch, whoever would be asked.
func TestPushesBlockedByRule(t *testing.T) {
	s := newServer(t)
	x, bare := ruled(t, s, "      - {host: \"*\", branch: main, approval: blocked}\n      - {host: \""+s.host()+"\", branch: \"*\", approval: preApproved}\n")
	for _, command := range []string{
		"git push origin main", "git push origin HEAD:refs/heads/topic HEAD:main", "git push -f origin HEAD:main", "git push origin :main",
		"git remote set-url origin " + s.url("shop.git") + "/; git push origin HEAD:refs/heads/main",
	} {
		res := x.shell("git commit -q --allow-empty -m x; " + command)
		has(t, command, res.Content, "blocked")
		if asked := x.pushes(); len(asked) != 0 {
			t.Errorf("%s: asked %+v", command, asked)
		}
	}
	if got := git(t, bare, "for-each-ref", "--format=%(refname) %(contents:subject)"); got != "refs/heads/main first" {
		t.Errorf("the remote has %q", got)
	}
	x.sh("git push -q origin HEAD:refs/heads/topic")
	if asked := x.pushes(); len(asked) != 0 {
		t.Errorf("the other branch asked %+v", asked)
	}
}

// The plan of a push tells where it goes and that it asks, without another effect.
func TestExplainPush(t *testing.T) {
	s := newServer(t)
	x, _ := cloned(t, s, "shop.git")
	for command, want := range map[string]string{
		"git push":                   "push main to origin (" + s.host() + "); you are asked about the push, unless a rule about pushes covers it",
		"git push -f origin HEAD:x":  "push x to origin (" + s.host() + "), replacing what is there (a force push); you are asked about the push in any case",
		"git commit -m 'Add a cart'": "commit to main: Add a cart",
	} {
		args, err := json.Marshal(map[string]any{"command": command})
		must(t, err)
		ex, err := x.sys.Explain(t.Context(), &tongs.Call{Tool: "shell", Args: args})
		must(t, err)
		if len(ex.Tells) != 1 || ex.Tells[0] != want || !strings.Contains(ex.Message, want) {
			t.Errorf("%s: %q, %q", command, ex.Tells, ex.Message)
		}
		for _, e := range ex.Effects {
			if e.Kind == tongs.EffectNetwork {
				t.Errorf("%s: %v", command, e)
			}
		}
	}
	git(t, x.ws, "config", "url.https://evil.example/.insteadOf", "https://")
	args := []byte(`{"command": "git push"}`)
	ex, err := x.sys.Explain(t.Context(), &tongs.Call{Tool: "shell", Args: args})
	must(t, err)
	if len(ex.Tells) != 1 || !strings.HasPrefix(ex.Tells[0], "push main to origin;") {
		t.Errorf("a host that is not sure is told: %q", ex.Tells)
	}
}
