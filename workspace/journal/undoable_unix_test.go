//go:build unix

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

func written(rel string) tongs.Effect { return tongs.Effect{Kind: tongs.EffectWrite, Path: in_(rel)} }

func deleted(rel string) tongs.Effect { return tongs.Effect{Kind: tongs.EffectDelete, Path: in_(rel)} }

func anyPath(tongs.Path) string { return "" }

// lasting is why effects cannot be undone, one line each.
func (s *site) lasting(effects ...tongs.Effect) string {
	return strings.Join(s.j.Undoable(s.Context(), s.roots(), effects, anyPath), "\n")
}

func (s *site) roots() map[string]string { return s.head().Roots }

// relying are the files of a call whose effects were decided as undoable.
func (s *site) relying(session string, effects ...tongs.Effect) (tongs.Files, *workspace.Workspace) {
	s.Helper()
	w, err := workspace.Open(workspace.Options{Dir: s.dir, LockDir: filepath.Join(s.TempDir(), "locks"), Journal: s.j})
	must(s, err)
	s.Cleanup(func() { _ = w.Close() })
	effects, err = w.Check(effects)
	must(s, err)
	for i := range effects {
		effects[i].Undoable = true
	}
	return w.Files(in_("."), tongs.NewPermit(context.Background(), &tongs.Call{ID: "c_3", Session: session, Tool: "test"}, effects, nil, unruled{})), w
}

func TestUndoable(t *testing.T) {
	s := newSite(t, map[string]string{"a": "one", "d/x": "x", "d/e/y": "y", "big": strings.Repeat("x", 2<<20)})
	must(t, os.Symlink("a", filepath.Join(s.dir, "l")))
	if why := s.lasting(written("a"), written("new/file"), deleted("d"), deleted("l"), written("d")); strings.TrimSpace(why) != "" {
		t.Errorf("got %q", why)
	}
	s.j.opt.MaxFile = 1 << 20
	must(t, syscall.Mkfifo(filepath.Join(s.dir, "d/e/fifo"), 0o600))
	must(t, os.Link(filepath.Join(s.dir, "a"), filepath.Join(s.dir, "b")))
	for i, want := range []string{"2.1 MB are more than undo keeps", "d/e/fifo: it is a FIFO", "hard links", "hard links", ""} {
		got := s.j.Undoable(t.Context(), s.roots(), []tongs.Effect{written("big"), deleted("d"), written("a"), deleted("b"), written("d")}, anyPath)[i]
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	except := func(p tongs.Path) string { return map[string]string{"d/e": "not this", "d/x": "not this"}[p.Rel] }
	if got := s.j.Undoable(t.Context(), s.roots(), []tongs.Effect{deleted("d"), written("d/x")}, except); got[0] != "d/e: not this" || got[1] != "not this" {
		t.Errorf("except for reasons of others: %q", got)
	}
	s.j.opt.MaxAge = 6 * 24 * time.Hour
	if why := s.lasting(written("new")); !strings.Contains(why, "retention.changes") {
		t.Errorf("with a shorter retention: %q", why)
	}
}

// What a call replaces counts together; what is new does not.
func TestBulkIsNotUndoable(t *testing.T) {
	s := newSite(t, nil)
	var few, many, fresh []tongs.Effect
	for i := range 11 {
		name := fmt.Sprintf("d/f%d", i)
		must(t, os.MkdirAll(filepath.Join(s.dir, "d"), 0o755))
		must(t, os.WriteFile(filepath.Join(s.dir, name), []byte("text"), 0o644))
		if many = append(many, written(name)); i < 10 {
			few = many
		}
		fresh = append(fresh, written(fmt.Sprintf("new/%d", i)))
	}
	s.j.opt.CallFiles, s.j.opt.CallBytes = 10, 44
	if why := s.lasting(append(few, fresh...)...); strings.TrimSpace(why) != "" {
		t.Errorf("10 files: %q", why)
	}
	for _, effects := range [][]tongs.Effect{many, {deleted("d")}, append(fresh, deleted("d"))} {
		for i, why := range s.j.Undoable(t.Context(), s.roots(), effects, anyPath) {
			if !strings.Contains(why, "more than 10 files at once (limits.undoableFiles)") {
				t.Errorf("effect %d of %d: %q", i, len(effects), why)
			}
		}
	}
	s.j.opt.CallFiles, s.j.opt.CallBytes = 100, 43
	if why := s.lasting(deleted("d")); !strings.Contains(why, "limits.undoableBytes") {
		t.Errorf("44 bytes: %q", why)
	}
}

// At the write, what cannot be kept is a Need, and nothing is changed.
func TestUndoableIsCheckedAtTheWrite(t *testing.T) {
	for name, act := range map[string]func(tongs.Files) error{
		"replace": func(f tongs.Files) error {
			_, err := f.Replace(t.Context(), in_("d/big"), tongs.Replacing{}, writing("new"))
			return err
		},
		"remove": func(f tongs.Files) error { _, err := f.Remove(t.Context(), in_("d"), true); return err },
		"rename": func(f tongs.Files) error {
			return f.Rename(t.Context(), in_("a"), in_("d/big"), tongs.Renaming{Overwrite: true})
		},
		"hold": func(f tongs.Files) error {
			_, err := f.(tongs.Holder).Hold(t.Context(), []tongs.Effect{written("d/big")})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, map[string]string{"a": "one", "d/big": strings.Repeat("x", 2<<20)})
			f, _ := s.relying("s", written("d/big"), deleted("d"), deleted("a"))
			s.j.opt.MaxFile = 1 << 20 // as if it had grown since it was decided
			err := act(f)
			need, ok := errors.AsType[*tongs.Need](err)
			if !ok || !need.Lasting || !strings.Contains(need.Reason, "could not be undone: ") || len(need.Effects) == 0 || need.Effects[0].Version == "" {
				t.Fatalf("got %#v", err)
			}
			data, err := os.ReadFile(filepath.Join(s.dir, "d/big"))
			must(t, err)
			if len(data) != 2<<20 {
				t.Errorf("%d bytes are left", len(data))
			}
			if list, err := s.j.List(Filter{Call: "c_3"}); err != nil || len(list) > 0 {
				t.Errorf("entries %v, %v", list, err)
			}
		})
	}
}

