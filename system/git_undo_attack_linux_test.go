package system_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
)

// gitPlace is a workspace in or beside a repository, whose person approves everything.
type gitPlace struct {
	*twins
	*testing.T
	// top is that of the repository.
	top   string
	saved map[string]string
}

// newGitPlace makes a repository at top and a workspace, both by name below one directory. Link is what makes the workspace of the
// repository, at the top.
func newGitPlace(t *testing.T, top, work, link string) *gitPlace {
	t.Helper()
	dir := place(t, "approval:\n  undoable: preApproved\nlimits:\n  undoableHour: 1000000\n")
	g := &gitPlace{twins: &twins{work: filepath.Join(dir, work), session: "one"}, T: t, top: filepath.Join(dir, top), saved: map[string]string{}}
	for _, at := range []string{filepath.Join(dir, "work"), g.top} {
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(g.top, 0o755); err != nil {
		t.Fatal(err)
	}
	g.person(dated(0, []string{gitFirst}))
	g.person(link)
	opt := options(dir)
	opt.Workspace = g.work
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		g.asked = append(g.asked, q)
		return approval.Answer{Approved: true}, nil
	})}
	g.sys = open(t, opt)
	return g
}

// person does something in the repository, without the system.
func (g *gitPlace) person(script string) {
	g.Helper()
	if out, err := gitRun(g.top, script); err != nil {
		g.Fatalf("%s: %v: %s", script, err, out)
	}
}

// sh has the agent do something in the workspace.
func (g *gitPlace) sh(session, script string) {
	g.Helper()
	g.session = session
	if _, err := g.call("shell", map[string]any{"command": script}); err != nil {
		g.Fatal(err)
	}
}

// back calls undo or redo, and wants an error with the given words, or none.
func (g *gitPlace) back(tool string, args map[string]any, want string) {
	g.Helper()
	_, err := g.call(tool, args)
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		g.Fatalf("%s: %v, want %q", tool, err, want)
	}
}

// state is what the repository and the workspace come to.
func (g *gitPlace) state() string {
	g.Helper()
	state, err := gitState(g.top)
	if err != nil {
		g.Fatal(err)
	}
	out, err := gitRun(g.work, "export GIT_OPTIONAL_LOCKS=0; git ls-files -s; git status --porcelain; git rev-parse HEAD; git reflog; find . -name .git -prune -o -type f -print | sort | xargs grep -H ''")
	if err != nil {
		g.Fatalf("%v: %s", err, out)
	}
	return state + out
}

func (g *gitPlace) save(name string) { g.saved[name] = g.state() }

func (g *gitPlace) is(name string) {
	g.Helper()
	if err := gitDiffer("it is not as "+name, g.saved[name], g.state()); err != nil {
		g.Fatal(err)
	}
}

// gitPlaces are where workspaces may be.
var gitPlaces = map[string][3]string{
	"top":             {"work", "work", "true"},
	"subdirectory":    {"repo", "repo/d", "true"},
	"linked worktree": {"repo", "linked", "git stash -q; git worktree add -q -b linked ../linked"},
	"below a linked one": {
		"repo", "linked/d", "git stash -q; git worktree add -q -b linked ../linked",
	},
}

// TestGitUndoEverywhere takes back and redoes, again and again, wherever the workspace is.
func TestGitUndoEverywhere(t *testing.T) {
	for name, at := range gitPlaces {
		t.Run(name, func(t *testing.T) {
			g := newGitPlace(t, at[0], at[1], at[2])
			g.save("begun")
			g.sh("one", "echo 1 > new9; git add new9; git commit -qm one")
			g.save("one")
			g.sh("one", "echo 2 >> new9; git commit -qam two; git tag t9; git branch x/y")
			g.save("two")
			g.sh("one", "git reset -q --soft HEAD~1; git commit -q --amend -m amended; git branch -m x/y x; git tag -d t9")
			g.save("three")
			for range 3 {
				for _, step := range []string{"two", "one", "begun"} {
					g.back("undo", nil, "")
					g.is(step)
				}
				for _, step := range []string{"one", "two", "three"} {
					g.back("redo", nil, "")
					g.is(step)
				}
			}
			g.back("undo", map[string]any{"session": "one"}, "")
			g.is("begun")
			if len(g.asked) > 0 {
				t.Errorf("asked: %s %q", g.asked[0].Why, g.asked[0].Notes)
			}
		})
	}
}

