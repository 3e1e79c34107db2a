package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

// watched is a directory of a person, with a repository, that others change without telling.
type watched struct {
	t   *testing.T
	j   *Journal
	top string
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j, err := Open(Options{Dir: filepath.Join(t.TempDir(), "journal"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	w := &watched{t: t, j: j, top: top}
	w.sh(`git init -q -b main . && git config user.email a@b && git config user.name n && mkdir -p src/deep && echo one > src/a.go &&
		echo two > src/deep/b.go && echo ignored > .gitignore && echo SECRET=1 > .env && ln -s src/a.go link && chmod 700 src/deep &&
		echo .env >> .gitignore && git add . && git commit -qm first && echo second >> src/a.go && git commit -qam second &&
		echo staged > staged.txt && git add staged.txt && echo dirty >> src/a.go && echo new > untracked.txt && git stash list`)
	return w
}

func (w *watched) sh(script string) {
	w.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.top
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+w.top)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// update brings the state up to date and records what changed.
func (w *watched) update(head Entry, paths ...string) (*Entry, []Change) {
	w.t.Helper()
	watch, err := w.j.Watch(w.t.Context(), w.top)
	if err != nil {
		w.t.Fatal(err)
	}
	defer watch.Close()
	changes, err := watch.Update(w.t.Context(), paths, WatchOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var e *Entry
	if len(changes) > 0 {
		if e, err = watch.Record(head, changes); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := watch.Save(); err != nil {
		w.t.Fatal(err)
	}
	return e, changes
}

// undo takes entries back.
func (w *watched) undo(entries ...Entry) error {
	w.t.Helper()
	u, err := w.j.Undo(w.t.Context(), Entry{Tool: "undo", Roots: map[string]string{tongs.WorkspaceRoot: w.top}}, entries, nil)
	if err != nil {
		return err
	}
	defer u.Close()
	if len(u.Conflicts) > 0 {
		return &ConflictError{u.Conflicts}
	}
	_, err = u.Commit(w.t.Context())
	return err
}

// tree is what there is, but for objects that git added, reflogs, and what git only notes.
func (w *watched) tree() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(w.top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(w.top, name)
		_, below, inGit := gitDirOf(rel)
		if inGit && (strings.HasPrefix(below, "objects") || strings.HasPrefix(below, "logs") || below == "index" || strings.HasSuffix(below, "MSG") || strings.HasSuffix(below, "_HEAD")) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %q", data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(name)
			text += " " + target
		}
		all[rel] = text
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *watched) git(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = w.top
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Errorf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (w *watched) same(before map[string]string) {
	w.t.Helper()
	after := w.tree()
	for name, text := range before {
		if after[name] != text && !byValue(name) {
			w.t.Errorf("%s is\n%s, was\n%s", name, after[name], text)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok && !byValue(name) {
			w.t.Errorf("%s is new", name)
		}
	}
}

// byValue reports whether a file is one of refs, which git tells the values of.
func byValue(name string) bool {
	return name == ".git/packed-refs" || strings.HasPrefix(name, ".git/refs")
}

// What agents were reported to do to people's work is taken back, with git's records.
func TestWatchTakesBack(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"rm -rf src && git reset -q --hard", "git reset -q --hard HEAD~1", "git clean -qfdx", "git checkout -q -- . && git clean -qfd",
		"git stash -qu", "git stash -q && git stash drop -q", "rm -rf .git", "git commit -qam oops", "git checkout -qb other && git commit -qam x && git branch -qD main",
		"rm -rf src untracked.txt .env link", "mv src source", "rm -rf src && echo file > src", "rm link && mkdir link && echo x > link/y",
		"echo x > .env && chmod 600 .env", "git reset -q --hard HEAD~1 && git reflog expire --expire=now --all && git gc -q --prune=now",
		"find . -mindepth 1 -delete", "git rm -qr --cached . && git commit -qm gone", "sed -i s/one/1/ src/a.go", "git pack-refs --all && git tag v1",
		"chmod -R a-w src && chmod 755 src/deep", "rm -rf src && ln -s /etc src", "git config core.editor evil && echo '#!/bin/sh' > .git/hooks/post-commit",
		"git worktree add -q tree && cd tree && echo x > x",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newWatched(t)
			w.update(Entry{})
			before, status := w.tree(), w.git("status", "--porcelain", "-b")
			head, stash, index := w.git("rev-parse", "HEAD", "main"), w.git("stash", "list"), w.git("ls-files", "-s")
			if e, changes := w.update(Entry{}); e != nil {
				t.Fatalf("nothing happened, and %v changed", changes)
			}
			w.sh(script)
			e, _ := w.update(Entry{Call: "n_1", Client: "claude-code", Tool: "Bash"})
			if e == nil {
				t.Fatal("no change was seen")
			}
			if err := w.undo(*e); err != nil {
				t.Fatal(err)
			}
			w.same(before)
			for _, v := range [][2]string{
				{w.git("status", "--porcelain", "-b"), status},
				{w.git("rev-parse", "HEAD", "main"), head},
				{w.git("stash", "list"), stash},
				{w.git("ls-files", "-s"), index},
			} {
				if v[0] != v[1] {
					t.Errorf("%s\nwas\n%s", v[0], v[1])
				}
			}
			if out := w.git("fsck", "--full", "--strict"); strings.Contains(out, "missing") || strings.Contains(out, "broken") {
				t.Error(out)
			}
			if e, changes := w.update(Entry{}); e != nil {
				t.Errorf("the undo itself was taken for somebody's change: %v", changes)
			}
		})
	}
}

// A file that somebody changed since is not overwritten.
func TestWatchLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.update(Entry{})
	w.sh("rm -rf src; echo agent > untracked.txt")
	e, _ := w.update(Entry{Call: "n_1", Client: "x"})
	w.sh("echo person > untracked.txt")
	conflict := &ConflictError{}
	if err := w.undo(*e); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
		t.Fatalf("%v", err)
	}
	if data, _ := os.ReadFile(filepath.Join(w.top, "untracked.txt")); string(data) != "person\n" {
		t.Errorf("%s", data)
	}
}

// What tools make again is left alone, and so are FIFOs and what is behind links.
func TestWatchLeavesOut(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "theirs"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.sh("mkdir -p node_modules/x app/node_modules && echo y > node_modules/x/y && mkfifo pipe && ln -s " + out + " out && echo z > closed && mkdir dark && echo d > dark/d")
	w.update(Entry{})
	w.sh("rm -rf node_modules app pipe && echo more > out/theirs && rm out")
	e, changes := w.update(Entry{Call: "n_1", Client: "x"})
	var names []string
	for _, c := range changes {
		names = append(names, c.Path.Rel)
	}
	if want := []string{"out", "app"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	if err := w.undo(*e); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(out, "theirs")); string(data) != "more\n" {
		t.Errorf("what is outside was touched: %q", data)
	}
}

// A full disk is an error, leaves the state as it was, and what happened meanwhile is found afterwards.
func TestWatchFullDisk(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.update(Entry{})
	before := w.tree()
	w.sh("rm -rf src && echo x > untracked.txt")
	for _, step := range []string{"watch", "blob", "record", "save", "write done", "write " + filepath.Base(WatchDir(w.j.Dir(), w.top))} {
		func() {
			watch, err := w.j.Watch(t.Context(), w.top)
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close()
			w.j.point = func(at string) error {
				if at == step {
					return syscall.ENOSPC
				}
				return nil
			}
			defer func() { w.j.point = func(string) error { return nil } }()
			changes, err := watch.Update(t.Context(), nil, WatchOptions{})
			if err == nil && len(changes) > 0 {
				_, err = watch.Record(Entry{Call: "n_1", Client: "x"}, changes)
			}
			if err == nil {
				err = watch.Save()
			}
			if !errors.Is(err, syscall.ENOSPC) && len(changes) > 0 {
				t.Errorf("%s: %v", step, err)
			}
		}()
	}
	w.update(Entry{Call: "n_1", Client: "x"})
	entries, err := w.j.Select(Selector{Top: w.top})
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Fatalf("%d entries", len(entries))
	}
	if err := w.undo(entries...); err != nil {
		t.Fatal(err)
	}
	w.same(before)
}

// What is too much is left out, the largest first, and says so.
func TestWatchBudget(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.sh("head -c 300000 /dev/zero > large; head -c 100000 /dev/zero > middle")
	watch, err := w.j.Watch(t.Context(), w.top)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if _, err := watch.Update(t.Context(), nil, WatchOptions{MaxBytes: 200_000}); err != nil {
		t.Fatal(err)
	}
	files, _ := watch.Unkept()
	if len(files) != 1 || files[0].Path.Rel != "large" || files[0].Why == "" {
		t.Errorf("%v", files)
	}
	if _, err := watch.Update(t.Context(), nil, WatchOptions{MaxEntries: 3}); err == nil {
		t.Error("a tree of any size was taken")
	}
}

// What the state needs is not collected; what nobody needs is.
func TestWatchAndGC(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.update(Entry{})
	before := w.tree()
	if _, err := w.j.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.sh("rm -rf src .git")
	e, _ := w.update(Entry{Call: "n_1", Client: "x"})
	if _, err := w.j.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.undo(*e); err != nil {
		t.Fatal(err)
	}
	w.same(before)
}