// A directory that grew since it was decided is bulk by then.
func TestBulkIsCheckedAtTheWrite(t *testing.T) {
	s := newSite(t, map[string]string{"d/x": "x"})
	s.j.opt.CallFiles = 1
	f, _ := s.relying("s", deleted("d"))
	must(t, os.WriteFile(filepath.Join(s.dir, "d/y"), nil, 0o644))
	_, err := f.Remove(t.Context(), in_("d"), true)
	if need, ok := errors.AsType[*tongs.Need](err); !ok || !strings.Contains(need.Reason, "undoableFiles") && !strings.Contains(need.Reason, "changed since") {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "d/x")); err != nil {
		t.Error(err)
	}
}

// A transaction of which something must be kept whole is not made where it cannot be.
func TestWholeTransactions(t *testing.T) {
	s := newSite(t, map[string]string{"a": "one", "d/big": strings.Repeat("x", 2<<20), "own": strings.Repeat("y", 2<<20)})
	s.j.opt.MaxFile = 1 << 20
	commit := func(whole ...tongs.Effect) (*Entry, error) {
		head := s.head()
		head.Whole = whole
		x, err := s.j.Begin(t.Context(), head)
		must(t, err)
		defer x.Close()
		must(t, x.Remove(in_("d")))
		must(t, x.Remove(in_("own")))
		must(t, x.File(in_("a"), State{Mode: 0o644}, strings.NewReader("two")))
		return x.Commit(t.Context())
	}
	before := snapshot(t, s.dir)
	_, err := commit(written("a"), deleted("d"))
	if unkept, ok := errors.AsType[*workspace.UnkeptError](err); !ok || !strings.Contains(unkept.Why, "more than undo keeps") {
		t.Fatalf("got %v", err)
	}
	if after := snapshot(t, s.dir); after != before {
		t.Errorf("it changed\n%s\nto\n%s", before, after)
	}
	e, err := commit(written("a")) // the others were decided otherwise, and may be lost
	must(t, err)
	list, err := s.j.List(Filter{ID: e.ID})
	must(t, err)
	if len(list) != 1 || !list[0].Unasked || list[0].Gone != 3 {
		t.Errorf("entry %+v", list)
	}
}

