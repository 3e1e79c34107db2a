// Package workspace gives calls access to files, inside named directories (roots) and nowhere else. It resolves the paths
// that models write, knows the versions of files and the protected names, locks files across processes, and replaces them
// atomically.
//
// A path has one form only (tongs.Path): the root it is in, the most specific one where roots are nested, and the
// clean name below it with every link followed and every element spelled as it is on disk. Resolve makes that form
// from what a model wrote; Check refuses every effect that is not in it; Files opens and changes things by
// descriptor, without following any link, so that a directory that was swapped for a link since is an error and
// never a way out.
//
// What one process cannot promise: a program that does not take our locks can write to a file between the last look
// at its version and its replacement. That moment is one system call long, and a file that was absent is never
// overwritten.
package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Options describe the roots.
type Options struct {
	// Dir is the host directory of the workspace, which is writable.
	Dir string
	// Cap is a directory that Dir must be inside (AGENT_WORKSPACE_ROOT); empty means none.
	Cap string
	// Roots are further roots (zones). One may lie inside the workspace or another root, or around it: a path then
	// belongs to the most specific root.
	Roots []Root
	// Repository is the git directory of the workspace where that is elsewhere, empty for none. It becomes the root
	// tongs.RepositoryRoot. One that is in a root, around one, in reach of what is private or outside of Cap is left out.
	Repository string
	// Private are host directories that no root may contain or be inside of (state, configuration), except a root
	// marked Inside. They need not exist. LockDir is always private.
	Private []string
	// LockDir holds the locks and the list of temporary files; empty means a directory in the user's cache. It is
	// made where it is missing, and must belong to this user and be writable by nobody else.
	LockDir string
	// Journal is told of each change before it is made; nil keeps none.
	Journal Journal
	// Through are directories of this machine that programs write to directly: nothing in them counts as undoable.
	Through []string
}

// Root is a named directory besides the workspace, spelled /Name/... in calls.
type Root struct {
	Name string
	Dir  string
	// Writable roots can be written where the rules allow it.
	Writable bool
	// Inside allows the root to lie in a private directory, as /spill does.
	Inside bool
	// Lazy allows the root not to exist: it is made when something is first written to it.
	Lazy bool
	// Spellings are further prefixes of paths in the root, such as ~/.forge/tools.
	Spellings []string
}

// Workspace is a set of open roots. It is safe for concurrent use.
type Workspace struct {
	// roots holds the workspace first, then the zones in the order of the options, with real directories.
	roots  []Root
	byName map[string]*rootEntry
	// mu keeps the roots open while something is opened below them.
	mu     sync.RWMutex
	closed bool
	locks  *locker
	litter *litter
	racy   racyMemory
	git    gitNames
	survey survey
	umask  fs.FileMode
	// journal may be nil.
	journal Journal
	through []string
	// scanLimit is how many entries a scan for protected names looks at.
	scanLimit int
	// copyAlways makes Rename copy as it does across devices; crash is called at the steps of a replacement. Both
	// are for tests.
	copyAlways bool
	crash      func(step string)
}

type rootEntry struct {
	Root
	// spelled is the directory as the options gave it, absolute and clean.
	spelled string
	open    func(string) (handle, error)

	mu sync.Mutex
	// handle is nil where a lazy root was not there yet when it was last looked for.
	handle handle
}

// opened returns the handle of the root. A lazy one is looked for until it is there.
func (r *rootEntry) opened() (handle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handle != nil {
		return r.handle, nil
	}
	if r.Lazy {
		real, err := realPath(r.Dir)
		if err != nil {
			return nil, err
		}
		if real != r.Dir { // rules and locks know it by where it was to be
			return nil, config("root /%s: %s leads to %s by a link that was made meanwhile; start again", r.Name, r.Dir, real)
		}
	}
	h, err := r.open(r.Dir)
	if err != nil {
		return nil, err
	}
	r.handle = h
	return h, nil
}

// identity tells the root's directory from another at the same path, "" where that is not done.
func (r *rootEntry) identity() string {
	if r.Lazy || r.Inside {
		return ""
	}
	h, err := r.opened()
	if err != nil {
		return ""
	}
	if d, ok := h.(interface{ identity() string }); ok {
		return d.identity()
	}
	return ""
}

// create makes a lazy root that is not there.
func (r *rootEntry) create() error {
	if !r.Lazy || !r.Writable {
		return nil
	}
	return os.MkdirAll(r.Dir, 0o755)
}

var rootName = regexp.MustCompile(`^[a-z0-9_-]+$`)

// Open opens the roots and clears away what killed processes left behind. Close releases them.
func Open(opt Options) (*Workspace, error) { return open(opt, openHandle) }

