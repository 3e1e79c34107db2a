package changeset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/workspace/journal"
)

// checker finds out what changed in the tree while the program ran.
type checker struct {
	ctx context.Context
	s   *Set
	// dirs is what was found out about directories, by layer and path: "" where they are as they were.
	dirs map[dirKey]string
	// saw are the inodes of directories in the first look. The second one goes by them: by then a transaction has left
	// stamps of its own on directories.
	saw    map[dirKey]uint64
	second bool
}

type dirKey struct {
	layer int
	rel   string
}

const (
	whyChanged = "it was changed while the command ran"
	whyExists  = "it exists now"
	whyGone    = "it is gone"
	whyClock   = "the clock was set back while the command ran, so that nothing tells whether it was changed"
)

// checks returns a function that looks for conflicts. It can be called twice.
func (s *Set) checks(ctx context.Context, changes []*Change) func() ([]journal.Conflict, error) {
	k := &checker{ctx: ctx, s: s, saw: map[dirKey]uint64{}}
	return func() ([]journal.Conflict, error) {
		k.dirs = map[dirKey]string{}
		list, err := k.conflicts(changes)
		k.second = true
		return list, err
	}
}

func (k *checker) conflicts(changes []*Change) (list []journal.Conflict, err error) {
	s := k.s
	back := make([]bool, len(s.opt.Layers))
	for i := range s.opt.Layers {
		back[i] = setBack(s.opt.Layers[i].Clock)
	}
	for _, c := range changes {
		why := whyClock
		if !back[c.layer] {
			if why, err = k.change(c); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Path, err)
			}
		}
		if why != "" {
			list = append(list, journal.Conflict{Path: c.Path, Why: why})
		}
	}
	return list, nil
}

// setBack reports whether the clock was set back since it was ahead of the time since the start of the machine by so
// much. Reading both takes time now and then, which makes it look less ahead: it is tried again.
func setBack(ahead int64) bool {
	const tolerance = 1_000_000
	for range 50 {
		var real, boot unix.Timespec
		if unix.ClockGettime(unix.CLOCK_REALTIME, &real) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
			return true
		}
		if real.Nano()-boot.Nano() >= ahead-tolerance {
			return false
		}
	}
	return true
}

// change says why a change cannot be made any more, "" where it can.
func (k *checker) change(c *Change) (why string, err error) {
	if err := k.ctx.Err(); err != nil {
		return "", err
	}
	rel := k.s.opt.Layers[c.layer].rel(c.Path)
	if c.From != nil {
		from := k.s.opt.Layers[c.layer].rel(*c.From)
		if why, err = k.checkRemoved(c.layer, from, true); why != "" || err != nil {
			if why != "" {
				why = from + ", which it was moved from: " + why
			}
			return why, err
		}
	}
	switch c.Kind {
	case Added, Renamed:
		if c.lost {
			return whyGone, nil
		}
		return k.checkCreated(c.layer, rel, c.stems)
	case Deleted:
		return k.checkRemoved(c.layer, rel, true)
	}
	return k.checkRemoved(c.layer, rel, false)
}

// checkCreated checks a place where nothing is. What stems from the tree was moved there, or it was there and somebody removed
// it: then the directory changed.
func (k *checker) checkCreated(layer int, rel string, stems bool) (string, error) {
	why, err := k.above(layer, path.Dir(rel))
	if why != "" || err != nil {
		return why, err
	}
	l := &k.s.opt.Layers[layer]
	low, err := l.statInTree(rel)
	switch {
	case err != nil:
		return "", err
	case low != nil:
		return whyExists, nil
	case !stems || k.second:
		return "", nil
	}
	dir, err := l.statInTree(path.Dir(rel))
	if err == nil && dir != nil && dir.Ctim.Nano() > l.Began {
		why = "it is gone, or something else in its directory changed while the command moved it there"
	}
	return why, err
}

