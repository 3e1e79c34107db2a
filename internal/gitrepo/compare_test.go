package gitrepo_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitrepo"
)

// world is a repository with three commits on main, a branch side that has one more, a tag, a stash and a remote.
const world = `git init -q -b main . && git config user.name A && git config user.email a@example.org &&
git config remote.origin.url https://example.org/x.git &&
for i in 1 2 3; do echo $i > f$i; git add .; git commit -q -m "commit $i"; done; mkdir d; echo x > d/x; git add .; git commit -q -m "a directory"
git branch old HEAD~1; git switch -q -c side HEAD~1; echo side > f1; git commit -q -am "side work"; git switch -q main
git tag v0 HEAD~2; echo stashed > f2; git stash -q; git gc -q; echo loose > f3; git commit -q -am "after the packing"`

func sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// happened runs a script in a copy of the world, and tells what happened to its repository.
func happened(t *testing.T, base, script string) *gitrepo.Outcome {
	t.Helper()
	dir := t.TempDir()
	sh(t, base, "cp -a . '"+dir+"'")
	sh(t, dir, script)
	before, after := filepath.Join(base, ".git"), filepath.Join(dir, ".git")
	r := gitrepo.Repository{Before: os.DirFS(before), After: os.DirFS(after), Changes: changes(t, before, after), Files: files(t, base, dir)}
	return gitrepo.Compare(r)
}

// changes are the differences of two git directories.
func changes(t *testing.T, before, after string) (list []gitrepo.Change) {
	t.Helper()
	states := [2]map[string]fs.FileInfo{{}, {}}
	names := map[string]bool{}
	for i, dir := range []string{before, after} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || p == dir {
				return err
			}
			rel, _ := filepath.Rel(dir, p)
			states[i][rel], err = d.Info()
			names[rel] = true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range names {
		was, is := states[0][name], states[1][name]
		c := gitrepo.Change{Name: name, Kind: gitrepo.Modified}
		switch {
		case was == nil:
			c.Kind = gitrepo.Added
		case is == nil:
			c.Kind = gitrepo.Deleted
			if states[1][filepath.Dir(name)] == nil && filepath.Dir(name) != "." {
				continue
			}
		case was.Mode().IsRegular() && is.Mode().IsRegular():
			x, _ := os.ReadFile(filepath.Join(before, name))
			y, _ := os.ReadFile(filepath.Join(after, name))
			if bytes.Equal(x, y) && was.Mode() == is.Mode() {
				continue
			}
		case was.Mode() == is.Mode():
			continue
		}
		for _, info := range []fs.FileInfo{was, is} {
			if info != nil {
				c.Dir = c.Dir || info.IsDir()
				if !info.IsDir() && !info.Mode().IsRegular() {
					c.Odd = gitrepo.NotPlain
				}
			}
		}
		if is != nil && is.Mode().IsRegular() && is.Mode()&0o111 != 0 {
			c.Odd = "it can be executed"
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b gitrepo.Change) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// files are the differences of two work trees.
func files(t *testing.T, before, after string) (list []gitrepo.File) {
	t.Helper()
	names := map[string][2]fs.FileInfo{}
	for i, dir := range []string{before, after} {
		_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == ".git" {
				return filepath.SkipDir
			}
			if err == nil && d.Type().IsRegular() {
				rel, _ := filepath.Rel(dir, p)
				at := names[rel]
				at[i], err = d.Info()
				names[rel] = at
			}
			return err
		})
	}
	for name, at := range names {
		f := gitrepo.File{Name: name, Kind: gitrepo.Modified}
		open := func(dir string) func() (io.ReadCloser, error) {
			return func() (io.ReadCloser, error) { return os.Open(filepath.Join(dir, name)) }
		}
		if at[0] != nil {
			f.Before, f.BeforeSize = open(before), at[0].Size()
		} else {
			f.Kind = gitrepo.Added
		}
		if at[1] != nil {
			f.After, f.AfterSize = open(after), at[1].Size()
		} else {
			f.Kind = gitrepo.Deleted
		}
		if f.Kind == gitrepo.Modified {
			x, _ := os.ReadFile(filepath.Join(before, name))
			y, _ := os.ReadFile(filepath.Join(after, name))
			if bytes.Equal(x, y) {
				continue
			}
		}
		list = append(list, f)
	}
	return list
}

