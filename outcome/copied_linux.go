package outcome

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// A layer that is a copy of the tree holds everything, so that both are compared. What in the copy has no later stamp
// than that of its completion was left alone by the program.

// compareDir compares a directory of the copy with that of the tree. Touched says that the program changed what is in
// it, or moved it: then stamps of what is in it tell nothing.
func (r *reader) compareDir(rel string, merged, touched bool) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	names, err := r.entries(rel)
	if err != nil {
		return err
	}
	if merged {
		below, err := namesIn(r.layer.lower(rel))
		if err != nil {
			return err
		}
		names = append(names, below...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	for _, name := range names {
		if err := r.compareEntry(path.Join(rel, name), merged, touched); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) compareEntry(rel string, merged, around bool) error {
	if r.layer.passes(rel) {
		return nil
	}
	up, err := look(r.layer.upper(rel))
	if err != nil {
		return err
	}
	var low *unix.Stat_t
	if merged {
		if low, err = look(r.layer.lower(rel)); err != nil {
			return err
		}
	}
	switch {
	case up == nil && low == nil:
		return nil
	case up == nil:
		kind := low.Mode & unix.S_IFMT
		copied := kind == unix.S_IFREG || kind == unix.S_IFDIR || kind == unix.S_IFLNK
		if !copied || !around {
			return nil // never there, or made by somebody else since
		}
		return r.gone(rel)
	}
	touched := up.Ctim.Nano() > r.layer.Ready
	if !touched && !around {
		if up.Mode&unix.S_IFMT != unix.S_IFDIR || low == nil {
			return nil
		}
		if low.Mode&unix.S_IFMT == unix.S_IFDIR {
			return r.compareDir(rel, true, false)
		}
	}
	if up.Mode&unix.S_IFMT == unix.S_IFDIR {
		return r.compareMade(rel, up, low, touched)
	}
	_, attrs := attributes(r.layer.upper(rel), up)
	return r.leaf(rel, up, low, attrs)
}

// compareMade compares a directory that the program made, moved, or changed something in.
func (r *reader) compareMade(rel string, up, low *unix.Stat_t, touched bool) error {
	c := Change{Path: r.layer.path(rel), Kind: Added, After: stateOf(r.layer.upper(rel), up), layer: r.index}
	merged := low != nil && low.Mode&unix.S_IFMT == unix.S_IFDIR
	if low != nil {
		c.Kind, c.Before = Modified, stateOf(r.layer.lower(rel), low)
	}
	if merged {
		c.Kind = Mode
	}
	if !merged || up.Mode&0o7777 != low.Mode&0o7777 {
		if err := r.add(c); err != nil {
			return err
		}
	}
	return r.compareDir(rel, merged, touched)
}
