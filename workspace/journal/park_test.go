//go:build unix

package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// parkList is what parkAndMake does to crashTree.
func parkList() []Change {
	from := in_("here/f")
	return []Change{
		{Path: in_("a"), After: State{Type: File, Mode: 0o600}},
		{Path: in_("l"), After: State{Type: Link, Target: "a"}},
		{Path: in_("made")},
		{Path: in_("new"), After: State{Type: Dir, Mode: 0o755}},
		{Path: in_("new/f"), After: State{Type: File, Mode: 0o644}},
		{Path: in_("new/moved"), From: &from, After: State{Type: File, Mode: 0o644}},
	}
}

// park parks the list; each file gets its path as its content, and a moved one what it had.
func park(ctx context.Context, j *Journal, dir string, list []Change, expires time.Time) (Receipt, error) {
	p := &Parked{Entry: Entry{Call: "c", Session: "s", Roots: map[string]string{"": dir, "forge": dir + ".none"}}, Expires: expires, List: list}
	return j.Park(ctx, p, func(i int) (*os.File, error) {
		c := p.List[i]
		if c.From != nil {
			return os.Open(filepath.Join(dir, c.From.Rel))
		}
		f, err := os.CreateTemp(filepath.Dir(j.Dir()), "content")
		if err == nil {
			_, err = f.WriteString("new " + c.Path.Rel)
		}
		if err == nil {
			_, err = f.Seek(0, 0)
		}
		return f, err
	})
}

// makeParked makes what waits.
func makeParked(ctx context.Context, j *Journal, r Receipt) (*Entry, error) {
	p, err := j.Parked(r)
	if err != nil {
		return nil, err
	}
	t, err := j.Begin(ctx, p.Entry)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	for _, c := range p.List {
		switch {
		case c.From != nil:
			err = errors.Join(err, t.Remove(*c.From))
		case c.After.Type == Absent:
			err = errors.Join(err, t.Remove(c.Path))
		}
		switch c.After.Type {
		case Dir:
			err = errors.Join(err, t.Dir(c.Path, c.After))
		case Link:
			err = errors.Join(err, t.Link(c.Path, c.After))
		case File:
			err = errors.Join(err, t.Restore(c.Path, c.After))
		}
	}
	if err != nil {
		return nil, err
	}
	t.Verify(func() error { return p.Check(ctx, p.List) })
	return t.Commit(ctx)
}

// parkAndMake is a program of the crash tests.
func parkAndMake(ctx context.Context, j *Journal, dir string) error {
	r, err := park(ctx, j, dir, parkList(), time.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	if _, err = makeParked(ctx, j, r); err != nil {
		return err
	}
	return j.Unpark(r)
}

// What waits survives a collection, and goes when it expires, with its contents.
func TestParkedIsKeptUntilItExpires(t *testing.T) {
	s := crashTree(t)
	soon := time.Now().Add(time.Hour)
	r, err := park(t.Context(), s.j, s.dir, parkList(), soon)
	must(t, err)
	info, err := os.Stat(s.j.file("parked", r.ID))
	if must(t, err); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %s", info.Mode())
	}
	_, err = s.j.GC(t.Context())
	must(t, err)
	_, err = makeParked(t.Context(), s.j, r)
	must(t, err)
	if _, err := makeParked(t.Context(), s.j, r); err == nil {
		t.Error("it was made twice")
	}
	s = crashTree(t)
	r, err = park(t.Context(), s.j, s.dir, parkList(), time.Now().Add(-time.Second))
	must(t, err)
	_, err = s.j.GC(t.Context())
	must(t, err)
	if _, err := s.j.Parked(r); err == nil {
		t.Error("it is kept after it expired")
	}
}

