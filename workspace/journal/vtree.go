package journal

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// vtree is the roots as a transaction would leave them: what is there now, with some names taken away, given
// another object of the disk, or given something new.
type vtree struct {
	disk  *disk
	roots map[string]*node
}

type nodeKind uint8

const (
	gone  nodeKind = iota // nothing
	there                 // an object of the disk, with what is in it
	made                  // something new
)

type node struct {
	kind nodeKind
	// at is where the object of a node that is there is on the disk, before anything changes.
	at tongs.Path
	// mode is the new mode of a directory that is there, nil for the one that it has.
	mode *fs.FileMode
	// state and content are what is made.
	state   State
	content content
	// names are what is in it, where that differs from what is in the object.
	names map[string]*node
}

// content is where the content of a new file comes from: one of them.
type content struct {
	staged *tongs.Path // a file in a stage
	hash   string      // a blob
	disk   *tongs.Path // a file of the disk, copied
}

func newTree(d *disk) *vtree { return &vtree{disk: d, roots: map[string]*node{}} }

func (v *vtree) root(name string) *node {
	n := v.roots[name]
	if n == nil {
		n = &node{kind: there, at: tongs.Path{Root: name, Rel: "."}}
		v.roots[name] = n
	}
	return n
}

// at returns what would be at p. What was not touched is a node that is there, whether or not the disk has it.
func (v *vtree) at(p tongs.Path) node {
	n := v.root(p.Root)
	if p.Rel == "." {
		return *n
	}
	names := strings.Split(p.Rel, "/")
	for i, name := range names {
		child := n.names[name]
		switch {
		case child != nil:
			n = child
		case n.kind == there:
			return node{kind: there, at: n.at.Join(strings.Join(names[i:], "/"))}
		default:
			return node{}
		}
	}
	return *n
}

// look returns the state of what would be at p.
func (v *vtree) look(p tongs.Path) (State, error) {
	n := v.at(p)
	switch n.kind {
	case gone:
		return State{}, nil
	case made:
		return n.state, nil
	}
	s, err := v.disk.look(n.at)
	if n.mode != nil {
		s.Mode = *n.mode
	}
	return s, err
}

// put sets what would be at p. The directory of p must be one by then.
func (v *vtree) put(p tongs.Path, n *node) error {
	if p.Rel == "." || p.Rel == "" {
		return fmt.Errorf("%s is a root itself, which is never replaced", p)
	}
	at := v.root(p.Root)
	names := strings.Split(p.Rel, "/")
	for i, name := range names {
		if i == len(names)-1 {
			if at.names == nil {
				at.names = map[string]*node{}
			}
			at.names[name] = n
			return nil
		}
		child := at.names[name]
		if child == nil && at.kind == there {
			child = &node{kind: there, at: at.at.Join(name)}
		}
		if child != nil && child.kind == there && len(child.names) == 0 {
			fi, err := v.disk.lstat(child.at)
			if err != nil {
				return err
			}
			if fi == nil || !fi.IsDir() {
				child = nil
			}
		}
		if child == nil || child.kind == gone || child.kind == made && child.state.Type != Dir {
			return fmt.Errorf("%s is not a directory", tongs.Path{Root: p.Root, Rel: strings.Join(names[:i+1], "/")})
		}
		if at.names == nil {
			at.names = map[string]*node{}
		}
		at.names[name] = child
		at = child
	}
	return nil
}

// take returns what would be at p as a node of its own, and leaves nothing there.
func (v *vtree) take(p tongs.Path) (*node, error) {
	n := v.at(p)
	if n.kind == there {
		fi, err := v.disk.lstat(n.at)
		if err != nil {
			return nil, err
		}
		if fi == nil {
			n = node{}
		}
	}
	if n.kind == gone {
		return nil, fmt.Errorf("%s does not exist", p)
	}
	return &n, v.put(p, &node{})
}

// empty reports whether the directory at p would hold nothing.
func (v *vtree) empty(p tongs.Path) (bool, error) {
	n := v.at(p)
	for _, child := range n.names {
		if child.kind == made {
			return false, nil
		}
		if child.kind == there {
			if fi, err := v.disk.lstat(child.at); err != nil || fi != nil {
				return false, err
			}
		}
	}
	if n.kind != there {
		return true, nil
	}
	dir, err := v.disk.dir(n.at)
	if err != nil {
		return false, err
	}
	names, err := entriesOf(dir)
	for _, name := range names {
		if child := n.names[name]; child == nil {
			return false, err
		}
	}
	return true, err
}

// sorted returns the names of a node in order.
func (n *node) sorted() []string { return slices.Sorted(maps.Keys(n.names)) }
