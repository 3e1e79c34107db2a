package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tongs-ai/tongs"
)

// A lazy root is made by the first write, and is the same root before and after.
func TestLazyRoot(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir := filepath.Join(home, "deep", "tools")
	for _, rel := range []string{"a.txt", "sub/a.txt"} {
		must(t, os.RemoveAll(filepath.Join(home, "deep")))
		w := openOn(t, Options{Dir: t.TempDir(), Roots: []Root{{Name: "tools", Dir: dir, Writable: true, Lazy: true}}}, openHandle)
		at := tongs.Path{Root: "tools", Rel: rel}
		if p, err := w.Resolve(in("."), "/tools/"+rel); err != nil || p != at {
			t.Errorf("%v, %v", p, err)
		}
		if v, err := w.View(in(".")).Version(at); err != nil || v != tongs.Absent {
			t.Errorf("version %q, %v", v, err)
		}
		if _, err := os.Lstat(dir); err == nil || len(w.Present()) != 1 || len(w.Roots()) != 2 {
			t.Errorf("it is there: %v, %v", err, w.Present())
		}
		before := w.Digest()
		files, _ := decide(t, w, tongs.Effect{Kind: tongs.EffectWrite, Path: at, Version: tongs.Absent})
		if _, err := files.Replace(t.Context(), at, tongs.Replacing{MakeDirs: true}, content("x")); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(rel))); err != nil || string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
		if len(w.Present()) != 2 || w.Digest() != before {
			t.Errorf("%v, another digest: %t", w.Present(), w.Digest() != before)
		}
	}
}

// A lazy root that others make is seen, and one that they make a link of is refused.
func TestLazyRootOfOthers(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root := Root{Name: "tools", Dir: filepath.Join(home, "tools"), Writable: true, Lazy: true}
	at := tongs.Path{Root: "tools", Rel: "a"}
	w := openOn(t, Options{Dir: t.TempDir(), Roots: []Root{root}}, openHandle)
	must(t, os.Mkdir(root.Dir, 0o755))
	must(t, os.WriteFile(filepath.Join(root.Dir, "a"), []byte("x"), 0o644))
	if v, err := w.View(in(".")).Version(at); err != nil || v == tongs.Absent {
		t.Errorf("version %q, %v", v, err)
	}
	if runtime.GOOS == "windows" {
		return // making links needs a privilege there
	}
	must(t, os.RemoveAll(root.Dir))
	w = openOn(t, Options{Dir: t.TempDir(), Roots: []Root{root}}, openHandle)
	outside := tree(t, map[string]string{"a": "outside"})
	must(t, os.Symlink(outside, root.Dir))
	if _, err := w.View(in(".")).Version(at); err == nil {
		t.Error("a link that was made meanwhile was followed")
	}
	if _, err := w.Check([]tongs.Effect{{Kind: tongs.EffectWrite, Path: tongs.Path{Root: "tools", Rel: "b"}, Version: tongs.Absent}}); err == nil {
		t.Error("a write through it may be decided")
	}
	if len(w.Present()) != 1 {
		t.Errorf("%v", w.Present())
	}
}
