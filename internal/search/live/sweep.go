package live

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// sweep compares every file and directory with what is known of it.
func (r *root) sweep(ctx context.Context) error {
	r.sweeps++
	var dirs []*dir
	r.tree.each(func(d *dir) { dirs = append(dirs, d) })
	var next atomic.Int64
	var group sync.WaitGroup
	found := make([]swept, max(2, runtime.GOMAXPROCS(0)))
	for i := range found {
		group.Go(func() {
			for at := next.Add(1) - 1; int(at) < len(dirs) && ctx.Err() == nil; at = next.Add(1) - 1 {
				found[i].look(r, dirs[at])
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var again []*dir
	for _, s := range found {
		again = append(again, s.dirs...)
		for _, f := range s.changed {
			r.touch(f.n)
			r.describe(f.n, f.info)
		}
	}
	slices.SortFunc(again, func(a, b *dir) int { return strings.Compare(a.rel, b.rel) })
	for _, d := range again {
		if d.gone {
			continue
		}
		if err := r.read(ctx, d, look{all: true}); err != nil {
			return err
		}
	}
	r.doubt = false
	return nil
}

// differs reports whether the content of a file may be another than what is known of it, by what the system says of it now.
func (r *root) differs(n *node, now walk.Info) bool {
	return !same(now, n.info) || r.doubt && n.has(isFresh)
}

// swept is what a sweep found: directories to read again, and files that changed.
type swept struct {
	dirs    []*dir
	changed []sweptFile
	_       [64]byte // each on a cache line of its own
}

type sweptFile struct {
	n    *node
	info walk.Info
}

// sameRules reports whether the ignore files of a directory are what they were. What git says elsewhere was read before.
func (r *root) sameRules(d *dir, f walk.Folder) bool {
	now := ignoreFiles(f, nil)
	if len(now) != len(d.rules) {
		return false
	}
	for i, info := range now {
		if !same(info, d.rules[i]) || !r.s.settled(info, d.at) {
			return false
		}
	}
	return true
}

// openFrom is from how many entries on a directory is opened to look at them: that costs as much as their longer paths.
const openFrom = 12

// look looks at a directory and the files in it.
func (s *swept) look(r *root, d *dir) {
	if d.err != nil || d.state == nil || !r.s.settled(d.info, d.at) || !s.same(r, d) {
		s.dirs = append(s.dirs, d)
	}
}

// same looks at the files of a directory, and reports whether its entries and rules are what they were.
func (s *swept) same(r *root, d *dir) bool {
	if len(d.nodes) < openFrom && !d.state.Special() {
		info, err := r.walk.Stat(d.rel)
		return err == nil && same(info, d.info) && s.files(r, d, func(n *node) (walk.Info, error) { return r.walk.Stat(n.rel) })
	}
	f, err := r.walk.FolderAt(d.rel)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat("."); err != nil || !same(info, d.info) || d.state.Special() && !r.sameRules(d, f) {
		return false
	}
	return s.files(r, d, func(n *node) (walk.Info, error) { return f.Stat(n.name()) })
}

// files notes which files of a directory changed, and reports whether all are there.
func (s *swept) files(r *root, d *dir, stat func(*node) (walk.Info, error)) bool {
	for _, n := range d.nodes {
		if n.sub != nil {
			continue
		}
		info, err := stat(n)
		if err != nil || info.Type != n.typ {
			return false
		}
		if r.differs(n, info) {
			s.changed = append(s.changed, sweptFile{n, info})
		}
	}
	return true
}
