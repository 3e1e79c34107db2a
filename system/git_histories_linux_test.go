package system_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
)

// gitTwins are twins in which what can be undone is free.
func gitTwins(t *testing.T) *twins {
	t.Helper()
	dir := place(t, "approval:\n  undoable: preApproved\nlimits:\n  undoableHour: 1000000\n")
	tw := &twins{work: filepath.Join(dir, "work"), direct: filepath.Join(dir, "direct")}
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		tw.asked = append(tw.asked, q)
		return approval.Answer{Approved: true}, nil
	})}
	tw.sys = open(t, opt)
	return tw
}

// gitFirst is the repository that histories begin with: some of it is packed.
const gitFirst = `git init -q -b main . && git config user.name A && git config user.email a@example.org
git config remote.origin.url https://example.org/x.git
for i in 1 2 3 4; do echo line $i > f$i; mkdir -p d; echo $i > d/g$i; git add .; git commit -q -m "first $i"; done
git branch side HEAD~2; git switch -q side; echo side >> f1; git commit -q -am "on side"; git switch -q main
git tag v0 HEAD~1; git update-ref refs/remotes/origin/main HEAD~1; echo s >> f2; git stash -q; git pack-refs --all; git repack -qad
echo more >> f3; git commit -q -am "after packing"; echo dirty >> f4; echo new > untracked; printf 'ignored\n' > .gitignore`

// gitRun runs a script directly, as the sandbox does: without the user's configuration, and without privileges.
func gitRun(dir, script string) (string, error) {
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0", "EDITOR=false", "GIT_PAGER=cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getegid(), Size: 1}},
		Credential:  &syscall.Credential{Uid: user, Gid: user, NoSetGroups: true},
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// dated has commits be the same wherever they are made.
func dated(number int, lines []string) string {
	return fmt.Sprintf("export GIT_AUTHOR_DATE='2026-01-02T03:04:%02d+0000' GIT_COMMITTER_DATE='2026-01-02T03:05:%02d+0000'\n", number, number) +
		script(lines)
}

// gitState is what a repository and its work tree come to: not how git keeps it.
func gitState(dir string) (string, error) {
	const look = `export GIT_OPTIONAL_LOCKS=0
cat .git/HEAD; git for-each-ref --format='%(refname) %(objectname) %(symref)'; git stash list --format='%H %gs'
git config --get-regexp '^branch'; git worktree list --porcelain; (cd .git && find . -path '*logs/*' -type f | sort | xargs -r grep -H .)
for w in . wt1 wt2; do [ -e $w/.git ] || continue; echo "= $w"; (cd $w; git ls-files -s; git ls-files -v; git status --porcelain
for f in MERGE_HEAD MERGE_MSG MERGE_MODE SQUASH_MSG CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG BISECT_START BISECT_TERMS rebase-merge/head-name rebase-merge/onto \
 rebase-merge/git-rebase-todo rebase-apply/next sequencer/todo; do
 at=$(git rev-parse --git-path $f); [ -e $at ] && echo "== $f" && cat $at; done); done; true`
	out, err := gitRun(dir, look)
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	// Git itself forgets the empty tree when an index without files is written.
	if checked, err := gitRun(dir, "git hash-object -t tree -w --stdin < /dev/null > /dev/null; git fsck --no-dangling --no-progress 2>&1"); err != nil {
		return "", fmt.Errorf("git fsck: %w: %s", err, checked)
	}
	var b strings.Builder
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil // it names the place of the repository
		}
		info, err := e.Info()
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %v %q\n", strings.TrimPrefix(path, dir), info.Mode(), data)
		return err
	})
	return strings.ReplaceAll(out, dir, "DIR") + b.String(), err
}

// gitDiffer fails where two states are not the same.
func gitDiffer(what, want, got string) error {
	if want == got {
		return nil
	}
	was, is := strings.Split(want, "\n"), strings.Split(got, "\n")
	var list []string
	for _, line := range was {
		if !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			list = append(list, "- "+line)
		}
	}
	for _, line := range is {
		if !strings.Contains("\n"+want+"\n", "\n"+line+"\n") {
			list = append(list, "+ "+line)
		}
	}
	return fmt.Errorf("%s:\n\t%s", what, strings.Join(list[:min(len(list), 20)], "\n\t"))
}