func open(opt Options, openRoot func(string) (handle, error)) (_ *Workspace, err error) {
	w := &Workspace{byName: map[string]*rootEntry{}, scanLimit: scanLimit, crash: func(string) {}, journal: opt.Journal, through: opt.Through}
	defer func() {
		if err != nil {
			_ = w.Close()
		}
	}()
	if err := w.addRoot(Root{Dir: opt.Dir, Writable: true}, openRoot); err != nil {
		return nil, err
	}
	if err := w.checkCap(opt.Cap); err != nil {
		return nil, err
	}
	for _, r := range opt.Roots {
		if !rootName.MatchString(r.Name) {
			return nil, config("root name %q: want lower-case letters, digits, _ and -", r.Name)
		}
		if err := w.addRoot(r, openRoot); err != nil {
			return nil, err
		}
	}
	lockDir, err := lockDirectory(opt.LockDir)
	if err != nil {
		return nil, err
	}
	for _, private := range append(slices.Clone(opt.Private), lockDir) {
		if err := w.checkPrivate(private); err != nil {
			return nil, err
		}
	}
	if err := w.addRepository(opt, lockDir, openRoot); err != nil {
		return nil, err
	}
	if w.locks, err = newLocker(lockDir); err != nil {
		return nil, err
	}
	if w.umask, err = umaskIn(lockDir); err != nil {
		return nil, err
	}
	if w.litter, err = newLitter(lockDir); err != nil {
		return nil, err
	}
	w.litter.sweep()
	return w, nil
}

func config(format string, args ...any) error {
	return tongs.Errorf(tongs.CodeConfigError, format, args...)
}

func (w *Workspace) addRoot(r Root, openRoot func(string) (handle, error)) error {
	label := "workspace"
	if r.Name != tongs.WorkspaceRoot {
		label = "root /" + r.Name
	}
	if w.byName[r.Name] != nil {
		return config("%s is given twice; give each root a name of its own", label)
	}
	if r.Dir == "" || strings.ContainsRune(r.Dir, 0) {
		return config("%s: directory %q is not a path", label, r.Dir)
	}
	spelled, err := filepath.Abs(r.Dir)
	if err != nil {
		return config("%s %s: %w", label, r.Dir, err)
	}
	r.Dir, err = realPath(spelled)
	absent := r.Lazy && missing(err)
	if absent {
		r.Dir, err = realPrefix(spelled)
	}
	if err != nil {
		return config("%s %s: %w; create it or name another directory", label, spelled, plain(err))
	}
	for _, other := range w.roots {
		if other.Dir == r.Dir {
			return config("%s %s is also the directory of root %q; a directory can be in one root only",
				label, r.Dir, "/"+other.Name)
		}
	}
	entry := &rootEntry{Root: r, spelled: spelled, open: openRoot}
	if _, err := entry.opened(); err != nil && !absent {
		return config("%s %s: %w; name a directory that can be opened", label, r.Dir, plain(err))
	}
	w.roots = append(w.roots, r)
	w.byName[r.Name] = entry
	return nil
}

// addRepository adds the git directory of the workspace as a root that no call can name.
func (w *Workspace) addRepository(opt Options, lockDir string, openRoot func(string) (handle, error)) error {
	if opt.Repository == "" {
		return nil
	}
	real, err := realPath(opt.Repository)
	if err != nil {
		return config("repository %s: %w", opt.Repository, plain(err))
	}
	if limit, err := realPath(opt.Cap); opt.Cap != "" && (err != nil || !hostpath.Within(limit, real)) {
		return nil
	}
	apart := func(other string) bool { return !hostpath.Within(other, real) && !hostpath.Within(real, other) }
	for _, r := range w.roots {
		if !apart(r.Dir) {
			return nil
		}
	}
	for _, p := range append(slices.Clone(opt.Private), lockDir) {
		if other, err := realPrefix(p); err != nil || !apart(other) {
			return nil
		}
	}
	return w.addRoot(Root{Name: tongs.RepositoryRoot, Dir: real, Writable: true}, openRoot)
}

// Place returns the path of something on this machine that is in a root, also in one that calls cannot name. It looks at
// the words only.
func (w *Workspace) Place(host string) (p tongs.Path, ok bool) {
	best := ""
	for _, r := range w.roots {
		if len(r.Dir) < len(best) || !hostpath.Within(r.Dir, host) {
			continue
		}
		if rel, err := filepath.Rel(r.Dir, host); err == nil {
			best, p, ok = r.Dir, tongs.Path{Root: r.Name, Rel: filepath.ToSlash(rel)}, true
		}
	}
	return p, ok
}

