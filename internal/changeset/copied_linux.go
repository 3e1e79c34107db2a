package changeset

import (
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// A layer that is a copy of the tree holds everything, so that both are compared with what was copied. What in the copy
// is the inode that it was, without a later stamp than that of its completion, was left alone by the program.

// compareDir compares a directory of the copy with that of the tree.
func (r *reader) compareDir(rel string) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	names, err := r.entries(rel)
	if err != nil {
		return err
	}
	low, err := r.layer.statInTree(rel)
	if err != nil {
		return err
	}
	if low != nil && low.Mode&unix.S_IFMT == unix.S_IFDIR {
		below, err := namesIn(r.layer.lower(rel))
		if err != nil {
			return ignoreGone(err)
		}
		names = append(names, below...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	for _, name := range names {
		if err := r.compareEntry(path.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) compareEntry(rel string) error {
	if r.layer.passes(rel) {
		return nil
	}
	if r.tooLong(rel) {
		return r.unreachable(rel)
	}
	up, err := look(r.layer.upper(rel))
	if err != nil {
		return err
	}
	low, err := r.layer.statInTree(rel)
	if err != nil {
		return err
	}
	base, had := r.layer.Base[filepath.FromSlash(rel)]
	if up == nil {
		if !had || low == nil {
			return nil // never there, made by somebody else since, or gone anyway
		}
		return r.gone(rel)
	}
	same := had && up.Ino == base[0] && uint64(up.Mode&unix.S_IFMT) == base[2]
	if up.Mode&unix.S_IFMT == unix.S_IFDIR {
		return r.compareMade(rel, up, low, same)
	}
	if same && up.Ctim.Nano() <= r.layer.Ready {
		return nil
	}
	_, attrs := attributes(r.layer.upper(rel), up)
	return r.leaf(rel, up, low, attrs, false, had && low == nil)
}

// compareMade compares a directory of the copy. Same says that it is the one that was copied.
func (r *reader) compareMade(rel string, up, low *unix.Stat_t, same bool) error {
	c := Change{Path: r.layer.path(rel), Kind: Added, After: stateOf(r.layer.upper(rel), up), layer: r.index}
	merged := low != nil && low.Mode&unix.S_IFMT == unix.S_IFDIR
	if low != nil {
		c.Kind, c.Before = Modified, stateOf(r.layer.lower(rel), low)
	}
	if merged {
		c.Kind = Mode
	}
	touched := up.Ctim.Nano() > r.layer.Ready
	switch {
	case same && !merged: // somebody took it away: what the program changed in it says so
	case merged && (!touched || up.Mode&0o7777 == low.Mode&0o7777):
	default:
		if err := r.add(c); err != nil {
			return err
		}
	}
	return r.compareDir(rel)
}
