package journal

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/internal/gitdir"
	"github.com/tongs-ai/tongs/internal/gitrepo"
	"github.com/tongs-ai/tongs/internal/treestate"
)

// gitDirOf returns the git directory that a path is in, and its name below it.
func gitDirOf(rel string) (dir, name string, ok bool) {
	above, name, ok := strings.Cut("/"+rel, "/.git/")
	if !ok {
		return "", "", false
	}
	return strings.TrimPrefix(above+"/.git", "/"), name, true
}

// freshObject reports whether a difference is an object that git added to a repository that was there: it stays when the rest is
// taken back, since something may need it by then.
func (w *Watch) freshObject(old *treestate.Index, d treestate.Difference) bool {
	if d.Old != nil {
		return false
	}
	dir, name, ok := gitDirOf(d.Path)
	if !ok || old.Folder(dir) == nil || !strings.HasPrefix(name, "objects/") {
		return false
	}
	w.fresh[dir] = append(w.fresh[dir], gitChange(name, &Change{After: stateIn(d.New)}))
	return true
}

// repositories tells what changes did to git directories, of those where only git's records changed.
func (w *Watch) repositories(changes []Change) (list []Repository) {
	groups := map[string][]gitrepo.Change{}
	for i := range changes {
		c := &changes[i]
		if dir, name, ok := gitDirOf(c.Path.Rel); ok {
			groups[dir] = append(groups[dir], gitChange(name, c))
		}
	}
	for dir, group := range groups {
		if r := w.compare(dir, append(group, w.fresh[dir]...), changes); r != nil {
			list = append(list, *r)
		}
	}
	slices.SortFunc(list, func(a, b Repository) int { return strings.Compare(a.Dir.Rel, b.Dir.Rel) })
	return list
}

// gitChange is a change in the words of gitrepo.
func gitChange(name string, c *Change) gitrepo.Change {
	g := gitrepo.Change{Name: name, Kind: gitrepo.Modified}
	switch {
	case c.Before.Type == Absent:
		g.Kind = gitrepo.Added
	case c.After.Type == Absent:
		g.Kind = gitrepo.Deleted
	}
	g.Dir = c.Before.Type == Dir || c.After.Type == Dir
	if c.Before.Type == Link || c.After.Type == Link || c.After.Type == File && c.After.Mode&0o111 != 0 {
		g.Odd = gitrepo.NotPlain
	}
	return g
}

// compare tells what happened in one git directory, nil where it is none any more, or its refs cannot be told.
func (w *Watch) compare(dir string, group []gitrepo.Change, changes []Change) *Repository {
	host := filepath.Join(w.top, filepath.FromSlash(dir))
	root, err := os.OpenRoot(host)
	if err != nil {
		return nil
	}
	defer root.Close()
	if !gitdir.Is(func(name string) bool { _, err := root.Lstat(name); return err == nil }) {
		return nil
	}
	before := &pastFS{FS: root.FS(), j: w.j, states: map[string]State{}}
	r := gitrepo.Repository{Before: before, After: root.FS(), Changes: group, Linked: func(string, string) bool { return false }, Gone: func(string, string, map[string]bool) {}}
	top := path.Dir(dir)
	for i := range changes {
		c := &changes[i]
		if below, name, ok := gitDirOf(c.Path.Rel); ok {
			if below == dir {
				before.set(name, c.Before)
			}
			continue
		}
		if name, ok := under(top, c.Path.Rel); ok {
			r.Files = append(r.Files, w.workFile(name, c))
		}
	}
	old, err := gitrepo.Refs(before)
	if err != nil {
		return nil
	}
	now, err := gitrepo.Refs(root.FS())
	if err != nil {
		return nil
	}
	refs := gitrepo.Differing(old, now)
	out := gitrepo.Compare(r)
	if out.Strange != "" {
		return &Repository{Dir: place(dir), Refs: refs, Listed: true}
	}
	return &Repository{Dir: place(dir), Does: out.Does, Refs: refs, Slight: out.Slight}
}

func under(top, rel string) (string, bool) {
	if top == "." {
		return rel, true
	}
	return strings.CutPrefix(rel, top+"/")
}

func (w *Watch) workFile(name string, c *Change) gitrepo.File {
	f := gitrepo.File{Name: name, Kind: gitrepo.Modified, BeforeSize: c.Before.Size, AfterSize: c.After.Size}
	switch {
	case c.Before.Type == Absent:
		f.Kind = gitrepo.Added
	case c.After.Type == Absent:
		f.Kind = gitrepo.Deleted
	}
	if c.Before.Type == File {
		f.Before = func() (io.ReadCloser, error) { return w.j.Content(c.Before.Hash) }
	}
	if c.After.Type == File {
		f.After = func() (io.ReadCloser, error) { return w.j.Content(c.After.Hash) }
	}
	return f
}

// pastFS is a directory as it was: what changed since is given by states.
type pastFS struct {
	fs.FS
	j      *Journal
	states map[string]State
}

func (p *pastFS) set(name string, s State) {
	if old, ok := p.states[name]; !ok || old.Type == Absent {
		p.states[name] = s
	}
}

// Open implements fs.FS.
func (p *pastFS) Open(name string) (fs.File, error) {
	s, ok := p.states[name]
	switch {
	case !ok:
		return p.FS.Open(name)
	case s.Type == Absent:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case s.Type == Dir:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	content, err := p.j.Content(s.Hash)
	if err != nil {
		return nil, err
	}
	return &pastFile{ReadCloser: content, info: pastInfo{path.Base(name), s}}, nil
}

// Stat implements fs.StatFS.
func (p *pastFS) Stat(name string) (fs.FileInfo, error) {
	s, ok := p.states[name]
	switch {
	case !ok:
		return fs.Stat(p.FS, name)
	case s.Type == Absent:
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return pastInfo{path.Base(name), s}, nil
}

// ReadDir implements fs.ReadDirFS.
func (p *pastFS) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(p.FS, name)
	if s, ok := p.states[name]; ok && s.Type == Dir && err != nil {
		list, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { _, ok := p.states[path.Join(name, e.Name())]; return ok })
	for at, s := range p.states {
		if path.Dir(at) == name && s.Type != Absent {
			list = append(list, fs.FileInfoToDirEntry(pastInfo{path.Base(at), s}))
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

type pastFile struct {
	io.ReadCloser
	info pastInfo
}

func (f *pastFile) Stat() (fs.FileInfo, error) { return f.info, nil }

type pastInfo struct {
	name string
	s    State
}

func (i pastInfo) Name() string       { return i.name }
func (i pastInfo) Size() int64        { return i.s.Size }
func (i pastInfo) ModTime() time.Time { return time.Unix(0, i.s.Modified) }
func (i pastInfo) IsDir() bool        { return i.s.Type == Dir }
func (i pastInfo) Sys() any           { return nil }
func (i pastInfo) Mode() fs.FileMode {
	switch i.s.Type {
	case Dir:
		return i.s.Mode | fs.ModeDir
	case Link:
		return fs.ModeSymlink
	default:
		return i.s.Mode
	}
}