// TestAttackGitUndoAfterAPerson has a person work in the repository between a call and its undo. What they did stays.
func TestAttackGitUndoAfterAPerson(t *testing.T) {
	const call = "echo 1 > new9; git add new9; git commit -qm one; git branch agent; git stash push -q -u"
	for name, c := range map[string]struct{ person, wants string }{
		"commits":                  {"git commit -q --allow-empty -m mine", "refs/heads/main"},
		"commits on a new branch":  {"git switch -q -c mine; git commit -q --allow-empty -m mine", ".git/HEAD"},
		"stages":                   {"echo mine > f1; git add f1", ".git/index"},
		"moves the agent's branch": {"git branch -f agent HEAD~2", "refs/heads/agent"},
		"stashes":                  {"echo mine >> f1; git stash -q", "refs/stash"},
		"begins a rebase":          {"git rebase -q side || true", ""},
		"checks out the branch":    {"git worktree add -q ../other agent", "checked out"},
		"locks a ref":              {"touch .git/refs/heads/side.lock", "changing the repository"},
		"packs and collects":       {"git -c gc.reflogExpire=never gc -q --prune=now", "none"},
		"tags":                     {"git tag mine", "none"},
		"tags and packs":           {"git tag mine; git pack-refs --all --prune", "none"},
		"fetches":                  {"git update-ref refs/remotes/origin/main HEAD; git update-ref refs/remotes/origin/new HEAD", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGitPlace(t, "work", "work", "true")
			g.save("begun")
			g.sh("one", call)
			g.person(c.person)
			g.save("person")
			if c.wants != "none" {
				_, err := g.call("undo", nil)
				if err == nil || !strings.Contains(err.Error(), c.wants) {
					t.Errorf("undone: %v, want %q", err, c.wants)
				}
				g.is("person")
				return
			}
			g.back("undo", nil, "")
			for _, ref := range []string{"mine", "origin/new"} {
				if strings.Contains(g.saved["person"], "/"+ref+" ") && !strings.Contains(g.state(), "/"+ref+" ") {
					t.Errorf("%s is gone", ref)
				}
			}
			g.back("redo", nil, "")
			g.is("person")
		})
	}
}

// TestAttackGitUndoAfterPruning has a person remove objects that an undo or a redo needs. It says so, and changes nothing.
func TestAttackGitUndoAfterPruning(t *testing.T) {
	const prune = "git reflog expire --expire=now --all; git gc -q --prune=now"
	g := newGitPlace(t, "work", "work", "true")
	g.sh("one", "git stash drop -q; git branch -D side")
	g.person(prune)
	g.save("pruned")
	g.back("undo", nil, "is no longer in the repository")
	g.is("pruned")

	g = newGitPlace(t, "work", "work", "true")
	g.sh("one", "git commit -qam one")
	g.back("undo", nil, "")
	g.person(prune)
	g.save("pruned")
	g.back("redo", nil, "is no longer in the repository")
	g.is("pruned")
}

// TestGitTwoSessions has two sessions in one repository, each of which takes back its own.
func TestGitTwoSessions(t *testing.T) {
	g := newGitPlace(t, "work", "work", "true")
	g.save("begun")
	g.sh("one", "git commit -qam one")
	g.save("one")
	g.sh("two", "git branch b2; git tag t2; echo two > new2")
	g.save("two")
	g.sh("one", "git commit -q --allow-empty -m more")
	g.back("undo", map[string]any{"session": "one"}, "")
	state := g.state()
	for _, want := range []string{"refs/heads/b2 ", "refs/tags/t2 ", "/new2 "} {
		if !strings.Contains(state, want) {
			t.Errorf("%s of the other session is gone", want)
		}
	}
	g.back("redo", nil, "")
	g.session = "one"
	g.back("undo", nil, "")
	g.session = "two"
	g.back("undo", map[string]any{"session": "two"}, "")
	g.is("one")
	// The second builds on what the first did: the first cannot be taken back alone.
	g.sh("two", "git commit -q --allow-empty -m on-top")
	g.save("on top")
	g.session = "one"
	g.back("undo", map[string]any{"session": "one"}, "refs/heads/main")
	g.is("on top")
}

// TestAttackGitInit has an agent make a repository, in which a person works. No undo removes it, or a part of it; what the agent did
// elsewhere is undone with partial.
func TestAttackGitInit(t *testing.T) {
	const identity = "git -c user.name=A -c user.email=a@example.org "
	g := newGitPlace(t, "work", "work", "true")
	g.save("begun")
	g.sh("one", "git init -q sub; echo 1 > new9")
	g.sh("one", "cd sub; echo 1 > f; git add f; "+identity+"commit -qm one")
	g.person("cd sub; echo mine > g; git add g; " + identity + "commit -qm mine")
	g.save("person")
	g.back("undo", map[string]any{"session": "one"}, "sub/.git")
	g.is("person")
	g.back("undo", map[string]any{"session": "one", "partial": true}, "")
	if out, err := gitRun(filepath.Join(g.work, "sub"), "git fsck --no-progress && git log --format=%s"); err != nil || out != "mine\none\n" {
		t.Errorf("%v %q", err, out)
	}
	if _, err := os.Lstat(filepath.Join(g.work, "new9")); err == nil {
		t.Error("new9 is still there")
	}
}
