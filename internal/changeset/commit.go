package changeset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// ErrDropped is returned for a set whose layers were removed.
var ErrDropped = errors.New("what the command wrote was dropped")

// Conflicts returns the changes that cannot be made any more, since the tree changed while the program ran, or after it.
func (s *Set) Conflicts(ctx context.Context) ([]journal.Conflict, error) {
	all, err := s.choose(nil)
	if err != nil {
		return nil, err
	}
	return s.checks(ctx, all)()
}

// Commit makes changes, all of those that are kept or none, and returns the entry of the journal, whose ID is empty
// where there was nothing to do. Of head, Roots must be the directories of the roots that paths are in. The caller holds
// the locks of the paths.
//
// Keep are paths, spelled as [tongs.Path.String] does: the change of each, and those of what is below it. Directories
// that they need are made, too. Nil keeps everything but what is refused; a path without a change, or whose change is
// refused, is an error. Where the tree changed meanwhile the error is a *journal.ConflictError, and nothing is changed.
func (s *Set) Commit(ctx context.Context, j *journal.Journal, head journal.Entry, keep []string) (*journal.Entry, error) {
	if s.dropped {
		return nil, ErrDropped
	}
	chosen, err := s.choose(keep)
	if err != nil {
		return nil, err
	}
	if len(chosen) == 0 {
		return &journal.Entry{}, nil
	}
	check := s.checks(ctx, chosen)
	verify := func() error {
		list, err := check()
		if err == nil && len(list) > 0 {
			err = &journal.ConflictError{Conflicts: list}
		}
		return err
	}
	if err := verify(); err != nil {
		return nil, err
	}
	t, err := j.Begin(ctx, head)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := s.fill(ctx, t, chosen); err != nil {
		return nil, err
	}
	t.Verify(verify)
	return t.Commit(ctx)
}

// choose returns the changes that are meant, with those of the directories that they need, by path.
func (s *Set) choose(keep []string) (chosen []*Change, err error) {
	pick := make([]bool, len(s.changes))
	at := make(map[tongs.Path]int, len(s.changes))
	for i := range s.changes {
		at[s.changes[i].Path] = i
		pick[i] = keep == nil && s.changes[i].Refused == ""
	}
	if keep != nil {
		if err := s.pick(keep, pick); err != nil {
			return nil, err
		}
	}
	for i := range s.changes {
		if !pick[i] {
			continue
		}
		for p := s.changes[i].Path; p.Rel != "."; {
			p = p.Dir()
			if k, ok := at[p]; ok && s.changes[k].Kind != Mode && s.changes[k].Refused == "" {
				pick[k] = true
			}
		}
	}
	for i := range s.changes {
		if pick[i] {
			chosen = append(chosen, &s.changes[i])
		}
	}
	slices.SortFunc(chosen, func(a, b *Change) int {
		if a.layer != b.layer {
			return a.layer - b.layer
		}
		return compareRel(a.Path.Rel, b.Path.Rel)
	})
	return chosen, nil
}

// pick marks the changes of paths and of what is below them.
func (s *Set) pick(keep []string, pick []bool) error {
	wanted := map[string]bool{}
	for _, k := range keep {
		wanted[k] = false
	}
	for i := range s.changes {
		c := &s.changes[i]
		for p := c.Path; ; p = p.Dir() {
			if _, ok := wanted[p.String()]; ok {
				if c.Refused != "" && p == c.Path {
					return fmt.Errorf("%s cannot be kept: %s", c.Path, c.Refused)
				}
				wanted[p.String()] = true
				pick[i] = c.Refused == ""
			}
			if p.Rel == "." {
				break
			}
		}
	}
	for _, k := range keep {
		if !wanted[k] {
			return fmt.Errorf("the command changed nothing at %q", k)
		}
	}
	return nil
}

// fill tells a transaction what to do: what goes first, then what comes, directories before what is in them.
func (s *Set) fill(ctx context.Context, t *journal.Txn, chosen []*Change) error {
	for _, c := range chosen {
		p := c.Path
		switch {
		case c.From != nil:
			p = *c.From
		case c.Kind == Deleted:
		case c.Kind == Modified && (c.Before.Type == journal.Dir || c.After.Type == journal.Dir):
		default:
			continue
		}
		if err := s.remove(t, p); err != nil {
			return err
		}
	}
	for _, c := range chosen {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.put(t, c); err != nil {
			return err
		}
	}
	return nil
}

// remove takes away what is at a path; where somebody did so already, nothing is to be done.
func (s *Set) remove(t *journal.Txn, p tongs.Path) error {
	now, err := t.Look(p)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return err
	}
	if now.Type == journal.Absent && err == nil {
		return nil
	}
	return t.Remove(p)
}

func (s *Set) put(t *journal.Txn, c *Change) error {
	if c.Kind == Deleted {
		return nil
	}
	switch c.After.Type {
	case journal.Dir:
		return t.Dir(c.Path, c.After)
	case journal.Link:
		return t.Link(c.Path, c.After)
	}
	if c.After.Hash != "" { // it was parked
		return t.Restore(c.Path, c.After)
	}
	l := &s.opt.Layers[c.layer]
	at := l.upper(l.rel(c.Path))
	if !c.shared && bare(at, c.After.Mode) {
		return t.Take(c.Path, c.After, at)
	}
	f, err := openFile(at)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.File(c.Path, c.After, f)
}
