package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/rank"
	"github.com/tongs-ai/tongs/internal/search/symbols"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

const (
	// maxCodeTrees is how many roots are remembered.
	maxCodeTrees = 8
	// settled is how old a change must be for the time of it to tell one state of a file from the next.
	settled = 2 * time.Second
)

// codeCache remembers the words of files between calls, for each root. Its zero value is ready for use.
//
// It is never asked what a call may see: each call walks its directory with its own eyes, and only what it met there
// counts, in the ranking too. What is shown is read anew.
type codeCache struct {
	mu    sync.Mutex
	trees map[string]*codeTree
}

// codeTree is what is known of the files of one root, by their path below it.
type codeTree struct {
	// turn is held by the call that looks at files which are not known yet: others wait, and then know them.
	turn chan struct{}
	used time.Time // under the lock of the cache

	mu    sync.Mutex
	index *rank.Index
	known map[string]identity
	// since is up to when the service that knows trees told what changed, and current are the files that did not since
	// they were looked at: true for those in the index, false for those without text.
	since   live.Generation
	current map[string]bool
	// without are files that did not change since they were looked at either, and have none of the words of a query: the
	// last one that they were looked at for.
	without map[string]string
}

// identity tells a state of a file from others.
type identity struct {
	size, modified, changed int64
	inode, device           uint64
	// binary files are known and not in the index. One that is not sure had just changed: it is looked at again.
	binary, sure bool
}

func identityOf(i walk.Info, now time.Time) identity {
	last := max(i.Modified, i.Changed)
	return identity{i.Size, i.Modified, i.Changed, i.Inode, i.Device, false, now.UnixNano()-last > int64(settled)}
}

// same reports whether a file is as it was when it became known.
func (i identity) same(now identity) bool {
	return i.sure && i.size == now.size && i.modified == now.modified && i.changed == now.changed && i.inode == now.inode && i.device == now.device
}

// tree returns what is known of a root, and forgets the root that was not used for longest where there are too many, or
// where all together take too much memory.
func (c *codeCache) tree(top string, most int64) *codeTree {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees == nil {
		c.trees = map[string]*codeTree{}
	}
	t := c.trees[top]
	if t == nil {
		t = &codeTree{turn: make(chan struct{}, 1), index: rank.New(), known: map[string]identity{}, current: map[string]bool{}, without: map[string]string{}}
		c.trees[top] = t
	}
	t.used = time.Now()
	for len(c.trees) > 1 && (len(c.trees) > maxCodeTrees || c.size() > most) {
		oldest := ""
		for name, t := range c.trees {
			if name != top && (oldest == "" || t.used.Before(c.trees[oldest].used)) {
				oldest = name
			}
		}
		delete(c.trees, oldest)
	}
	return t
}

func (c *codeCache) size() (n int64) {
	for _, t := range c.trees {
		n += t.index.Size()
	}
	return n
}