// Nothing that is younger than seven days is collected for want of room, and then nothing more is undoable.
func TestAWeekIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		noise := rand.New(rand.NewPCG(1, 2))
		body := func() []byte {
			b := make([]byte, 10_000)
			for i := range b {
				b[i] = byte(noise.Uint32())
			}
			return b
		}
		for range 4 {
			must(t, os.WriteFile(filepath.Join(s.dir, "f"), body(), 0o644))
			x := s.begin()
			must(t, x.Remove(in_("f")))
			s.commit(x)
			time.Sleep(24 * time.Hour)
		}
		must(t, os.WriteFile(filepath.Join(s.dir, "f"), body(), 0o644))
		if why := s.lasting(deleted("f")); why != "" {
			t.Errorf("with room: %q", why)
		}
		s.j.opt.MaxBytes = 15_000
		left := func() int {
			rep, err := s.j.GC(t.Context())
			must(t, err)
			list, err := s.j.List(Filter{})
			must(t, err)
			if len(list) > 0 && rep.Left < int64(len(list))*10_000 {
				t.Errorf("%d entries in %d bytes", len(list), rep.Left)
			}
			return len(list)
		}
		if n := left(); n != 4 {
			t.Errorf("%d of 4 are left after 4 days", n)
		}
		if why := s.lasting(deleted("f")); !strings.Contains(why, "no room to undo it: ") || !strings.Contains(why, "'tongs gc'") || !strings.Contains(why, "limits.journalBytes") {
			t.Errorf("without room: %q", why)
		}
		if why := s.lasting(written("new")); why != "" {
			t.Errorf("a new file: %q", why)
		}
		f, _ := s.relying("s", deleted("f"))
		if _, err := f.Remove(t.Context(), in_("f"), false); !isLasting(err) {
			t.Errorf("without room it was removed: %v", err)
		}
		time.Sleep(4*24*time.Hour + time.Second) // the first two are older than a week now
		if n := left(); n != 2 {
			t.Errorf("%d of 4 are left after 8 days", n)
		}
		time.Sleep(2 * 24 * time.Hour)
		if n := left(); n != 1 {
			t.Errorf("%d of 4 are left after 10 days", n)
		}
		if why := s.lasting(deleted("f")); !strings.Contains(why, "no room") {
			t.Errorf("one content of 10,000 bytes in 15,000 leaves room for another: %q", why)
		}
		time.Sleep(24 * time.Hour)
		s.j.opt.MaxBytes = 12_000
		if n := left(); n != 1 { // it fits
			t.Errorf("%d are left", n)
		}
	})
}

func isLasting(err error) bool {
	need, ok := errors.AsType[*tongs.Need](err)
	return ok && need.Lasting
}

// Another process may have filled the journal: its size is counted anew.
func TestRoomIsCountedAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, map[string]string{"f": "text"})
		s.j.opt.MaxBytes = 100_000
		if why := s.lasting(deleted("f")); why != "" {
			t.Fatal(why)
		}
		must(t, os.MkdirAll(s.j.file("blobs", "aa"), 0o700))
		must(t, os.WriteFile(s.j.file("blobs", "aa", "blob.z"), bytes.Repeat([]byte("x"), 100_000), 0o600))
		time.Sleep(2 * usedFor)
		if why := s.lasting(deleted("f")); !strings.Contains(why, "no room") {
			t.Errorf("got %q", why)
		}
	})
}

// Many small calls are bulk, too.
func TestManySmallCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		s.j.opt.CallFiles, s.j.opt.HourFiles = 2, 5
		remove := func(i int, n int) error {
			var err error
			for k := range n {
				name := fmt.Sprintf("f%d.%d", i, k)
				must(t, os.WriteFile(filepath.Join(s.dir, name), []byte(name), 0o644))
				f, _ := s.relying(fmt.Sprint("session ", i), deleted(name))
				if _, err = f.Remove(t.Context(), in_(name), false); err != nil {
					break
				}
			}
			return err
		}
		for i := range 5 {
			must(t, remove(i, 1))
			time.Sleep(time.Minute)
		}
		if err := remove(5, 1); !isLasting(err) || !strings.Contains(err.Error(), "limits.undoableHour") {
			t.Fatalf("the sixth file: %v", err)
		}
		if why := s.lasting(deleted("f5.0")); !strings.Contains(why, "in the last hour 5 files were changed or removed here without asking") {
			t.Errorf("got %q", why)
		}
		elsewhere := t.TempDir()
		must(t, os.WriteFile(filepath.Join(elsewhere, "a"), nil, 0o644))
		if why := s.j.Undoable(t.Context(), map[string]string{"": elsewhere}, []tongs.Effect{deleted("a")}, anyPath); why[0] != "" {
			t.Errorf("in another workspace: %q", why)
		}
		time.Sleep(56 * time.Minute) // the first is out of the window
		must(t, remove(6, 1))
		if err := remove(7, 2); !isLasting(err) {
			t.Errorf("two more: %v", err)
		}
		// What a person approved does not count.
		time.Sleep(2 * time.Hour)
		for i := range 20 {
			name := fmt.Sprint("asked", i)
			must(t, os.WriteFile(filepath.Join(s.dir, name), nil, 0o644))
			_, err := s.through().Remove(t.Context(), in_(name), false)
			must(t, err)
		}
		must(t, remove(8, 1))
	})
}

