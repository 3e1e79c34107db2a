package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// through returns files of a workspace over the site's tree, with its journal.
func (s *site) through(roots ...workspace.Root) tongs.Files {
	s.Helper()
	w, err := workspace.Open(workspace.Options{Dir: s.dir, LockDir: filepath.Join(s.TempDir(), "locks"), Journal: s.j, Roots: roots})
	must(s, err)
	s.Cleanup(func() { _ = w.Close() })
	return w.Files(in_("."), everything("c_2"))
}

// everything is a permit for all there is, for a call of that ID.
func everything(id string) *tongs.Permit {
	return tongs.NewPermit(context.Background(), &tongs.Call{ID: id, Session: "s", Tool: "test"}, []tongs.Effect{
		{Kind: tongs.EffectRead, Unknown: true}, {Kind: tongs.EffectWrite, Unknown: true}, {Kind: tongs.EffectDelete, Unknown: true},
	}, nil, unruled{})
}

// unruled is the host of a permit that no rule narrows and nothing is added to.
type unruled struct{}

func (unruled) Decide(context.Context, tongs.More) ([]tongs.Effect, error) {
	return nil, errors.ErrUnsupported
}

func (unruled) Ruled(tongs.EffectKind, *tongs.Path) (func(tongs.Path) bool, bool) { return nil, false }
func (unruled) Note(tongs.NoteKind, string)                                       {}

