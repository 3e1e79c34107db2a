// Package walk lists the files below a directory, in parallel, leaving out what git ignores, hidden names and whatever
// else it is told. It never follows a symbolic link and never opens what is not a directory: a FIFO is named, not
// read. What it cannot list it reports and passes over; the walk goes on.
//
// On Linux directories are read by getdents64 into buffers that are used again, opened beneath the root by openat2,
// which refuses every link on the way, and files are opened relative to the directory they were found in. Elsewhere
// the same is done by os.Root.
//
// Memory is bounded by the depth of the tree, not by its size: a directory of a million entries is read and visited
// in parts. Only a sorted walk holds the names of whole directories.
package walk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tongs-ai/tongs/internal/search/ignore"
)

// Options say what is walked and what of it is visited.
type Options struct {
	// Root is the host directory to walk. It may be a symbolic link itself.
	Root string
	// Dir, where it is set, is Root already opened, by somebody who made sure that it is the right one. The walk does not
	// close it.
	Dir *os.File
	// Top is the highest directory whose ignore files bear on the walk, Root or above it; empty means Root. Those of the
	// repository that Root is in count in any case.
	Top string
	// Ignore reads ignore files; nil is the current user's configuration and a cache of its own.
	Ignore *ignore.Reader
	// Hidden visits names that begin with a dot, except .git. NoIgnore visits what is ignored. With both, .git is
	// visited too.
	Hidden, NoIgnore bool
	// Dirs visits directories, each before anything in it. A visit that returns fs.SkipDir keeps the walk out of it.
	Dirs bool
	// Skip leaves out the entry at rel, and all that is below it. Nil skips nothing. It is called by several workers at
	// a time.
	Skip func(rel string, dir bool) bool
	// Ignored is told of what ignore files leave out, by several workers at a time. Nil drops it.
	Ignored func(rel string, dir bool)
	// MaxDepth is how deep to go: 1 visits the entries of Root alone. Zero means any depth.
	MaxDepth int
	// Sorted visits entries one at a time, in the order of the bytes of Rel, instead of by several workers as they come.
	Sorted bool
	// Workers is how many goroutines walk and visit; zero means one for each processor.
	Workers int
	// Skipped is told of what could not be listed, and why. What vanished meanwhile is not reported. Calls do not
	// overlap. Nil drops it.
	Skipped func(rel string, err error)
}

var (
	// ErrLoop is why a directory that is also above itself is passed over.
	ErrLoop = errors.New("the directory is also above itself")
	// ErrExcluded is returned for a directory that the walk leaves out.
	ErrExcluded = errors.New("the directory is ignored, hidden or left out")
)

// Walk visits what is below opt.Root. The visits are made by several goroutines at once, unless opt.Sorted. An entry is
// valid during its visit only; its Rel may be kept. The first error of a visit ends the walk and is returned, except
// fs.SkipAll, which ends it without an error. When ctx ends, so does the walk, with its cause. A visit that panics ends the
// walk with that panic.
func Walk(ctx context.Context, opt Options, visit func(*Entry) error) error {
	t, err := Open(opt)
	if err != nil {
		return err
	}
	defer t.Close()
	return t.Walk(ctx, visit)
}

// Tree is an open root, for walking it more than once and in parts. It is safe for concurrent use.
type Tree struct {
	opt   Options
	root  sysRoot
	rules *ignore.Rules
	// above is the way from the common top of the rules to the root; it ends in a slash or is empty.
	above string
}

// Open opens the root. Close releases it.
func Open(opt Options) (*Tree, error) {
	root, err := filepath.Abs(opt.Root)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	opt.Root = root
	if opt.Top != "" {
		if opt.Top, err = filepath.EvalSymlinks(opt.Top); err != nil {
			return nil, err
		}
	}
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.Ignore == nil {
		opt.Ignore = &ignore.Reader{User: ignore.CurrentUser(), Cache: &ignore.Cache{}}
	}
	t := &Tree{opt: opt}
	if !opt.NoIgnore {
		t.rules, t.above = opt.Ignore.Above(root, opt.Top)
	}
	if t.root, err = openRoot(root, opt.Dir); err != nil {
		return nil, err
	}
	return t, nil
}

// Workers returns how many goroutines a walk has.
func (t *Tree) Workers() int { return t.opt.Workers }

// Close releases the root. Walks must have ended.
func (t *Tree) Close() error { return t.root.close() }

// Walk visits everything, as the function [Walk] does.
func (t *Tree) Walk(ctx context.Context, visit func(*Entry) error) error {
	return t.walk(ctx, &Dir{rules: t.rules}, true, visit)
}

// WalkFrom visits what is below d, a directory of this tree.
func (t *Tree) WalkFrom(ctx context.Context, d *Dir, visit func(*Entry) error) error {
	return t.walk(ctx, d.again(t), true, visit)
}

// List visits the entries of d alone, directories too, without going into them.
func (t *Tree) List(ctx context.Context, d *Dir, visit func(*Entry) error) error {
	return t.walk(ctx, d.again(t), false, visit)
}

// walk visits what is in d. d's rules are those of the directory above it until it is entered.
func (t *Tree) walk(ctx context.Context, d *Dir, down bool, visit func(*Entry) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := newWalker(t, visit, down)
	defer context.AfterFunc(ctx, w.queue.stop)()
	if t.opt.Sorted || !down {
		w.sorted(d)
	} else {
		w.parallel(d)
	}
	if err := w.err(); err != nil {
		if errors.Is(err, fs.SkipAll) {
			return nil
		}
		return err
	}
	return context.Cause(ctx)
}

// Dir returns the state of the directory at rel as it is now, "." being the root, with every ignore file on the way
// read again. It is ErrExcluded where the walk would not go there.
func (t *Tree) Dir(rel string) (*Dir, error) { return t.state(rel) }
