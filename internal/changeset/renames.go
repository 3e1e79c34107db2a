package changeset

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/tongs-ai/tongs/workspace/journal"
)

// What is compared to find out that a file was moved.
const (
	maxMovedSize = 16 << 20
	maxMovedTry  = 8
	maxMoved     = 4096
)

// findRenames makes one change of a file that went and one with the same content that came.
func (s *Set) findRenames(ctx context.Context) error {
	gone := map[int64][]int{}
	for i := range s.changes {
		c := &s.changes[i]
		if c.Kind == Deleted && c.Refused == "" && !inGit(c.Path) && c.Before.Type == journal.File && c.Before.Size > 0 && c.Before.Size <= maxMovedSize {
			gone[c.Before.Size] = append(gone[c.Before.Size], i)
		}
	}
	if len(gone) == 0 || len(s.changes) > maxMoved {
		return nil
	}
	paired := map[int]bool{}
	for i := range s.changes {
		c := &s.changes[i]
		if c.Kind != Added || c.Refused != "" || inGit(c.Path) || c.After.Type != journal.File {
			continue
		}
		for try, k := range gone[c.After.Size] {
			if try >= maxMovedTry {
				break
			}
			old := &s.changes[k]
			if old.layer != c.layer {
				continue
			}
			l := &s.opt.Layers[c.layer]
			same, err := sameContent(ctx, l.lower(l.rel(old.Path)), l.upper(l.rel(c.Path)))
			if err != nil && (ctx.Err() != nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)) {
				return err
			}
			if !same {
				continue
			}
			from := old.Path
			c.Kind, c.From, c.Before, c.stems = Renamed, &from, old.Before, false
			paired[k] = true
			gone[c.After.Size] = slices.Delete(gone[c.After.Size], try, try+1)
			break
		}
	}
	kept := s.changes[:0]
	for i, c := range s.changes {
		if !paired[i] {
			kept = append(kept, c)
		}
	}
	s.changes = kept
	return nil
}
