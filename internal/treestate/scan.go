package treestate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say how a tree is looked at.
type Options struct {
	// MaxEntries is how many entries a tree may have: more are an error.
	MaxEntries int
	// Skip leaves out an entry by its name, and everything in it.
	Skip func(dir, name string) bool
	// now is the time, nil for that of the system. Tests set it.
	now func() time.Time
}

// Difference is an entry that is not as it was. Old is nil where it is new, New where it is gone. New is in the index that came
// with it: whoever reads the content sets its hash there.
type Difference struct {
	Path     string
	Old, New *Entry
}

// ErrTooMany says that a tree has more entries than it may have.
var ErrTooMany = errors.New("too many files")

// racy is how long after a change of a file another one might leave the same times.
const racy = 100 * time.Millisecond

// Scan looks at the tree below a directory, and returns it with what is different from old, sorted by path. Nil is an empty tree.
// What cannot be read is taken to be as it was. It follows no links.
func Scan(ctx context.Context, top string, old *Index, opt Options) (*Index, []Difference, error) {
	s, err := newScanner(top, old, opt)
	if err != nil {
		return nil, nil, err
	}
	return s.run(ctx, []string{"."})
}

// ScanPaths is Scan for a few paths: it looks at the folders that they are in. Everything else is taken to be as it was.
func ScanPaths(ctx context.Context, top string, old *Index, paths []string, opt Options) (*Index, []Difference, error) {
	s, err := newScanner(top, old, opt)
	if err != nil {
		return nil, nil, err
	}
	s.shallow = true
	var folders []string
	for _, p := range paths {
		dir, _ := split(p)
		for dir != "." && s.old[dir] == nil {
			dir, _ = split(dir)
		}
		if s.apart(dir) {
			continue
		}
		if !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	return s.run(ctx, folders)
}

type scanner struct {
	top    string
	device uint64
	began  int64
	opt    Options
	before *Index
	old    map[string]*Folder
	// shallow leaves out the folders that are known.
	shallow bool

	mu      sync.Mutex
	wake    sync.Cond
	todo    []string
	active  int
	entries int
	err     error
	folders []Folder
	diffs   []Difference
}

func newScanner(top string, old *Index, opt Options) (*scanner, error) {
	var st Stat
	if err := statOf(top, &st); err != nil {
		return nil, err
	}
	if !st.Mode.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", top)
	}
	if old == nil {
		old = &Index{}
	}
	if opt.now == nil {
		opt.now = time.Now
	}
	s := &scanner{top: top, device: st.Device, began: opt.now().UnixNano(), opt: opt, before: old}
	s.wake.L = &s.mu
	s.old = make(map[string]*Folder, len(old.Folders))
	for i := range old.Folders {
		s.old[old.Folders[i].Path] = &old.Folders[i]
	}
	return s, nil
}

// apart reports whether a folder is, or is in, one that is not looked into.
func (s *scanner) apart(dir string) bool {
	for dir != "." {
		up, name := split(dir)
		if f := s.old[up]; f != nil {
			if e := f.find(name); e != nil && e.Apart != NotApart {
				return true
			}
		}
		dir = up
	}
	return false
}

func (s *scanner) run(ctx context.Context, folders []string) (*Index, []Difference, error) {
	stop := context.AfterFunc(ctx, func() { s.fail(ctx.Err()) })
	defer stop()
	s.todo = slices.Clone(folders)
	var workers sync.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
		workers.Go(s.work)
	}
	workers.Wait()
	if s.err != nil {
		return nil, nil, s.err
	}
	x := &Index{Taken: s.began, Folders: s.folders}
	if s.shallow {
		x.Folders = s.merged()
	}
	slices.SortFunc(x.Folders, func(a, b Folder) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(s.diffs, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return x, s.diffs, nil
}

// merged adds the folders that were not looked at.
func (s *scanner) merged() []Folder {
	seen := make(map[string]bool, len(s.folders))
	for i := range s.folders {
		seen[s.folders[i].Path] = true
	}
	gone := map[string]bool{}
	for _, d := range s.diffs {
		if d.Old != nil && d.Old.Kind == Dir && (d.New == nil || d.New.Kind != Dir || d.New.Apart != NotApart) {
			gone[d.Path] = true
		}
	}
	all := s.folders
	for i := range s.before.Folders {
		if f := &s.before.Folders[i]; !seen[f.Path] && !gone[f.Path] {
			all = append(all, *f)
		}
	}
	return all
}

func (s *scanner) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.wake.Broadcast()
}

