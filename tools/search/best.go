package search

import (
	"cmp"
	"slices"
	"strings"
)

// found is a file that matches.
type found struct {
	rel      string
	path     string // where it is set, rel is not
	modified int64
}

// best keeps the first files of an order, of any number, in memory bounded by how many are wanted. Each worker has a
// part of its own.
type best struct {
	parts  []part
	limit  int
	byPath bool
}

type part struct {
	list  []found
	total int
	// worst is the last file of those that are kept, once there are enough.
	worst *found
	_     [64]byte // each part on a cache line of its own
}

func (b *best) prepare(workers, limit int, byPath bool) {
	b.parts, b.limit, b.byPath = make([]part, workers), limit, byPath
}

// order puts the newest first, and equals by their path.
func (b *best) order(x, y found) int {
	byPath := strings.Compare(x.rel, y.rel)
	if b.byPath {
		return byPath
	}
	return cmp.Or(cmp.Compare(y.modified, x.modified), byPath)
}

// add takes up a file. Calls for one worker do not overlap.
func (b *best) add(worker int, f found) {
	if b.parts == nil {
		b.prepare(1, 1, true)
	}
	p := &b.parts[worker]
	p.total++
	if p.worst != nil && b.order(f, *p.worst) > 0 {
		return
	}
	f.rel = strings.Clone(f.rel) // what it shares memory with is not kept
	if p.list = append(p.list, f); len(p.list) >= 4*b.limit+64 {
		p.list = b.cut(p.list)
		worst := p.list[len(p.list)-1]
		p.worst = &worst
	}
}

func (b *best) cut(list []found) []found {
	slices.SortFunc(list, b.order)
	return list[:min(len(list), b.limit)]
}

// count returns how many files were found.
func (b *best) count() (n int) {
	for i := range b.parts {
		n += b.parts[i].total
	}
	return n
}

// first returns the first files, in order.
func (b *best) first() (all []found) {
	for i := range b.parts {
		all = append(all, b.parts[i].list...)
	}
	return b.cut(all)
}
