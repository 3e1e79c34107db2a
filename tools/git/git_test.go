package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func TestMain(m *testing.M) { workbench.Main(m) }

type args = workbench.Args

// bench is a workspace with the tools of git over the real git, in the sandbox.
type bench struct{ *workbench.Bench }

func newBench(t testing.TB, dir string, rules ...tongs.Rule) *bench {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	common, engine := workbench.New(t, workbench.Options{Dir: dir, Rules: rules})
	tools, err := Tools(Options{Full: common.Confiner.Full})
	common.Must(err)
	common.Build(engine, tools...)
	return &bench{common}
}

// outside runs git as the person would.
func outside(t tooltest.TB, dir string, words ...string) string {
	t.Helper()
	cmd := exec.Command("git", words...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_EDITOR=true")
	out, err := cmd.CombinedOutput()
	if err != nil && !slices.Contains(words, "merge") && !slices.Contains(words, "rebase") {
		t.Fatalf("git %v: %v\n%s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes one with two commits.
func repository(t tooltest.TB, dir string) {
	t.Helper()
	outside(t, dir, "init", "-q", "-b", "main")
	outside(t, dir, "config", "user.name", "Ada")
	outside(t, dir, "config", "user.email", "ada@example.com")
	put(t, dir, "a.txt", "one\n")
	outside(t, dir, "add", ".")
	outside(t, dir, "commit", "-q", "-m", "first")
	put(t, dir, "a.txt", "one\ntwo\n")
	outside(t, dir, "commit", "-q", "-a", "-m", "second\n\nwith a body")
}

func put(t tooltest.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
}

// inRepository is a bench in a repository.
func inRepository(t testing.TB, rules ...tongs.Rule) (*bench, string) {
	t.Helper()
	dir := workbench.RealDir(t)
	repository(t, dir)
	return newBench(t, dir, rules...), dir
}

func value[T any](b *bench, tool string, a args) T {
	b.Helper()
	return workbench.Value[T](b.Bench, b.OK(tool, a))
}

// What differs is told by kind, with names of every sort, and free.
func TestStatus(t *testing.T) {
	b, dir := inRepository(t)
	if got := value[StatusOutput](b, "git_status", args{}); got.Branch != "main" || got.Commit != outside(t, dir, "rev-parse", "HEAD") || len(got.Staged)+len(got.Changed)+len(got.Untracked) != 0 {
		t.Errorf("clean: %+v", got)
	}
	put(t, dir, "a.txt", "changed\n")
	put(t, dir, "new\nline -- x", "x")
	put(t, dir, "-dash", "x")
	put(t, dir, "staged.txt", "x")
	outside(t, dir, "add", "--", "staged.txt")
	got := value[StatusOutput](b, "git_status", args{})
	want := StatusOutput{
		Branch: "main", Commit: got.Commit, Staged: []File{{Path: "staged.txt", Change: "added"}}, Changed: []File{{Path: "a.txt", Change: "modified"}},
		Conflicts: []File{}, Untracked: []File{{Path: "-dash", Change: "untracked"}, {Path: "new\nline -- x", Change: "untracked"}},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	outside(t, dir, "mv", "a.txt", "b.txt")
	if got := value[StatusOutput](b, "git_status", args{}); !slices.Contains(got.Staged, File{Path: "b.txt", From: "a.txt", Change: "renamed"}) {
		t.Errorf("renamed: %+v", got.Staged)
	}
	if n := len(b.Questions()); n != 0 {
		t.Errorf("%d questions about reads", n)
	}
}

// A rebase, a merge and the like that are in progress are told, with their conflicts.
func TestInProgress(t *testing.T) {
	for state, begin := range map[string][]string{
		"merge": {"merge", "side"}, "rebase": {"rebase", "side"}, "cherry-pick": {"-c", "merge.conflictStyle=merge", "cherry-pick", "side"},
	} {
		t.Run(state, func(t *testing.T) {
			b, dir := inRepository(t)
			outside(t, dir, "switch", "-q", "-c", "side", "HEAD~1")
			put(t, dir, "a.txt", "other\n")
			outside(t, dir, "commit", "-q", "-a", "-m", "third")
			outside(t, dir, "switch", "-q", "main")
			cmd := exec.Command("git", begin...)
			cmd.Dir = dir
			_ = cmd.Run() // it stops at the conflict
			got := value[StatusOutput](b, "git_status", args{})
			if got.State != state || len(got.Conflicts) != 1 || got.Conflicts[0].Path != "a.txt" {
				t.Errorf("got %+v", got)
			}
			if state == "rebase" && got.Branch != "" {
				t.Errorf("on %q", got.Branch)
			}
			if res := b.Call("git_commit", args{"message": "too early"}); res.OK() || !strings.Contains(res.Error.Message, "unmerged") {
				t.Errorf("committed in the middle: %v", res.Error)
			}
			b.OK("git_diff", args{})
			b.OK("git_log", args{})
		})
	}
}

// Without a repository, and in an empty one, each tool says what is the matter.
func TestNoRepository(t *testing.T) {
	b := newBench(t, workbench.RealDir(t))
	for tool, a := range map[string]args{
		"git_status": {}, "git_log": {}, "git_show": {}, "git_branch": {}, "git_commit": {"message": "x"}, "git_push": {},
	} {
		if res := b.Call(tool, a); res.OK() || tongs.CodeOf(res.Error) != tongs.CodeFileNotFound || !strings.Contains(res.Error.Message, "no git repository") {
			t.Errorf("%s: %v", tool, res.Error)
		}
	}
	dir := workbench.RealDir(t)
	outside(t, dir, "init", "-q", "-b", "main")
	b = newBench(t, dir)
	if got := value[StatusOutput](b, "git_status", args{}); got.Branch != "main" || got.Commit != "" {
		t.Errorf("empty: %+v", got)
	}
	if got := value[LogOutput](b, "git_log", args{}); len(got.Commits) != 0 {
		t.Errorf("empty: %+v", got)
	}
	if got := value[DiffOutput](b, "git_diff", args{}); len(got.Files) != 0 {
		t.Errorf("empty: %+v", got)
	}
	if got := value[BranchOutput](b, "git_branch", args{}); len(got.Branches) != 0 {
		t.Errorf("empty: %+v", got)
	}
	if res := b.Call("git_show", args{}); res.OK() {
		t.Error("shows a commit of an empty repository")
	}
}

// Differences are counted and shown, in every direction.
func TestDiff(t *testing.T) {
	b, dir := inRepository(t)
	put(t, dir, "a.txt", "one\ntwo\nthree\n")
	got := value[DiffOutput](b, "git_diff", args{})
	if len(got.Files) != 1 || got.Files[0] != (Count{Path: "a.txt", Added: 1}) || !strings.Contains(got.Diff, "+three") || got.Added != 1 {
		t.Errorf("work tree: %+v", got)
	}
	if got := value[DiffOutput](b, "git_diff", args{"staged": true}); len(got.Files) != 0 {
		t.Errorf("index: %+v", got)
	}
	if got := value[DiffOutput](b, "git_diff", args{"from": "HEAD~1", "to": "main"}); !strings.Contains(got.Diff, "+two") || strings.Contains(got.Diff, "three") {
		t.Errorf("commits: %+v", got)
	}
	if got := value[DiffOutput](b, "git_diff", args{"stat": true, "paths": []string{"other"}}); len(got.Files) != 0 || got.Diff != "" {
		t.Errorf("another path: %+v", got)
	}
	outside(t, dir, "mv", "a.txt", "to\there")
	if got := value[DiffOutput](b, "git_diff", args{"from": "HEAD", "stat": true}); len(got.Files) != 1 || got.Files[0].Path != "to\there" || got.Files[0].From != "a.txt" {
		t.Errorf("renamed: %+v", got)
	}
	if n := len(b.Questions()); n != 0 {
		t.Errorf("%d questions about reads", n)
	}
}

// A huge diff is cut, says how long it is, and costs no memory.
func TestHugeDiff(t *testing.T) {
	b, dir := inRepository(t)
	put(t, dir, "a.txt", strings.Repeat("0123456789012345678901234567890123456789\n", 1<<20))
	got := value[DiffOutput](b, "git_diff", args{})
	if got.Bytes < 40<<20 || len(got.Diff) > 100_000 || !strings.Contains(got.Diff, "spill") || got.Added < 1<<20 {
		t.Errorf("%d bytes, shown %d", got.Bytes, len(got.Diff))
	}
	for i := range maxFiles + 20 {
		put(t, dir, fmt.Sprintf("many/%d", i), "x\n")
	}
	outside(t, dir, "add", ".")
	if got := value[DiffOutput](b, "git_diff", args{"staged": true, "stat": true}); len(got.Files) != maxFiles || got.Left != 21 {
		t.Errorf("%d files, %d left", len(got.Files), got.Left)
	}
	if got := value[StatusOutput](b, "git_status", args{}); len(got.Staged) != maxFiles || got.Left != 21 {
		t.Errorf("%d files, %d left", len(got.Staged), got.Left)
	}
}

// Commits come with their fields, whatever is in their messages.
func TestLogAndShow(t *testing.T) {
	b, dir := inRepository(t)
	outside(t, dir, "commit", "-q", "--allow-empty", "-m", "third: a \x1f b")
	outside(t, dir, "tag", "v1")
	got := value[LogOutput](b, "git_log", args{"limit": 2})
	if len(got.Commits) != 2 || !got.More || got.Commits[0].Subject != "third: a \x1f b" || got.Commits[1].Body != "with a body" ||
		got.Commits[1].Email != "ada@example.com" || !slices.Equal(got.Commits[0].Parents, []string{got.Commits[1].ID}) || !slices.Contains(got.Commits[0].Refs, "tag: refs/tags/v1") {
		t.Errorf("got %+v", got)
	}
	if got := value[LogOutput](b, "git_log", args{"skip": 2, "paths": []string{"a.txt"}}); len(got.Commits) != 0 || got.More {
		t.Errorf("skipped: %+v", got)
	}
	if got := value[LogOutput](b, "git_log", args{"grep": "sec", "author": "Ada", "until": "2090-01-01"}); len(got.Commits) != 1 {
		t.Errorf("found %+v", got)
	}
	show := value[ShowOutput](b, "git_show", args{"revision": "HEAD~1"})
	if show.Commit == nil || show.Commit.Subject != "second" || len(show.Files) != 1 || !strings.Contains(show.Diff, "+two") {
		t.Errorf("got %+v", show)
	}
	if show := value[ShowOutput](b, "git_show", args{"revision": "HEAD~2", "path": "a.txt"}); show.Content != "one\n" {
		t.Errorf("the file is %q", show.Content)
	}
	if n := len(b.Questions()); n != 0 {
		t.Errorf("%d questions about reads", n)
	}
}

// No argument becomes an option of git, a pattern, or a program.
func TestAttackArguments(t *testing.T) {
	b, dir := inRepository(t)
	mark := filepath.Join(dir, "mark")
	put(t, dir, "--output=mark", "x")
	put(t, dir, "*", "x")
	for tool, list := range map[string][]args{
		"git_diff": {
			{"from": "--output=mark"},
			{"from": "HEAD", "to": "--output=mark"},
			{"from": "HEAD..main"},
			{"from": "HEAD\n--output=mark"},
			{"from": "-Omark"},
			{"paths": []string{""}},
			{"paths": []string{"a\x00b"}},
		},
		"git_log":    {{"revision": "--output=mark"}, {"revision": "-p"}, {"revision": "^main"}},
		"git_show":   {{"revision": "--output=mark"}, {"revision": "--ext-diff"}, {"revision": "HEAD:a.txt"}},
		"git_branch": {{"action": "create", "name": "--force"}, {"action": "create", "name": "a\nb"}, {"action": "create", "name": "x", "from": "-f"}, {"action": "delete", "name": "-a"}, {"action": "create", "name": "a b"}, {"action": "switch", "name": "--detach"}},
		"git_push": {
			{"remote": "--receive-pack=touch mark"},
			{"remote": "ext::sh -c touch% mark"},
			{"remote": "https://evil.example/x"},
			{"branch": "--force"},
			{"branch": "a:b"},
			{"to": "refs/heads/x"},
			{"remote": "../elsewhere"},
			{"remote": "-o"},
		},
		"git_commit": {{"message": " "}, {"message": "a\x00b"}, {"message": "x", "paths": []string{""}}},
	} {
		for _, a := range list {
			if res := b.Call(tool, a); res.OK() || tongs.CodeOf(res.Error) != tongs.CodeInvalidArgs {
				t.Errorf("%s %v: %v", tool, a, res.Error)
			}
		}
	}
	for _, a := range []args{{"grep": "--output=mark"}, {"author": "--output=mark", "since": "--output=mark"}, {"paths": []string{"--output=mark"}}} {
		b.OK("git_log", a)
	}
	if got := value[DiffOutput](b, "git_diff", args{"paths": []string{"--output=mark", ":(exclude)x"}}); len(got.Files) != 0 {
		t.Errorf("a path is an option or a pattern: %+v", got)
	}
	out := value[CommitOutput](b, "git_commit", args{"message": "--amend", "paths": []string{"*", "--output=mark"}})
	if out.Commit == nil || out.Commit.Subject != "--amend" || len(out.Files) != 2 {
		t.Errorf("committed %+v", out)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("an argument wrote a file")
	}
}

// A commit is kept by what it did, with its hooks in the sandbox, and asks as a commit of the shell does.
func TestCommit(t *testing.T) {
	b, dir := inRepository(t)
	put(t, dir, "a.txt", "three\n")
	put(t, dir, "new.txt", "x\n")
	put(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\necho from the hook of $USER\n")
	b.Must(os.Chmod(filepath.Join(dir, ".git/hooks/pre-commit"), 0o755))
	got := value[CommitOutput](b, "git_commit", args{"message": "Third\n\nBody", "paths": []string{"a.txt", "new.txt"}})
	if got.Commit == nil || got.Commit.Subject != "Third" || got.Commit.Body != "Body" || len(got.Files) != 2 || !strings.Contains(got.Output, "from the hook of sandbox") {
		t.Errorf("got %+v", got)
	}
	if head := outside(t, dir, "rev-parse", "main"); head != got.Commit.ID {
		t.Errorf("main is at %s", head)
	}
	if status := outside(t, dir, "status", "--porcelain"); status != "" {
		t.Errorf("left %q", status)
	}
	asked := b.Questions()
	if len(asked) != 1 || asked[0].Message != "Commit: Third (would stage a.txt, new.txt; commit to main: Third)" {
		t.Errorf("asked %+v", asked)
	}
	if res := b.Call("git_commit", args{"message": "nothing"}); res.OK() || !strings.Contains(res.Error.Message, "nothing to commit") {
		t.Errorf("%v", res.Error)
	}
	amended := value[CommitOutput](b, "git_commit", args{"amend": true, "message": "Again"})
	if n := outside(t, dir, "rev-list", "--count", "HEAD"); n != "3" || amended.Commit.Subject != "Again" {
		t.Errorf("%s commits, %+v", n, amended)
	}
	put(t, dir, ".git/hooks/pre-commit", "#!/bin/sh\necho no good >&2\nexit 1\n")
	if res := b.Call("git_commit", args{"message": "x", "allowEmpty": true}); res.OK() || !strings.Contains(res.Error.Message, "no good") {
		t.Errorf("the hook was not heard: %v", res.Error)
	}
}

// Branches are made, listed, switched to and deleted.
func TestBranch(t *testing.T) {
	b, dir := inRepository(t)
	names := func(o BranchOutput) (list []string) {
		for _, branch := range o.Branches {
			name := branch.Name
			if branch.Current {
				name += "*"
			}
			list = append(list, name)
		}
		return list
	}
	for _, step := range []struct {
		a    args
		want []string
	}{
		{args{"action": "create", "name": "topic/ä", "from": "HEAD~1"}, []string{"main*", "topic/ä"}},
		{args{"action": "switch", "name": "topic/ä"}, []string{"main", "topic/ä*"}},
		{args{"action": "create", "name": "x", "switch": true}, []string{"main", "topic/ä", "x*"}},
		{args{"action": "delete", "name": "topic/ä"}, []string{"main", "x*"}},
		{args{}, []string{"main", "x*"}},
	} {
		if got := names(value[BranchOutput](b, "git_branch", step.a)); !slices.Equal(got, step.want) {
			t.Errorf("%v: %q", step.a, got)
		}
	}
	if res := b.Call("git_branch", args{"action": "delete", "name": "main"}); res.OK() {
		t.Error("a branch was deleted whose commits are on no other")
	}
	b.OK("git_branch", args{"action": "delete", "name": "main", "force": true})
	if got := outside(t, dir, "branch", "--format=%(refname:short)"); got != "x" {
		t.Errorf("branches %q", got)
	}
}

// Rules about commands hold for the tools: what is blocked to the shell is blocked here.
func TestRules(t *testing.T) {
	execute := tongs.Kinds(tongs.EffectExecute)
	b, dir := inRepository(t, tongs.Rule{Layer: tongs.LayerUser, Effects: execute, Pattern: "git commit", Decision: tongs.Blocked},
		tongs.Rule{Layer: tongs.LayerUser, Effects: execute, Pattern: "git log", Decision: tongs.Ask})
	if res := b.Call("git_commit", args{"message": "x", "allowEmpty": true}); tongs.CodeOf(res.Error) != tongs.CodeBlocked {
		t.Errorf("%v", res.Error)
	}
	b.OK("git_log", args{})
	if asked := b.Questions(); len(asked) != 1 || asked[0].Message != "Show the history of the repository" {
		t.Errorf("asked %+v", asked)
	}
	if n := outside(t, dir, "rev-list", "--count", "HEAD"); n != "2" {
		t.Errorf("%s commits", n)
	}
	ex := b.Explain("git_branch", args{"action": "delete", "name": "main"})
	if !slices.Equal(ex.Tells, []string{"delete branch main"}) {
		t.Errorf("tells %q", ex.Tells)
	}
}

func TestConformance(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	valid := map[string][]string{
		"git_status": {`{}`},
		"git_diff":   {`{}`, `{"staged":true,"stat":true}`, `{"from":"HEAD~1","to":"HEAD","paths":["a.txt"]}`},
		"git_log":    {`{}`, `{"limit":1,"paths":["a.txt"]}`},
		"git_show":   {`{}`, `{"revision":"HEAD~1","path":"a.txt"}`},
		"git_commit": {`{"message":"x","allowEmpty":true}`, `{"message":"y","paths":["new"]}`},
		"git_branch": {`{}`, `{"action":"create","name":"x","switch":true}`},
		"git_push":   {`{"remote":"near","to":"x"}`},
	}
	common, _ := workbench.New(t, workbench.Options{})
	tools, err := Tools(Options{Full: common.Confiner.Full})
	common.Must(err)
	for _, tool := range tools {
		tooltest.Run(t, tool, tooltest.Options{
			Valid: valid[tool.Spec().Name],
			Setup: func(t tooltest.TB, dir string) {
				repository(t, dir)
				put(t, dir, "new", "x\n")
				outside(t, dir, "init", "-q", "--bare", "near.git")
				outside(t, dir, "remote", "add", "near", "./near.git")
			},
			Caller: func(_ tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
				b, opt := workbench.New(t, workbench.Options{Dir: dir})
				b.Build(opt, tool)
				return b.Engine
			},
		})
	}
	tooltest.Snapshot(t, "testdata/specs", tools...)
}

// A secret that is tracked is asked about, wherever git would show it; what shows no content is free.
func TestTrackedSecrets(t *testing.T) {
	dir := workbench.RealDir(t)
	repository(t, dir)
	put(t, dir, ".env", "PASSWORD=hunter2\n")
	outside(t, dir, "add", "-f", ".env")
	outside(t, dir, "commit", "-q", "-m", "secret")
	b := newBench(t, dir)
	for _, c := range []struct {
		tool string
		a    args
		asks bool
	}{
		{"git_show", args{"path": ".env"}, true},
		{"git_show", args{"path": "./.env"}, true},
		{"git_show", args{"path": "sub/../.env"}, true},
		{"git_show", args{}, true},
		{"git_diff", args{"from": "HEAD~1"}, true},
		{"git_diff", args{"from": "HEAD~1", "paths": []string{".env"}}, true},
		{"git_diff", args{"from": "HEAD~1", "stat": true}, false},
		{"git_log", args{"paths": []string{".env"}}, false},
		{"git_status", args{}, false},
		{"git_branch", args{}, false},
	} {
		ex := b.Explain(c.tool, c.a)
		if asks := ex.Decision != tongs.PreApproved; asks != c.asks {
			t.Errorf("%s %v: %s by %s, %v", c.tool, c.a, ex.Decision, ex.Rule, ex.Effects)
		}
	}
}

// Where the sandbox is not full, it may not hide what git comes across, so that reads ask too.
func TestPartialSandbox(t *testing.T) {
	dir := workbench.RealDir(t)
	repository(t, dir)
	common, engine := workbench.New(t, workbench.Options{Dir: dir})
	tools, err := Tools(Options{})
	common.Must(err)
	common.Build(engine, tools...)
	if ex := common.Explain("git_status"); ex.Decision != tongs.Ask {
		t.Errorf("%s by %s", ex.Decision, ex.Rule)
	}
}