// A byte that changed in the list or in a content refuses all of it.
func TestParkedAttack(t *testing.T) {
	flip := func(t *testing.T, name string) {
		data, err := os.ReadFile(name)
		must(t, err)
		data[len(data)/2] ^= 1
		must(t, os.WriteFile(name, data, 0o600))
	}
	for name, attack := range map[string]func(t *testing.T, s *site, r *Receipt){
		"the list": func(t *testing.T, s *site, r *Receipt) { flip(t, s.j.file("parked", r.ID)) },
		"another one": func(t *testing.T, s *site, r *Receipt) {
			other := parkList()[:1]
			o, err := park(t.Context(), s.j, s.dir, other, time.Now().Add(time.Hour))
			must(t, err)
			must(t, os.Rename(s.j.file("parked", o.ID), s.j.file("parked", r.ID)))
		},
		"another name": func(t *testing.T, s *site, r *Receipt) {
			must(t, os.Rename(s.j.file("parked", r.ID), s.j.file("parked", "e_0")))
			r.ID = "e_0"
		},
		"outside": func(_ *testing.T, _ *site, r *Receipt) { r.ID = "../done/" + r.ID },
		"a content": func(t *testing.T, s *site, r *Receipt) {
			p, err := s.j.Parked(*r)
			must(t, err)
			flip(t, s.j.blobs.name(p.List[0].After.Hash, ".z"))
		},
		"a content of another": func(t *testing.T, s *site, r *Receipt) {
			p, err := s.j.Parked(*r)
			must(t, err)
			from, err := os.ReadFile(s.j.blobs.name(p.List[4].After.Hash, ".z"))
			must(t, err)
			must(t, os.WriteFile(s.j.blobs.name(p.List[0].After.Hash, ".z"), from, 0o600))
		},
		"a content is gone": func(t *testing.T, s *site, r *Receipt) {
			p, err := s.j.Parked(*r)
			must(t, err)
			must(t, os.Remove(s.j.blobs.name(p.List[0].After.Hash, ".z")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := crashTree(t)
			r, err := park(t.Context(), s.j, s.dir, parkList(), time.Now().Add(time.Hour))
			must(t, err)
			before := snapshot(s, s.dir)
			attack(t, s, &r)
			if _, err := makeParked(t.Context(), s.j, r); err == nil {
				t.Error("it was made")
			}
			same(t, name, snapshot(s, s.dir), before)
		})
	}
}

// There is a bound to what waits; what is beyond it leaves nothing.
func TestParkedBounds(t *testing.T) {
	s := newSite(t, map[string]string{"a": "a"})
	one := []Change{{Path: in_("b"), After: State{Type: File, Mode: 0o644}}}
	soon := time.Now().Add(time.Hour)
	for range MaxParked {
		_, err := park(t.Context(), s.j, s.dir, one, soon)
		must(t, err)
	}
	if _, err := park(t.Context(), s.j, s.dir, one, soon); !errors.Is(err, ErrParked) {
		t.Errorf("one more: %v", err)
	}
	s = newSite(t, map[string]string{"a": "a"})
	must(t, os.Truncate(filepath.Join(s.dir, "a"), maxParkedBytes+1)) // a hole
	for name, list := range map[string][]Change{
		"what it replaces": {{Path: in_("a"), After: State{Type: File}}},
		"nothing":          nil,
		"too many":         make([]Change, maxParkedPaths+1),
	} {
		if _, err := park(t.Context(), s.j, s.dir, list, soon); !errors.Is(err, ErrParked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := &Parked{Entry: Entry{Roots: map[string]string{"": s.dir}}, Expires: soon, List: one}
	if _, err := s.j.Park(t.Context(), p, func(int) (*os.File, error) { return os.Open(filepath.Join(s.dir, "a")) }); !errors.Is(err, ErrParked) {
		t.Errorf("what it writes: %v", err)
	}
	if left, err := os.ReadDir(s.j.file("parked")); err != nil || len(left) > 0 {
		t.Errorf("left %d, %v", len(left), err)
	}
}

// What it replaces must be as it was, path by path and below directories that go.
func TestParkedCheck(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"content":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("oldeR"), 0o644) },
		"mode":       func(dir string) error { return os.Chmod(filepath.Join(dir, "a"), 0o755) },
		"moved away": func(dir string) error { return os.Remove(filepath.Join(dir, "here/f")) },
		"in the way": func(dir string) error { return os.Mkdir(filepath.Join(dir, "new"), 0o755) },
		"within":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "made/h"), nil, 0o644) },
		"the root": func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".moved"), os.Symlink(dir+".moved", dir))
		},
		"within, gone": func(dir string) error { return os.Remove(filepath.Join(dir, "made/g")) },
	} {
		s := crashTree(t)
		r, err := park(t.Context(), s.j, s.dir, parkList(), time.Now().Add(time.Hour))
		must(t, err)
		must(t, change(s.dir))
		p, err := s.j.Parked(r)
		must(t, err)
		conflict := &ConflictError{}
		if err := p.Check(t.Context(), p.List); !errors.As(err, &conflict) || len(conflict.Conflicts) == 0 || !strings.Contains(err.Error(), "changed since") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