// next waits for a folder to look at.
func (s *scanner) next() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.todo) == 0 && s.active > 0 && s.err == nil {
		s.wake.Wait()
	}
	if len(s.todo) == 0 || s.err != nil {
		return "", false
	}
	path := s.todo[len(s.todo)-1]
	s.todo = s.todo[:len(s.todo)-1]
	s.active++
	return path, true
}

func (s *scanner) work() {
	for {
		path, ok := s.next()
		if !ok {
			return
		}
		f, diffs, below := s.folder(path)
		s.mu.Lock()
		s.active--
		s.entries += len(f.Entries)
		if s.opt.MaxEntries > 0 && s.entries > s.opt.MaxEntries && s.err == nil {
			s.err = fmt.Errorf("%w: more than %d", ErrTooMany, s.opt.MaxEntries)
		}
		s.folders = append(s.folders, f)
		s.diffs = append(s.diffs, diffs...)
		s.todo = append(s.todo, below...)
		s.wake.Broadcast()
		s.mu.Unlock()
	}
}

// folder looks at one folder, and returns which of those in it are still to be looked at.
func (s *scanner) folder(path string) (f Folder, diffs []Difference, below []string) {
	host := filepath.Join(s.top, filepath.FromSlash(path))
	old := s.old[path]
	f = Folder{Path: path}
	l, err := list(host)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.unread(f, old)
	}
	defer l.close()
	slices.Sort(l.names)
	var was []Entry
	if old != nil {
		was = old.Entries
	}
	m := merge{s: s, path: path, host: host, l: l, was: was}
	m.all()
	f.Entries = m.entries
	for i := range f.Entries {
		if e := &f.Entries[i]; e.Kind == Dir && e.Apart == NotApart {
			if p := join(path, e.Name); !s.shallow || s.old[p] == nil {
				below = append(below, p)
			}
		}
	}
	for _, d := range m.diffs {
		if d.at >= 0 {
			d.New = &f.Entries[d.at]
		}
		diffs = append(diffs, d.Difference)
	}
	return f, diffs, below
}

// unread takes a folder to be as it was. What is in folders below it is looked at: it may be readable.
func (s *scanner) unread(f Folder, old *Folder) (Folder, []Difference, []string) {
	f.Unread = true
	if old == nil {
		return f, nil, nil
	}
	f.Entries = old.Entries
	var below []string
	if !s.shallow {
		for i := range f.Entries {
			if e := &f.Entries[i]; e.Kind == Dir && e.Apart == NotApart {
				below = append(below, join(f.Path, e.Name))
			}
		}
	}
	return f, nil, below
}

// merge compares the names in a folder with the entries that it had.
type merge struct {
	s          *scanner
	path, host string
	l          *listing
	was        []Entry
	entries    []Entry
	diffs      []placed
}

// placed is a difference whose new entry is at that place, -1 where there is none.
type placed struct {
	Difference
	at int
}