func newWorld(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	sh(t, dir, world)
	if more != "" {
		sh(t, dir, more)
	}
	return dir
}

func TestWhatHappened(t *testing.T) {
	base := newWorld(t, "")
	cut := newWorld(t, "git rev-parse HEAD~2 > .git/shallow")
	dirty := newWorld(t, "echo edited >> f1; echo edited >> d/x; echo new > untracked")
	for i, test := range []struct {
		dir, script string
		want        []string // regular expressions, one for each line
	}{
		{base, "echo x > f1; echo y > g; git add .; git commit -qm 'two files'", []string{"^commit 2 files to main: two files$"}},
		{base, "echo x > f1; git add .", []string{"^stage 1 file$"}},
		{dirty, "git add -u", []string{"^stage 2 files$"}},
		{base, "for i in a b; do echo $i > f1; git commit -qam $i; done", []string{"^add 2 commits to main, the last one: b$"}},
		{base, "git commit -q --amend -m other", []string{`^amend the last commit of main \(0 files of it differ, was [0-9a-f]{7}\): other$`}},
		{base, "git branch x", []string{"^create branch x at [0-9a-f]{7}$"}},
		{base, "git switch -q -c x", []string{"^create branch x", "^switch from main to x$"}},
		{base, "git switch -q side", []string{"^switch from main to side$"}},
		{base, "git checkout -q HEAD~1", []string{"^switch from main to [0-9a-f]{7}, on no branch$"}},
		{base, "git branch -q -D side", []string{`^delete branch side \(was [0-9a-f]{7}, discards 1 commit\)$`}},
		{base, "git branch -q -D old", []string{`^delete branch old \(was [0-9a-f]{7}\)$`}},
		{base, "git branch -m old new", []string{"^rename branch old to new$"}},
		{base, "git reset -q --hard HEAD~2", []string{`^move branch main from [0-9a-f]{7} to [0-9a-f]{7} \(discards 2 commits\)$`}},
		{base, "git branch -f old main", []string{`^move old forward by 2 commits`}},
		{base, "git branch -f main2 && git branch -f side HEAD~2", []string{`^move branch side .*discards 1 commit`, "^create branch main2"}},
		{base, "git merge -q -m 'take side' side", []string{"^merge 1 commit into main: take side$"}},
		{base, "git rebase -q main side", []string{`^rewrite side from .* \(1 commit replaced by 1 new one\)$`, "^switch from main to side$"}},
		{base, "git cherry-pick side", []string{"^commit 1 file to main: side work$"}},
		{base, "git tag v1", []string{"^create tag v1 at"}},
		{base, "git tag -d v0", []string{"^delete tag v0"}},
		{base, "git stash drop -q", []string{"^drop the stash [0-9a-f]{7}: WIP on main: "}},
		{base, "git stash pop -q", []string{"^drop the stash"}},
		{dirty, "git stash -q -u", []string{"^stash 3 files: WIP on main"}},
		{dirty, "git checkout -q -- .", []string{"^discard changes of 2 files$"}},
		{dirty, "git reset -q --hard", []string{"^discard changes of 2 files$"}},
		{dirty, "git clean -qfd; git add f1", []string{"^remove 1 file that git does not track$", "^stage 1 file$"}},
		{base, "echo c > f1; git commit -qam c; ! git merge -q side", []string{"^commit 1 file to main: c$", "^leave conflicts in 1 file$", "^begin a merge, which goes on$"}},
		{base, "echo c > f1; git commit -qam c; ! git rebase -q side", []string{"begin a rebase"}},
		{base, "git rev-parse HEAD~1 > .git/shallow; git branch x", []string{"^change where the history is cut off", "^create branch x"}},
		{cut, "git rev-parse HEAD~1 > .git/shallow; git branch x", []string{"^change where the history is cut off", "^create branch x"}},
		{base, "git tag -a -m v9 v9; git tag -a -m v10 v10 v9; git pack-refs --all", []string{"^create tag v9", "^create tag v10"}},
		{base, "git config rerere.enabled true; git config --unset rerere.enabled; echo c > f1; git commit -qam c; ! git -c rerere.enabled=true merge -q side; rm -rf .git/rr-cache; git config --remove-section rerere || true", []string{"^leave conflicts in 1 file$"}},
		{base, "git pack-refs --all", []string{"^update git's records"}},
		{base, "git branch -q -u origin/x 2>/dev/null; git config branch.main.remote origin; git config branch.main.merge refs/heads/dev", []string{"^branch main tracks origin/dev$"}},
		{base, `git init -q ../other; for i in $(seq 150); do echo $i > ../other/f$i; done; git -C ../other add . ; git -C ../other -c user.name=B -c user.email=b@example.org commit -qm other
git fetch -q ../other HEAD:refs/remotes/origin/other; rm -rf ../other; ls .git/objects/pack/*.idx | grep -c . | grep -q 2`, []string{"^create remote branch origin/other at"}},
		{base, "git update-index --assume-unchanged f1", []string{"^hide changes of 1 file from git"}},
		{base, "printf 'x\\033[31mred\\ny' > m; git commit -q --allow-empty -F m --cleanup=verbatim", []string{`^commit 0 files to main: x[^\x1b\n]*\[31mred$`}},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Log(test.script)
			got := happened(t, test.dir, test.script)
			if got.Strange != "" {
				t.Fatalf("strange: %s", got.Strange)
			}
			for _, want := range test.want {
				if !slices.ContainsFunc(got.Does, regexp.MustCompile(want).MatchString) {
					t.Errorf("%q does not have %s", got.Does, want)
				}
			}
			for _, line := range got.Does {
				if strings.ContainsAny(line, "\n\x1b") {
					t.Errorf("%q acts on a screen", line)
				}
			}
		})
	}
}

