package changeset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// inGit reports whether a path is below a git directory. What comes and goes there was not moved, whatever its content is.
func inGit(p tongs.Path) bool {
	return p.Root == tongs.RepositoryRoot || slices.Contains(strings.Split(p.Rel, "/"), ".git")
}

// Sides returns a directory of the tree as it is and as the program left it. Links that lead out of it are not followed. The
// caller closes both with done.
func (s *Set) Sides(dir tongs.Path) (before, after fs.FS, done func(), err error) {
	var l *Layer
	for i := range s.opt.Layers {
		if at := &s.opt.Layers[i]; at.At.Root == dir.Root && at.At.Contains(dir) && (l == nil || len(at.At.Rel) > len(l.At.Rel)) {
			l = at
		}
	}
	if l == nil || s.dropped {
		return nil, nil, nil, fmt.Errorf("%s was not written to", dir)
	}
	root, err := os.OpenRoot(l.lower(l.rel(dir)))
	if err != nil {
		return nil, nil, nil, err
	}
	a := &afterFS{layer: l, dir: l.rel(dir), lower: root.FS(), at: map[string]*Change{}, made: map[string][]string{}}
	for i := range s.changes {
		c := &s.changes[i]
		if c.Path.Root != dir.Root || c.Path == dir || !dir.Contains(c.Path) {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(c.Path.Rel, dir.Rel), "/")
		if a.at[name] = c; c.Kind != Deleted {
			a.made[path.Dir(name)] = append(a.made[path.Dir(name)], path.Base(name))
		}
	}
	return a.lower, a, func() { _ = root.Close() }, nil
}

// afterFS is a directory as a program left it.
type afterFS struct {
	layer *Layer
	dir   string
	lower fs.FS
	// at are the changes below the directory, made the names that came or changed in each.
	at   map[string]*Change
	made map[string][]string
}

// find returns the change that decides what is at a name: its own, or of something above it that went or is something else now. Nil
// means that it is as it was.
func (a *afterFS) find(name string) *Change {
	if c := a.at[name]; c != nil {
		return c
	}
	for name != "." {
		name = path.Dir(name)
		if c := a.at[name]; c != nil && c.Kind != Mode {
			return c
		}
	}
	return nil
}

// Open implements fs.FS.
func (a *afterFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	c := a.find(name)
	own := c != nil && c == a.at[name]
	switch {
	case c == nil, own && c.Kind == Mode:
		return a.lower.Open(name)
	case own && c.Kind != Deleted && c.After.Type == journal.File:
		return openFile(a.upper(name))
	case own && c.Kind != Deleted && c.After.Type == journal.Dir:
		return os.Open(a.upper(name))
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (a *afterFS) upper(name string) string { return a.layer.upper(path.Join(a.dir, name)) }

// ReadDir implements fs.ReadDirFS.
func (a *afterFS) ReadDir(name string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	found := len(a.made[name]) > 0
	if c := a.find(name); c == nil || c == a.at[name] && c.Kind == Mode {
		below, err := fs.ReadDir(a.lower, name)
		if err != nil && !(found && errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		found = true
		list = slices.DeleteFunc(below, func(e fs.DirEntry) bool { return a.at[path.Join(name, e.Name())] != nil })
	} else if c == a.at[name] && c.Kind != Deleted && c.After.Type == journal.Dir {
		found = true
	}
	if !found {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	for _, n := range a.made[name] {
		info, err := os.Lstat(a.upper(path.Join(name, n)))
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(list, func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) })
	return list, nil
}
