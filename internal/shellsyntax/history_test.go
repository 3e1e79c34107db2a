package shellsyntax_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// historySite returns a workspace that is a repository, which tracks the given files.
func historySite(t *testing.T, files ...string) *site {
	t.Helper()
	s := newSite(t)
	if err := os.RemoveAll(filepath.Join(s.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"},
		append([]string{"add", "-f"}, files...),
		{"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return s
}

// showing are commands that show, or take up, content which no path limits.
const showing = `git log -p
git log --patch
git log -zp
git log -1 -U3
git show
git show HEAD
git show main -- '*.env'
git show HEAD -- .
git diff
git diff HEAD~1
git diff --cached
git diff --check
git diff --stat -p
git stash show -p
git stash list -p
git reflog -p
git grep KEY HEAD
git grep --cached KEY
git cat-file -p 0123456789abcdef0123456789abcdef01234567
git cat-file blob main
git archive HEAD
git status -v
git status -vv
git status --verbose
git commit --dry-run -v
git add -p
git add --patc
git for-each-ref --format='%(raw)'
git tag --format='%(contents)' -l
git diff-tree -p HEAD
git diff-index -p HEAD
git diff-files -p
git whatchanged -p
git range-diff main topic
git fsck --lost-found
git update-index --cacheinfo 100644,0123,x.txt
git checkout-index --temp -a
git apply --cached a.txt
git diff --exit-code
git log -S -S -p
git log --grep --grep -p
git show --until -s HEAD
git show --stat main
git show --stat --all
git show -s 0123456789abcdef
git stash show -1
git stash show -n 1 -t
git cat-file --textconv --path -s main
cd src && git log -p
cd docs; git diff
git -C src show`

// Where a repository tracks a secret, showing its history is asked as reading the secret is. Where it does not, it is free.
func TestHistory(t *testing.T) {
	secret, plain := historySite(t, "a.txt", "src", ".env"), historySite(t, "a.txt", "src")
	rules := append(permissiveRules(), tongs.Rule{
		Layer: tongs.LayerUser, Toolset: "shell", Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete), Pattern: "**",
		Decision: tongs.PreApproved,
	})
	asks := func(s *site, src string) bool {
		v, effects, err := s.decide(src, rules...)
		if err != nil {
			t.Fatalf("%q: %v%s", src, err, explain(v, effects))
		}
		for i, e := range effects {
			if e.Kind == tongs.EffectRead && v.Effects[i].Decision != tongs.PreApproved {
				return true
			}
		}
		return false
	}
	for src := range strings.SplitSeq(showing, "\n") {
		if !asks(secret, src) {
			t.Errorf("%q shows a tracked secret and is not asked", src)
		}
		if asks(plain, src) {
			t.Errorf("%q is asked where no secret is tracked", src)
		}
	}
	for _, src := range []string{
		"git log", "git log --oneline -5", "git log --stat", "git show --stat", "git diff --stat", "git diff --name-only HEAD~1",
		"git stash list", "git stash show", "git reflog", "git status", "git status -sb", "git diff a.txt", "git show HEAD:a.txt",
		"git diff HEAD -- a.txt", "git blame a.txt", "git log -p -- a.txt", "git grep foo", "git grep -n foo src", "git add a.txt",
		"git commit -m x", "git branch -v", "git tag -l", "git log --format=%H -n 3", "git log -n3", "git cat-file -t HEAD",
		"git diff --quiet", "git log --author=x --since=1.week",
	} {
		if src != "git grep -n foo src" && asks(secret, src) {
			t.Errorf("%q is asked, and shows no secret", src)
		}
	}
	linked := filepath.Join(t.TempDir(), "linked")
	cmd := exec.Command("git", "worktree", "add", "-q", linked)
	cmd.Dir = secret.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, dir := range []string{linked, filepath.Join(secret.dir, "src")} {
		if s := openSite(t, dir); !asks(s, "git log -p") {
			t.Errorf("in %s git log -p shows a tracked secret and is not asked", dir)
		}
	}
}

// An address by which git runs a program is code, whatever rules say of the network.
func TestGitAddresses(t *testing.T) {
	s := newSite(t)
	runs := func(src string) bool {
		for _, e := range analyse(t, s, src).Effects {
			if e.Kind == tongs.EffectExecute && e.Unknown {
				return true
			}
		}
		return false
	}
	for _, src := range []string{
		`git fetch ext:"":sh`, `git fetch "ext:$Y:sh"`, "git clone ext::sh", "git ls-remote foo://x", "git push fd::3", "git pull $U",
		"git clone http::https://example.com/x", `git remote set-url x "$U"`, "git submodule add ext::sh x", "git clone ext://x",
	} {
		if !runs(src) {
			t.Errorf("%q may run a program, and is only a matter of the network", src)
		}
	}
	for _, src := range []string{
		"git fetch origin", "git clone https://example.com/x", "git push origin main", "git fetch git@example.com:x/y",
		"git pull --rebase", "git clone ssh://git@example.com/x y",
	} {
		if runs(src) {
			t.Errorf("%q counts as running a program", src)
		}
	}
}
