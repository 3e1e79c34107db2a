package walk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

func TestParts(t *testing.T) {
	dir := tree(t, map[string]string{
		".gitignore": "*.log\nout/\n", "a": "", "src/a.log": "", "src/x/f": "", "src/x/f.log": "", "out/f": "", ".hid/f": "",
	})
	tr, err := walk.Open(walk.Options{Root: dir, Ignore: &ignore.Reader{Cache: &ignore.Cache{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	collect := func(visit func(context.Context, *walk.Dir, func(*walk.Entry) error) error, d *walk.Dir) string {
		t.Helper()
		var got []string
		var mu sync.Mutex
		if err := visit(t.Context(), d, func(e *walk.Entry) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, named(e))
			return nil
		}); err != nil {
			t.Error(err)
		}
		slices.Sort(got)
		return strings.Join(got, " ")
	}
	state := func(rel string) *walk.Dir {
		t.Helper()
		d, err := tr.Dir(rel)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	root, src := state("."), state("src")
	if got := collect(tr.List, root); got != "a src/" {
		t.Errorf("listed %s", got)
	}
	if got := collect(tr.List, src); got != "src/x/" {
		t.Errorf("listed %s", got)
	}
	if got := collect(tr.WalkFrom, src); got != "src/x/f" {
		t.Errorf("walked %s", got)
	}
	for rel, want := range map[string]error{"out": walk.ErrExcluded, ".hid": walk.ErrExcluded, "nope": fs.ErrNotExist, "../x": fs.ErrInvalid, "src/x/": fs.ErrInvalid} {
		if _, err := tr.Dir(rel); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", rel, err, want)
		}
	}
	if _, err := tr.Dir("a"); err == nil {
		t.Error("a file was entered")
	}

	write(t, dir, "src/new", "")
	if again := state("src"); !again.SameRules(src) {
		t.Error("the rules are others after a plain file was made")
	}
	write(t, dir, "src/.gitignore", "!*.log\n")
	again := state("src")
	if again.SameRules(src) || !state(".").SameRules(root) {
		t.Error("the rules are the same after an ignore file was made")
	}
	// A directory state is used with the files as they are now.
	for _, d := range []*walk.Dir{src, again} {
		if got := collect(tr.WalkFrom, d); got != "src/a.log src/new src/x/f src/x/f.log" {
			t.Errorf("walked %s", got)
		}
	}
	if err := os.Remove(filepath.Join(dir, "src/.gitignore")); err != nil {
		t.Fatal(err)
	}
	if !state("src").SameRules(src) || !state("src/x").SameRules(src) {
		t.Error("the rules are others after the ignore file was removed")
	}
}

func TestDirOfSomebodyElse(t *testing.T) {
	dir := tree(t, map[string]string{"ws/f": "", "other/g": ""})
	f, err := os.Open(filepath.Join(dir, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	expect(t, walk.Options{Root: filepath.Join(dir, "ws"), Dir: f}, "f")
	// The name may lead elsewhere by now: what was opened counts.
	must(t, os.Rename(filepath.Join(dir, "ws"), filepath.Join(dir, "moved")))
	must(t, os.Symlink("other", filepath.Join(dir, "ws")))
	opt := walk.Options{Root: filepath.Join(dir, "ws"), Dir: f, Ignore: &ignore.Reader{}}
	err = walk.Walk(t.Context(), opt, func(e *walk.Entry) error {
		if e.Rel != "f" {
			t.Errorf("visited %s", e.Rel)
		}
		return nil
	})
	t.Log(err) // refused, where the system cannot walk by descriptor
}