// gitHistory makes the calls in two copies of the first repository, which must leave the same. Then the session is undone and redone.
func (tw *twins) gitHistory(first string, calls [][]string) (asked int, err error) {
	if err := tw.begin(func(dir string) error { return os.CopyFS(dir, os.DirFS(first)) }); err != nil {
		return 0, err
	}
	before, err := gitState(tw.work)
	if err != nil {
		return 0, err
	}
	for i, lines := range calls {
		text := dated(i+1, lines)
		if out, err := gitRun(tw.direct, text); err != nil {
			return 0, fmt.Errorf("directly: %w: %s", err, out)
		}
		if lines[0] == byAPerson {
			if out, err := gitRun(tw.work, text); err != nil {
				return 0, fmt.Errorf("by a person: %w: %s", err, out)
			}
			continue
		}
		at := len(tw.asked)
		if _, err := tw.call("shell", map[string]any{"command": text}); err != nil {
			return 0, err
		}
		for _, q := range tw.asked[at:] {
			return 0, fmt.Errorf("it was asked about: %s, %q, %s", q.Why, q.Notes, q.Preview[:min(len(q.Preview), 2000)])
		}
	}
	asked = len(tw.asked)
	want, err := gitState(tw.direct)
	if err != nil {
		return 0, err
	}
	after, err := gitState(tw.work)
	if err != nil {
		return 0, err
	}
	if err := gitDiffer("through the system", want, after); err != nil {
		return 0, err
	}
	if before == after {
		return asked, nil
	}
	for i, step := range []struct{ tool, want string }{{"undo", before}, {"redo", after}, {"undo", before}} {
		if out, err := gitRun(tw.work, "git status > /dev/null"); err != nil { // as an editor does, which rewrites the index
			return 0, fmt.Errorf("%w: %s", err, out)
		}
		args := map[string]any{}
		if step.tool == "undo" {
			args["session"] = tw.session
		}
		if _, err := tw.call(step.tool, args); err != nil {
			return 0, err
		}
		got, err := gitState(tw.work)
		if err != nil {
			return 0, fmt.Errorf("after %s: %w", step.tool, err)
		}
		if err := gitDiffer(fmt.Sprintf("after %s (%d)", step.tool, i), step.want, got); err != nil {
			return 0, err
		}
	}
	return asked, nil
}

// TestGitHistories makes random histories through the system and directly, and takes them back.
// TONGS_UNDO_PROGRAMS is how many, TONGS_UNDO_FIRST the first seed.
func TestGitHistories(t *testing.T) {
	tw := gitTwins(t)
	begin := t.TempDir()
	if out, err := gitRun(begin, dated(0, []string{gitFirst})); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	first, end := rounds(t, 12)
	failed, asked, calls := 0, 0, 0
	for seed := first; seed < end && failed < 25; seed++ {
		history := gitCalls(seed)
		n, err := tw.gitHistory(begin, history)
		asked, calls = asked+n, calls+len(history)
		if err != nil {
			small, still := smallest(history, func(h [][]string) error { _, err := tw.gitHistory(begin, h); return err })
			t.Errorf("TONGS_UNDO_FIRST=%d: %v\n--- calls\n%q\n--- %v", seed, err, small, still)
			failed++
		}
	}
	t.Logf("%d histories, %d calls, %d questions", end-first, calls, asked)
}

