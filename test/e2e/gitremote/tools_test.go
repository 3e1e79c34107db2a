package gitremote

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	gittools "github.com/tongs-ai/tongs/tools/git"
)

// tool calls one of the tools of git, as an agent does.
func tool[T any](x *site, name string, args map[string]any) (value T, res *tongs.Result) {
	x.Helper()
	data, err := json.Marshal(args)
	must(x.T, err)
	res = x.sys.Call(x.Context(), &tongs.Call{Tool: name, Args: data, Session: "s"})
	if res.OK() {
		data, err = json.Marshal(res.Value)
		must(x.T, err)
		must(x.T, json.Unmarshal(data, &value))
	}
	return value, res
}

type m = map[string]any

// The tools of git are settled, undone and pushed as the commands are.
func TestToolsOfGit(t *testing.T) {
	s := newServer(t)
	x, bare := ruled(t, s, "      - {host: \""+s.host()+"\", branch: agent/*, approval: preApproved}\n")
	x.put("new.txt", "new\n")
	if _, res := tool[gittools.BranchOutput](x, "git_branch", m{"action": "create", "name": "x", "switch": true}); !res.OK() {
		t.Fatal(res.Error)
	}
	made, res := tool[gittools.CommitOutput](x, "git_commit", m{"message": "Add a file", "paths": []string{"new.txt"}})
	if !res.OK() || made.Commit == nil || git(t, x.ws, "rev-parse", "x") != made.Commit.ID || len(made.Files) != 1 {
		t.Fatalf("%v %+v", res.Error, made)
	}
	if _, res := tool[gittools.BranchOutput](x, "git_branch", m{"action": "rename", "name": "x", "to": "agent/x"}); !res.OK() {
		t.Fatal(res.Error)
	}
	pushed, res := tool[gittools.PushOutput](x, "git_push", m{})
	if !res.OK() || len(pushed.Refs) != 1 || pushed.Refs[0].Ref != "refs/heads/agent/x" || pushed.Refs[0].Result != "new" || pushed.Remote != s.url("shop.git") {
		t.Fatalf("%v %+v", res.Error, pushed)
	}
	if git(t, bare, "rev-parse", "agent/x") != made.Commit.ID {
		t.Error("the remote has something else")
	}
	if asked := x.questions(); len(asked) != 0 {
		t.Errorf("asked %q", asked[0].Message)
	}
	pushed, res = tool[gittools.PushOutput](x, "git_push", m{"to": "main"})
	if asked := x.pushes(); !res.OK() || len(asked) != 1 || pushed.Refs[0].Result != "updated" {
		t.Errorf("%v, asked %d times, %+v", res.Error, len(asked), pushed)
	}
	x.answer = func(q approval.Question) approval.Answer { return approval.Answer{Reason: "no"} }
	_, res = tool[gittools.PushOutput](x, "git_push", m{"delete": true, "branch": "agent/x"})
	if res.OK() || !strings.Contains(res.Error.Message, "a person declined the call") {
		t.Errorf("%v", res.Error)
	}
	x.answer = func(q approval.Question) approval.Answer { return approval.Answer{Approved: true} }
	for range 5 { // two of them are what git noted about the remote
		if _, res := tool[any](x, "undo", m{}); !res.OK() {
			t.Fatal(res.Error)
		}
	}
	if got := git(t, x.ws, "for-each-ref", "--format=%(refname:short)", "refs/heads"); got != "main" || git(t, x.ws, "status", "--porcelain") != "?? new.txt" {
		t.Errorf("after undo: %q, %q", got, git(t, x.ws, "status", "--porcelain"))
	}
}

// Without a rule a commit of the tool asks once, with what it did, and every push asks.
func TestToolsOfGitAsk(t *testing.T) {
	s := newServer(t)
	x, bare := cloned(t, s, "shop.git")
	if _, res := tool[gittools.StatusOutput](x, "git_status", m{}); !res.OK() || len(x.questions()) != 0 {
		t.Errorf("a read asks: %v", res.Error)
	}
	tool[gittools.CommitOutput](x, "git_commit", m{"message": "Second", "allowEmpty": true})
	asked := x.questions()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	has(t, "the question", asked[0].Message, "Commit: Second", "commit 0 files to main: Second")
	_, res := tool[gittools.PushOutput](x, "git_push", m{"branch": "main"})
	if asked := x.pushes(); !res.OK() || len(asked) != 1 {
		t.Errorf("%v, asked %d times", res.Error, len(asked))
	}
	if got := git(t, bare, "log", "-1", "--format=%s", "main"); got != "Second" {
		t.Errorf("the remote has %q", got)
	}
	commitTo(t, bare, "meanwhile")
	tool[gittools.CommitOutput](x, "git_commit", m{"message": "Third", "allowEmpty": true})
	if _, res = tool[gittools.PushOutput](x, "git_push", m{}); res.OK() || !strings.Contains(res.Error.Message, "fetch first") {
		t.Errorf("%v", res.Error)
	}
}
