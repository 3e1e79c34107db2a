package outcome

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/journal"
)

// checker finds out what changed in the tree while the program ran.
type checker struct {
	ctx context.Context
	s   *Set
	// dirs is what was found out about directories, by layer and path: "" where they are as they were.
	dirs map[dirKey]string
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

func (s *Set) conflicts(ctx context.Context, changes []*Change) (list []journal.Conflict, err error) {
	k := &checker{ctx: ctx, s: s, dirs: map[dirKey]string{}}
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
		if why, err = k.goes(c.layer, from, true); why != "" || err != nil {
			if why != "" {
				why = from + ", which it was moved from: " + why
			}
			return why, err
		}
	}
	switch c.Kind {
	case Added, Renamed:
		return k.comes(c.layer, rel)
	case Deleted:
		return k.goes(c.layer, rel, true)
	}
	return k.goes(c.layer, rel, false)
}

// comes checks a place where nothing was.
func (k *checker) comes(layer int, rel string) (string, error) {
	why, err := k.above(layer, path.Dir(rel))
	if why != "" || err != nil {
		return why, err
	}
	low, err := look(k.s.opt.Layers[layer].lower(rel))
	if err == nil && low != nil {
		why = whyExists
	}
	return why, err
}

// goes checks what is replaced or, with removed, removed.
func (k *checker) goes(layer int, rel string, removed bool) (string, error) {
	why, err := k.above(layer, path.Dir(rel))
	if why != "" || err != nil {
		return why, err
	}
	l := &k.s.opt.Layers[layer]
	low, err := look(l.lower(rel))
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
		why, err = k.same(&k.s.opt.Layers[layer], rel)
	}
	if err == nil {
		k.dirs[key] = why
	}
	return why, err
}

func (k *checker) same(l *Layer, rel string) (string, error) {
	low, err := look(l.lower(rel))
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
	marks := map[string]bool{}
	if up, err := look(l.upper(rel)); err == nil && up != nil {
		marks, _ = attributes(l.upper(rel), up)
	}
	switch {
	case low == nil && marks["origin"]:
		return name + " is gone", nil
	case low == nil:
		return "", nil // it is one that the program made
	case low.Mode&unix.S_IFMT != unix.S_IFDIR && marks["origin"]:
		return name + " is something else now", nil
	case low.Mode&unix.S_IFMT == unix.S_IFDIR && marks["origin"] && exchanged(l.upper(rel), l.lower(rel)):
		return name + " is another one now", nil
	}
	return "", nil
}
