package live

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/index"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// view is what a call sees of the table: the files in the order of their paths, as the units of a search.
type view struct {
	dir     *dir
	scope   any
	pick    string
	shape   uint64
	files   []*node
	places  []int32 // by the id of a node: its index in files, counted from 1
	units   []unit
	left    Left
	skipped []grep.Skip
}

// unit are files of one directory that stand together.
type unit struct {
	first int
	in    *dir
}

// maxViews is how many views a root remembers.
const maxViews = 4

// view returns what a tree shows of the table. It is remembered, unless ctx ended meanwhile: what Skip says about a call
// that is over holds for no other.
func (r *root) view(ctx context.Context, d *dir, t *Tree) *view {
	keep := (t.Skip == nil || t.Scope != nil) && (t.Pick == nil && t.Below == nil || t.PickKey != "")
	for i, v := range r.views {
		switch {
		case v.shape != r.shape:
		case keep && v.dir == d && v.scope == t.Scope && v.pick == t.PickKey:
			if i > 0 {
				r.views = slices.Insert(slices.Delete(r.views, i, i+1), 0, v)
			}
			return v
		}
	}
	r.views = slices.DeleteFunc(r.views, func(v *view) bool { return v.shape != r.shape })
	v := &view{dir: d, scope: t.Scope, pick: t.PickKey, shape: r.shape, places: make([]int32, r.nextID)}
	p := passage{t: t, prefix: len(d.prefix()), left: &v.left, visit: func(n *node, _ string) {
		if n.typ == walk.File {
			v.add(n)
		}
	}, failed: func(rel string, err error) { v.skipped = append(v.skipped, grep.Skip{Path: rel, Err: err}) }}
	p.walk(d)
	if keep && ctx.Err() == nil {
		r.views = slices.Insert(r.views, 0, v)
		r.views = r.views[:min(len(r.views), maxViews)]
	}
	return v
}

func (v *view) add(n *node) {
	last := len(v.units) - 1
	if last < 0 || v.units[last].in != n.in || len(v.files)-v.units[last].first == grep.UnitSize {
		v.units = append(v.units, unit{len(v.files), n.in})
	}
	v.files = append(v.files, n)
	v.places[n.id] = int32(len(v.files))
}

// place returns the index of a file, -1 where the view does not show it.
func (v *view) place(n *node) int { return int(v.places[n.id]) - 1 }

// passage is a walk through the table in the order of paths, past what a tree leaves out.
type passage struct {
	t      *Tree
	prefix int
	left   *Left
	visit  func(n *node, rel string)
	failed func(rel string, err error)
}

func (p *passage) walk(d *dir) {
	if d.err != nil {
		p.failed(d.rel[min(p.prefix, len(d.rel)):], d.err)
	}
	for _, n := range d.nodes {
		rel := n.rel[p.prefix:]
		if n.sub == nil {
			p.entry(n, rel)
			continue
		}
		switch {
		case p.t.Below != nil && !p.t.Below(rel):
		case p.t.Skip != nil && p.t.Skip(rel, true):
			p.left.Dirs++
		default:
			p.walk(n.sub)
		}
	}
}

func (p *passage) entry(n *node, rel string) {
	switch {
	case p.t.Pick != nil && !p.t.Pick(rel):
	case p.t.Skip != nil && p.t.Skip(rel, false):
		p.left.Files++
	default:
		p.visit(n, rel)
	}
}

// candidates are files of a view that may match.
type candidates struct {
	places []uint64 // a bit for each
	n      int
	// known are, by their places, files of which only parts can match.
	known map[int]grep.Known
}

func (c *candidates) add(place int) {
	c.places[place/64] |= 1 << (place % 64)
	c.n++
}

// narrow notes which parts of a file can match, where that is much less than all of it.
func (c *candidates) narrow(place int, n *node, f *index.Found) {
	if f.Of < 2*len(f.Blocks) || n.has(isWhole) {
		return
	}
	parts := make([]grep.Part, len(f.Blocks))
	for i, b := range f.Blocks {
		parts[i] = grep.Part{From: int64(b.From), To: int64(b.To), Lines: int(b.Lines)}
	}
	c.known[place] = grep.Known{Info: n.info, Parts: parts}
}

// candidates returns the files of a view that may match.
func (r *root) candidates(v *view, q *index.Query, usable bool) *candidates {
	found := &candidates{places: make([]uint64, (len(v.files)+63)/64), known: map[int]grep.Known{}}
	take := func(n *node) {
		if at := v.place(n); at >= 0 {
			found.add(at)
		}
	}
	for n := range r.direct {
		take(n)
	}
	if !usable {
		for i, n := range v.files {
			if !n.has(isBinary) {
				found.add(i)
			}
		}
		return found
	}
	if q.Odd() {
		for n := range r.odd {
			take(n)
		}
	}
	for _, s := range r.segments {
		s.index.Find(q, func(f index.Found) {
			n := s.nodes[f.File]
			if n.seg != s || int(n.doc) != f.File {
				return
			}
			if at := v.place(n); at >= 0 {
				found.add(at)
				if !q.Whole() {
					found.narrow(at, n, &f)
				}
			}
		})
	}
	return found
}

// binaries returns the places of the binary files, in order.
func (r *root) binaries(v *view) (places []int) {
	for n := range r.binary {
		if at := v.place(n); at >= 0 {
			places = append(places, at)
		}
	}
	slices.Sort(places)
	return places
}

// listing makes units of the files that may match, at most so many; 0 means all. It needs no lock.
func (v *view) listing(found *candidates, binaries []int, most int) grep.Listed {
	l := grep.Listed{Files: len(v.files), Skipped: v.skipped, Binary: len(binaries)}
	prefix := len(v.dir.prefix())
	at, end := -1, 0 // the unit, and where it ends
	for i, m := range found.places {
		for ; m != 0; m &= m - 1 {
			place := i*64 + bits.TrailingZeros64(m)
			if place >= end {
				at = v.unitOf(place, at+1)
				if end = len(v.files); at+1 < len(v.units) {
					end = v.units[at+1].first
				}
				if most > 0 && len(l.Units) == most {
					return l
				}
				l.Units = append(l.Units, v.unit(at, end, prefix, binaries))
			}
			u := &l.Units[len(l.Units)-1]
			if known, ok := found.known[place]; ok {
				if u.Known == nil {
					u.Known = map[int]grep.Known{}
				}
				u.Known[len(u.Paths)] = known
			}
			u.Paths = append(u.Paths, v.files[place].rel[prefix:])
			u.At = append(u.At, place-u.Before)
		}
	}
	return l
}

// unitOf returns the unit that a place is in, which is not before from.
func (v *view) unitOf(place, from int) int {
	rest := v.units[from:]
	return from + sort.Search(len(rest), func(i int) bool { return rest[i].first > place }) - 1
}

func (v *view) unit(at, end, prefix int, binaries []int) grep.Unit {
	u := v.units[at]
	before, _ := slices.BinarySearch(binaries, u.first)
	dir := "."
	if len(u.in.rel) > prefix {
		dir = u.in.rel[prefix:]
	}
	return grep.Unit{Dir: dir, Size: end - u.first, Before: u.first, Binary: before}
}
