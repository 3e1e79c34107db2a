package gitremote

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/wire"
)

var questionID = regexp.MustCompile(`question (q[0-9a-z]+)`)

// A push that is approved later goes through when the same command runs again, and only that push.
func TestLateYesToAPush(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	x.sh("git commit -q --allow-empty -m mine")
	must(t, x.sys.Close())
	push := func() *tongs.Result {
		sys, err := wire.Host{Workspace: x.ws, ConfigDir: filepath.Join(x.home, "config"), StateDir: filepath.Join(x.home, "state"), Attended: true}.
			Open(t.Context(), wire.Options{})
		must(t, err)
		defer sys.Close()
		args, _ := json.Marshal(map[string]any{"command": "git push origin main"})
		return sys.Engine.Call(t.Context(), &tongs.Call{Tool: "shell", Args: args, Session: "s"})
	}
	res := push()
	id := questionID.FindStringSubmatch(res.Content)
	if id == nil {
		t.Fatalf("no question: %s", res.Content)
	}
	st, err := wire.Host{ConfigDir: filepath.Join(x.home, "config"), StateDir: filepath.Join(x.home, "state"), Attended: true}.OpenState()
	must(t, err)
	must(t, st.Questions.Answer(t.Context(), id[1], approval.Answer{Approved: true, Channel: "terminal", By: "ada"}))
	must(t, st.Close())
	if got := git(t, bare, "log", "-1", "--format=%s", "main"); got != "first" {
		t.Fatalf("the remote has %q before the command ran again", got)
	}
	res = push()
	if got := git(t, bare, "log", "-1", "--format=%s", "main"); got != "mine" {
		t.Errorf("the remote has %q: %s", got, res.Content)
	}
	git(t, x.ws, "commit", "-q", "--allow-empty", "-m", "another")
	has(t, "another push", push().Content, "needs a person's approval")
	if got := git(t, bare, "log", "-1", "--format=%s", "main"); got != "mine" {
		t.Errorf("the remote has %q", got)
	}
}