func (m *merge) all() {
	if skip := m.s.opt.Skip; skip != nil {
		m.l.names = slices.DeleteFunc(m.l.names, func(name string) bool { return skip(m.path, name) })
	}
	names, i := m.l.names, 0
	for i < len(names) && i < len(m.was) && names[i] == m.was[i].Name && m.same(&m.was[i]) {
		i++
	}
	if i == len(names) && i == len(m.was) { // as in most folders
		m.entries = m.was
		return
	}
	m.entries = append(make([]Entry, 0, len(names)), m.was[:i]...)
	for _, name := range names[i:] {
		for ; i < len(m.was) && m.was[i].Name < name; i++ {
			m.gone(&m.was[i])
		}
		var old *Entry
		if i < len(m.was) && m.was[i].Name == name {
			old = &m.was[i]
			i++
		}
		m.entry(name, old)
	}
	for ; i < len(m.was); i++ {
		m.gone(&m.was[i])
	}
}

// same reports whether an entry is as it was.
func (m *merge) same(old *Entry) bool {
	var st Stat
	if old.Racy || m.l.stat(old.Name, &st) != nil {
		return false
	}
	if old.Kind == Dir {
		return st.Mode == old.Mode && st.UID == old.UID && st.GID == old.GID
	}
	return st == old.Stat
}

// entry looks at one name.
func (m *merge) entry(name string, old *Entry) {
	var e Entry
	if err := m.l.stat(name, &e.Stat); err != nil {
		switch {
		case old == nil:
		case errors.Is(err, fs.ErrNotExist):
			m.gone(old)
		default:
			m.entries = append(m.entries, *old)
		}
		return
	}
	e.Name, e.Kind = name, kindOf(e.Mode)
	if e.Kind == Dir {
		m.dir(e, old)
		return
	}
	if old != nil && old.Stat == e.Stat && !old.Racy {
		m.entries = append(m.entries, *old)
		return
	}
	if old != nil && old.Kind == Dir {
		m.gone(old)
		old = nil
	}
	e.Racy = e.Kind == File && max(e.Modified, e.Changed) > m.s.began-int64(racy)
	if e.Kind == Link {
		e.Target, _ = os.Readlink(filepath.Join(m.host, name))
	}
	m.entries = append(m.entries, e)
	m.diffs = append(m.diffs, placed{Difference{Path: join(m.path, name), Old: old}, len(m.entries) - 1})
}

// dir looks at a directory. Its times tell nothing that matters.
func (m *merge) dir(e Entry, old *Entry) {
	e.Size, e.Modified, e.Changed = 0, 0, 0
	if old != nil && old.Kind == Dir {
		e.Apart = old.Apart
		m.entries = append(m.entries, e)
		if old.Mode != e.Mode || old.UID != e.UID || old.GID != e.GID {
			m.diffs = append(m.diffs, placed{Difference{Path: join(m.path, e.Name), Old: old}, len(m.entries) - 1})
		}
		return
	}
	switch {
	case e.Device != m.s.device:
		e.Apart = OtherFileSystem
	case isRecreated(e.Name, m.beside, func(file string) bool {
		_, err := os.Lstat(filepath.Join(m.host, e.Name, file))
		return err == nil
	}):
		e.Apart = Recreatable
	}
	m.entries = append(m.entries, e)
	m.diffs = append(m.diffs, placed{Difference{Path: join(m.path, e.Name), Old: old}, len(m.entries) - 1})
}

func (m *merge) beside(name string) bool {
	_, ok := slices.BinarySearch(m.l.names, name)
	return ok
}

// gone notes that an entry is not there any more, and nothing that was in it.
func (m *merge) gone(e *Entry) {
	m.s.goneBelow(join(m.path, e.Name), e, &m.diffs)
}

func (s *scanner) goneBelow(path string, e *Entry, list *[]placed) {
	*list = append(*list, placed{Difference{Path: path, Old: e}, -1})
	if f := s.old[path]; e.Kind == Dir && f != nil {
		for i := range f.Entries {
			s.goneBelow(join(path, f.Entries[i].Name), &f.Entries[i], list)
		}
	}
}

func kindOf(mode fs.FileMode) Kind {
	switch mode.Type() {
	case 0:
		return File
	case fs.ModeDir:
		return Dir
	case fs.ModeSymlink:
		return Link
	default:
		return Other
	}
}
