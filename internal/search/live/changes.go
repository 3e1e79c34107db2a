package live

import (
	"context"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// Generation is a state of a root. The zero value is before everything.
type Generation struct {
	root *root
	n    uint64
}

// Changes is what happened to the files of a root since a generation.
type Changes struct {
	// Now is the generation to ask from next time.
	Now Generation
	// All says that Changed are all files, and that what is known from before is void.
	All bool
	// Changed are the files that are new or may have another content, in no order, with their paths below the root.
	Changed []Entry
	// Removed are the paths of files that are gone. One that came back is in Changed too.
	Removed []string
}

// Changes returns what happened to the files of the root at top since a generation, as far as a plain search looks at
// them: those that are neither ignored nor hidden. It is how something derived from files, such as a list of the symbols
// in them, is kept as fresh as searches are:
//
//	ch, ok := service.Changes(ctx, tree.Top, since)
//	if !ok {
//		// the service does not know the root (yet): look at the files themselves
//	}
//	if ch.All {
//		clear(derived)
//	}
//	for _, path := range ch.Removed {
//		delete(derived, path)
//	}
//	for _, f := range ch.Changed {
//		derived[f.Rel] = parse(open(f.Rel))
//	}
//	since = ch.Now
//
// Files are those of the whole root, whoever asks: what a call may see is for the call to ask, by its Skip, when it uses
// what was derived. Open files beneath the root without following links, as [walk.Tree.FolderAt] does. A file that is
// written to while it is read is in the next Changes again.
func (s *Service) Changes(ctx context.Context, top string, since Generation) (Changes, bool) {
	s.searches.Add(1)
	defer s.searches.Add(-1)
	var ch Changes
	ok := s.within(ctx, &Tree{Host: top, Top: top}, func(r *root, _ *dir) { ch = r.changes(since) })
	if !ok {
		return Changes{}, false
	}
	return ch, true
}

func (r *root) changes(since Generation) Changes {
	ch := Changes{Now: Generation{r, r.generation}, All: since.root != r || since.n < r.forgot}
	switch {
	case ch.All:
		r.tree.each(func(d *dir) { ch.add(d.nodes, 0) })
	case since.n < r.overlooked:
		r.tree.each(func(d *dir) { ch.add(d.nodes, since.n) })
	default:
		for _, c := range r.recent {
			if c.generation > since.n && c.n.change == c.generation && !c.n.has(isGone) {
				ch.add([]*node{c.n}, since.n)
			}
		}
	}
	for _, gone := range r.removed {
		if !ch.All && gone.generation > since.n {
			ch.Removed = append(ch.Removed, gone.rel)
		}
	}
	return ch
}

// add adds the files that changed after a generation.
func (c *Changes) add(nodes []*node, after uint64) {
	for _, n := range nodes {
		if n.typ == walk.File && n.change > after {
			c.Changed = append(c.Changed, Entry{Rel: n.rel, Type: n.typ, Modified: n.info.Modified})
		}
	}
}
