package walk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/tongs-ai/tongs/internal/search/ignore"
)

// Dir is the state of a directory that was entered: where it is and which ignore rules hold in it. It holds nothing
// open and does not change.
type Dir struct {
	parent *Dir
	rel    string // "" for the root
	depth  int
	// outer are the rules of the directory above, rules those that hold for the entries.
	outer, rules *ignore.Rules
	dev, ino     uint64
	modified     int64
	// special are the names that matter, as they were found in the directory.
	special special
}

// Rel returns the path below the root, "." for the root.
func (d *Dir) Rel() string {
	if d.rel == "" {
		return "."
	}
	return d.rel
}

// Modified returns when the entries of the directory last changed, as it was when the directory was entered, in
// nanoseconds since 1970.
func (d *Dir) Modified() int64 { return d.modified }

// SameRules reports whether the same ignore rules hold in both: then what changed between them is at most entries of
// the directory itself.
func (d *Dir) SameRules(o *Dir) bool { return d.rules.Same(o.rules) }

// again returns d as it was before it was entered.
func (d *Dir) again(t *Tree) *Dir {
	if d.rel == "" {
		return &Dir{rules: t.rules}
	}
	return &Dir{parent: d.parent, rel: d.rel, depth: d.depth, rules: d.outer}
}

// loops reports whether the directory is one of those above it.
func (d *Dir) loops() bool {
	for up := d.parent; up != nil; up = up.parent {
		if d.ino != 0 && up.ino == d.ino && up.dev == d.dev {
			return true
		}
	}
	return false
}

// openDir is a directory that is being read or visited.
type openDir struct {
	dir  *Dir
	sys  sysDir
	refs atomic.Int32
	// entered is set once the ignore files were read.
	entered bool
}

// open opens a directory. Its rules are still those of the directory above. Where that is open too, as in, the name is
// looked up there, which is quicker than going all the way from the root.
func (t *Tree) open(d *Dir, in *openDir) (*openDir, error) {
	var sys sysDir
	var err error
	if in != nil {
		sys, err = in.sys.dir(d.rel[below(in.dir.rel):])
	} else {
		sys, err = t.root.dir(d.rel)
	}
	if err != nil {
		return nil, err
	}
	info, err := sys.info()
	if err == nil {
		entered := *d
		entered.dev, entered.ino, entered.modified = info.Device, info.Inode, info.Modified
		if d = &entered; d.loops() {
			err = ErrLoop
		}
	}
	if err != nil {
		sys.close()
		return nil, err
	}
	o := &openDir{dir: d, sys: sys}
	o.refs.Store(1)
	return o, nil
}

// enter reads the ignore files of a directory. found are the names that matter, as they were seen in it.
func (t *Tree) enter(o *openDir, found special) {
	o.entered = true
	d := o.dir
	d.outer, d.special = d.rules, found
	if t.opt.NoIgnore || found == 0 {
		return
	}
	var repo *ignore.Repository
	if found.has(specialGit) {
		repo = t.opt.Ignore.Repository(filepath.Join(t.opt.Root, filepath.FromSlash(d.rel)))
	}
	fold := d.outer.Fold()
	if repo != nil {
		fold = repo.Fold()
	}
	var files ignore.Files
	for k := range files {
		if kind := ignore.Kind(k); found.has(specialFile(kind)) {
			if content, ok := o.sys.content(kind.String(), ignore.MaxFile); ok {
				files[k] = t.opt.Ignore.Cache.Parse(content, fold)
			}
		}
	}
	d.rules = d.outer.Enter(len(t.above)+below(d.rel), files, repo)
}

// below is how many bytes of the paths of entries come before their names.
func below(rel string) int {
	if rel == "" {
		return 0
	}
	return len(rel) + 1
}

// special is a set of names that say something about the directory they are in.
type special uint8

const (
	specialGit special = 1 << iota
	specialFirst
	// specialAll is every such name: they are looked for when a directory is too large to see first what is in it.
	specialAll = specialGit | specialFirst | specialFirst<<1 | specialFirst<<2
)

func specialFile(k ignore.Kind) special { return specialFirst << k }

func (s special) has(o special) bool { return s&o != 0 }

// specialName returns what a name says, 0 for most names.
func specialName(name string) special {
	switch name {
	case ".git":
		return specialGit
	case ".gitignore", ".ignore", ".tongsignore":
		k, _ := ignore.KindOf(name)
		return specialFile(k)
	default:
		return 0
	}
}

// state is Dir.
func (t *Tree) state(rel string) (*Dir, error) {
	d, err := t.enterAlone(&Dir{rules: t.rules})
	if err != nil || rel == "." || rel == "" {
		return d, err
	}
	if !fs.ValidPath(rel) {
		return nil, &fs.PathError{Op: "walk", Path: rel, Err: fs.ErrInvalid}
	}
	for name := range strings.SplitSeq(rel, "/") {
		full := join(d.rel, name)
		if t.leaves(d, t.above+full, len(t.above)+len(full)-len(name), true) {
			return nil, ErrExcluded
		}
		if d, err = t.enterAlone(&Dir{parent: d, rel: full, depth: d.depth + 1, rules: d.rules}); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// enterAlone enters a directory without listing it.
func (t *Tree) enterAlone(d *Dir) (*Dir, error) {
	o, err := t.open(d, nil)
	if err != nil {
		return nil, err
	}
	defer o.sys.close()
	t.enter(o, specialAll)
	return o.dir, nil
}

// leaves reports whether the walk leaves out an entry of d. path is from the common top of the rules on, and the name
// begins at name.
func (t *Tree) leaves(d *Dir, path string, name int, dir bool) bool {
	if path[name] == '.' && !t.opt.Hidden || !t.visitsGit() && path[name:] == ".git" {
		return true
	}
	if d.rules.Match(path, name, dir) == ignore.Excluded {
		if t.opt.Ignored != nil {
			t.opt.Ignored(path[len(t.above):], dir)
		}
		return true
	}
	return t.opt.Skip != nil && t.opt.Skip(path[len(t.above):], dir)
}

func (t *Tree) visitsGit() bool { return t.opt.Hidden && t.opt.NoIgnore }

// gone reports whether an error means that there is nothing any more.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
