package files

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

const (
	// maxWalked is how many entries a recursive listing counts at most.
	maxWalked = 5_000_000
	// maxFailed is how many directories that could not be read are named, maxClosed how many that are not for the call are
	// looked at for being other roots.
	maxFailed = 20
	maxClosed = 1000
	// maxIndent is how deep a tree is shown by indentation. What is deeper is shown by its path.
	maxIndent = 16
)

// recursive lists everything below the directory, by the walker that searches use. It keeps what is nearest to the
// directory, counts the rest, follows no link, and stays out of what is not for this call.
func (l *listing) recursive(ctx context.Context, files tongs.Files) error {
	trees, ok := files.(tongs.Trees)
	if !ok {
		return tongs.Errorf(tongs.CodeConfigError, "the files of this call cannot be listed recursively; list one directory at a time")
	}
	dir, err := trees.Tree(l.root)
	if err != nil {
		return err
	}
	defer dir.Close()
	r := &recursion{listing: l, tree: dir, most: maxWalked}
	return r.list(ctx, files)
}

// recursion is one recursive listing.
type recursion struct {
	*listing
	tree *tongs.Tree
	most int64

	count, dots, rules, secrets atomic.Int64

	mu     sync.Mutex
	best   []entryHeap // of each worker
	closed []string    // directories that are not for this call
	shut   int         // how many there are
}

func (r *recursion) list(ctx context.Context, files tongs.Files) error {
	if err := r.walk(ctx, 0); err != nil {
		return err
	}
	if r.partial { // whatever was met first: what is in the directory itself is listed in any case
		if err := r.walk(ctx, 1); err != nil {
			return err
		}
	}
	r.finish(files)
	return nil
}

// walk visits everything, or, once more, what is at most so deep.
func (r *recursion) walk(ctx context.Context, depth int) error {
	again := depth > 0
	opt := walk.Options{
		Root: r.tree.Host, Dir: r.tree.Dir, Top: r.tree.Top, Hidden: true, NoIgnore: r.in.NoIgnore, Dirs: true, MaxDepth: depth,
		Skip: func(rel string, dir bool) bool { return r.skip(rel, dir, again) },
	}
	if !again {
		opt.Ignored = func(string, bool) { r.rules.Add(1) }
		opt.Skipped = func(rel string, _ error) {
			if r.unread++; len(r.failed) < maxFailed {
				r.failed = append(r.failed, rel)
			}
		}
	}
	tr, err := walk.Open(opt)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			return tongs.Errorf(tongs.CodeExecutionError, "%s could not be listed: %w", showPath(r.root), pe.Err)
		}
		return err
	}
	defer tr.Close()
	best := make([]entryHeap, tr.Workers())
	err = tr.Walk(ctx, func(e *walk.Entry) error {
		if !again && r.count.Add(1) > r.most {
			return fs.SkipAll
		}
		r.take(&best[e.Worker], e)
		return nil
	})
	r.partial = r.count.Load() > r.most
	r.walked = int(min(r.count.Load(), r.most))
	r.best = append(r.best, best...)
	return err
}

// skip leaves out what is hidden, unless it was asked for, and what is not for this call, and counts both.
func (r *recursion) skip(rel string, dir, again bool) bool {
	if !r.in.IncludeHidden && strings.HasPrefix(rel[strings.LastIndexByte(rel, '/')+1:], ".") {
		if !again {
			r.dots.Add(1)
		}
		return true
	}
	// A name that is not UTF-8 is listed, quoted, unless a rule speaks of what can be read of it.
	if !r.tree.Skip(strings.ToValidUTF8(rel, "\uFFFD"), dir) {
		return false
	}
	switch {
	case again:
	case dir:
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.shut++; len(r.closed) < maxClosed {
			r.closed = append(r.closed, strings.Clone(rel))
		}
	default:
		r.secrets.Add(1)
	}
	return true
}

func typeOf(t walk.Type) tongs.FileType {
	switch t {
	case walk.File:
		return tongs.FileRegular
	case walk.Directory:
		return tongs.FileDirectory
	case walk.Symlink:
		return tongs.FileSymlink
	default:
		return tongs.FileOther
	}
}

func (r *recursion) take(best *entryHeap, e *walk.Entry) {
	entry := Entry{Name: e.Rel, Type: typeOf(e.Type)}
	if len(*best) >= r.limit && byLevel(entry, (*best)[0]) >= 0 {
		return
	}
	entry.Name = strings.Clone(e.Rel) // it shares memory with the names beside it
	best.offer(entry, r.limit)
}

// finish puts together what the workers kept, and describes it as it is now.
func (r *recursion) finish(files tongs.Files) {
	for _, part := range r.best {
		r.entries = append(r.entries, part...)
	}
	r.otherRoots(files)
	slices.SortFunc(r.entries, byLevel)
	r.entries = slices.CompactFunc(r.entries, func(a, b Entry) bool { return a.Name == b.Name })
	r.entries = r.entries[:min(len(r.entries), r.limit)]
	kept := r.entries[:0]
	for _, e := range r.entries {
		p := tongs.Path{Root: r.root.Root, Rel: path.Join(r.root.Rel, e.Name)}
		if strings.HasPrefix(e.Name, "/") { // another root
			kept = append(kept, e)
			continue
		}
		info, err := files.Stat(p)
		switch {
		case err == nil:
			e = entryOf(e.Name, info)
		case tongs.CodeOf(err) == tongs.CodeFileNotFound:
			r.walked-- // it is gone
			continue
		}
		kept = append(kept, e)
	}
	r.entries = kept
	slices.SortFunc(r.entries, inTreeOrder)
	r.hidden, r.ignored = int(r.dots.Load()), int(r.rules.Load())
	r.withheld = notFor(int(r.secrets.Load()), r.shut)
}

// otherRoots lists other roots that lie below the directory by their own names. They are not entered.
func (r *recursion) otherRoots(files tongs.Files) {
	for _, rel := range r.closed {
		p, err := files.ResolveEntry(r.root.Join(rel).String())
		if err != nil || p.Root == r.root.Root || p.Rel != "." {
			continue
		}
		r.shut--
		r.walked++
		r.entries = append(r.entries, Entry{Name: p.String(), Type: tongs.FileDirectory})
	}
}

// notFor counts files and directories: "2 files, 1 directory".
func notFor(files, dirs int) string {
	var parts []string
	if files > 0 {
		parts = append(parts, count(files, "file"))
	}
	if dirs > 0 {
		parts = append(parts, directories(dirs))
	}
	return strings.Join(parts, ", ")
}

// showTree writes entries in the order of a tree, each indented below its directory.
func showTree(b *strings.Builder, entries []Entry, details bool) {
	for _, e := range entries {
		depth := strings.Count(e.Name, "/")
		if depth > 0 && depth <= maxIndent && !strings.HasPrefix(e.Name, "/") {
			b.WriteString(strings.Repeat("  ", depth))
			e.Name = path.Base(e.Name)
		}
		b.WriteString(showEntry(e, details) + "\n")
	}
}
