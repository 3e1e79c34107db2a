package changeset

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Layer is what was written to one tree.
type Layer struct {
	sandbox.Layer
	// At is the tree in the words of calls.
	At tongs.Path
}

// Options say what to read.
type Options struct {
	Layers []Layer
	// First reports whether a path is to be shown before others: protected names, and those that were planted. Nil is
	// none.
	First func(p tongs.Path) bool
	// Refuse says why nothing can be kept at a path, "" where it can: no call can name it, say. Nil refuses none.
	Refuse func(p tongs.Path) string
	// Drop removes the layers. Set.Drop calls it.
	Drop func() error
	// MaxChanges is how many changes there may be: 500,000. More are an error.
	MaxChanges int
}

// The kinds. Modified is also what became something else, such as a file that became a link.
const (
	Added    = tongs.Added
	Modified = tongs.Modified
	Deleted  = tongs.Deleted
	Renamed  = tongs.Renamed
	// Mode is a change of permissions alone, which is decided as Modified is.
	Mode tongs.ChangeKind = "mode"
)

// Change is what a program did to one path.
type Change struct {
	Path tongs.Path       `json:"path"`
	Kind tongs.ChangeKind `json:"kind"`
	// From is where a renamed file was. It is gone from there.
	From *tongs.Path `json:"from,omitempty"`
	// Before is the state in the tree when it was looked at, After the one that the program left. Neither has a hash.
	Before journal.State `json:"before,omitzero"`
	After  journal.State `json:"after,omitzero"`
	// Entries is how many files, directories and links are in a directory that goes, Bytes the size of its files.
	Entries int   `json:"entries,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	// First says that it is shown before others.
	First bool `json:"first,omitempty"`
	// Note says what will be otherwise than if the program had written directly, "" for nothing.
	Note string `json:"note,omitempty"`
	// Refused says why the change cannot be kept, "" where it can.
	Refused string `json:"refused,omitempty"`

	layer int // index of its layer
	// stems says that it was made of something that the tree had; lost that it had it at the same path and has not now.
	stems, lost bool
	// shared says that the file has more names in the layer.
	shared bool
}

// Set is what a program did. It is for one goroutine at a time.
type Set struct {
	opt     Options
	changes []Change
	dropped bool
	// folded are directories of which lines tell, instead of the changes below.
	folded []folded
}

// Counts are how many changes there are of each kind.
type Counts struct {
	Added    int `json:"added,omitempty"`
	Modified int `json:"modified,omitempty"`
	Deleted  int `json:"deleted,omitempty"`
	Renamed  int `json:"renamed,omitempty"`
	Mode     int `json:"mode,omitempty"`
	// Refused are those of them that cannot be kept.
	Refused int `json:"refused,omitempty"`
	// Written is the size of the files that the program left, in bytes.
	Written int64 `json:"written,omitempty"`
}

const defaultMaxChanges = 500_000

// Read reads layers. What cannot be read is an error; what cannot be kept is a change that says so.
func Read(ctx context.Context, opt Options) (*Set, error) {
	if opt.MaxChanges <= 0 {
		opt.MaxChanges = defaultMaxChanges
	}
	s := &Set{opt: opt}
	for i := range opt.Layers {
		if err := s.read(ctx, i); err != nil {
			return nil, fmt.Errorf("reading what was written to %s: %w", opt.Layers[i].Root, err)
		}
	}
	if err := s.findRenames(ctx); err != nil {
		return nil, err
	}
	if opt.First != nil {
		for i := range s.changes {
			c := &s.changes[i]
			c.First = opt.First(c.Path) || c.From != nil && opt.First(*c.From)
		}
	}
	slices.SortStableFunc(s.changes, func(a, b Change) int {
		switch {
		case a.First != b.First && a.First:
			return -1
		case a.First != b.First:
			return 1
		case a.Path.Root != b.Path.Root:
			return strings.Compare(a.Path.Root, b.Path.Root)
		}
		return compareRel(a.Path.Rel, b.Path.Rel)
	})
	return s, nil
}

// compareRel orders paths so that what is in a directory comes right after it.
func compareRel(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '/':
			return -1
		case y == '/':
			return 1
		default:
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// Changes returns the changes: those that are to be shown first, then by path. The caller must not change the list.
func (s *Set) Changes() []Change { return s.changes }

// Counts returns how many changes there are, without those of folded directories.
func (s *Set) Counts() (n Counts) {
	for i := range s.changes {
		c := &s.changes[i]
		if c.After.Type == journal.File && c.Kind != Mode {
			n.Written += c.After.Size
		}
		if s.told(c) {
			continue
		}
		switch c.Kind {
		case Added:
			n.Added++
		case Modified:
			n.Modified++
		case Deleted:
			n.Deleted++
		case Renamed:
			n.Renamed++
		case Mode:
			n.Mode++
		}
		if c.Refused != "" {
			n.Refused++
		}
	}
	return n
}

// Drop removes the layers. Nothing of the set can be committed or shown as a diff afterwards.
func (s *Set) Drop() error {
	if s.dropped || s.opt.Drop == nil {
		s.dropped = true
		return nil
	}
	s.dropped = true
	return s.opt.Drop()
}

// add appends a change.
func (s *Set) add(c Change) error {
	if len(s.changes) >= s.opt.MaxChanges {
		return fmt.Errorf("more than %d changes; let the command write to such directories directly, or raise the limit",
			s.opt.MaxChanges)
	}
	if c.Refused == "" && s.opt.Refuse != nil {
		c.Refused = s.opt.Refuse(c.Path)
	}
	s.changes = append(s.changes, c)
	return nil
}

// find returns the change of a path, or nil.
func (s *Set) find(p tongs.Path) *Change {
	for i := range s.changes {
		if s.changes[i].Path == p {
			return &s.changes[i]
		}
	}
	return nil
}

// rel returns a path of the layer's tree as one below its root.
func (l *Layer) rel(p tongs.Path) string {
	if l.At.Rel == "." {
		return p.Rel
	}
	if p.Rel == l.At.Rel {
		return "."
	}
	return strings.TrimPrefix(p.Rel, l.At.Rel+"/")
}

func (l *Layer) path(rel string) tongs.Path {
	if rel == "." {
		return l.At
	}
	return l.At.Join(rel)
}

// lower and upper are where a path is in the tree and in the layer.
func (l *Layer) lower(rel string) string { return filepath.Join(l.Root, filepath.FromSlash(rel)) }
func (l *Layer) upper(rel string) string { return filepath.Join(l.Upper, filepath.FromSlash(rel)) }

// passes reports whether a path is one that was shown as it is.
func (l *Layer) passes(rel string) bool { return slices.Contains(l.Through, filepath.FromSlash(rel)) }

// sides returns both sides of a change.
func (s *Set) sides(c *Change) (before, after journal.Side) {
	l := &s.opt.Layers[c.layer]
	rel := l.rel(c.Path)
	old := rel
	if c.From != nil {
		old = l.rel(*c.From)
	}
	return journal.Side{State: c.Before, Open: func() (io.ReadCloser, error) { return openFile(l.lower(old)) }},
		journal.Side{State: c.After, Open: func() (io.ReadCloser, error) { return openFile(l.upper(rel)) }}
}

// sameContent reports whether two files hold the same bytes.
func sameContent(ctx context.Context, a, b string) (bool, error) {
	f, err := openFile(a)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := openFile(b)
	if err != nil {
		return false, err
	}
	defer g.Close()
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err1 := io.ReadFull(f, x)
		m, err2 := io.ReadFull(g, y)
		switch {
		case n != m || string(x[:n]) != string(y[:m]):
			return false, nil
		case err1 != nil && err1 != io.EOF && err1 != io.ErrUnexpectedEOF:
			return false, err1
		case err2 != nil && err2 != io.EOF && err2 != io.ErrUnexpectedEOF:
			return false, err2
		case err1 != nil:
			return true, nil
		}
	}
}

// openFile opens a regular file, following no link.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a file any more", path)
	}
	return f, nil
}