// directory ranks the files below a directory.
func (s *coding) directory(ctx context.Context, env *tongs.Env, t *tools) (*rank.Ranking, error) {
	dir, err := tree(env, s.path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if rel, err := filepath.Rel(dir.Top, dir.Host); err == nil && rel != "." {
		s.prefix = filepath.ToSlash(rel) + "/"
	}
	index, visible, err := s.refresh(ctx, t, dir)
	if err != nil {
		return nil, err
	}
	files := max(30, s.limit)
	return index.Search(s.query, rank.Scope{Visible: func(p string) bool { return visible[p] }, Others: s.others, Limit: files}), nil
}

// refresh makes the files below a directory known, and returns where their words are and which ones the call may see.
func (s *coding) refresh(ctx context.Context, t *tools, dir *tongs.Tree) (*rank.Index, map[string]bool, error) {
	known := t.code.tree(dir.Top, s.opt.Bytes)
	select {
	case known.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() { <-known.turn }()
	r := s.refreshing(known)
	visible, ok, err := r.walkFromService(ctx, t, dir)
	if !ok && err == nil {
		visible, err = r.walk(ctx, dir, walk.Options{Root: dir.Host, Dir: dir.Dir, Top: dir.Top, Ignore: t.ignore})
	}
	return r.index, visible, err
}

var errCodeTime = errors.New("there was no more time")

// refreshing makes the files known that a call may see and that have something to do with its query.
type refreshing struct {
	*coding
	known *codeTree
	// index is that of known when it began.
	index  *rank.Index
	filter *rank.Filter
	now    time.Time
	// lasting is the query where it is worth noting which files lack its words, since somebody tells when they change.
	lasting string
	workers []refreshWorker
}

func (s *coding) refreshing(known *codeTree) *refreshing {
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.index.Size() > s.opt.Bytes { // begin anew: most of it may be about files that are gone
		known.index, known.known, known.current, known.without = rank.New(), map[string]identity{}, map[string]bool{}, map[string]string{}
	}
	return &refreshing{coding: s, known: known, index: known.index, filter: s.query.Filter(), now: time.Now()}
}

type refreshWorker struct {
	buf     []byte
	visible []string
	looked, others, large,
	unread, left int
	_ [64]byte // each on a cache line of its own
}

// walk walks a directory, takes up what is not known, and returns which files the call may see.
func (r *refreshing) walk(ctx context.Context, dir *tongs.Tree, opt walk.Options) (map[string]bool, error) {
	opt.Skip = func(rel string, isDir bool) bool {
		if !dir.Skip(rel, isDir) {
			return false
		}
		if isDir {
			r.closed.Add(1)
		} else {
			r.withheld.Add(1)
		}
		return true
	}
	opt.Skipped = func(string, error) { r.unread++ }
	tr, err := walk.Open(opt)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	r.workers = make([]refreshWorker, tr.Workers())
	limited, cancel := context.WithTimeoutCause(ctx, r.opt.Time, errCodeTime)
	defer cancel()
	if err := tr.Walk(ctx, func(e *walk.Entry) error { return r.visit(limited, e) }); err != nil {
		return nil, err
	}
	visible := r.sum()
	if r.prefix == "" && r.left == 0 {
		r.known.forget(visible)
	}
	return visible, nil
}

func (r *refreshing) sum() map[string]bool {
	visible := map[string]bool{}
	for i := range r.workers {
		w := &r.workers[i]
		for _, p := range w.visible {
			visible[p] = true
		}
		r.looked += w.looked
		r.others += w.others
		r.large += w.large
		r.unread += w.unread
		r.left += w.left
	}
	return visible
}

// visit takes up one file. Nothing that goes wrong with it ends the walk.
func (r *refreshing) visit(limited context.Context, e *walk.Entry) error {
	if e.Type != walk.File {
		return nil
	}
	w := &r.workers[e.Worker]
	info, err := e.Stat()
	if err != nil || info.Type != walk.File {
		return nil
	}
	if info.Size > r.opt.FileBytes {
		w.large++
		return nil
	}
	name, id := r.prefix+e.Rel, identityOf(info, r.now)
	if before, ok := r.known.get(name); ok && before.same(id) {
		if w.looked++; !before.binary {
			w.visible = append(w.visible, strings.Clone(name))
		}
		return nil
	}
	if limited.Err() != nil {
		w.left++
		return nil
	}
	h, err := e.Open()
	if err != nil {
		w.unread++
		return nil
	}
	defer h.Close()
	r.look(w, h, strings.Clone(name), id)
	return nil
}

// look reads a file that is not known.
func (r *refreshing) look(w *refreshWorker, h walk.Handle, name string, id identity) {
	text, err := r.content(w, h)
	if err != nil {
		w.unread++
		return
	}
	w.looked++
	if binary(text) {
		id.binary = true
		r.known.put(name, id)
		return
	}
	if !r.filter.Match(name, text) {
		// It may be in the index as it was before, when it did.
		r.known.lacks(r.index, name, r.lasting)
		w.others++
		return
	}
	if r.index.Size() > r.opt.Bytes {
		w.looked--
		w.left++
		return
	}
	r.index.Add(rank.Read(name, text, symbols.In(name, text)))
	r.known.put(name, id)
	w.visible = append(w.visible, name)
}

// content reads a file into the buffer of the worker.
func (r *refreshing) content(w *refreshWorker, h walk.Handle) ([]byte, error) {
	w.buf = w.buf[:0]
	for int64(len(w.buf)) <= r.opt.FileBytes { // it may have grown since
		w.buf = slices.Grow(w.buf, 32<<10)
		n, err := h.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return w.buf, nil
}

func (t *codeTree) get(name string) (identity, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.known[name]
	return id, ok
}

func (t *codeTree) put(name string, id identity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name], t.current[name] = id, !id.binary
	delete(t.without, name)
}

// lacks notes that a file has none of the words of a query; an empty one is not worth noting.
func (t *codeTree) lacks(x *rank.Index, name, query string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, name)
	delete(t.current, name)
	if query != "" {
		t.without[name] = query
	}
	x.Remove(name)
}

// forget drops what a walk of everything did not meet, once that is much: files that are gone, or that only other calls
// may see, which look at them again.
func (t *codeTree) forget(visible map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) < len(visible)+len(visible)/4+1000 {
		return
	}
	clear(t.without)
	for name := range t.known {
		if !visible[name] {
			delete(t.known, name)
			delete(t.current, name)
			t.index.Remove(name)
		}
	}
}

// lineReader returns lines of a text by their numbers.
type lineReader struct {
	text   []byte
	starts []int
}

// line returns a line without its end, in valid UTF-8; an empty one where there is none.
func (l *lineReader) line(n int) string {
	if l.starts == nil {
		l.starts = append(l.starts, 0)
		for i, c := range l.text {
			if c == '\n' {
				l.starts = append(l.starts, i+1)
			}
		}
	}
	if n < 1 || n > len(l.starts) {
		return ""
	}
	text := l.text[l.starts[n-1]:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.ToValidUTF8(string(bytes.TrimRight(text, "\r")), "\uFFFD")
}
