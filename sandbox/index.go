package sandbox

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// nameIndex remembers, for the trees that programs were run in, where names were found and what every directory looked
// like then. A directory that did not change since holds what it held, so that finding the names again takes a look at
// each directory and not at what is in it. It is safe for concurrent use; a nil one remembers nothing.
type nameIndex struct {
	mu    sync.Mutex
	trees map[string]*nameTree
	// limit is how many entries are looked at before a program runs, 0 for maxScan.
	limit int
}

func (x *nameIndex) bound() int {
	if x == nil || x.limit == 0 {
		return maxScan
	}
	return x.limit
}

// nameTree is what is known below a root, for one set of patterns.
type nameTree struct {
	mu  sync.Mutex
	top nameDir
}

// nameDir is a directory as it was when it was read.
type nameDir struct {
	name    string
	stamp   stamp
	entries int
	// found are the names in it that match; gits are those of them that lead to a repository; repo says that git takes it
	// for one.
	found []nameFound
	gits  []string
	repo  bool
	subs  []*nameDir
	// links are the links in it that match nothing, and closed says that it could not be read.
	links  []string
	closed bool
}

type nameFound struct {
	name string
	hide bool
}

// stamp tells whether a directory is still the same. The zero one never is.
type stamp struct {
	device, inode uint64
	changed       int64 // in nanoseconds
}

// settled is how long ago a directory must have changed for its stamp to be trusted: clocks of file systems are coarse,
// and another change in the same moment would not show.
const settled = 2 * time.Second

// maxTrees is for how many trees an index keeps what it knows.
const maxTrees = 8