// TestGitHistoriesByHand makes histories that were wrong once, and some that chance finds seldom.
func TestGitHistoriesByHand(t *testing.T) {
	tw := gitTwins(t)
	begin := t.TempDir()
	if out, err := gitRun(begin, dated(0, []string{gitFirst})); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, calls := range map[string][][]string{
		"a branch begins anew": {
			{"git commit -q --amend --no-edit -a", "git branch -m main x", "git switch -q -c main"},
			{"echo 1 >> untracked; git add -A; git commit -q -m all"},
		},
		"a directory of refs becomes a file": {{"git branch x/y"}, {"git branch -m x/y x"}, {"git pack-refs --all", "git worktree add -q wt1 x"}},
		"a ref becomes a directory":          {{"git branch x/y; git branch -m x/y x"}, {"git branch -D x; git branch x/y; git branch -m x/y x/y/z"}},
		"bisect":                             {{"git stash -q; git bisect start HEAD HEAD~3"}, {"git bisect good"}, {"git bisect reset"}},
		"bisect that goes on":                {{"git stash -q; git bisect start HEAD HEAD~4; git bisect bad"}, {byAPerson, "git pack-refs --all"}},
		"a cherry-pick of two is aborted":    {{"git stash -q; git cherry-pick side side~1"}, {"git cherry-pick --abort"}},
		"a cherry-pick is ended by revert":   {{"git cherry-pick side side~1"}, {"git stash clear"}, {byAPerson, "git pack-refs --all"}, {"git revert --abort"}},
		"a rebase is aborted":                {{"git stash -q; git switch -q -c c1 HEAD~1; echo 1 > f3; git commit -qam c; git rebase -q main"}, {"git rebase --abort"}},
		"a rebase goes on":                   {{"git stash -q; git switch -q -c c1 HEAD~1; echo 1 > f3; git commit -qam c; git rebase -q main"}, {"git add -A; GIT_EDITOR=true git rebase --continue"}},
		"a patch is aborted":                 {{"git stash -q; git switch -q -c c1 HEAD~1; echo 1 > f3; git commit -qam c; git rebase -q --apply main"}, {"git rebase --abort"}},
		"a worktree comes and goes":          {{"git worktree add -q -b w wt1; echo 1 > wt1/f1; git -C wt1 commit -qam w"}, {"git worktree remove wt1"}},
		"a worktree with changes goes":       {{"git worktree add -q -b w wt1; echo 1 > wt1/f1"}, {"git worktree remove -f wt1"}, {"git branch -D w"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tw.gitHistory(begin, calls); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGitForTheSession allows local git for the session: the next commit is not asked about, a hook is, and another session asks.
func TestGitForTheSession(t *testing.T) {
	dir := place(t, "")
	var asked []approval.Question
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		asked = append(asked, q)
		a := approval.Answer{Approved: true}
		if slices.Contains(q.Scopes, approval.Session) {
			a.Scope = approval.Session
		}
		return a, nil
	})}
	tw := &twins{work: filepath.Join(dir, "work"), direct: filepath.Join(dir, "direct"), sys: open(t, opt)}
	if err := tw.begin(func(dir string) error { _, err := gitRun(dir, dated(0, []string{gitFirst})); return err }); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		session, command string
		asks             int
	}{
		{"one", "git commit -q -a -m first", 1},
		{"one", "git commit -q --allow-empty -m second", 0},
		{"one", "git branch -D side", 0},
		{"one", `printf '[core]\n\tfsmonitor = x\n' >> .git/config`, 1},
		{"two", "git commit -q --allow-empty -m third", 1},
	} {
		asked, tw.session = nil, step.session
		if _, err := tw.call("shell", map[string]any{"command": step.command}); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if len(asked) != step.asks {
			t.Errorf("%s in session %s asked %d times, want %d", step.command, step.session, len(asked), step.asks)
		}
	}
}

// TestGitThatARuleAllows has a commit that a rule pre-approves run on a copy: nobody is asked, and undo takes it back.
func TestGitThatARuleAllows(t *testing.T) {
	dir := place(t, "toolsets:\n  shell:\n    rules:\n      - {pattern: git commit, approval: preApproved}\n")
	tw := &twins{work: filepath.Join(dir, "work"), direct: filepath.Join(dir, "direct")}
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		tw.asked = append(tw.asked, q)
		return approval.Answer{Approved: true}, nil
	})}
	tw.sys = open(t, opt)
	if err := tw.begin(func(dir string) error { _, err := gitRun(dir, dated(0, []string{gitFirst})); return err }); err != nil {
		t.Fatal(err)
	}
	before, err := gitState(tw.work)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tw.call("shell", map[string]any{"command": "git commit -q -a -m allowed"}); err != nil {
		t.Fatal(err)
	}
	if len(tw.asked) > 0 {
		t.Errorf("it was asked about: %+v", tw.asked)
	}
	if _, err := tw.call("undo", nil); err != nil {
		t.Fatal(err)
	}
	after, err := gitState(tw.work)
	if err != nil {
		t.Fatal(err)
	}
	if err := gitDiffer("after undo", before, after); err != nil {
		t.Error(err)
	}
}
