//go:build linux || darwin

package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

// onBackends runs a test on every way to reach directories.
func onBackends(t *testing.T, files map[string]string, test func(t *testing.T, w *Workspace)) {
	for name, backend := range backends() {
		t.Run(name, func(t *testing.T) { test(t, openOn(t, Options{Dir: tree(t, files)}, backend)) })
	}
}

func TestReadNeedsItsEffect(t *testing.T) {
	w := newWorkspace(t, map[string]string{"src/a": "a", "src/.env": "s", "b": "b", ".env": "s", "src/sub/c": "c"})
	files, g := decide(t, w, reading(in("src")))
	read := func(rel string) error {
		f, err := files.Open(in(rel))
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.ReadAll(f)
		return err
	}
	must(t, read("src/a"))
	must(t, read("src/sub/c"))
	need := wantNeed(t, read("b"), "b: nobody decided")
	if e := need.Effects[0]; !e.SameTarget(reading(in("b"))) || e.MustAsk {
		t.Errorf("needs %+v", e)
	}
	need = wantNeed(t, read("src/.env"))
	if e := need.Effects[0]; !e.SameTarget(reading(in("src/.env"))) || !e.MustAsk {
		t.Errorf("needs %+v", e)
	}
	if _, err := files.Version(in("src/.env")); err == nil {
		t.Error("the version of a secret, which holds its digest, can be had")
	}
	_, err := files.Stat(in("src/.env"))
	must(t, err)
	_, err = files.Stat(in(".")) // above what was decided
	must(t, err)
	_, err = files.Stat(in("b"))
	wantNeed(t, err)
	names := 0
	for _, err := range files.ReadDir(in("src")) {
		must(t, err)
		names++
	}
	if names != 3 {
		t.Errorf("listed %d entries", names)
	}
	for _, err := range files.ReadDir(in(".")) {
		wantNeed(t, err)
	}
	wantCode(t, read("../x"), tongs.CodeInvalidPath)
	g.set(tongs.Effect{Kind: tongs.EffectRead, Unknown: true})
	must(t, read("b"))
	wantNeed(t, read(".env"))
	secret, err := w.Check([]tongs.Effect{reading(in(".env"))})
	must(t, err)
	g.set(secret...)
	must(t, read(".env"))
	g.set(reading(in(".env"))) // as a plan that was never checked
	wantNeed(t, read(".env"))
	g.set(writing(in("b")), tongs.Effect{Kind: tongs.EffectNetwork, Host: "x"})
	must(t, read("b"))
	wantNeed(t, read("src/a"))
}

func TestFilesEndWithTheCall(t *testing.T) {
	w := newWorkspace(t, map[string]string{"a": "a", "d/1": "", "d/2": ""})
	files, g := decide(t, w, reading(in(".")), writing(in("a")), deleting(in("a")))
	f, err := files.Open(in("a"))
	must(t, err)
	defer f.Close()
	for range files.ReadDir(in("d")) {
		g.set()
	}
	_, err = f.Read(make([]byte, 1))
	wantCode(t, err, tongs.CodeCancelled, "ended")
	_, err = f.ReadAt(make([]byte, 1), 0)
	wantCode(t, err, tongs.CodeCancelled)
	_, err = f.Version()
	wantCode(t, err, tongs.CodeCancelled)
	_, err = files.Open(in("a"))
	wantCode(t, err, tongs.CodeCancelled)
	_, err = files.Stat(in("a"))
	wantCode(t, err, tongs.CodeCancelled)
	_, err = files.Resolve("a")
	wantCode(t, err, tongs.CodeCancelled)
	_, err = files.Replace(t.Context(), in("a"), tongs.Replacing{}, content("x"))
	wantCode(t, err, tongs.CodeCancelled)
	_, err = files.Remove(t.Context(), in("a"), false)
	wantCode(t, err, tongs.CodeCancelled)
	wantCode(t, files.Rename(t.Context(), in("a"), in("b"), tongs.Renaming{}), tongs.CodeCancelled)
}

