package system_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
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

// gitLine returns one operation. It may fail, as it would directly.
func gitLine(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	file := func() string { return pick("f1", "f2", "f3", "f4", "d/g1", "d/g2", "new1", "new2", "untracked") }
	branch := func() string { return pick("main", "side", "b1", "b2", "x/y", "x") }
	commit := func() string {
		return pick("HEAD", "HEAD~1", "HEAD~2", "side", "main", "b1", "v0", "HEAD^2", "stash@{0}")
	}
	n := func() string { return fmt.Sprint(r.IntN(1000)) }
	forms := []func() string{
		func() string { return "echo " + n() + " >> " + file() },
		func() string { return "echo " + n() + " >> " + file() },
		func() string { return "echo " + n() + " > " + file() },
		func() string { return "rm -f " + file() },
		func() string { return "git add -A" },
		func() string { return "git add " + file() },
		func() string { return "git commit -q -m 'commit " + n() + "'" },
		func() string { return "git commit -q -a -m 'commit " + n() + "'" },
		func() string {
			return "echo " + n() + " >> " + file() + "; git add -A; git commit -q -m 'all " + n() + "'"
		},
		func() string { return "git commit -q --amend --no-edit -a" },
		func() string { return "git commit -q --allow-empty -m empty" },
		func() string { return "git branch " + branch() + " " + commit() },
		func() string { return "git branch -f " + branch() + " " + commit() },
		func() string { return "git branch -D " + branch() },
		func() string { return "git branch -m " + branch() + " " + branch() },
		func() string { return "git branch -u " + pick("main", "side", "origin/main") + " " + branch() },
		func() string { return "git switch -q " + branch() },
		func() string { return "git switch -q -c " + branch() },
		func() string { return "git checkout -q " + commit() },
		func() string { return "git checkout -q " + commit() + " -- " + file() },
		func() string { return "git checkout -q -- ." },
		func() string { return "git checkout -q -B " + branch() + " " + commit() },
		func() string { return "git stash push -q" },
		func() string { return "git stash push -q -u -m 'kept " + n() + "'" },
		func() string { return "git stash pop -q" },
		func() string { return "git stash apply -q --index" },
		func() string { return "git stash drop -q" },
		func() string { return "git merge -q -m merged " + branch() },
		func() string { return "git merge -q --no-ff -m merged " + branch() },
		func() string { return "git merge --abort" },
		func() string { return "git add -A; git commit -q -m resolved" },
		func() string { return "git rebase -q " + branch() },
		func() string { return "git rebase -q --onto " + commit() + " HEAD~1" },
		func() string { return "git rebase --abort" },
		func() string { return "git rebase --skip" },
		func() string { return "git cherry-pick " + commit() },
		func() string { return "git cherry-pick --abort" },
		func() string { return "git revert --no-edit " + commit() },
		func() string { return "git tag t" + pick("1", "2") },
		func() string { return "git tag -a -m annotated a" + pick("1", "2") + " " + commit() },
		func() string { return "git tag -d " + pick("v0", "t1", "t2", "a1") },
		func() string { return "git restore " + file() },
		func() string { return "git restore --staged " + file() },
		func() string { return "git restore --source=HEAD~1 --staged --worktree " + file() },
		func() string { return "git reset -q --soft " + commit() },
		func() string { return "git reset -q --mixed " + commit() },
		func() string { return "git reset -q --hard " + commit() },
		func() string { return "git reset -q --hard" },
		func() string { return "git clean -q -fd" },
		func() string { return "git rm -q -f " + file() },
		func() string { return "git mv -f " + file() + " " + file() },
		func() string { return "git notes add -m note" + n() },
		func() string { return "git pack-refs --all" },
		func() string { return "git worktree add -q wt" + pick("1", "2") + " " + branch() },
		func() string { return "git update-index --assume-unchanged " + file() },
		func() string { return "git status > /dev/null" },
	}
	return forms[r.IntN(len(forms))]()
}

// gitCalls returns the operations of a history, ten of them, by the calls that they are made in.
func gitCalls(seed uint64) (calls [][]string) {
	r := rand.New(rand.NewPCG(seed, 7))
	for i := range 10 {
		if i == 0 || r.IntN(3) == 0 {
			calls = append(calls, nil)
		}
		last := len(calls) - 1
		calls[last] = append(calls[last], gitLine(r))
	}
	return calls
}

// dated has commits be the same wherever they are made.
func dated(number int, lines []string) string {
	return fmt.Sprintf("export GIT_AUTHOR_DATE='2026-01-02T03:04:%02d+0000' GIT_COMMITTER_DATE='2026-01-02T03:05:%02d+0000'\n", number, number) +
		script(lines)
}

// gitState is what a repository and its work tree come to: not how git keeps it.
func gitState(dir string) (string, error) {
	const look = `export GIT_OPTIONAL_LOCKS=0
cat .git/HEAD; git for-each-ref --format='%(refname) %(objectname) %(symref)'; git ls-files -s; git ls-files -v; git stash list --format='%H %gs'
git reflog --format='%H %gs' HEAD; git status --porcelain; git config --get-regexp '^branch'; git worktree list --porcelain
for f in MERGE_HEAD MERGE_MSG MERGE_MODE CHERRY_PICK_HEAD REVERT_HEAD rebase-merge/head-name rebase-merge/onto rebase-merge/git-rebase-todo rebase-apply/next sequencer/todo; do
 [ -e .git/$f ] && echo "== $f" && cat .git/$f; done; true`
	out, err := gitRun(dir, look)
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	if checked, err := gitRun(dir, "git fsck --no-dangling --no-progress 2>&1"); err != nil {
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

// gitHistory makes the calls in both places, which must leave the same. Then the session is undone and redone.
func (tw *twins) gitHistory(calls [][]string) (asked int, err error) {
	err = tw.begin(func(dir string) error {
		out, err := gitRun(dir, dated(0, []string{gitFirst}))
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
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
		at := len(tw.asked)
		if _, err := tw.call("shell", map[string]any{"command": text}); err != nil {
			return 0, err
		}
		for _, q := range tw.asked[at:] {
			if q.ChangeCount == 0 {
				return 0, fmt.Errorf("it was asked about before it ran: %s", q.Why)
			}
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
	first, end := rounds(t, 12)
	failed, asked, calls := 0, 0, 0
	for seed := first; seed < end && failed < 5; seed++ {
		history := gitCalls(seed)
		n, err := tw.gitHistory(history)
		asked, calls = asked+n, calls+len(history)
		if err != nil {
			small, still := smallest(history, func(h [][]string) error { _, err := tw.gitHistory(h); return err })
			t.Errorf("TONGS_UNDO_FIRST=%d: %v\n--- calls\n%q\n--- %v", seed, err, small, still)
			failed++
		}
	}
	t.Logf("%d histories, %d calls, %d questions", end-first, calls, asked)
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
