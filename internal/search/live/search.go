package live

import (
	"context"
	"time"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/index"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// within brings the root of a tree up to date and calls use with it, locked, and with the directory that the tree is
// about. It returns false where the service does not know enough, and when ctx ended; use may be under way then.
func (s *Service) within(ctx context.Context, t *Tree, use func(*root, *dir)) bool {
	done := make(chan bool, 1)
	go func() {
		r, d, ok := s.enter(t)
		if ok {
			use(r, d)
			r.mu.Unlock()
		}
		done <- ok
	}()
	select {
	case ok := <-done:
		return ok
	case <-ctx.Done():
		return false
	}
}

// enter returns the root of a tree, up to date and locked. That is not for a single call to end: who takes events must
// deal with them.
func (s *Service) enter(t *Tree) (*root, *dir, bool) {
	rel, ok := t.rel()
	if !ok {
		return nil, nil, false
	}
	r := s.root(t.Top)
	if r == nil {
		return nil, nil, false
	}
	asked := time.Now()
	r.mu.Lock()
	if !r.ready {
		r.mu.Unlock()
		return nil, nil, false
	}
	if err := r.upToDate(asked); err != nil {
		r.failed(err)
	} else if d := r.lookup(rel); d != nil && d.err == nil && sameDir(t.Dir, d.info) {
		return r, d, true
	}
	r.mu.Unlock()
	return nil, nil, false
}

// upToDate brings a root up to date, unless somebody began to do that after it was asked for, and is done.
func (r *root) upToDate(asked time.Time) error {
	if r.current.After(asked) {
		return nil
	}
	return r.refresh(r.ctx, false)
}

// Search searches a tree, with the result that the engine's Search has for files that are neither ignored nor hidden. It
// returns false where the service cannot tell.
func (s *Service) Search(ctx context.Context, e *grep.Engine, t Tree, q grep.Query) (*grep.Result, Left, bool, error) {
	s.searches.Add(1)
	defer s.searches.Add(-1)
	if q.Binary {
		return nil, Left{}, false, nil
	}
	query, usable := index.For(q.Matcher)
	var v *view
	var found *candidates
	var binaries []int
	ok := s.within(ctx, &t, func(r *root, d *dir) {
		v = r.view(ctx, d, &t)
		found, binaries = r.candidates(v, query, usable), r.binaries(v)
	})
	if !ok {
		return nil, Left{}, false, nil
	}
	if q.Mode == grep.Content && q.Limit > 0 && found.n > manyFiles {
		// Most searches for something common find enough in the first files.
		first := v.listing(found, binaries, firstUnits)
		res, ok, err := t.search(ctx, e, first, q)
		if !ok || err != nil || res.More || len(first.Units) < firstUnits {
			return res, v.left, ok, err
		}
	}
	res, ok, err := t.search(ctx, e, v.listing(found, binaries, 0), q)
	return res, v.left, ok, err
}

// Where there are more than manyFiles candidates, firstUnits units are searched before the others are even listed.
const (
	manyFiles  = 4096
	firstUnits = 128
)

// search searches the files of a listing.
func (t *Tree) search(ctx context.Context, e *grep.Engine, l grep.Listed, q grep.Query) (*grep.Result, bool, error) {
	tree, err := walk.Open(walk.Options{Root: t.Host, Dir: t.Dir, NoIgnore: true, Workers: 1})
	if err != nil {
		return nil, false, nil
	}
	l.Root, l.Done = tree, func() { _ = tree.Close() }
	res, err := e.SearchListed(ctx, l, q)
	return res, true, err
}

// Entry is a file or a symbolic link.
type Entry struct {
	// Rel is the path below the directory of the tree.
	Rel  string
	Type walk.Type
	// Modified is when it was last written, in nanoseconds since 1970.
	Modified int64
}

// List visits the files and links of a tree that Pick picks, in the order of their paths, as a walk would. Directories
// that could not be read are given to skipped. It returns false where the service cannot tell; then nothing was visited.
func (s *Service) List(ctx context.Context, t Tree, visit func(Entry), skipped func(rel string, err error)) (Left, bool) {
	s.searches.Add(1)
	defer s.searches.Add(-1)
	var left Left
	var entries []Entry
	var skips []grep.Skip
	ok := s.within(ctx, &t, func(r *root, d *dir) {
		p := passage{t: &t, prefix: len(d.prefix()), left: &left, visit: func(n *node, rel string) {
			if (n.typ == walk.File || n.typ == walk.Symlink) && (!n.has(unsure) || r.again(n)) {
				entries = append(entries, Entry{Rel: rel, Type: n.typ, Modified: n.info.Modified})
			}
		}, failed: func(rel string, err error) { skips = append(skips, grep.Skip{Path: rel, Err: err}) }}
		p.walk(d)
	})
	if !ok {
		return Left{}, false
	}
	for _, e := range entries {
		visit(e)
	}
	for _, e := range skips {
		skipped(e.Path, e.Err)
	}
	return left, true
}

// again looks at a file that may have changed. It reports whether it is still there.
func (r *root) again(n *node) bool {
	f, err := r.walk.FolderAt(n.in.rel)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat(n.name())
	if err != nil || info.Type != n.typ {
		return false
	}
	r.describe(n, info)
	return true
}
