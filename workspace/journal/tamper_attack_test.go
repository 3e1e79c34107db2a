package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
)

// forge puts an entry into the journal that nobody made.
func (s *site) forge(id string, roots map[string]string, changes ...Change) Entry {
	s.Helper()
	var b strings.Builder
	e := Entry{ID: id, Call: "c_forged", Tool: "test", Roots: roots}
	must(s, encode(&b, &e, changes))
	must(s, os.WriteFile(s.j.file("done", id), []byte(b.String()), 0o600))
	return e
}

// An entry that somebody tampered with leads nowhere: not out of the roots, not through links, and to no panic.
func TestAttackForgedEntries(t *testing.T) {
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	must(t, os.WriteFile(victim, []byte("victim"), 0o644))
	now := State{Type: File, Mode: 0o644, Size: 6}
	hash := strings.Repeat("a", 64)
	for _, c := range []struct {
		name   string
		path   tongs.Path
		from   *tongs.Path
		before State
		roots  map[string]string
	}{
		{name: "up", path: in_("../victim")},
		{name: "up from below", path: in_("dir/../../victim")},
		{name: "absolute", path: in_(victim)},
		{name: "empty", path: in_("")},
		{name: "the root", path: in_(".")},
		{name: "through a link", path: in_("link/victim")},
		{name: "no such root", path: tongs.Path{Root: "other", Rel: "victim"}},
		{name: "a root of its own", path: tongs.Path{Root: "other", Rel: "victim"}, roots: map[string]string{"other": outside}},
		{name: "another directory", path: in_("victim"), roots: map[string]string{"": outside}},
		{name: "moved from outside", path: in_("file"), from: &tongs.Path{Rel: "../gone"}},
		{name: "a short hash", path: in_("gone"), before: State{Type: File, Hash: "a"}},
		{name: "a hash that is a path", path: in_("gone"), before: State{Type: File, Hash: "/../../" + hash[:57]}},
		{name: "a hash of nothing", path: in_("gone"), before: State{Type: File, Hash: hash}},
		{name: "a device", path: in_("gone"), before: State{Type: Other}},
		{name: "no type that there is", path: in_("gone"), before: State{Type: "evil"}},
		{name: "brought back above", path: in_("../planted"), before: State{Type: Link, Target: "evil"}},
		{name: "brought back through a link", path: in_("link/planted"), before: State{Type: Link, Target: "evil"}},
		{name: "brought back from a name with a slash", path: in_("dir//planted"), before: State{Type: Link, Target: "evil"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, map[string]string{"file": "victim", "dir/in": "in"})
			must(t, os.Symlink(outside, filepath.Join(s.dir, "link")))
			beside := siblings(t, s)
			roots := c.roots
			if roots == nil {
				roots = s.head().Roots
			}
			for _, change := range []Change{{Path: c.path, From: c.from, Before: c.before, After: now}, {Path: c.path, From: c.from, Before: c.before}} {
				e := s.forge("e_forged", roots, change)
				u, err := s.j.Undo(t.Context(), s.head(), []Entry{e}, nil)
				if err != nil {
					continue
				}
				if _, err := u.Net(t.Context()); err == nil {
					_, _ = u.Commit(t.Context())
				}
				u.Close()
			}
			if data, err := os.ReadFile(victim); err != nil || string(data) != "victim" {
				t.Fatalf("the victim is %q, %v", data, err)
			}
			if list, _ := os.ReadDir(outside); len(list) != 1 {
				t.Errorf("outside are %v", list)
			}
			if now := siblings(t, s); len(now) != len(beside) {
				t.Errorf("beside the tree are %v", now)
			}
		})
	}
}

func siblings(t *testing.T, s *site) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(filepath.Dir(s.dir))
	must(t, err)
	return list
}

