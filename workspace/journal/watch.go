package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrepo"
	"github.com/tongs-ai/tongs/internal/treestate"
)

// Watch is the state of a whole directory as the journal last saw it: every file by its hash, with its content among the blobs. It is
// how changes become entries that others make, who tell nobody before: bring it up to date before and after.
//
// One process at a time has the watch of a directory; Close releases it.
type Watch struct {
	j     *Journal
	top   string
	dir   string
	index *treestate.Index
	// dirty says that index differs from what is saved.
	dirty bool
	saved time.Time
	// fresh are the objects that git added since, by git directory.
	fresh   map[string][]gitrepo.Change
	release []func()
}

// WatchOptions bound what Update keeps.
type WatchOptions struct {
	// MaxEntries is how many files and directories there may be: 500,000.
	MaxEntries int
	// MaxBytes is how much content is kept of them, without what is hard-linked: 2 GiB. The largest files are left out first.
	MaxBytes int64
}

// statesDir is where states are in the directory of a journal, indexName the file of one.
const (
	statesDir = "states"
	indexName = "index"
)

// WatchDir returns where the journal at dir keeps the watch of a directory: whoever uses it may have files of its own there, which
// go with it.
func WatchDir(dir, top string) string {
	sum := sha256.Sum256([]byte(top))
	return filepath.Join(dir, statesDir, hex.EncodeToString(sum[:12]))
}

// Watched reports whether the journal at dir has a state of a directory.
func Watched(dir, top string) bool {
	_, err := os.Lstat(filepath.Join(WatchDir(dir, top), indexName))
	return err == nil
}

