package changeset

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Park keeps all changes but those that are refused in the journal, for when somebody decides: the layers may go then. Of
// head, Roots must be set as for Commit. Where the tree changed meanwhile it is a *journal.ConflictError.
//
// Unlike with Commit, holes, extended attributes and a common content of hard links are not kept.
func (s *Set) Park(ctx context.Context, j *journal.Journal, head journal.Entry, expires time.Time) (receipt journal.Receipt, err error) {
	if s.dropped {
		return receipt, ErrDropped
	}
	chosen, err := s.choose(nil)
	if err != nil {
		return receipt, err
	}
	p := &journal.Parked{Entry: head, Expires: expires}
	for _, c := range chosen {
		p.List = append(p.List, journal.Change{Path: c.Path, From: c.From, After: c.After})
	}
	receipt, err = j.Park(ctx, p, func(i int) (*os.File, error) {
		l := &s.opt.Layers[chosen[i].layer]
		return openFile(l.upper(l.rel(chosen[i].Path)))
	})
	if err != nil {
		return receipt, err
	}
	conflicts, err := s.checks(ctx, chosen)() // what was looked at is what the program saw
	if err == nil && len(conflicts) > 0 {
		err = &journal.ConflictError{Conflicts: conflicts}
	}
	if err != nil {
		_ = j.Unpark(receipt)
	}
	return receipt, err
}

// Waiting are changes that were parked. It is for one goroutine at a time.
type Waiting struct {
	j      *journal.Journal
	parked *journal.Parked
	set    *Set
	kept   map[tongs.Path]journal.Change
}

// OpenParked returns the changes that wait under a receipt.
func OpenParked(j *journal.Journal, r journal.Receipt) (*Waiting, error) {
	parked, err := j.Parked(r)
	if err != nil {
		return nil, err
	}
	w := &Waiting{j: j, parked: parked, set: &Set{}, kept: map[tongs.Path]journal.Change{}}
	roots := map[string]int{}
	for _, c := range parked.List {
		if _, ok := roots[c.Path.Root]; !ok {
			roots[c.Path.Root] = len(roots)
		}
		w.kept[c.Path] = c
		w.set.changes = append(w.set.changes, Change{
			Path: c.Path, Kind: kindOf(c), From: c.From, Before: c.Before, After: c.After, layer: roots[c.Path.Root],
		})
	}
	return w, nil
}

// kindOf is the kind of a change that was parked. That of a file whose permissions alone changed does not matter any more.
func kindOf(c journal.Change) tongs.ChangeKind {
	switch {
	case c.From != nil:
		return Renamed
	case c.After.Type == journal.Absent:
		return Deleted
	case c.Before.Type == journal.Absent:
		return Added
	case c.Before.Type == journal.Dir && c.After.Type == journal.Dir:
		return Mode
	}
	return Modified
}

// Head is the entry that the changes were parked with.
func (w *Waiting) Head() journal.Entry { return w.parked.Entry }

// Changes are the paths that change.
func (w *Waiting) Changes() (paths []tongs.Path) {
	for i := range w.set.changes {
		paths = append(paths, w.set.changes[i].Path)
	}
	return paths
}

// Paths are those that the kept changes touch; nil keeps all.
func (w *Waiting) Paths(keep []string) (paths []tongs.Path, err error) {
	chosen, err := w.set.choose(keep)
	for _, c := range chosen {
		paths = append(paths, c.Path)
		if c.From != nil {
			paths = append(paths, *c.From)
		}
	}
	return paths, err
}

// Summary says in a line what is kept, and names it: what git recorded, and other changes one by one. Left is how many are not kept.
func (w *Waiting) Summary(keep []string) (line string, names []string, left int, err error) {
	chosen, err := w.set.choose(keep)
	if err != nil {
		return "", nil, 0, err
	}
	some := Set{}
	for _, r := range w.repositories(chosen) {
		if !r.Listed {
			some.Fold(r.Dir, r.Does)
			names = append(names, r.Does...)
		}
	}
	for _, c := range chosen {
		some.changes = append(some.changes, *c)
		if some.told(c) {
			continue
		}
		kind := c.Kind
		if kind == Mode {
			kind = Modified
		}
		names = append(names, fmt.Sprintf("%s %s", kind, c.Path))
	}
	return some.Summary(), names, len(w.set.changes) - len(chosen), nil
}

// repositories are the git directories that some of the chosen changes are in.
func (w *Waiting) repositories(chosen []*Change) (list []journal.Repository) {
	for _, r := range w.parked.Repositories {
		if slices.ContainsFunc(chosen, func(c *Change) bool { _, in := r.Below(c.Path); return in }) {
			list = append(list, r)
		}
	}
	return list
}

// Commit makes the changes that are kept, as [Set.Commit] does, if everything that they replace is as it was when they were
// parked. Claim is told the ID of the entry before anything is changed; its error refuses.
func (w *Waiting) Commit(ctx context.Context, head journal.Entry, keep []string, claim func(entry string) error) (*journal.Entry, error) {
	chosen, err := w.set.choose(keep)
	if err != nil {
		return nil, err
	}
	var list []journal.Change
	for _, c := range chosen {
		list = append(list, w.kept[c.Path])
	}
	head.Repositories = w.repositories(chosen)
	check := func() error { return w.parked.Check(ctx, list) }
	if err := check(); err != nil {
		return nil, err
	}
	t, err := w.j.Begin(ctx, head)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := w.set.fill(ctx, t, chosen); err != nil {
		return nil, err
	}
	t.Verify(func() error {
		if err := check(); err != nil {
			return err
		}
		return claim(t.ID())
	})
	return t.Commit(ctx)
}