func writing(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func TestTooLargeToKeep(t *testing.T) {
	s := newSite(t, map[string]string{"big": strings.Repeat("x", 2<<20), "small": "s"})
	s.j.opt.MaxFile = 1 << 20
	f := s.through()
	_, err := f.Replace(t.Context(), in_("big"), tongs.Replacing{}, writing("new"))
	must(t, err)
	list, err := s.j.List(Filter{Call: "c_2"})
	must(t, err)
	u, err := s.j.Undo(t.Context(), s.head(), list, nil)
	must(t, err)
	defer u.Close()
	if len(u.Conflicts) != 1 || !strings.Contains(u.Conflicts[0].Why, "more than the journal keeps") {
		t.Errorf("conflicts: %v", u.Conflicts)
	}
}

func TestContentsAreKeptOnceAndCollected(t *testing.T) {
	s := newSite(t, nil)
	body := strings.Repeat("a line of text that compresses well\n", 2000)
	for i := range 10 {
		must(t, os.WriteFile(filepath.Join(s.dir, fmt.Sprint(i)), []byte(body), 0o644))
	}
	f := s.through()
	for i := range 10 {
		_, err := f.Remove(t.Context(), in_(fmt.Sprint(i)), false)
		must(t, err)
	}
	blobs, size := 0, int64(0)
	must(t, filepath.Walk(s.j.file("blobs"), func(_ string, fi os.FileInfo, err error) error {
		if err == nil && !fi.IsDir() {
			blobs, size = blobs+1, size+fi.Size()
		}
		return err
	}))
	if blobs != 1 || size > int64(len(body))/20 {
		t.Errorf("%d contents of %d bytes for %d", blobs, size, len(body))
	}
	rep, err := s.j.GC(t.Context())
	must(t, err)
	if rep.Entries != 0 || rep.Bytes != 0 || rep.Left == 0 {
		t.Errorf("nothing to collect: %+v", rep)
	}
	s.j.opt.MaxAge = time.Nanosecond
	rep, err = s.j.GC(t.Context())
	must(t, err)
	if rep.Entries != 10 || rep.Left != 0 || rep.Bytes < size {
		t.Errorf("all to collect: %+v", rep)
	}
	if _, err := s.j.Select(Selector{}); !errors.Is(err, ErrNothing) {
		t.Errorf("got %v", err)
	}
}

// Beyond the bound the oldest go, once they are older than a week.
func TestCollectedBySize(t *testing.T) { synctest.Test(t, collectedBySize) }

func collectedBySize(t *testing.T) {
	s := newSite(t, nil)
	for i := range 4 {
		must(t, os.WriteFile(filepath.Join(s.dir, "f"), bytes.Repeat([]byte{byte(i), byte(i * 7), 3}, 30_000), 0o644))
		x := s.begin()
		must(t, x.Remove(in_("f")))
		s.commit(x)
	}
	list, err := s.j.List(Filter{})
	must(t, err)
	s.j.opt.MaxBytes = 1200
	time.Sleep(MinAge + time.Second)
	rep, err := s.j.GC(t.Context())
	must(t, err)
	left, err := s.j.List(Filter{})
	must(t, err)
	if rep.Left > 1200 || len(left) == 0 || len(left) == len(list) || left[0].ID != list[0].ID {
		t.Errorf("report %+v, %d of %d left", rep, len(left), len(list))
	}
	s.undo(left[0]) // the newest still works
}

// What was kept is checked when it is used.
func TestDamage(t *testing.T) {
	s := newSite(t, map[string]string{"a": "one"})
	e := s.write("a", "two")
	must(t, filepath.Walk(s.j.file("blobs"), func(name string, fi os.FileInfo, err error) error {
		if err == nil && !fi.IsDir() {
			err = os.WriteFile(name, []byte("nonsense"), 0o600)
		}
		return err
	}))
	u, err := s.j.Undo(t.Context(), s.head(), []Entry{*e}, nil)
	must(t, err)
	if _, err := u.Commit(t.Context()); err == nil {
		t.Error("damaged content was restored")
	}
	s.has("a", "two")
	s.clean()
	must(t, os.WriteFile(s.j.file("done", e.ID), []byte(`{"id":"`+e.ID+`","changes":3}`), 0o600))
	for _, err = range s.j.Changes(e.ID) {
		break
	}
	if err == nil {
		t.Error("a cut entry was read")
	}
	for _, id := range []string{"", "../lock", ".", "e_nope"} {
		for _, err = range s.j.Changes(id) {
			break
		}
		if err == nil {
			t.Errorf("entry %q was read", id)
		}
	}
}

// What a power failure may leave is not in the way of anything.
func TestRubbish(t *testing.T) {
	s := newSite(t, map[string]string{"a": "one"})
	e := s.write("a", "two")
	dead := "deadowner"
	for name, text := range map[string]string{
		"open/e_1." + dead: "", "open/e_2." + dead + ".stages": "", "open/e_3." + dead + ".steps": "{", "open/e_4." + dead: "{\"id\":",
		"open/nonsense": "x", "done/e_zz": "", "done/e_zzz": "{\"id\":\"e_zzz\",\"changes\":2}\n{}", "done/nonsense": "x", "tmp/x": "x",
	} {
		must(t, os.WriteFile(s.j.file(filepath.FromSlash(name)), []byte(text), 0o600))
	}
	again, err := Open(Options{Dir: s.j.Dir(), NoSync: true})
	must(t, err)
	defer again.Close()
	if _, err := again.Select(Selector{Call: e.ID}); err != nil {
		t.Error(err)
	}
	s.write("a", "three")
	rep, err := again.GC(t.Context())
	must(t, err)
	if rep.Entries != 2 {
		t.Errorf("collected: %+v", rep)
	}
	list, err := again.List(Filter{})
	must(t, err)
	s.undo(list...)
	s.has("a", "one")
}

// What cannot be taken back stops changes there, and nowhere else.
func TestWhatCannotBeTakenBack(t *testing.T) {
	s, other := newSite(t, map[string]string{"a": "one"}), newSite(t, map[string]string{"a": "one"})
	name := s.j.file("open", "e_1.deadowner")
	must(t, os.WriteFile(name+stagesSuffix, []byte(`{"roots":{"":"`+s.dir+`"},"stages":[]}`), 0o600))
	must(t, os.WriteFile(name, []byte("{}"), 0o600)) // prepared, without steps
	again, err := Open(Options{Dir: s.j.Dir(), NoSync: true})
	must(t, err)
	defer again.Close()
	if _, err := again.Begin(t.Context(), s.head()); err == nil {
		t.Error("began there")
	}
	x, err := again.Begin(t.Context(), other.head())
	must(t, err)
	x.Close()
}

// A directory on the way that became a link is never followed.
func TestLinksAreNotFollowed(t *testing.T) {
	s := newSite(t, map[string]string{"d/f": "inside"})
	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "f"), []byte("changed"), 0o644))
	e := s.write("d/f", "changed")
	must(t, os.Rename(filepath.Join(s.dir, "d"), filepath.Join(s.dir, "moved")))
	must(t, os.Symlink(other, filepath.Join(s.dir, "d")))
	u, err := s.j.Undo(t.Context(), s.head(), []Entry{*e}, nil)
	must(t, err)
	defer u.Close()
	if len(u.Conflicts) != 1 {
		t.Errorf("conflicts: %v", u.Conflicts)
	}
	must(t, os.Remove(filepath.Join(s.dir, "d")))
	must(t, os.Symlink("moved", filepath.Join(s.dir, "d")))
	x := s.begin()
	defer x.Close()
	if err := x.File(in_("d/new"), State{Mode: 0o644}, strings.NewReader("x")); err == nil {
		if _, err = x.Commit(t.Context()); err == nil {
			t.Error("wrote through a link")
		}
	}
	if got, _ := os.ReadFile(filepath.Join(other, "f")); string(got) != "changed" {
		t.Errorf("outside: %q", got)
	}
}

