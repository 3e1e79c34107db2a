package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func in_(rel string) tongs.Path { return tongs.Path{Rel: rel} }

// site is a tree with a journal.
type site struct {
	testing.TB
	dir string
	j   *Journal
}

func newSite(t testing.TB, files map[string]string) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range files {
		host := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(host), 0o755))
		must(t, os.WriteFile(host, []byte(text), 0o644))
	}
	j, err := Open(Options{Dir: filepath.Join(t.TempDir(), "journal"), NoSync: true})
	must(t, err)
	t.Cleanup(func() {
		_ = j.Close()
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error { // so that it can be removed
			if e != nil && e.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return &site{t, dir, j}
}

func (s *site) head() Entry {
	return Entry{Call: "c_1", Session: "s", Tool: "test", Roots: map[string]string{"": s.dir}}
}

func (s *site) begin() *Txn {
	s.Helper()
	t, err := s.j.Begin(context.Background(), s.head())
	must(s, err)
	return t
}

func (s *site) commit(t *Txn) *Entry {
	s.Helper()
	e, err := t.Commit(context.Background())
	must(s, err)
	return e
}

func (s *site) undo(entries ...Entry) *Entry {
	s.Helper()
	u, err := s.j.Undo(context.Background(), s.head(), entries, nil)
	must(s, err)
	defer u.Close()
	if len(u.Conflicts) > 0 {
		s.Fatalf("conflicts: %v", u.Conflicts)
	}
	return s.commit(u.Txn)
}

// snapshot is everything that undo promises: names, types, modes, contents, targets, and times of files.
func snapshot(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		fi, err := e.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", rel, fi.Mode())
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", fi.ModTime().UnixNano(), sha256.Sum256(data))
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	must(t, err)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func same(t testing.TB, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	have := strings.Split(got, "\n")
	wanted := strings.Split(want, "\n")
	for _, l := range have {
		if !slices.Contains(wanted, l) {
			t.Errorf("%s: has   %s", what, l)
		}
	}
	for _, l := range wanted {
		if !slices.Contains(have, l) {
			t.Errorf("%s: lacks %s", what, l)
		}
	}
}

func TestTransaction(t *testing.T) {
	s := newSite(t, map[string]string{"a": "old a", "gone/x": "x", "gone/y/z": "z", "here/f": "f", "l": "will be a link"})
	before := snapshot(t, s.dir)
	x := s.begin()
	must(t, x.File(in_("a"), State{Mode: 0o600}, strings.NewReader("new a")))
	must(t, x.Remove(in_("gone")))
	must(t, x.Dir(in_("new"), State{Mode: 0o555}))
	must(t, x.Dir(in_("new/sub"), State{Mode: 0o755}))
	must(t, x.File(in_("new/sub/f"), State{Mode: 0o644}, strings.NewReader("f")))
	must(t, x.Link(in_("l"), State{Target: "a"}))
	must(t, x.Move(in_("here/f"), in_("new/moved")))
	must(t, x.Dir(in_("here"), State{Mode: 0o700}))
	same(t, "before commit", strings.ReplaceAll(visible(t, s.dir), s.dir, ""), before)
	e := s.commit(x)
	after := snapshot(t, s.dir)
	for name, want := range map[string]string{"a": "new a", "new/sub/f": "f", "new/moved": "f", "l": "new a"} {
		got, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s = %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
	undone := s.undo(*e)
	same(t, "undone", snapshot(t, s.dir), before)
	redone := s.undo(*undone)
	same(t, "redone", snapshot(t, s.dir), after)
	if !redone.Redo || undone.Redo {
		t.Errorf("redo of undo: %+v, undo: %+v", redone, undone)
	}
	s.undo(*redone, *undone, *e)
	same(t, "all undone", snapshot(t, s.dir), before)
	s.clean()
}

// visible is a snapshot without stages.
func visible(t testing.TB, dir string) string {
	var lines []string
	for _, l := range strings.Split(snapshot(t, dir), "\n") {
		if !strings.HasPrefix(l, StagePrefix) {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// clean fails where a transaction left something behind.
func (s *site) clean() {
	s.Helper()
	for _, dir := range []string{"open", "tmp"} {
		list, err := os.ReadDir(s.j.file(dir))
		must(s, err)
		for _, e := range list {
			s.Errorf("left in %s: %s", dir, e.Name())
		}
	}
	if strings.Contains(snapshot(s, s.dir), StagePrefix) {
		s.Errorf("a stage is left")
	}
}

func TestExpectations(t *testing.T) {
	s := newSite(t, map[string]string{"a": "one", "b": "two"})
	before := snapshot(t, s.dir)
	x := s.begin()
	a, err := x.Look(in_("a"))
	must(t, err)
	x.Expect(in_("a"), a)
	x.Expect(in_("b"), State{})
	must(t, x.File(in_("a"), State{Mode: 0o644}, strings.NewReader("three")))
	_, err = x.Commit(t.Context())
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || len(conflict.Conflicts) != 1 || conflict.Conflicts[0] != (Conflict{in_("b"), "it exists now"}) {
		t.Errorf("got %v", err)
	}
	same(t, "refused", snapshot(t, s.dir), before)
	s.clean()
}

// A change that comes between looking and changing is never overwritten.
func TestChangedAtTheLastMoment(t *testing.T) {
	for _, step := range []string{"build file", "step swap"} {
		s := newSite(t, map[string]string{"a": "one"})
		e := s.write("a", "two")
		s.j.point = func(at string) error {
			if at == step {
				must(t, os.WriteFile(filepath.Join(s.dir, "a"), []byte("by a person"), 0o644))
			}
			return nil
		}
		u, err := s.j.Undo(t.Context(), s.head(), []Entry{*e}, nil)
		must(t, err)
		_, err = u.Commit(t.Context())
		if _, ok := errors.AsType[*ConflictError](err); !ok {
			t.Errorf("%s: %v", step, err)
		}
		if got, _ := os.ReadFile(filepath.Join(s.dir, "a")); string(got) != "by a person" {
			t.Errorf("%s: a = %q", step, got)
		}
		s.j.point = func(string) error { return nil }
		s.clean()
	}
}

// Somebody may put something into the place of what is on its way. Nothing is lost then.
func TestPlaceTakenMeanwhile(t *testing.T) {
	s := newSite(t, map[string]string{"a": "moved", "d/x": "x"})
	s.j.point = func(at string) error {
		if at == "step in" {
			for _, name := range []string{"a", "b"} {
				must(t, os.WriteFile(filepath.Join(s.dir, name), []byte("by a person"), 0o644))
			}
		}
		return nil
	}
	x := s.begin()
	must(t, x.Remove(in_("d")))
	must(t, x.Move(in_("a"), in_("b")))
	_, err := x.Commit(t.Context())
	if _, ok := errors.AsType[*ConflictError](err); !ok {
		t.Errorf("got %v", err)
	}
	s.j.point = func(string) error { return nil }
	s.has("a", "by a person")
	s.has("b", "by a person")
	s.has("d/x", "x")
	beside, err := filepath.Glob(filepath.Join(s.dir, "a"+besideSuffix+"*"))
	must(t, err)
	if len(beside) != 1 {
		t.Fatalf("beside: %v", beside)
	}
	s.has(filepath.Base(beside[0]), "moved")
	s.clean()
	if list, err := s.j.List(Filter{}); err != nil || len(list) != 0 {
		t.Errorf("entries: %v, %v", list, err)
	}
}

// write changes one file by a transaction.
func (s *site) write(rel, text string) *Entry {
	s.Helper()
	x := s.begin()
	must(s, x.File(in_(rel), State{Mode: 0o644}, strings.NewReader(text)))
	return s.commit(x)
}

func TestOutOfOrderAndPartial(t *testing.T) {
	s := newSite(t, map[string]string{"a": "a0", "b": "b0"})
	e1 := s.write("a", "a1")
	e2 := s.write("b", "b1")
	e3 := s.write("a", "a2")
	refused, err := s.j.Undo(t.Context(), s.head(), []Entry{*e1}, nil)
	must(t, err)
	if len(refused.Conflicts) != 1 || refused.Conflicts[0].Path != in_("a") {
		t.Errorf("conflicts: %v", refused.Conflicts)
	}
	refused.Close()
	s.undo(*e2)
	s.has("b", "b0")
	s.has("a", "a2")
	s.undo(*e3, *e1)
	s.has("a", "a0")

	x := s.begin()
	must(t, x.File(in_("a"), State{Mode: 0o644}, strings.NewReader("a3")))
	must(t, x.File(in_("d"), State{Mode: 0o644}, strings.NewReader("d")))
	e4 := s.commit(x)
	u, err := s.j.Undo(t.Context(), s.head(), []Entry{*e4}, []tongs.Path{in_("d")})
	must(t, err)
	part := s.commit(u.Txn)
	if len(part.Undoes) != 1 || !part.Undoes[0].Part {
		t.Errorf("undoes: %+v", part.Undoes)
	}
	s.has("a", "a3")
	if _, err := os.Lstat(filepath.Join(s.dir, "d")); err == nil {
		t.Error("d is still there")
	}
}

func (s *site) has(rel, want string) {
	s.Helper()
	got, err := os.ReadFile(filepath.Join(s.dir, rel))
	if err != nil || string(got) != want {
		s.Errorf("%s = %q, %v; want %q", rel, got, err, want)
	}
}

// A person's files in a directory that a call made are left, and the directory with them.
func TestDirectoriesThatHoldMoreStay(t *testing.T) {
	s := newSite(t, nil)
	x := s.begin()
	must(t, x.Dir(in_("d"), State{Mode: 0o755}))
	must(t, x.File(in_("d/f"), State{Mode: 0o644}, strings.NewReader("f")))
	e := s.commit(x)
	must(t, os.WriteFile(filepath.Join(s.dir, "d", "mine"), nil, 0o644))
	u, err := s.j.Undo(t.Context(), s.head(), []Entry{*e}, nil)
	must(t, err)
	if len(u.Conflicts) != 0 || !slices.Equal(u.Left, []tongs.Path{in_("d")}) {
		t.Errorf("conflicts %v, left %v", u.Conflicts, u.Left)
	}
	s.commit(u.Txn)
	if _, err := os.Lstat(filepath.Join(s.dir, "d", "mine")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "d", "f")); err == nil {
		t.Error("d/f is still there")
	}
}

// program makes random changes of a tree by one transaction.
func program(s *site, r *rand.Rand) *Entry {
	x := s.begin()
	defer x.Close()
	names := []string{"a", "b", "c", "d", "a/a", "a/b", "b/a", "b/c", "c/d", "a/a/a", "a/b/c", "b/c/d"}
	pick := func() tongs.Path { return in_(names[r.IntN(len(names))]) }
	for range 1 + r.IntN(8) {
		p := pick()
		switch r.IntN(7) { // what makes no sense for the tree is refused, and that is all
		case 0, 1:
			_ = x.File(p, State{Mode: []fs.FileMode{0o600, 0o644, 0o755}[r.IntN(3)]}, strings.NewReader(fmt.Sprint(r.IntN(4))))
		case 2:
			_ = x.Dir(p, State{Mode: []fs.FileMode{0o700, 0o755}[r.IntN(2)]})
		case 3:
			_ = x.Link(p, State{Target: pick().Rel})
		case 4:
			_ = x.Remove(p)
		default:
			to := pick()
			if !p.Contains(to) {
				_ = x.Move(p, to)
			}
		}
	}
	return s.commit(x)
}

func TestRandomTransactions(t *testing.T) {
	rounds := 12
	if os.Getenv("TONGS_JOURNAL_MANY") != "" {
		rounds = 500
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 6))
		s := newSite(t, map[string]string{"a/a/a": "0", "b/c": "1", "d": "2"})
		states := []string{snapshot(t, s.dir)}
		var entries []Entry
		for range 6 {
			e := program(s, r)
			if e.ID == "" {
				continue
			}
			entries = append(entries, *e)
			states = append(states, snapshot(t, s.dir))
		}
		if len(entries) == 0 {
			continue
		}
		// All at once to some point, forward again, then one by one to the start.
		k := r.IntN(len(entries))
		back := slices.Clone(entries[k:])
		slices.Reverse(back)
		u := s.undo(back...)
		same(t, fmt.Sprintf("seed %d: back to %d at once", seed, k), snapshot(t, s.dir), states[k])
		if u.ID != "" {
			s.undo(*u)
			same(t, fmt.Sprintf("seed %d: forward again", seed), snapshot(t, s.dir), states[len(entries)])
		}
		for i := len(entries) - 1; i >= 0; i-- {
			s.undo(entries[i])
			same(t, fmt.Sprintf("seed %d: back to %d", seed, i), snapshot(t, s.dir), states[i])
		}
		s.clean()
		if t.Failed() {
			return
		}
	}
}