func (w *Workspace) checkCap(limit string) error {
	if limit == "" {
		return nil
	}
	real, err := realPath(limit)
	if err != nil {
		return config("the cap %s: %w; name an existing directory", limit, plain(err))
	}
	if !hostpath.Within(real, w.Dir()) {
		return config("workspace %s is outside %s, which AGENT_WORKSPACE_ROOT limits it to", w.Dir(), real)
	}
	return nil
}

func (w *Workspace) checkPrivate(private string) error {
	real, err := realPrefix(private)
	if err != nil {
		return config("private directory %s: %w", private, plain(err))
	}
	for _, r := range w.roots {
		if hostpath.Within(r.Dir, real) {
			return config("%s lies inside %s, which tools can reach; move it out, or use another workspace", real, r.Dir)
		}
		if hostpath.Within(real, r.Dir) && !r.Inside {
			return config("%s lies inside %s, which no tool may reach; use another directory", r.Dir, real)
		}
	}
	return nil
}

// Close releases the roots. What is asked of the workspace later fails.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		for _, r := range w.byName {
			if r.handle != nil {
				r.handle.close()
			}
		}
	}
	w.closed = true
	return nil
}

// directory opens the directory p. The caller closes it.
func (w *Workspace) directory(p tongs.Path) (handle, error) {
	if err := w.canonical(p); err != nil {
		return nil, err
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return nil, os.ErrClosed
	}
	h, err := w.byName[p.Root].opened()
	if err != nil {
		return nil, err
	}
	return h.walk(p.Rel)
}

// parent opens the directory that p is in and returns the name of p in it; a root is "." in itself.
func (w *Workspace) parent(p tongs.Path) (handle, string, error) {
	if err := w.canonical(p); err != nil {
		return nil, "", err
	}
	h, err := w.directory(p.Dir())
	return h, path.Base(p.Rel), err
}

// Dir returns the real host directory of the workspace.
func (w *Workspace) Dir() string { return w.roots[0].Dir }

// Roots returns the roots, the workspace first with an empty name, with their real host directories.
func (w *Workspace) Roots() []Root { return slices.Clone(w.roots) }

// Zones are the whole roots, for a call whose caller is not narrowed to a part of them. The workspace contains its
// repository.
func (w *Workspace) Zones() (zones []tongs.Zone) {
	for _, r := range w.roots {
		if r.Name != tongs.RepositoryRoot {
			zones = append(zones, tongs.Zone{Path: tongs.Path{Root: r.Name, Rel: "."}, Writable: r.Writable})
		}
	}
	return zones
}

// Present returns the roots that are there: a lazy one need not be.
func (w *Workspace) Present() []Root {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.DeleteFunc(w.Roots(), func(r Root) bool {
		if !r.Lazy || w.closed {
			return false
		}
		_, err := w.byName[r.Name].opened()
		return err != nil
	})
}

// Digest identifies the roots by name, real directory, what makes that directory itself and no other that took its path,
// and writability, in any order of the zones. A root that comes and goes, or is inside a private one, is known by its path
// alone; so is every one on systems that do not tell directories apart.
func (w *Workspace) Digest() string {
	roots := w.Roots()
	slices.SortFunc(roots, func(a, b Root) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	enc := json.NewEncoder(sum)
	for _, r := range roots {
		// Hex, since a directory need not be UTF-8 and JSON would make two of them one.
		_ = enc.Encode([]any{r.Name, hex.EncodeToString([]byte(r.Dir)), r.Writable, w.byName[r.Name].identity()})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Host returns the path on this machine, or "" where there is no such root.
func (w *Workspace) Host(p tongs.Path) string {
	r := w.byName[p.Root]
	if r == nil {
		return ""
	}
	return filepath.Join(r.Dir, filepath.FromSlash(p.Rel))
}

// realPath returns the absolute path of what exists at p, with links resolved and each element as it is on disk.
func realPath(p string) (string, error) {
	p, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	if p, err = filepath.EvalSymlinks(p); err != nil {
		return "", err
	}
	volume := filepath.VolumeName(p)
	real := volume + string(filepath.Separator)
	for name := range strings.SplitSeq(p[len(volume):], string(filepath.Separator)) {
		if name != "" {
			real = filepath.Join(real, diskName(real, name))
		}
	}
	fi, err := os.Stat(real)
	if err == nil && !fi.IsDir() {
		err = errors.New("not a directory")
	}
	return real, err
}

// realPrefix is realPath for what may not exist yet.
func realPrefix(p string) (string, error) {
	p, err := filepath.Abs(p)
	if err != nil {
		return "", err
	}
	real, err := realPath(p)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if target, err := os.Readlink(p); err == nil {
		return "", fmt.Errorf("is a link to %s, which does not exist", target)
	}
	parent, err := realPrefix(filepath.Dir(p))
	return filepath.Join(parent, filepath.Base(p)), err
}

// plain strips the operation and the path from an error of the system: the caller says both better.
func plain(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
