package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// planner finds out what a transaction must do to the disk.
type planner struct {
	t *Txn
	// moved are the objects of the disk that get another name.
	moved map[tongs.Path]bool
	outs  []*out
	ins   []*in
	modes []modeChange
}

// out is an object of the disk that leaves its place; in is what comes into a place. A swap replaces a file by another
// in one step, so that no reader finds nothing.
type (
	out struct {
		path  tongs.Path
		fi    fs.FileInfo
		dir   tongs.Path // a directory of the disk on the same file system
		slot  tongs.Path
		kept  bool // not moved: what it was goes into the journal
		print string
	}
	in struct {
		path  tongs.Path
		node  *node
		dir   tongs.Path
		slot  tongs.Path
		swap  fs.FileInfo // what is replaced
		old   State
		print string
	}
	modeChange struct {
		path     tongs.Path
		old, new fs.FileMode
		// quiet ones belong to another change.
		quiet bool
		state State
	}
)

func (t *Txn) plan() (*planner, error) {
	pl := &planner{t: t, moved: map[tongs.Path]bool{}}
	for _, name := range t.rootNames() {
		n := t.tree.roots[name]
		dev, err := t.deviceOf(n.at)
		if err != nil {
			return nil, err
		}
		if err := t.copyAcross(n, dev); err != nil {
			return nil, err
		}
		pl.findMoved(n)
	}
	for _, name := range t.rootNames() {
		n := t.tree.roots[name]
		if err := pl.merge(n); err != nil {
			return nil, err
		}
		if err := pl.walk(n.at, n, true); err != nil {
			return nil, err
		}
	}
	if err := pl.liftMoved(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(pl.outs, func(a, b *out) int { return depth(b.path) - depth(a.path) })
	slices.SortStableFunc(pl.ins, func(a, b *in) int { return depth(a.path) - depth(b.path) })
	return pl, nil
}

// liftMoved adds what is moved out of something that goes as a whole.
func (pl *planner) liftMoved() error {
	left := maps.Clone(pl.moved)
	for _, o := range pl.outs {
		delete(left, o.path)
	}
	for p := range left {
		fi, err := pl.t.disk.lstat(p)
		if err != nil || fi == nil {
			return errors.Join(err, fmt.Errorf("%s: %w", p, fs.ErrNotExist))
		}
		pl.outs = append(pl.outs, &out{path: p, fi: fi, dir: p.Dir()})
	}
	return nil
}

func depth(p tongs.Path) int { return strings.Count(p.Rel, "/") }

func (t *Txn) rootNames() []string {
	var names []string
	for name := range t.tree.roots {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (t *Txn) deviceOf(p tongs.Path) (string, error) {
	fi, err := t.disk.lstat(p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p, err)
	}
	if fi == nil {
		return "", fmt.Errorf("%s: %w", p, fs.ErrNotExist)
	}
	return device(fi), nil
}

// copyAcross makes copies of the objects that would move to another file system. Dev is that of the node.
func (t *Txn) copyAcross(n *node, dev string) error {
	for _, name := range n.sorted() {
		child := n.names[name]
		own := dev
		if child.kind == there {
			var err error
			stays := n.kind == there && child.at == n.at.Join(name)
			if own, err = t.deviceOf(child.at.Dir()); err != nil {
				return err
			}
			if !stays && own != dev {
				if child, err = t.copyOf(child); err != nil {
					return err
				}
				n.names[name], own = child, dev
			} else if len(child.names) > 0 {
				if own, err = t.deviceOf(child.at); err != nil {
					return err
				}
			}
		}
		if err := t.copyAcross(child, own); err != nil {
			return err
		}
	}
	return nil
}

// copyOf returns a node that is made like the object of another one.
func (t *Txn) copyOf(n *node) (*node, error) {
	at, name, err := t.disk.parent(n.at)
	if err != nil {
		return nil, err
	}
	fi, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	c := &node{kind: made, state: stateOf(fi)}
	if n.mode != nil {
		c.state.Mode = *n.mode
	}
	switch c.state.Type {
	case File:
		from := n.at
		c.content.disk = &from
	case Link:
		c.state.Target, err = at.Readlink(name)
	case Dir:
		err = t.copyNames(c, n)
	default:
		err = fmt.Errorf("%s is a FIFO, a socket or a device, which cannot be moved to another file system", n.at)
	}
	return c, err
}

func (t *Txn) copyNames(c, n *node) error {
	dir, err := t.disk.dir(n.at)
	if err != nil {
		return err
	}
	names, err := entriesOf(dir)
	if err != nil {
		return err
	}
	c.names = map[string]*node{}
	for _, name := range names {
		if n.names[name] != nil {
			continue
		}
		if c.names[name], err = t.copyOf(&node{kind: there, at: n.at.Join(name)}); err != nil {
			return err
		}
	}
	for name, child := range n.names {
		if child.kind == there && child.at == n.at.Join(name) {
			if child, err = t.copyOf(child); err != nil {
				return err
			}
		}
		c.names[name] = child
	}
	return nil
}

func (pl *planner) findMoved(n *node) {
	for name, child := range n.names {
		if child.kind == there && (n.kind != there || child.at != n.at.Join(name)) {
			pl.moved[child.at] = true
		}
		pl.findMoved(child)
	}
}

// merge leaves in place what is made like what is there: a file with its content, a directory with its entries.
func (pl *planner) merge(n *node) error {
	for _, name := range n.sorted() {
		child, was := n.names[name], n.at.Join(name)
		if child.kind == there && child.at == was {
			if err := pl.merge(child); err != nil {
				return err
			}
		}
		if child.kind != made || pl.moved[was] {
			continue
		}
		fi, err := pl.t.disk.lstat(was)
		if err != nil {
			return fmt.Errorf("%s: %w", was, err)
		}
		switch {
		case fi == nil:
		case child.state.Type == Dir && fi.IsDir():
			if n.names[name], err = pl.mergeDir(child, was, fi); err != nil {
				return err
			}
		case child.state.Type == File && fi.Mode().IsRegular() && fi.ModTime().UnixNano() == child.state.Modified:
			now, err := pl.t.disk.look(was)
			if err == nil && child.state.Hash != "" && child.state.Same(now) {
				delete(n.names, name)
			}
		}
	}
	return nil
}

// mergeDir makes the node of a directory that is there of one that is made like it.
func (pl *planner) mergeDir(n *node, was tongs.Path, fi fs.FileInfo) (*node, error) {
	dir, err := pl.t.disk.dir(was)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", was, err)
	}
	names, err := entriesOf(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", was, err)
	}
	merged := &node{kind: there, at: was, names: map[string]*node{}}
	if mode := n.state.Mode; mode != fi.Mode()&modeBits {
		merged.mode = &mode
	}
	for _, name := range names {
		merged.names[name] = &node{}
	}
	maps.Copy(merged.names, n.names)
	return merged, pl.merge(merged)
}

// walk compares the node of an object of the disk, which will be at p, with the object.
func (pl *planner) walk(p tongs.Path, n *node, inPlace bool) error {
	if n.mode != nil {
		if err := pl.mode(p, n); err != nil {
			return err
		}
	}
	for _, name := range n.sorted() {
		child, was, path := n.names[name], n.at.Join(name), p.Join(name)
		if child.kind == there && child.at == was {
			if err := pl.walk(path, child, inPlace); err != nil {
				return err
			}
			continue
		}
		fi, err := pl.t.disk.lstat(was)
		if err != nil {
			return fmt.Errorf("%s: %w", was, err)
		}
		if fi == nil && child.kind == gone {
			continue
		}
		swap := fi != nil && inPlace && child.kind == made && child.state.Type != Dir && !fi.IsDir() && !pl.moved[was]
		if fi != nil && !swap {
			pl.outs = append(pl.outs, &out{path: was, fi: fi, dir: n.at, kept: !pl.moved[was]})
		}
		if !swap {
			fi = nil
		}
		if err := pl.noteArrival(path, child, n.at, fi); err != nil {
			return err
		}
	}
	return nil
}

// noteArrival notes what comes to p.
func (pl *planner) noteArrival(p tongs.Path, n *node, dir tongs.Path, swap fs.FileInfo) error {
	if n.kind == gone {
		return nil
	}
	pl.ins = append(pl.ins, &in{path: p, node: n, dir: dir, swap: swap})
	if n.kind == there {
		return pl.walk(p, n, false)
	}
	return pl.inside(p, n, dir)
}

// inside notes the objects of the disk that come into a new directory.
func (pl *planner) inside(p tongs.Path, n *node, dir tongs.Path) error {
	for _, name := range n.sorted() {
		child, path := n.names[name], p.Join(name)
		var err error
		switch child.kind {
		case made:
			err = pl.inside(path, child, dir)
		case there:
			err = pl.noteArrival(path, child, dir, nil)
			if n.state.Mode&0o200 == 0 { // it is filled before it gets its mode
				pl.modes = append(pl.modes, modeChange{path: p, old: n.state.Mode | 0o700, new: n.state.Mode, quiet: true})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (pl *planner) mode(p tongs.Path, n *node) error {
	fi, err := pl.t.disk.lstat(n.at)
	if err != nil {
		return fmt.Errorf("%s: %w", n.at, err)
	}
	if fi == nil {
		return fmt.Errorf("%s: %w", n.at, fs.ErrNotExist)
	}
	if old := fi.Mode() & modeBits; old != *n.mode {
		pl.modes = append(pl.modes, modeChange{path: p, old: old, new: *n.mode, state: stateOf(fi)})
	}
	return nil
}

// sealed reports whether this process must open a directory for writing before it can be moved.
func sealed(fi fs.FileInfo) bool {
	return fi.IsDir() && fi.Mode()&0o200 == 0 && identity(fi) != "" && os.Geteuid() != 0
}