// What changes nothing that git goes by is slight, and undo passes it over. Everything else is not, however little is said of it.
func TestSlight(t *testing.T) {
	base := newWorld(t, "")
	rebasing := newWorld(t, "echo c > f1; git commit -qam c; ! git rebase -q side")
	for i, test := range []struct {
		dir, script string
		slight      bool
		want        string
	}{
		{base, "git pack-refs --all", true, "update git's records"},
		{base, "git update-index --refresh", true, "update git's records"},
		{base, "git hash-object -w f1", true, "update git's records"},
		{base, "git rev-parse side > .git/refs/stash", false, "move the stash from"},
		{base, "git update-ref refs/bisect/bad HEAD", false, "refs/bisect/bad"},
		{base, "git update-ref refs/rewritten/x HEAD", false, "refs/rewritten/x"},
		{base, "git config branch.main.rebase true", false, "branch main"},
		{rebasing, "echo drop >> .git/rebase-merge/git-rebase-todo", false, "update git's records"},
		{rebasing, "git rev-parse HEAD > .git/REBASE_HEAD", false, "update git's records"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Log(test.script)
			got := happened(t, test.dir, test.script)
			if got.Strange != "" || got.Slight != test.slight || !strings.Contains(strings.Join(got.Does, "; "), test.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What is not merely a record of git's is strange.
func TestAttackStrange(t *testing.T) {
	base := newWorld(t, "")
	object := func(content string) string {
		text := fmt.Sprintf("blob %d\x00%s", len(content), content)
		sum := sha1.Sum([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	var evil bytes.Buffer
	z := zlib.NewWriter(&evil)
	fmt.Fprintf(z, "blob 4\x00evil")
	z.Close()
	wrong := object("good")
	commit := "echo x > f1; git commit -qam x; "
	n := 0
	for script, want := range map[string]string{
		commit + "printf '#!/bin/sh' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push":            "hooks/pre-push",
		commit + "git config core.fsmonitor ./evil":                                                  "config",
		commit + "git config alias.st '!evil'":                                                       "config",
		commit + "git config include.path ../evil":                                                   "config",
		commit + "git config filter.x.clean evil; echo '* filter=x' > .git/info/attributes":          "config",
		"git config branch.main.remote 'ext::sh -c evil'; git config branch.main.merge refs/heads/x": "config",
		"git config branch.main.remote /tmp/other; git config branch.main.merge refs/heads/x":        "config",
		"git config branch.main.remote origin; git config branch.main.merge refs/tags/x":             "config",
		"git config branch.main.pushRemote origin":                                                   "config",
		"git config remote.origin.pushurl https://evil.example":                                      "config",
		"echo '* filter=x' > .git/info/attributes":                                                   "info/attributes",
		"echo /tmp/x > .git/objects/info/alternates":                                                 "objects/info/alternates",
		"ln -s /etc/passwd .git/refs/heads/link":                                                     "refs",
		"ln -sf main .git/refs/heads/side2; git branch x":                                            "refs",
		"printf 'garbage' > .git/refs/heads/x":                                                       "refs",
		"echo 1111111111111111111111111111111111111111 > .git/refs/heads/x":                          "refs/heads/x",
		"git rev-parse HEAD^{tree} > .git/refs/heads/x":                                              "refs/heads/x",
		"git rev-parse HEAD > .git/refs/heads/$(printf 'a\\nb')":                                     "refs/heads",
		"git rev-parse HEAD > .git/refs/heads/HEAD":                                                  "refs/heads/HEAD",
		"mkdir -p .git/refs/replace; git rev-parse HEAD > .git/refs/replace/$(git rev-parse HEAD~1)": "refs/replace",
		"echo garbage >> .git/packed-refs":                                                           "packed-refs",
		"echo 'ref: ../../evil' > .git/HEAD":                                                         "HEAD",
		"echo 'ref: refs/tags/v0' > .git/HEAD":                                                       "HEAD",
		"rm .git/objects/pack/*":                                                                     "",
		"git gc -q --prune=now":                                                                      "",
		"git repack -qad":                                                                            "",
		"git reflog expire --expire=now --all":                                                       "reflog",
		"rm .git/logs/HEAD":                                                                          "logs/HEAD",
		"git update-index --add --cacheinfo 100644,$(git hash-object -w f1),x; python3 -c \"d=open('.git/index','rb').read(); import hashlib; d=d[:-20].replace(b'f1\\0',b'..\\0'); open('.git/index','wb').write(d+hashlib.sha1(d).digest())\"": "index",
		`cd .git/objects/pack; p=$(ls *.idx | sed 's/.idx//'); q=pack-$(printf 1%.0s $(seq 40)); cp $p.pack $q.pack; python3 - $p $q <<'END'
import sys, hashlib
d = bytearray(open(sys.argv[1] + '.idx', 'rb').read())
n = int.from_bytes(d[8+255*4:8+256*4], 'big'); at = 8+256*4+n*24
d[at:at+4], d[at+4:at+8] = d[at+4:at+8], d[at:at+4]
open(sys.argv[2] + '.idx', 'wb').write(d)
END`: "not what its name says",
		"cp .git/objects/pack/*.idx .git/objects/pack/pack-$(printf 1%.0s $(seq 40)).idx": "whole pack",
		"mkdir -p .git/modules/x": "modules",
		"mkdir -p .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo":                                                  "git-rebase-todo",
		"mkdir -p .git/rebase-merge; echo evil > .git/rebase-merge/strategy":                                                                "strategy",
		"mkdir -p .git/rebase-merge; echo '$(evil)' > .git/rebase-merge/author-script":                                                      "author-script",
		"mkdir -p .git/sequencer; printf '[options]\\nstrategy = evil\\n' > .git/sequencer/opts":                                            "opts",
		"mkdir -p .git/worktrees/x; echo /tmp/evil > .git/worktrees/x/commondir":                                                            "commondir",
		"mkdir -p .git/worktrees/x; echo /tmp/evil/.git > .git/worktrees/x/gitdir":                                                          "gitdir",
		"git branch z; git pack-refs --all; sed -i \"s#.* refs/heads/main\\$#$(git rev-parse side) refs/heads/main\\n&#\" .git/packed-refs": "packed-refs",
		"git pack-refs --all; sed -i 's#refs/heads/side$#&\\r#' .git/packed-refs":                                                           "packed-refs",
		"git pack-refs --all; { sed 1q .git/packed-refs; sed 1d .git/packed-refs | sort -rk2; } > p; cat p > .git/packed-refs; rm p":        "packed-refs",
		"git tag -a -m x x; git pack-refs --all; sed -i \"s#^^.*#^$(git rev-parse side)#\" .git/packed-refs":                                "packed-refs",
		"git pack-refs --all; truncate -s -1 .git/packed-refs":                                                                              "packed-refs",
		"printf '0123456789012345678901234567890123456789\\t/etc/hostname\\0' > .git/MERGE_RR":                                              "MERGE_RR",
		"printf '0123456789012345678901234567890123456789.1\\t../x\\0' > .git/MERGE_RR":                                                     "MERGE_RR",
		"git bisect start -q 2>&1; echo -f > .git/BISECT_START":                                                                             "BISECT_START",
		"touch .git/unknown": "unknown",
		"chmod +x .git/HEAD": "HEAD",
		"git bundle create -q b HEAD; touch .git/shallow.lock":                                                                        "shallow.lock",
		"mkdir -p .git/objects/" + wrong[:2] + "; printf '" + octal(evil.Bytes()) + "' > .git/objects/" + wrong[:2] + "/" + wrong[2:]: "objects/",
	} {
		n++
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Log(script)
			got := happened(t, base, script)
			if got.Strange == "" || !strings.Contains(got.Strange, want) {
				t.Errorf("strange %q, does %q", got.Strange, got.Does)
			}
			if strings.ContainsAny(got.Strange, "\n\x1b") {
				t.Errorf("%q acts on a screen", got.Strange)
			}
		})
	}
}

// A ref of a worktree's own is one, too.
func TestAttackRefsOfAWorktree(t *testing.T) {
	base := newWorld(t, "git worktree add -q w; mkdir -p .git/worktrees/w/refs/bisect")
	for script, strange := range map[string]bool{
		"git rev-parse HEAD > .git/worktrees/w/refs/bisect/bad": false,
		"echo evil > .git/worktrees/w/refs/bisect/bad":          true,
	} {
		if got := happened(t, base, script); (got.Strange != "") != strange {
			t.Errorf("%s: strange %q, does %q", script, got.Strange, got.Does)
		}
	}
}

// Many refs are counted, and what was lost comes first.
func TestManyRefs(t *testing.T) {
	base := newWorld(t, "for i in $(seq 150); do echo create refs/heads/b$i HEAD; done | git update-ref --stdin")
	got := happened(t, base, "git for-each-ref --format='delete %(refname)' refs/heads/b* | git update-ref --stdin; for i in $(seq 120); do echo create refs/tags/t$i HEAD; done | git update-ref --stdin")
	want := []string{"delete 150 branches (b1, b10, b100, b101, b102, others)", "create 120 tags (t1, t10, t100, t101, t102, others)"}
	if got.Strange != "" || !slices.Equal(got.Does, want) || !got.Grave {
		t.Errorf("%+v", got)
	}
}

// bombs are small files that are large once they are read: trees with many times the same tree, down to an empty one, and
// commits with long messages.
var bombs = map[string]string{
	"empty trees": `t=$(git mktree < /dev/null); for i in $(seq 12); do t=$(for j in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\t%s\n' $t $j; done | git mktree); done
git update-ref refs/heads/main $(git commit-tree -p HEAD -m bomb $t)`,
	"messages": `p=$(git rev-parse HEAD); for i in $(seq 20); do p=$({ printf 'tree %s\nparent %s\nauthor A <a> 1 +0000\ncommitter A <a> '$i' +0000\n\n' $(git rev-parse HEAD^{tree}) $p; head -c 30000000 /dev/zero | tr '\0' x; } | git hash-object -t commit -w --stdin); done
git update-ref refs/heads/main $p`,
}

// A bomb ends the comparison soon, and with words that do not make little of it.
func TestAttackBombs(t *testing.T) {
	base := newWorld(t, "")
	for name, script := range bombs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if got := happened(t, base, script); got.Strange == "" && !strings.Contains(strings.Join(got.Does, "; "), "many") {
				t.Errorf("%+v", got)
			}
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 2<<30 {
				t.Errorf("%d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
			}
		})
	}
}

func octal(data []byte) string {
	var b strings.Builder
	for _, c := range data {
		fmt.Fprintf(&b, "\\%03o", c)
	}
	return b.String()
}