// Many writers at a time, in several journals over one directory, with collections in between.
func TestConcurrentWriters(t *testing.T) {
	s := newSite(t, nil)
	second, err := Open(Options{Dir: s.j.Dir(), NoSync: true})
	must(t, err)
	defer second.Close()
	var group sync.WaitGroup
	const writers, writes = 6, 15
	for i := range writers {
		group.Go(func() {
			own := &site{s.TB, s.dir, s.j}
			if i%2 == 1 {
				own.j = second
			}
			w, err := workspace.Open(workspace.Options{Dir: s.dir, LockDir: s.j.file("..", "locks"), Journal: own.j})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			f := w.Files(in_("."), everything("c_2"))
			for n := range writes {
				if _, err := f.Replace(context.Background(), in_(fmt.Sprintf("d%d/f", i)), tongs.Replacing{MakeDirs: true}, writing(fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
				if n%5 == 0 {
					if _, err := own.j.GC(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	list, err := s.j.List(Filter{})
	must(t, err)
	if len(list) != writers*writes {
		t.Errorf("%d entries", len(list))
	}
	s.undo(list...)
	if left, err := os.ReadDir(s.dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Other roots are changed with the workspace, as one.
func TestSeveralRoots(t *testing.T) {
	s := newSite(t, map[string]string{"a": "a", "d/x": "x"})
	zone, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	f := s.through(workspace.Root{Name: "zone", Dir: zone, Writable: true})
	before := snapshot(t, s.dir)
	must(t, f.Rename(t.Context(), in_("d"), tongs.Path{Root: "zone", Rel: "d"}, tongs.Renaming{}))
	list, err := s.j.List(Filter{Call: "c_2"})
	must(t, err)
	head := s.head()
	refused, err := s.j.Undo(t.Context(), head, list, nil)
	must(t, err)
	if len(refused.Conflicts) != 1 {
		t.Errorf("without the root: %v", refused.Conflicts)
	}
	refused.Close()
	head.Roots["zone"] = zone
	u, err := s.j.Undo(t.Context(), head, list, nil)
	must(t, err)
	if len(u.Conflicts) > 0 {
		t.Fatal(u.Conflicts)
	}
	s.commit(u.Txn)
	same(t, "undone", snapshot(t, s.dir), before)
	s.clean()
}

// An install of many files is few renames, and costs memory for its list only.
func TestManyFiles(t *testing.T) {
	files := 400
	if os.Getenv("TONGS_JOURNAL_MANY") != "" {
		files = 30_000
	}
	s := newSite(t, map[string]string{"package.json": "{}"})
	before := snapshot(t, s.dir)
	x := s.begin()
	must(t, x.Dir(in_("node_modules"), State{Mode: 0o755}))
	for i := range files {
		dir := fmt.Sprintf("node_modules/p%d", i/20)
		if i%20 == 0 {
			must(t, x.Dir(in_(dir), State{Mode: 0o755}))
		}
		must(t, x.File(in_(fmt.Sprintf("%s/f%d.js", dir, i)), State{Mode: 0o644}, strings.NewReader(strings.Repeat(fmt.Sprintf("line %d\n", i), 100))))
	}
	e := s.commit(x)
	if len(x.steps) != 1 || e.Changes != files+files/20+1 {
		t.Errorf("%d steps, %d changes", len(x.steps), e.Changes)
	}
	after := snapshot(t, s.dir)
	n := 0
	for _, err := range s.j.Changes(e.ID) {
		must(t, err)
		n++
	}
	if n != e.Changes {
		t.Errorf("%d changes read", n)
	}
	u := s.undo(*e)
	same(t, "undone", snapshot(t, s.dir), before)
	s.undo(*u)
	if now := snapshot(t, s.dir); now != after {
		t.Error("redone is another tree")
	}
	s.clean()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("%d files: heap and stacks took %d MiB from the system", files, mem.Sys>>20)
}

// A file that was made elsewhere comes without being copied, and is still there where the transaction is dropped.
func TestTake(t *testing.T) {
	s := newSite(t, map[string]string{"a": "one"})
	made := filepath.Join(filepath.Dir(s.dir), "made")
	must(t, os.WriteFile(made, []byte("two"), 0o600))
	x := s.begin()
	must(t, x.Take(in_("a"), State{Mode: 0o640}, made))
	if err := x.Take(in_("b"), State{}, s.dir); err == nil {
		t.Error("took a directory")
	}
	x.Close()
	s.has("a", "one")
	s.clean()
	x = s.begin()
	must(t, x.Take(in_("a"), State{Mode: 0o640}, made))
	e := s.commit(x)
	s.has("a", "two")
	if fi, err := os.Lstat(filepath.Join(s.dir, "a")); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", fi, err)
	}
	if got, err := os.ReadFile(made); err != nil || string(got) != "two" {
		t.Errorf("made: %q, %v", got, err)
	}
	must(t, os.Remove(made))
	s.undo(*e)
	s.has("a", "one")
}

func TestSelect(t *testing.T) {
	s := newSite(t, map[string]string{"a": "0"})
	e1 := s.write("a", "1")
	e2 := s.write("a", "2")
	ids := func(sel Selector) (list []string) {
		found, err := s.j.Select(sel)
		if err != nil && !errors.Is(err, ErrNothing) {
			t.Fatal(err)
		}
		for _, e := range found {
			list = append(list, e.ID)
		}
		return list
	}
	if got := ids(Selector{Call: e1.ID}); !slices.Equal(got, []string{e1.ID}) {
		t.Errorf("by name: %v", got)
	}
	if got := ids(Selector{Session: "s", All: true}); !slices.Equal(got, []string{e2.ID, e1.ID}) {
		t.Errorf("all: %v", got)
	}
	for _, sel := range []Selector{{Session: "t"}, {Redo: true}, {Top: "/elsewhere"}, {Since: time.Now().Add(time.Hour)}} {
		if got := ids(sel); got != nil {
			t.Errorf("%+v: %v", sel, got)
		}
	}
}