func TestReplace(t *testing.T) {
	onBackends(t, map[string]string{"a": "old", "d/": ""}, func(t *testing.T, w *Workspace) {
		must(t, os.Chmod(filepath.Join(w.Dir(), "a"), 0o751|os.ModeSetuid))
		files, g := decide(t, w, writing(in("a")), writing(in("x/y/new")))
		v, err := files.Replace(t.Context(), in("a"), tongs.Replacing{}, content("one"))
		must(t, err)
		now, err := files.Version(in("a"))
		must(t, err)
		if v != now {
			t.Errorf("Replace returned %s, the file has %s", v, now)
		}
		// Its own earlier write does not count as a change.
		_, err = files.Replace(t.Context(), in("a"), tongs.Replacing{Expect: v}, content("two"))
		must(t, err)
		if got := readHost(t, w, "a"); got != "two" {
			t.Errorf("a holds %q", got)
		}
		fi, err := os.Stat(filepath.Join(w.Dir(), "a"))
		must(t, err)
		if fi.Mode() != 0o751 {
			t.Errorf("mode is %v", fi.Mode())
		}
		_, err = files.Replace(t.Context(), in("x/y/new"), tongs.Replacing{}, content("n"))
		wantCode(t, err, tongs.CodeFileNotFound)
		_, err = files.Replace(t.Context(), in("x/y/new"), tongs.Replacing{MakeDirs: true}, content("n"))
		must(t, err)
		fi, err = os.Stat(filepath.Join(w.Dir(), "x/y/new"))
		must(t, err)
		if fi.Mode() != 0o666&^w.umask {
			t.Errorf("new file has mode %v", fi.Mode())
		}
		if want := []string{"wrote a", "wrote a", "wrote x/y/new"}; !slices.Equal(g.sent, want) {
			t.Errorf("sent %q", g.sent)
		}
		noLitter(t, w)
	})
}

func TestReplaceNeedsTheDecidedState(t *testing.T) {
	onBackends(t, map[string]string{"a": "old", "b": "b"}, func(t *testing.T, w *Workspace) {
		files, g := decide(t, w, writing(in("a")), writing(in("new")))
		must(t, os.WriteFile(filepath.Join(w.Dir(), "a"), []byte("others"), 0o644))
		must(t, os.WriteFile(filepath.Join(w.Dir(), "new"), []byte("others"), 0o644))
		_, err := files.Replace(t.Context(), in("a"), tongs.Replacing{}, content("mine"))
		need := wantNeed(t, err, "size 3 → 6")
		_, err = files.Replace(t.Context(), in("new"), tongs.Replacing{}, content("mine"))
		wantNeed(t, err, "it exists now")
		_, err = files.Replace(t.Context(), in("b"), tongs.Replacing{}, content("mine"))
		wantNeed(t, err, "nobody decided to write it")
		// What it needs, once decided, lets it pass.
		g.set(need.Effects...)
		_, err = files.Replace(t.Context(), in("a"), tongs.Replacing{Expect: "file:1.2.3"}, content("mine"))
		wantNeed(t, err, "a: changed")
		_, err = files.Replace(t.Context(), in("a"), tongs.Replacing{}, content("mine"))
		must(t, err)
		// A change while the content is made, same size, is found under the lock.
		v, err := files.Version(in("a"))
		must(t, err)
		_, err = files.Replace(t.Context(), in("a"), tongs.Replacing{Expect: v}, func(out io.Writer) error {
			must(t, sneak(filepath.Join(w.Dir(), "a"), "THEM"))
			return content("x")(out)
		})
		wantNeed(t, err)
		// An effect without a version was never checked.
		g.set(writing(in("b")))
		_, err = files.Replace(t.Context(), in("b"), tongs.Replacing{}, content("mine"))
		wantNeed(t, err, "nobody looked")
		if got := readHost(t, w, "a") + readHost(t, w, "b") + readHost(t, w, "new"); got != "THEMbothers" {
			t.Errorf("files hold %q", got)
		}
		noLitter(t, w)
	})
}