// tree returns what is known of a root, for patterns.
func (x *nameIndex) tree(root, patterns string) *nameTree {
	if x == nil {
		return &nameTree{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	key := root + "\x00" + patterns
	t := x.trees[key]
	if t == nil {
		if x.trees == nil || len(x.trees) >= maxTrees {
			x.trees = map[string]*nameTree{}
		}
		t = &nameTree{}
		x.trees[key] = t
	}
	return t
}

// nameWalk is one pass over a tree.
type nameWalk struct {
	names *namePatterns
	git   bool
	left  int // entries that may still be looked at
	// settled is how long ago a directory must have changed for its stamp to be trusted.
	settled time.Duration
	skips   map[string]bool
	found   func(p string, hide bool)
	dirs    map[string]uint64 // inodes by path, where somebody wants to know them
	// repositories are those that were found.
	repositories []gitdir.Repository
}

// walk calls found for every match below root, and does not go into one.
func (w *nameWalk) walk(t *nameTree, root string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w.visit(&t.top, root, nil, regionOf(root, w.git))
}

// region says what a directory is a part of, as far as git is concerned.
type region uint8

const (
	ordinary region = iota
	// gitTop is a directory called .git, and gitInside everything below it: only git directories are looked for there.
	gitTop
	gitInside
	// modules is what a repository by another name has of its submodules and worktrees: no directory is passed over.
	modules
)

// regionOf returns the region of the root of a tree.
func regionOf(root string, git bool) region {
	if git && filepath.Base(root) == ".git" {
		return gitTop
	}
	return ordinary
}

func (in region) git() bool { return in == gitTop || in == gitInside }

// sub returns the region of a directory by its name. Repo says that git takes the one around it for a repository.
func (in region) sub(name string, repo, git bool) region {
	switch {
	case !git:
		return ordinary
	case in.git():
		return gitInside
	case strings.EqualFold(name, ".git"):
		return gitTop
	case in == modules || repo && (name == "modules" || name == "worktrees"):
		return modules
	}
	return ordinary
}

// skips reports whether a directory is not looked into: packages of others, and the objects of a repository. Those of a
// submodule are looked into, since the name of another may begin like that.
func (in region) skips(name string) bool {
	return in == ordinary && slices.Contains(skipped, name) || in == gitTop && name == "objects"
}

// link reports whether a link of this name would have git look for repositories elsewhere.
func (in region) link(name string, repo bool) bool {
	return in.git() && name != "HEAD" || in == modules || repo && (name == "modules" || name == "worktrees")
}

// visit looks at a directory.
func (w *nameWalk) visit(d *nameDir, path string, above []string, in region) {
	now := stampOf(path)
	if now == (stamp{}) || d.stamp != now {
		if in.git() {
			d.readGit(path)
		} else {
			w.read(d, path, above)
		}
		if d.stamp = now; time.Since(time.Unix(0, now.changed)) < w.settled {
			d.stamp = stamp{}
		}
	}
	if w.dirs != nil && now.inode != 0 {
		w.dirs[path] = now.inode
	}
	if w.left -= d.entries; w.left <= 0 {
		return
	}
	if d.closed {
		w.found(path, false)
	}
	if d.repo {
		obeyed(path, w.found)
		w.repositories = append(w.repositories, gitdir.Repository{Dir: path})
	}
	for _, name := range d.gits {
		if r, ok := gitdir.At(path, name); ok { // wherever that is
			obeyed(r.Dir, w.found)
			w.repositories = append(w.repositories, r)
		}
	}
	for _, f := range d.found {
		w.found(filepath.Join(path, f.name), f.hide)
	}
	for _, name := range d.links {
		if w.git && in.link(name, d.repo) {
			w.found(filepath.Join(path, name), false)
		}
	}
	for _, sub := range d.subs {
		if w.left <= 0 {
			return // what was not read has no stamp, and will be
		}
		if in.skips(sub.name) {
			if !in.git() {
				w.skips[sub.name] = true
			}
			continue
		}
		w.visit(sub, path+string(filepath.Separator)+sub.name, append(slices.Clip(above), sub.name), in.sub(sub.name, d.repo, w.git))
	}
}

// read fills d from the directory. Of subdirectories that it had before, it keeps what is known.
func (w *nameWalk) read(d *nameDir, path string, above []string) {
	entries, known := d.list(path)
	for i, name := range above {
		above[i] = strings.ToLower(name)
	}
	d.repo = w.git && isRepository(entries)
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		switch {
		case w.git && e.IsDir() && name == ".git":
			d.subs = append(d.subs, known(e.Name()))
		case w.names.hide.match(above, name):
			d.found = append(d.found, nameFound{e.Name(), true})
		case w.names.protect.match(above, name):
			d.found = append(d.found, nameFound{e.Name(), false})
			if w.git && name == ".git" {
				d.gits = append(d.gits, e.Name())
			}
		default:
			d.add(e, known)
		}
	}
}

// add takes an entry that matches nothing.
func (d *nameDir) add(e os.DirEntry, known func(name string) *nameDir) {
	switch {
	case e.IsDir():
		d.subs = append(d.subs, known(e.Name()))
	case e.Type()&fs.ModeSymlink != 0:
		d.links = append(d.links, e.Name())
	}
}

// readGit is read for a git directory or one inside it, where only other git directories are looked for, at any depth:
// submodules and worktrees have theirs there.
func (d *nameDir) readGit(path string) {
	entries, known := d.list(path)
	d.repo = isRepository(entries) || strings.EqualFold(d.name, ".git") || filepath.Base(path) == ".git"
	for _, e := range entries {
		d.add(e, known)
	}
}

// list empties d and returns the entries of the directory, and what is known of one of them.
func (d *nameDir) list(path string) (entries []os.DirEntry, known func(name string) *nameDir) {
	had := make(map[string]*nameDir, len(d.subs))
	for _, sub := range d.subs {
		had[sub.name] = sub
	}
	entries, err := listDir(path)
	*d = nameDir{name: d.name, entries: len(entries) + 1, closed: err != nil && !errors.Is(err, fs.ErrNotExist)}
	return entries, func(name string) *nameDir {
		if sub := had[name]; sub != nil {
			return sub
		}
		return &nameDir{name: name}
	}
}

// skippedNames returns the names of the directories that were not looked into.
func (w *nameWalk) skippedNames() []string { return slices.Sorted(maps.Keys(w.skips)) }

// listDir returns the entries of a directory in no order.
func listDir(dir string) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// readDir is listDir that has no entries of what cannot be read.
func readDir(dir string) []os.DirEntry {
	entries, _ := listDir(dir)
	return entries
}
