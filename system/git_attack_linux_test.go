package system_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
)

// TestAttackGitDirectories has programs hide changes of what git runs or obeys among a commit. Although what can be undone is free, a
// person is asked about each of them, by name, and nothing is kept where they say no.
func TestAttackGitDirectories(t *testing.T) {
	dir := place(t, "approval:\n  undoable: preApproved\n")
	var asked []approval.Question
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		asked = append(asked, q)
		return approval.Answer{}, nil
	})}
	tw := &twins{work: filepath.Join(dir, "work"), direct: filepath.Join(dir, "direct"), sys: open(t, opt)}
	const commit = "echo x >> f1; git commit -qam innocent; "
	for name, script := range map[string]string{
		"configuration":               commit + `printf '[core]\n\tfsmonitor = ./evil\n' >> .git/config`,
		"alias":                       commit + `printf '[alias]\n\tst = !./evil\n' >> .git/config`,
		"include":                     commit + `printf '[include]\n\tpath = ../evil\n' >> .git/config`,
		"filter":                      commit + `printf '[filter "x"]\n\tclean = ./evil\n' >> .git/config; echo '* filter=x' > .gitattributes`,
		"remote program":              commit + `printf '[branch "main"]\n\tremote = ext::sh -c evil\n\tmerge = refs/heads/x\n' >> .git/config`,
		"remote path":                 commit + `printf '[branch "main"]\n\tremote = ./evil\n\tmerge = refs/heads/x\n' >> .git/config`,
		"hook":                        commit + `echo '#!/bin/sh' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout`,
		"hooks moved":                 commit + `mv .git/hooks .git/h; mkdir .git/hooks; echo evil > .git/hooks/post-commit; chmod +x .git/hooks/post-commit`,
		"attributes":                  commit + `echo '* filter=x' > .git/info/attributes`,
		"alternates":                  commit + `echo /tmp > .git/objects/info/alternates`,
		"configuration of a worktree": commit + `mkdir -p .git/worktrees/x; printf '[core]\n\tfsmonitor = ./evil\n' > .git/worktrees/x/config.worktree`,
		"worktree elsewhere":          commit + `mkdir -p .git/worktrees/x; echo ../.. > .git/worktrees/x/commondir; echo /tmp/evil/.git > .git/worktrees/x/gitdir; cp .git/HEAD .git/worktrees/x/`,
		"submodule":                   commit + `mkdir -p .git/modules/m; cp -r .git/HEAD .git/refs .git/modules/m; mkdir .git/modules/m/objects; printf '[core]\n\tfsmonitor = ./evil\n' > .git/modules/m/config`,
		"ref that is a link":          commit + `ln -s /etc/hostname .git/refs/heads/linked`,
		"ref name of two lines":       commit + `git rev-parse HEAD > .git/refs/heads/$'a\nb'`,
		"replaced commit":             commit + `git replace HEAD HEAD~1`,
		"wrong object":                commit + `mkdir -p .git/objects/00; cp .git/objects/$(git rev-parse HEAD | sed 's|^..|&/|') .git/objects/00/$(printf 0%.0s $(seq 38))`,
		"garbage in packed-refs":      commit + `echo garbage >> .git/packed-refs`,
		"exec in a rebase":            commit + `mkdir .git/rebase-merge; echo 'exec ./evil' > .git/rebase-merge/git-rebase-todo`,
		"git directory is a link":     commit + `cp -r .git g2; rm -rf .git; ln -s g2 .git`,
		"git directory is a file":     commit + `cp -r .git g2; rm -rf .git; echo 'gitdir: g2' > .git`,
		"objects removed":             commit + `find .git/objects -type f -name '*.pack' -delete`,
		"objects packed":              commit + `git gc -q`,
		"history forgotten":           commit + `git reflog expire --expire=now --all`,
		"unknown file":                commit + `echo evil > .git/evil`,
		"objects open to everybody":   commit + `chmod 777 .git/objects`,
		"new objects open to others":  commit + `echo y > f2; umask 0; git commit -qam y`,
		"HEAD that nobody can read":   commit + `chmod 0 .git/HEAD`,
		"executable ref":              commit + `chmod +x .git/refs/heads/main`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := tw.begin(func(dir string) error { _, err := gitRun(dir, dated(0, []string{gitFirst})); return err }); err != nil {
				t.Fatal(err)
			}
			before, err := tree(tw.work)
			if err != nil {
				t.Fatal(err)
			}
			asked = nil
			res, err := tw.call("shell", map[string]any{"command": script})
			if err == nil && len(asked) == 0 {
				t.Errorf("nobody was asked: %s", res.Content)
			}
			for _, q := range asked {
				special := q.ChangeCount == 0 // it is asked about before it runs
				for _, c := range q.Changes {
					special = special || c.Protected != "" && strings.HasPrefix(c.Path.Rel, ".git")
				}
				if !special {
					t.Errorf("the question tells of nothing special: %+v", q.Changes)
				}
			}
			if err := same("after no", tw.work, nil, before); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAttackGitSaysAll has a program do more than a harmless commit: the question tells both, the loss first.
func TestAttackGitSaysAll(t *testing.T) {
	dir := place(t, "")
	var asked []approval.Question
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		asked = append(asked, q)
		return approval.Answer{}, nil
	})}
	tw := &twins{work: filepath.Join(dir, "work"), direct: filepath.Join(dir, "direct"), sys: open(t, opt)}
	if err := tw.begin(func(dir string) error { _, err := gitRun(dir, dated(0, []string{gitFirst})); return err }); err != nil {
		t.Fatal(err)
	}
	_, _ = tw.call("shell", map[string]any{"command": "git commit -qam 'fix a typo'; git branch -f side HEAD~3; git stash drop -q; git tag -d v0"})
	if len(asked) != 1 || len(asked[0].Changes) == 0 || !asked[0].Changes[0].Repository {
		t.Fatalf("%+v", asked)
	}
	does := strings.Join(asked[0].Changes[0].Does, "\n")
	for _, want := range []string{"commit 1 file to main: fix a typo", "move branch side from ", "(discards 1 commit)", "drop the stash ", "delete tag v0"} {
		if !strings.Contains(does, want) {
			t.Errorf("%q is not told: %s", want, does)
		}
	}
	if strings.HasPrefix(does, "commit") || !asked[0].Changes[0].Loses {
		t.Errorf("what is lost does not come first: %s", does)
	}
}
