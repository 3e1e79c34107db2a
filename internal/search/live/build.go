package live

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/index"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// build lists the tree, watches it and indexes what is in it.
func (r *root) build(ctx context.Context) error {
	began := time.Now()
	if err := r.list(ctx); err != nil {
		return err
	}
	if err := r.index(ctx, r.pending()); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready, r.took = true, time.Since(began)
	return r.account()
}

// list fills the table.
func (r *root) list(ctx context.Context) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = time.Now().UnixNano()
	if r.s.opt.Strict {
		r.becomeStrict("it was asked for")
	} else if r.watch, err = newWatcher(); err != nil {
		r.noWatches(err)
	}
	if r.walk, err = r.open(); err != nil {
		return err
	}
	r.tree = &dir{}
	if err := r.read(ctx, r.tree, look{}); err != nil {
		return err
	}
	return r.account()
}

// item is a file to index, and what came of it.
type item struct {
	n       *node
	version uint32
	flag    flag
	info    walk.Info
	at      int64 // when it was read
	doc     int32 // its number in the segment, or -1
}

// pending returns the files that are to be indexed, in the order of their paths.
func (r *root) pending() (items []item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := range r.direct {
		if !n.has(isDirect) {
			items = append(items, item{n: n, version: n.version})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.n.rel, b.n.rel) })
	return items
}

const (
	// enough is how many files that are searched directly are indexed at once, patience how many ticks fewer of them wait.
	enough   = 64
	patience = 5
	// maxSegments is how many segments there may be before small ones are put together.
	maxSegments = 8
)

// reindex indexes files that are searched directly, and puts small or worn segments together.
func (r *root) reindex(ctx context.Context, now bool) error {
	r.indexing.Lock()
	defer r.indexing.Unlock()
	items := r.pending()
	if r.waited++; len(items) == 0 || len(items) < enough && r.waited < patience && !now {
		return nil
	}
	r.waited = 0
	return r.index(ctx, append(items, r.staleSegments()...))
}

// staleSegments returns the files of segments that are better indexed anew.
func (r *root) staleSegments() (items []item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	order := slices.Clone(r.segments)
	slices.SortFunc(order, func(a, b *segment) int { return cmp.Compare(a.live, b.live) })
	for i, s := range order {
		if 2*s.live >= len(s.nodes) && i >= len(order)-maxSegments {
			continue
		}
		for _, n := range s.nodes {
			if n.seg == s {
				items = append(items, item{n: n, version: n.version})
			}
		}
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.n.rel, b.n.rel) })
	return items
}

// indexBatch is how many files a worker takes at a time.
const indexBatch = 256