func TestReplaceUnknown(t *testing.T) {
	base := tree(t, map[string]string{"ws/a": "a", "ro/x": "x"})
	w := openOn(t, Options{Dir: base + "/ws", Roots: []Root{{Name: "ro", Dir: base + "/ro"}}}, openHandle)
	files, _ := decide(t, w, tongs.Effect{Kind: tongs.EffectWrite, Unknown: true})
	_, err := files.Replace(t.Context(), in("a"), tongs.Replacing{}, content("n"))
	must(t, err)
	_, err = files.Replace(t.Context(), in(".git/hooks/x"), tongs.Replacing{MakeDirs: true}, content("n"))
	if need := wantNeed(t, err); !need.Effects[0].MustAsk {
		t.Errorf("needs %+v", need.Effects)
	}
	_, err = files.Replace(t.Context(), tongs.Path{Root: "ro", Rel: "x"}, tongs.Replacing{}, content("n"))
	wantCode(t, err, tongs.CodePermissionDenied, "read-only")
	_, err = files.Remove(t.Context(), in("a"), false)
	wantNeed(t, err)
}

func TestReplaceLeavesNoTrace(t *testing.T) {
	onBackends(t, map[string]string{"a": "old"}, func(t *testing.T, w *Workspace) {
		files, g := decide(t, w, writing(in("a")), writing(in("x/y/z")))
		boom := errors.New("boom")
		ctx, cancel := context.WithCancel(t.Context())
		for name, write := range map[string]func(io.Writer) error{
			"failing": func(out io.Writer) error { _ = content("half")(out); return boom },
			"full":    func(io.Writer) error { return syscall.ENOSPC },
			"ended":   func(out io.Writer) error { cancel(); return content("x")(out) },
		} {
			for _, p := range []tongs.Path{in("a"), in("x/y/z")} {
				_, err := files.Replace(ctx, p, tongs.Replacing{MakeDirs: true}, write)
				if err == nil {
					t.Errorf("%s: wrote %s", name, p)
				}
				if name == "failing" && ctx.Err() == nil && !errors.Is(err, boom) {
					t.Errorf("%s: the writer's error is lost: %v", name, err)
				}
			}
		}
		_, err := files.Replace(ctx, in("a"), tongs.Replacing{}, content("x"))
		wantCode(t, err, tongs.CodeCancelled)
		if _, err := os.Lstat(filepath.Join(w.Dir(), "x")); !missing(err) {
			t.Errorf("x is there: %v", err)
		}
		if got := readHost(t, w, "a"); got != "old" || len(g.sent) != 0 {
			t.Errorf("a holds %q, sent %q", got, g.sent)
		}
		noLitter(t, w)
	})
}

func TestReplaceRefuses(t *testing.T) {
	onBackends(t, map[string]string{"dir/x": "", "target": "t", "h": "hard"}, func(t *testing.T, w *Workspace) {
		at := func(rel string) string { return filepath.Join(w.Dir(), rel) }
		files, g := decide(t, w, writing(in("fifo")), writing(in("link")), writing(in("h")))
		must(t, syscall.Mkfifo(at("fifo"), 0o600))
		must(t, os.Symlink("target", at("link")))
		must(t, os.Link(at("h"), at("h2")))
		g.set(append(g.effects, tongs.Effect{Kind: tongs.EffectWrite, Unknown: true})...)
		for _, rel := range []string{"fifo", "link", "dir", "."} {
			_, err := files.Replace(t.Context(), in(rel), tongs.Replacing{}, content("x"))
			wantCode(t, err, tongs.CodeInvalidPath)
		}
		_, err := files.Open(in("fifo"))
		if _, ok := errors.AsType[*tongs.Need](err); ok {
			_, err = w.View(in(".")).Open(in("fifo"))
		}
		wantCode(t, err, tongs.CodeInvalidPath, "FIFO")
		_, err = w.View(in(".")).Open(in("link"))
		wantCode(t, err, tongs.CodeInvalidPath, "symbolic link")
		_, err = w.View(in(".")).Open(in("dir"))
		wantCode(t, err, tongs.CodeInvalidPath, "directory")
		// Replacing one of two hard links leaves the other alone. Linking changed the file's state.
		_, err = files.Replace(t.Context(), in("h"), tongs.Replacing{}, content("new"))
		if need, ok := errors.AsType[*tongs.Need](err); ok {
			g.set(need.Effects...)
			_, err = files.Replace(t.Context(), in("h"), tongs.Replacing{}, content("new"))
		}
		must(t, err)
		if readHost(t, w, "h2") != "hard" || readHost(t, w, "h") != "new" || readHost(t, w, "target") != "t" {
			t.Error("another file was written")
		}
		noLitter(t, w)
	})
}