// Watch opens the state of a directory, an absolute path with links resolved, and waits for whoever has it.
func (j *Journal) Watch(ctx context.Context, top string) (*Watch, error) {
	w := &Watch{j: j, top: top, dir: WatchDir(j.opt.Dir, top)}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	alone, err := lockPath(ctx, filepath.Join(w.dir, "lock"), (*flock.Flock).TryLock)
	if err != nil {
		return nil, err
	}
	shared, err := j.share(ctx)
	if err != nil {
		alone()
		return nil, err
	}
	w.release = []func(){shared, alone}
	data, err := os.ReadFile(filepath.Join(w.dir, indexName))
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err == nil {
		if w.index, err = treestate.Decode(data); err != nil { // then it is filled again
			err = nil
		}
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	if w.index != nil {
		w.saved = time.Unix(0, w.index.Taken)
	}
	return w, nil
}

// Close releases the watch.
func (w *Watch) Close() {
	for _, f := range w.release {
		f()
	}
	w.release = nil
}

// Dir is where the watch is kept.
func (w *Watch) Dir() string { return w.dir }

// Filled reports whether there is a state at all.
func (w *Watch) Filled() bool { return w.index != nil }

// Size counts the files of the state, and the bytes in them.
func (w *Watch) Size() (files int, size int64) {
	if w.index == nil {
		return 0, 0
	}
	return w.index.Files()
}

// Unkept are the files whose content is not kept, with the reason, sorted; apart are the directories that are left out.
func (w *Watch) Unkept() (files []Conflict, apart []tongs.Path) {
	if w.index == nil {
		return nil, nil
	}
	for i := range w.index.Folders {
		f := &w.index.Folders[i]
		for j := range f.Entries {
			e := &f.Entries[j]
			p := place(f.Path).Join(e.Name)
			switch {
			case e.Kind == treestate.File && !e.Kept:
				files = append(files, Conflict{p, e.Lost})
			case e.Apart != treestate.NotApart:
				apart = append(apart, p)
			}
		}
	}
	return files, apart
}

func place(rel string) tongs.Path { return tongs.Path{Root: tongs.WorkspaceRoot, Rel: rel} }

// Update looks at what changed since the last time, keeps what is new, and returns the changes in the order of an entry. With
// paths, only at the folders that these are in. Changes that entries tell of already are left out. Nothing counts before Save.
func (w *Watch) Update(ctx context.Context, paths []string, opt WatchOptions) ([]Change, error) {
	setDefault(&opt.MaxEntries, 500_000)
	setDefault(&opt.MaxBytes, 2<<30)
	scan := treestate.Options{MaxEntries: opt.MaxEntries, Skip: skipped}
	var index *treestate.Index
	var diffs []treestate.Difference
	var err error
	if len(paths) > 0 && w.index != nil {
		index, diffs, err = treestate.ScanPaths(ctx, w.top, w.index, paths, scan)
	} else {
		index, diffs, err = treestate.Scan(ctx, w.top, w.index, scan)
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := w.keepNew(ctx, index, diffs, opt); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	old := w.index
	w.index, w.dirty = index, w.dirty || old == nil || len(diffs) > 0
	if old == nil {
		return nil, nil // it was not watched before
	}
	index.Taken = max(index.Taken, old.Taken)
	w.fresh = map[string][]gitrepo.Change{}
	changes := w.changes(old, diffs)
	if len(changes) == 0 {
		return nil, nil
	}
	return w.untold(time.Unix(0, old.Taken), changes)
}

// skipped are files of transactions, and locks of git, which tell that it is at work.
func skipped(dir, name string) bool {
	if strings.HasPrefix(name, StagePrefix) {
		return true
	}
	return strings.HasSuffix(name, ".lock") && (dir == ".git" || strings.HasSuffix(dir, "/.git") || strings.HasPrefix(dir, ".git/") || strings.Contains(dir, "/.git/"))
}

// changes are the differences in the order of an entry.
func (w *Watch) changes(old *treestate.Index, diffs []treestate.Difference) []Change {
	var went, came []Change
	for _, d := range diffs {
		before, after := stateIn(d.Old), stateIn(d.New)
		after.Lost = ""
		p := place(d.Path)
		if before.Same(after) || w.freshObject(old, d) {
			continue
		}
		switch {
		case before.Type == Absent:
			came = append(came, Change{Path: p, After: after})
		case after.Type == Absent:
			went = append(went, Change{Path: p, Before: before})
		case before.Type != after.Type:
			went = append(went, Change{Path: p, Before: before})
			came = append(came, Change{Path: p, After: after})
		default:
			came = append(came, Change{Path: p, Before: before, After: after})
		}
	}
	slices.Reverse(went) // the innermost first
	return append(went, came...)
}

// stateIn is the state of an entry of a snapshot. What cannot be brought back in any case is nothing.
func stateIn(e *treestate.Entry) State {
	if e == nil || e.Apart != treestate.NotApart {
		return State{}
	}
	s := State{Mode: e.Mode & modeBits}
	if int(e.UID) != os.Geteuid() || int(e.GID) != os.Getegid() {
		s.Owner = fmt.Sprintf("%d:%d", e.UID, e.GID)
	}
	switch e.Kind {
	case treestate.File:
		s.Type, s.Size, s.Modified, s.Index, s.Lost = File, e.Size, e.Modified, e.Index, e.Lost
		if e.Hash != [treestate.HashSize]byte{} {
			s.Hash = hex.EncodeToString(e.Hash[:])
		}
	case treestate.Dir:
		s.Type = Dir
	case treestate.Link:
		s.Type, s.Mode, s.Target = Link, 0, e.Target
	default:
		return State{}
	}
	return s
}

// untold leaves out the changes that entries tell of: those of our own tools, of an undo, and of an update that was cut short.
func (w *Watch) untold(since time.Time, changes []Change) ([]Change, error) {
	names, err := w.j.names()
	if err != nil {
		return nil, err
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(since.UnixNano()))
	first := "e_" + encoding.EncodeToString(b[:])[:12]
	told := map[tongs.Path]State{}
	for _, name := range names { // the newest last
		if name < first {
			continue
		}
		r, err := openEntry(w.j.file("done", name))
		if err != nil {
			continue // collected meanwhile, or damaged
		}
		if r.head.Roots[tongs.WorkspaceRoot] == w.top {
			for c, err := range r.changes {
				if err != nil {
					break
				}
				told[c.Path] = c.After
				if c.From != nil {
					told[*c.From] = State{}
				}
			}
		}
		r.close()
	}
	if len(told) == 0 {
		return changes, nil
	}
	left := map[tongs.Path]State{}
	for _, c := range changes { // what came is behind what went
		left[c.Path] = c.After
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		s, ok := told[c.Path]
		return ok && s.Same(left[c.Path])
	}), nil
}

// Record makes an entry of changes that Update returned.
func (w *Watch) Record(head Entry, changes []Change) (*Entry, error) {
	head.Roots = map[string]string{tongs.WorkspaceRoot: w.top}
	head.ID, head.Time = w.j.newID()
	head.Repositories = w.repositories(changes)
	head.Slight = len(head.Repositories) > 0 && !slices.ContainsFunc(changes, func(c Change) bool { return !head.Recorded(c.Path) }) &&
		!slices.ContainsFunc(head.Repositories, func(r Repository) bool { return !r.Slight })
	var entry bytes.Buffer
	if err := encode(&entry, &head, changes); err != nil {
		return nil, err
	}
	if err := w.j.point("record"); err != nil {
		return nil, err
	}
	if err := w.j.writeFile(w.j.file("done", head.ID), entry.Bytes(), false); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &head, nil
}

// Save makes the state what is compared with the next time. It comes after Record: if it does not come at all, the changes are found
// again, and left out since an entry tells of them.
func (w *Watch) Save() error {
	if !w.dirty && time.Since(w.saved) < time.Hour { // then only to tell that it is used
		return nil
	}
	if err := w.j.point("save"); err != nil {
		return err
	}
	if err := w.j.writeFile(filepath.Join(w.dir, indexName), w.index.Encode(), false); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Forget removes the state, with all that is beside it. Entries stay.
func (w *Watch) Forget() error {
	w.index = nil
	names, err := os.ReadDir(w.dir)
	for _, e := range names {
		if e.Name() != "lock" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.dir, e.Name())))
		}
	}
	return err
}
