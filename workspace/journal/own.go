package journal

import (
	"context"

	"github.com/tongs-ai/tongs"
)

// Own implements workspace.Journal. It reports whether the file at p is as the session left it, and was made by the session:
// not moved there, and not brought back by undo. Where that cannot be told it is not.
func (j *Journal) Own(ctx context.Context, roots map[string]string, session string, p tongs.Path) bool {
	if session == "" {
		return false
	}
	d := newDisk(roots)
	defer d.close()
	fi, err := d.lstat(p)
	if err != nil || fi == nil || !fi.Mode().IsRegular() {
		return false
	}
	now := stateOf(fi)
	first := true
	for head, err := range j.entries(Filter{}) {
		if err != nil || ctx.Err() != nil {
			return false
		}
		if head.Roots[p.Root] != roots[p.Root] {
			continue
		}
		was, left, touched, ok := j.changeOf(head.ID, p)
		switch {
		case !ok:
			return false
		case !touched:
			continue
		case head.Session != session || len(head.Undoes) > 0 || left.Type != File:
			return false
		}
		if first { // the content is read only where the rest is the same
			if left.Size != now.Size || left.Mode != now.Mode {
				return false
			}
			if now, err = d.look(p); err != nil {
				return false
			}
			first = false
		}
		if left.Hash == "" || !left.Same(now) {
			return false
		}
		if was.Type == Absent {
			return true
		}
		now = was
	}
	return false
}

// changeOf is what an entry did to a path: its state before and after, and whether it touched it at all. It is not ok where
// something was moved to or from there, or the entry cannot be read. What programs moved on a copy went at one place and
// came at another.
func (j *Journal) changeOf(id string, p tongs.Path) (was, left State, touched, ok bool) {
	gone := map[string]bool{}
	for c, err := range j.Changes(id) {
		if err != nil {
			return was, left, touched, false
		}
		if c.From != nil && (c.From.Contains(p) || c.Path.Contains(p)) {
			return was, left, true, false
		}
		if c.Path != p {
			if c.After.Type == Absent && c.Before.Hash != "" {
				gone[c.Before.Hash] = true
			}
			continue
		}
		if !touched {
			was = c.Before
		}
		left, touched = c.After, true
	}
	return was, left, touched, !gone[left.Hash]
}