func TestDevices(t *testing.T) {
	w := openOn(t, Options{Dir: "/dev"}, openHandle)
	for _, name := range []string{"null", "zero", "tty"} {
		if _, err := os.Lstat("/dev/" + name); err != nil {
			continue
		}
		_, err := w.View(in(".")).Open(in(name))
		wantCode(t, err, tongs.CodeInvalidPath, "device")
	}
}

func TestRemove(t *testing.T) {
	onBackends(t, map[string]string{
		"a": "a", "d/x/y": "", "d/z": "", "full/1": "", "link": "-> keep", "dirlink": "-> keepdir", "keep": "", "keepdir/f": "", "d/out": "-> ../keepdir",
		"proj/.git/config": "", "empty/": "",
	}, func(t *testing.T, w *Workspace) {
		files, g := decide(t, w, deleting(in("a")), deleting(in("d")), deleting(in("full")), deleting(in("link")),
			deleting(in("dirlink")), deleting(in("empty")), deleting(in("none")))
		for _, rel := range []string{"a", "link", "empty"} {
			gone, err := files.Remove(t.Context(), in(rel), false)
			must(t, err)
			if !slices.Equal(gone, []tongs.Path{in(rel)}) {
				t.Errorf("%s: gone %v", rel, gone)
			}
		}
		if _, err := files.Remove(t.Context(), in("dirlink"), true); err != nil {
			t.Error(err)
		}
		_, err := files.Remove(t.Context(), in("full"), false)
		wantCode(t, err, tongs.CodeNotEmpty, "has 1 entry")
		_, err = files.Remove(t.Context(), in("none"), false)
		wantCode(t, err, tongs.CodeFileNotFound)
		gone, err := files.Remove(t.Context(), in("d"), true)
		must(t, err)
		if len(gone) != 5 || gone[4] != in("d") {
			t.Errorf("gone %v", gone)
		}
		_, err = files.Remove(t.Context(), in("proj"), true)
		wantNeed(t, err)
		for _, rel := range []string{"keep", "keepdir/f"} {
			readHost(t, w, rel)
		}
		if want := []string{"deleted a", "deleted link", "deleted empty", "deleted dirlink", "deleted d"}; !slices.Equal(g.sent, want) {
			t.Errorf("sent %q", g.sent)
		}
	})
}