// checkRemoved checks what is replaced or, with removed, removed.
func (k *checker) checkRemoved(layer int, rel string, removed bool) (string, error) {
	why, err := k.above(layer, path.Dir(rel))
	if why != "" || err != nil {
		return why, err
	}
	l := &k.s.opt.Layers[layer]
	low, err := l.statInTree(rel)
	switch {
	case err != nil:
		return "", err
	case low == nil && removed:
		return "", nil
	case low == nil:
		return whyGone, nil
	case low.Ctim.Nano() > l.Began:
		return whyChanged, nil
	case low.Mode&unix.S_IFMT != unix.S_IFDIR:
		return "", nil
	}
	if !removed {
		if up, err := look(l.upper(rel)); err != nil || up != nil && up.Mode&unix.S_IFMT == unix.S_IFDIR {
			return "", err // it stays, with what is in it
		}
	}
	return k.below(l, rel)
}

var errFound = errors.New("found")

// below looks for what was changed in a directory that goes.
func (k *checker) below(l *Layer, rel string) (why string, err error) {
	err = filepath.WalkDir(l.lower(rel), func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		if err := k.ctx.Err(); err != nil {
			return err
		}
		st, err := look(p)
		if err != nil || st == nil {
			return err
		}
		if st.Ctim.Nano() > l.Began {
			in, _ := filepath.Rel(l.lower(rel), p)
			why = in + ", which is in it, was changed while the command ran"
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return why, err
}

// above checks a directory of the tree, and those that it is in: what is in them is what the program saw only if they
// are the same ones.
func (k *checker) above(layer int, rel string) (string, error) {
	key := dirKey{layer, rel}
	if why, ok := k.dirs[key]; ok {
		return why, nil
	}
	var why string
	var err error
	if rel != "." {
		why, err = k.above(layer, path.Dir(rel))
	}
	if why == "" && err == nil {
		why, err = k.same(key)
	}
	if err == nil {
		k.dirs[key] = why
	}
	return why, err
}

func (k *checker) same(key dirKey) (string, error) {
	l, rel := &k.s.opt.Layers[key.layer], key.rel
	low, err := l.statInTree(rel)
	if err != nil {
		return "", err
	}
	name := "the directory " + rel
	if rel == "." {
		if low == nil || low.Dev != l.Device || low.Ino != l.Inode {
			return "the tree is another one now", nil
		}
		return "", nil
	}
	was, merged := l.inodeInTree(rel)
	switch {
	case !merged:
		return "", nil // it is one that the program made
	case low == nil:
		return name + " is gone", nil
	case low.Mode&unix.S_IFMT != unix.S_IFDIR:
		return name + " is something else now", nil
	case was == 0 && k.second:
		was = k.saw[key]
	case was == 0 && k.moved(l, rel, low):
		was = ^uint64(0)
	}
	if was != 0 && was != low.Ino {
		return name + " is another one now", nil
	}
	k.saw[key] = low.Ino
	return "", nil
}

// inodeInTree returns the inode that a directory of the tree had, 0 where that is not known, and whether the tree had it and the
// program left it.
func (l *Layer) inodeInTree(rel string) (inode uint64, merged bool) {
	up, err := look(l.upper(rel))
	if err != nil || up == nil || up.Mode&unix.S_IFMT != unix.S_IFDIR {
		return 0, false
	}
	if l.Copied {
		base, ok := l.Base[filepath.FromSlash(rel)]
		return base[1], ok && base[0] == up.Ino
	}
	marks, _ := attributes(l.upper(rel), up)
	return l.Dirs[l.lower(rel)], marks["origin"] && !marks["opaque"]
}

// moved reports whether a directory may have been put in its place during the run: that leaves a stamp of change on it
// and on the directory that it is in, or one that is not of its content.
func (k *checker) moved(l *Layer, rel string, low *unix.Stat_t) bool {
	if low.Ctim.Nano() <= l.Began {
		return false
	}
	if low.Ctim != low.Mtim {
		return true
	}
	parent, err := l.statInTree(path.Dir(rel))
	return err != nil || parent == nil || parent.Ctim.Nano() > l.Began
}
