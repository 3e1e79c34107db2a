package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/tongs-ai/tongs"
)

func unknownFiles(w *Workspace) tongs.Files {
	g := &grant{effects: []tongs.Effect{
		{Kind: tongs.EffectRead, Unknown: true}, {Kind: tongs.EffectWrite, Unknown: true}, {Kind: tongs.EffectDelete, Unknown: true},
	}}
	return g.of(w)
}

// recorder is a journal that notes what it is told.
type recorder struct {
	fail error
	told []Changing
	made []bool
}

func (r *recorder) Keep(_ context.Context, c *Changing) (func(bool), error) {
	if r.fail != nil {
		return nil, r.fail
	}
	r.told = append(r.told, *c)
	return func(made bool) { r.made = append(r.made, made) }, nil
}

func (r *recorder) Undoable(_ context.Context, _ map[string]string, effects []tongs.Effect, _ func(tongs.Path) string) []string {
	return make([]string, len(effects))
}

func (r *recorder) Own(context.Context, map[string]string, string, tongs.Path) bool { return false }

func TestJournalIsTold(t *testing.T) {
	dir := tree(t, map[string]string{"a": "a", "d/x": "x", "full/y": "y"})
	r := &recorder{}
	w := openOn(t, Options{Dir: dir, LockDir: t.TempDir(), Journal: r}, openHandle)
	f := unknownFiles(w)
	_, err := f.Replace(t.Context(), in("new/er/f"), tongs.Replacing{MakeDirs: true}, content("text"))
	must(t, err)
	must(t, f.Rename(t.Context(), in("a"), in("to/a"), tongs.Renaming{MakeDirs: true}))
	_, err = f.Remove(t.Context(), in("d"), true)
	must(t, err)
	if _, err = f.Remove(t.Context(), in("full"), false); tongs.CodeOf(err) != tongs.CodeNotEmpty {
		t.Errorf("got %v", err)
	}
	if len(r.told) != 3 || !slices.Equal(r.made, []bool{true, true, true}) {
		t.Fatalf("told %+v, made %v", r.told, r.made)
	}
	replaced, moved, removed := r.told[0], r.told[1], r.told[2]
	if replaced.New == nil || replaced.New.Size != 4 || len(replaced.New.Digest) != 64 || replaced.Roots[""] != w.Dir() ||
		!slices.Equal(replaced.Dirs, []tongs.Path{in("new"), in("new/er")}) {
		t.Errorf("replaced: %+v", replaced)
	}
	if moved.From == nil || *moved.From != in("a") || moved.Path != in("to/a") || !slices.Equal(moved.Dirs, []tongs.Path{in("to")}) {
		t.Errorf("moved: %+v", moved)
	}
	if removed.Path != in("d") || removed.New != nil || removed.From != nil {
		t.Errorf("removed: %+v", removed)
	}
}

// What cannot be kept is not changed.
func TestJournalFails(t *testing.T) {
	dir := tree(t, map[string]string{"a": "a", "d/x": "x"})
	w := openOn(t, Options{Dir: dir, LockDir: t.TempDir(), Journal: &recorder{fail: syscall.ENOSPC}}, openHandle)
	f := unknownFiles(w)
	_, replaced := f.Replace(t.Context(), in("a"), tongs.Replacing{}, content("b"))
	_, made := f.Replace(t.Context(), in("n/f"), tongs.Replacing{MakeDirs: true}, content("b"))
	_, removed := f.Remove(t.Context(), in("d"), true)
	moved := f.Rename(t.Context(), in("a"), in("m/b"), tongs.Renaming{MakeDirs: true})
	for i, err := range []error{replaced, made, removed, moved} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d: %v", i, err)
		}
	}
	list, err := os.ReadDir(dir)
	must(t, err)
	if len(list) != 2 || readHost(t, w, "a") != "a" || readHost(t, w, "d/x") != "x" {
		t.Errorf("changed: %v", list)
	}
}

// No call sees where a journal makes a change of many files.
func TestStagesAreHidden(t *testing.T) {
	stage := stagePrefix + "e_1"
	dir := tree(t, map[string]string{stage + "/1": "new", "f": "f"})
	w := openOn(t, Options{Dir: dir, LockDir: t.TempDir()}, openHandle)
	f := unknownFiles(w)
	for info, err := range f.ReadDir(in(".")) {
		must(t, err)
		if info.Path != in("f") {
			t.Errorf("listed %v", info.Path)
		}
	}
	searched, err := f.(tongs.Trees).Tree(in("."))
	must(t, err)
	defer searched.Close()
	if !searched.Skip(stage, true) || searched.Skip("f", false) {
		t.Error("searched")
	}
	if _, err := f.Replace(t.Context(), in(stage+"/1"), tongs.Replacing{}, content("x")); tongs.CodeOf(err) != tongs.CodePermissionDenied {
		t.Errorf("written: %v", err)
	}
	if _, err := f.Remove(t.Context(), in(stage), true); tongs.CodeOf(err) != tongs.CodePermissionDenied {
		t.Errorf("removed: %v", err)
	}
}

func TestHold(t *testing.T) {
	dir := tree(t, map[string]string{"a": "a", "d/x": "x", "d/.envrc": "e"})
	w := openOn(t, Options{Dir: dir, LockDir: t.TempDir()}, openHandle)
	version := func(rel string) tongs.Version {
		v, err := w.View(in(".")).Version(in(rel))
		must(t, err)
		return v
	}
	g := &grant{effects: []tongs.Effect{
		{Kind: tongs.EffectWrite, Path: in("a"), Version: version("a")},
		{Kind: tongs.EffectWrite, Path: in("new"), Version: tongs.Absent},
		{Kind: tongs.EffectDelete, Path: in("d"), Version: version("d")},
	}}
	hold := func(kind tongs.EffectKind, rel string) error {
		release, err := g.of(w).(tongs.Holder).Hold(t.Context(), []tongs.Effect{{Kind: kind, Path: in(rel)}})
		if err == nil {
			release("")
		}
		return err
	}
	for _, ok := range []struct {
		kind tongs.EffectKind
		rel  string
	}{{tongs.EffectWrite, "a"}, {tongs.EffectWrite, "new"}, {tongs.EffectWrite, "new/b/c"}, {tongs.EffectDelete, "d"}, {tongs.EffectDelete, "d/x"}} {
		must(t, hold(ok.kind, ok.rel))
	}
	for _, open := range []struct {
		kind tongs.EffectKind
		rel  string
	}{
		{tongs.EffectDelete, "a"},         // only a write was decided
		{tongs.EffectWrite, "b"},          // nothing was
		{tongs.EffectWrite, "d/x"},        // a delete of its directory is no write
		{tongs.EffectWrite, "new/.envrc"}, // protected
		{tongs.EffectDelete, "d/.envrc"},
	} {
		if _, ok := errors.AsType[*tongs.Need](hold(open.kind, open.rel)); !ok {
			t.Errorf("%s %s: held", open.kind, open.rel)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("by a person"), 0o644))
	if _, ok := errors.AsType[*tongs.Need](hold(tongs.EffectWrite, "a")); !ok {
		t.Error("held though it changed")
	}
}
