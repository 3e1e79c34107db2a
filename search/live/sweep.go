package live

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs/search/walk"
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
		for _, f := range s.files {
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

// differs reports whether a file may hold something else than what is known of it, by what the system says of it now.
func (r *root) differs(n *node, now walk.Info) bool {
	return !same(now, n.info) || r.doubt && n.has(isFresh)
}

// swept is what a sweep found: directories to read again, and files that changed.
type swept struct {
	dirs  []*dir
	files []sweptFile
	_     [64]byte // each on a cache line of its own
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

// look looks at a directory and the files in it.
func (s *swept) look(r *root, d *dir) {
	if d.err != nil || d.state == nil || !r.s.settled(d.info, d.at) {
		s.dirs = append(s.dirs, d)
		return
	}
	f, err := r.walk.FolderAt(d.rel)
	if err != nil {
		s.dirs = append(s.dirs, d)
		return
	}
	defer f.Close()
	if info, err := f.Stat("."); err != nil || !same(info, d.info) {
		s.dirs = append(s.dirs, d)
		return
	}
	if d.state.Special() && !r.sameRules(d, f) {
		s.dirs = append(s.dirs, d)
		return
	}
	for _, n := range d.nodes {
		if n.sub != nil {
			continue
		}
		info, err := f.Stat(n.name())
		if err != nil || info.Type != n.typ {
			s.dirs = append(s.dirs, d)
			return
		}
		if r.differs(n, info) {
			s.files = append(s.files, sweptFile{n, info})
		}
	}
}