func TestRemoveProtected(t *testing.T) {
	w := newWorkspace(t, map[string]string{"d/x": "", "proj/.git/config": "", "proj/a": "", ".git/HEAD": "", "sub/p/a": ""})
	files, g := decide(t, w, deleting(in("d")), deleting(in("sub")))
	// Something protected appears in it after it was decided.
	must(t, os.MkdirAll(filepath.Join(w.Dir(), "sub/p/.git/hooks"), 0o700))
	_, err := files.Remove(t.Context(), in("sub"), true)
	need := wantNeed(t, err, "sub: ") // or, where the machine's git configuration names relative paths, by those in the new repository
	if !need.Effects[0].MustAsk || need.Effects[0].Path != in("sub") {
		t.Errorf("needs %+v", need.Effects)
	}
	// The effect on a directory covers what is below, but not protected names.
	_, err = files.Remove(t.Context(), in("sub/p/a"), false)
	must(t, err)
	_, err = files.Remove(t.Context(), in("sub/p/.git/hooks"), true)
	wantNeed(t, err)
	g.set(append(need.Effects, tongs.Effect{Kind: tongs.EffectDelete, Unknown: true})...)
	_, err = files.Remove(t.Context(), in("proj"), true)
	wantNeed(t, err)
	for _, rel := range []string{".git", ".", "proj/.git"} {
		_, err = files.Remove(t.Context(), in(rel), true)
		wantCode(t, err, tongs.CodePermissionDenied)
	}
	_, err = files.Remove(t.Context(), in("sub"), true)
	must(t, err)
	// The same name for another directory is another directory.
	files, _ = decide(t, w, deleting(in("d")))
	must(t, os.Rename(filepath.Join(w.Dir(), "d"), filepath.Join(w.Dir(), "d2")))
	must(t, os.MkdirAll(filepath.Join(w.Dir(), "d"), 0o755))
	must(t, os.WriteFile(filepath.Join(w.Dir(), "d/x"), nil, 0o600))
	_, err = files.Remove(t.Context(), in("d/x"), false)
	wantNeed(t, err, "another directory")
}

// TestOwnChangesAreNoChanges uses paths again that this call itself removed or moved.
func TestOwnChangesAreNoChanges(t *testing.T) {
	w := newWorkspace(t, map[string]string{"a": "a", "d/x": "x", "e/y": "y"})
	files, _ := decide(t, w, deleting(in("a")), writing(in("a")), deleting(in("d")), writing(in("d/x")), deleting(in("e")),
		writing(in("f")), writing(in("e/y")), writing(in("e/z")))
	_, err := files.Remove(t.Context(), in("a"), false)
	must(t, err)
	_, err = files.Remove(t.Context(), in("d"), true)
	must(t, err)
	must(t, files.Rename(t.Context(), in("e"), in("f"), tongs.Renaming{}))
	for _, rel := range []string{"a", "d/x", "e/y", "e/z"} {
		_, err = files.Replace(t.Context(), in(rel), tongs.Replacing{MakeDirs: true}, content("new"))
		must(t, err)
	}
	// Another's change of the same path still is one.
	must(t, os.WriteFile(filepath.Join(w.Dir(), "d/x"), []byte("NEW"), 0o600))
	_, err = files.Replace(t.Context(), in("d/x"), tongs.Replacing{}, content("mine"))
	wantNeed(t, err, "changed")
}

func TestNestedRootsAreNeverRemoved(t *testing.T) {
	dir := tree(t, map[string]string{"build/cache/x": "", "build/y": ""})
	w := openOn(t, Options{Dir: dir, Roots: []Root{{Name: "cache", Dir: dir + "/build/cache"}}}, openHandle)
	_, err := w.Check([]tongs.Effect{deleting(in("build"))})
	wantCode(t, err, tongs.CodePermissionDenied, "holds the zone /cache")
	g := &grant{effects: []tongs.Effect{{Kind: tongs.EffectDelete, Unknown: true}, {Kind: tongs.EffectWrite, Unknown: true}}}
	files := g.of(w)
	_, err = files.Remove(t.Context(), in("build"), true)
	wantCode(t, err, tongs.CodePermissionDenied)
	wantCode(t, files.Rename(t.Context(), in("build"), in("b"), tongs.Renaming{}), tongs.CodePermissionDenied)
	_, err = files.Replace(t.Context(), in("build/cache/x"), tongs.Replacing{}, content(""))
	wantCode(t, err, tongs.CodeInvalidPath, "belongs to another root")
	for info, err := range w.View(in(".")).ReadDir(in("build")) {
		must(t, err)
		if info.Type == tongs.FileDirectory && info.Path != (tongs.Path{Root: "cache", Rel: "."}) {
			t.Errorf("listed %+v", info.Path)
		}
	}
}
