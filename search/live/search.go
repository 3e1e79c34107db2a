package live

import (
	"context"

	"github.com/tongs-ai/tongs/search/grep"
	"github.com/tongs-ai/tongs/search/index"
	"github.com/tongs-ai/tongs/search/walk"
)

// enter brings the root of a tree up to date, and returns it locked, with the directory that the tree is about. It
// returns false where the service does not know enough.
func (s *Service) enter(ctx context.Context, t *Tree) (*root, *dir, bool) {
	rel, ok := t.rel()
	if !ok {
		return nil, nil, false
	}
	r := s.root(t.Top)
	if r == nil {
		return nil, nil, false
	}
	r.mu.Lock()
	if !r.ready {
		r.mu.Unlock()
		return nil, nil, false
	}
	if err := r.refresh(ctx, false); err != nil {
		if ctx.Err() == nil {
			r.failed(err)
		}
	} else if d := r.lookup(rel); d != nil && d.err == nil && sameDir(t.Dir, d.info) {
		return r, d, true
	}
	r.mu.Unlock()
	return nil, nil, false
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
	r, d, ok := s.enter(ctx, &t)
	if !ok {
		return nil, Left{}, false, nil
	}
	v := r.view(d, &t)
	listed := r.listing(v, r.candidates(v, query, usable))
	r.mu.Unlock()
	tree, err := walk.Open(walk.Options{Root: t.Host, Dir: t.Dir, NoIgnore: true, Workers: 1})
	if err != nil {
		return nil, Left{}, false, nil
	}
	listed.Root, listed.Done = tree, func() { _ = tree.Close() }
	res, err := e.SearchListed(ctx, listed, q)
	return res, v.left, true, err
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
// Neither function may use the service.
func (s *Service) List(ctx context.Context, t Tree, visit func(Entry), skipped func(rel string, err error)) (Left, bool) {
	s.searches.Add(1)
	defer s.searches.Add(-1)
	r, d, ok := s.enter(ctx, &t)
	if !ok {
		return Left{}, false
	}
	defer r.mu.Unlock()
	var left Left
	p := passage{t: &t, prefix: len(d.prefix()), left: &left, failed: skipped, visit: func(n *node, rel string) {
		if n.typ != walk.File && n.typ != walk.Symlink {
			return
		}
		if n.has(unsure) && !r.again(n) {
			return
		}
		visit(Entry{Rel: rel, Type: n.typ, Modified: n.info.Modified})
	}}
	p.walk(d)
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