// What a dead process left was tampered with: nothing is moved that is in no stage, and nothing removed that is none.
func TestAttackForgedSteps(t *testing.T) {
	for _, c := range []struct{ name, stages, steps string }{
		{
			"a slot that is no stage", `{"roots":{"":%q},"stages":[{"rel":".tongs-txn-x"}]}`,
			`[{"op":"out","path":{"rel":"planted"},"slot":{"rel":"file"}}]`,
		},
		{
			"a slot beside the stage", `{"roots":{"":%q},"stages":[{"rel":".tongs-txn-x"}]}`,
			`[{"op":"out","path":{"rel":"planted"},"slot":{"rel":".tongs-txn-x/../file"}}]`,
		},
		{"a stage that is none", `{"roots":{"":%q},"stages":[{"rel":"dir"}]}`, `[{"op":"out","path":{"rel":"planted"},"slot":{"rel":"dir/in"}}]`},
		{
			"a stage above", `{"roots":{"":%q},"stages":[{"rel":"../.tongs-txn-x"}]}`,
			`[{"op":"out","path":{"rel":"planted"},"slot":{"rel":"../.tongs-txn-x/1"}}]`,
		},
		{"another operation", `{"roots":{"":%q},"stages":[{"rel":".tongs-txn-x"}]}`, `[{"op":"evil","path":{"rel":"file"},"slot":{"rel":".tongs-txn-x/1"}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, map[string]string{"file": "file", "dir/in": "in", ".tongs-txn-x/1": "staged"})
			name := s.j.file("open", "e_x.dead")
			for suffix, text := range map[string]string{"": "{}", stagesSuffix: fmt.Sprintf(c.stages, s.dir), stepsSuffix: c.steps} {
				must(t, os.WriteFile(name+suffix, []byte(text), 0o600))
			}
			_ = s.j.Recover()
			for name, want := range map[string]string{"file": "file", "dir/in": "in"} {
				if data, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || string(data) != want {
					t.Errorf("%s is %q, %v", name, data, err)
				}
			}
			if _, err := os.Lstat(filepath.Join(s.dir, "planted")); err == nil {
				t.Error("something was planted")
			}
		})
	}
}

// Somebody makes a file where an undo is about to bring one back: theirs stays.
func TestAttackUndoOverWhatCameMeanwhile(t *testing.T) {
	for _, c := range []struct{ name, gone, made string }{
		{"a file", "file", "file"},
		{"in a directory that comes back", "dir/in", "dir/in"},
		{"a link", "file", "link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, map[string]string{"file": "file", "dir/in": "in"})
			txn := s.begin()
			must(t, txn.Remove(in_(strings.SplitN(c.gone, "/", 2)[0])))
			_, err := txn.Commit(t.Context())
			must(t, err)
			list, err := s.j.List(Filter{})
			must(t, err)
			u, err := s.j.Undo(t.Context(), s.head(), list, nil)
			must(t, err)
			defer u.Close()
			if len(u.Conflicts) != 0 {
				t.Fatalf("conflicts: %v", u.Conflicts)
			}
			host := filepath.Join(s.dir, c.gone)
			must(t, os.MkdirAll(filepath.Dir(host), 0o755))
			if c.made == "link" {
				must(t, os.Symlink("elsewhere", host))
			} else {
				must(t, os.WriteFile(host, []byte("what a person wrote meanwhile"), 0o644))
			}
			_, err = u.Commit(t.Context())
			if _, ok := errors.AsType[*ConflictError](err); !ok {
				t.Errorf("committed: %v", err)
			}
			if c.made == "link" {
				if to, err := os.Readlink(host); err != nil || to != "elsewhere" {
					t.Errorf("%q, %v", to, err)
				}
			} else if data, err := os.ReadFile(host); err != nil || string(data) != "what a person wrote meanwhile" {
				t.Errorf("%q, %v", data, err)
			}
		})
	}
}

// Many undo the same at once: the tree is as before, and nothing of it is lost.
func TestAttackUndosAtOnce(t *testing.T) {
	s := newSite(t, map[string]string{"changed": "old", "gone": "gone", "dir/in": "in"})
	txn := s.begin()
	must(t, txn.File(in_("changed"), State{Mode: 0o644}, strings.NewReader("new")))
	must(t, txn.File(in_("made"), State{Mode: 0o644}, strings.NewReader("made")))
	must(t, txn.Remove(in_("gone")))
	must(t, txn.Remove(in_("dir")))
	_, err := txn.Commit(t.Context())
	must(t, err)
	list, err := s.j.List(Filter{})
	must(t, err)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range 6 {
		u, err := s.j.Undo(t.Context(), s.head(), list, nil)
		must(t, err)
		wg.Go(func() {
			defer u.Close()
			<-start
			_, _ = u.Commit(t.Context())
		})
	}
	close(start)
	wg.Wait()
	for name, want := range map[string]string{"changed": "old", "gone": "gone", "dir/in": "in"} {
		if data, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || string(data) != want {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	entries, err := os.ReadDir(s.dir)
	must(t, err)
	for _, e := range entries {
		switch e.Name() {
		case "changed", "gone", "dir":
		default:
			t.Errorf("%s is there", e.Name())
		}
	}
}