// own makes files through the site's journal, for a session.
func (s *site) own(session string) tongs.Files {
	s.Helper()
	w, err := workspace.Open(workspace.Options{Dir: s.dir, LockDir: filepath.Join(s.TempDir(), "locks"), Journal: s.j})
	must(s, err)
	s.Cleanup(func() { _ = w.Close() })
	return w.Files(in_("."), tongs.NewPermit(context.Background(), &tongs.Call{ID: "c_4", Session: session, Tool: "test"}, []tongs.Effect{
		{Kind: tongs.EffectRead, Unknown: true}, {Kind: tongs.EffectWrite, Unknown: true}, {Kind: tongs.EffectDelete, Unknown: true},
	}, nil, unruled{}))
}

func TestOwnFiles(t *testing.T) {
	s := newSite(t, map[string]string{"theirs": "theirs", "gone": "gone", "moved": "moved", "dir/x": "x", "program": "program"})
	put := func(session, name, text string) {
		t.Helper()
		_, err := s.own(session).Replace(t.Context(), in_(name), tongs.Replacing{MakeDirs: true}, writing(text))
		must(t, err)
	}
	put("s", "made", "one")
	put("s", "twice", "one")
	put("s", "twice", "two")
	put("s", "theirs", "changed")
	put("s", "shared", "one")
	put("other", "shared", "two")
	put("s", "shared", "three")
	put("other", "others", "one")
	put("s", "edited", "one")
	must(t, os.WriteFile(filepath.Join(s.dir, "edited"), []byte("two"), 0o644))
	must(t, s.own("s").Rename(t.Context(), in_("moved"), in_("renamed"), tongs.Renaming{}))
	put("s", "sub/mine", "one")
	must(t, s.own("s").Rename(t.Context(), in_("dir"), in_("dir2"), tongs.Renaming{}))
	put("s", "between", "one")
	must(t, os.WriteFile(filepath.Join(s.dir, "between"), []byte("by hand"), 0o644))
	put("s", "between", "two")
	x := s.begin() // as a program on a copy moves a file
	must(t, x.Remove(in_("program")))
	must(t, x.File(in_("by-program"), State{Mode: 0o644}, strings.NewReader("program")))
	must(t, x.File(in_("new-by-program"), State{Mode: 0o644}, strings.NewReader("new")))
	s.commit(x)
	put("s", "again", "one")
	_, err := s.own("s").Remove(t.Context(), in_("again"), false)
	must(t, err)
	put("s", "again", "two")
	// A file of theirs that is brought back by undo is theirs.
	_, err = s.own("s").Remove(t.Context(), in_("gone"), false)
	must(t, err)
	list, err := s.j.List(Filter{Limit: 1})
	must(t, err)
	head := s.head()
	head.Session = "s"
	u, err := s.j.Undo(t.Context(), head, list, nil)
	must(t, err)
	_, err = u.Commit(t.Context())
	must(t, err)
	u.Close()
	if data, err := os.ReadFile(filepath.Join(s.dir, "gone")); err != nil || string(data) != "gone" {
		t.Fatal(err)
	}
	must(t, os.Chmod(filepath.Join(s.dir, "sub/mine"), 0o600))
	for name, want := range map[string]bool{
		"made": true, "twice": true, "again": true, "new-by-program": true, "by-program": false, "between": false,
		"theirs": false, "shared": false, "others": false, "edited": false, "renamed": false, "gone": false, "dir2/x": false,
		"dir2": false, "absent": false, "sub": false, "sub/mine": false,
	} {
		if got := s.j.Own(t.Context(), s.roots(), "s", in_(name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if s.j.Own(t.Context(), s.roots(), "", in_(name)) || s.j.Own(t.Context(), map[string]string{"": t.TempDir()}, "s", in_(name)) {
			t.Errorf("%s is own without a session, or in another workspace", name)
		}
	}
}