// index reads files and makes segments of them.
func (r *root) index(ctx context.Context, items []item) error {
	tree, err := walk.Open(walk.Options{Root: r.top, NoIgnore: true, Workers: 1})
	if err != nil {
		return err
	}
	defer tree.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(r.s.opt.Workers, 1+len(items)/indexBatch) {
		group.Go(func() {
			x := &indexer{r: r, tree: tree, builder: index.NewBuilder()}
			defer x.close()
			for ctx.Err() == nil {
				from := int(next.Add(indexBatch)) - indexBatch
				if from >= len(items) {
					break
				}
				if err := x.batch(ctx, items[from:min(from+indexBatch, len(items))]); err != nil {
					cancel(err)
				}
			}
			if err := x.finish(ctx); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// indexer is a goroutine that indexes.
type indexer struct {
	r       *root
	tree    *walk.Tree
	builder *index.Builder
	folder  walk.Folder
	dir     string
	opened  bool
	buf     []byte
	items   []item
	read    int64
}

func (x *indexer) close() {
	if x.opened {
		x.folder.Close()
	}
}

func (x *indexer) batch(ctx context.Context, items []item) error {
	for _, it := range items {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x.add(&it)
		x.items = append(x.items, it)
		if x.builder.Full() {
			if err := x.finish(ctx); err != nil {
				return err
			}
		}
		if x.read > 1<<20 {
			x.read = 0
			x.r.s.yield(ctx)
		}
	}
	return nil
}

// Building waits for searches, for a while after each MiB.
const (
	yieldTime  = 500 * time.Microsecond
	yieldTimes = 20
)

func (s *Service) yield(ctx context.Context) {
	for i := 0; i < yieldTimes && s.searches.Load() > 0; i++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(yieldTime):
		}
	}
}

// add reads a file and adds it to the segment.
func (x *indexer) add(it *item) {
	it.doc, it.at = -1, time.Now().UnixNano()
	content, err := x.content(it)
	x.read += int64(len(content)) + 1<<10
	if err != nil {
		it.flag = isDirect
		return
	}
	switch grep.FormOf(content[:min(len(content), headSize)]) {
	case grep.Binary:
		it.flag = isBinary
		return
	case grep.Decoded:
		it.flag = isDirect
		return
	}
	if tooLong(content) {
		it.flag = isDirect
		return
	}
	if index.Odd(content) {
		it.flag = isOdd | isWhole
	}
	if grep.Uneven(content) {
		it.flag |= isWhole
	}
	it.doc = int32(x.builder.Add(content))
}

// headSize is how much of a file tells its form.
const headSize = 64 << 10

var errUnfit = errors.New("it cannot be indexed")

// content returns what is in a file.
func (x *indexer) content(it *item) ([]byte, error) {
	dir := path.Dir(it.n.rel)
	if !x.opened || x.dir != dir {
		x.close()
		folder, err := x.tree.FolderAt(dir)
		if x.opened = err == nil; err != nil {
			return nil, err
		}
		x.folder, x.dir = folder, dir
	}
	h, err := x.folder.Open(path.Base(it.n.rel))
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if it.info, err = h.Stat(); err != nil {
		return nil, err
	}
	limit := x.r.s.opt.MaxFile
	if it.info.Type != walk.File || it.info.Size > limit {
		return nil, errUnfit
	}
	n := 0
	for {
		if n == len(x.buf) {
			x.buf = append(x.buf, make([]byte, max(64<<10, len(x.buf)))...)
		}
		m, err := h.Read(x.buf[n:])
		if n += m; errors.Is(err, io.EOF) {
			return x.buf[:n], nil
		}
		if err != nil || int64(n) > limit {
			return nil, errors.Join(errUnfit, err)
		}
	}
}

// tooLong reports whether a text has a line that a search does not look at as a whole.
func tooLong(content []byte) bool {
	for len(content) > grep.MaxLine {
		i := bytes.LastIndexByte(content[:grep.MaxLine], '\n')
		if i < 0 {
			return true
		}
		content = content[i+1:]
	}
	return false
}

// finish makes a segment of what was added, and lets searches use it.
func (x *indexer) finish(ctx context.Context) error {
	if len(x.items) == 0 {
		return nil
	}
	seg := &segment{index: x.builder.Finish()}
	seg.nodes = make([]*node, seg.index.Files())
	items := x.items
	x.items = nil
	return x.r.attach(ctx, seg, items)
}

// attach puts files that were indexed into the table, except those that changed meanwhile.
func (r *root) attach(ctx context.Context, seg *segment, items []item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tree == nil {
		return errClosed
	}
	if r.watch != nil {
		if err := r.refresh(ctx, false); err != nil {
			return err
		}
	}
	r.generation++
	for i := range items {
		it := &items[i]
		n := it.n
		if it.doc >= 0 {
			seg.nodes[it.doc] = n
		}
		if n.has(isGone) || n.version != it.version {
			continue
		}
		if it.info.Type == walk.File {
			if !r.s.settled(it.info, it.at) {
				if r.watch == nil {
					continue // a change right after it was read would not show
				}
				it.flag |= isWhole | isFresh
			}
			if !same(it.info, n.info) {
				r.changed(n) // and nobody would see that any more
			}
			r.describe(n, it.info)
		}
		r.setIndexed(n, seg, it)
	}
	if seg.live > 0 {
		r.segments = append(r.segments, seg)
	}
	r.segments = slices.DeleteFunc(r.segments, func(s *segment) bool { return s.live == 0 })
	return r.account()
}

// setIndexed takes up what came of indexing a file.
func (r *root) setIndexed(n *node, seg *segment, it *item) {
	r.unindex(n)
	r.mark(n, it.flag)
	if it.doc >= 0 {
		n.seg, n.doc = seg, it.doc
		seg.live++
	}
	if !n.has(isDirect) {
		delete(r.direct, n)
	}
}
