package live

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs/internal/search/index"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// segment is an index and the files in it.
type segment struct {
	index *index.Segment
	nodes []*node // by their number in the index
	live  int     // how many of them are still what they were
}

// root is what is known of one tree.
type root struct {
	s      *Service
	top    string
	ctx    context.Context
	cancel context.CancelFunc
	used   atomic.Int64
	// built is closed when there is something to know, or it is known that there is not.
	built chan struct{}
	wake  chan struct{}
	// indexing is held while files are indexed; waited are the ticks since that was last done.
	indexing sync.Mutex
	waited   int

	mu sync.Mutex
	// ready says that searches can go by what is below. problem is why they never will.
	ready   bool
	problem error
	strict  string
	took    time.Duration
	bytes   int64 // what it counts for in the service's

	walk  *walk.Tree // with the ignore rules as they last were
	watch *watcher   // nil in strict mode
	tree  *dir
	// files and dirs are how many there are. direct are the files that are searched directly.
	files, dirs int
	// Those that are binary, and those that are odd, are in lists of their own.
	direct, binary, odd map[*node]struct{}
	segments            []*segment
	repos               map[*dir]struct{}
	byWatch             map[int32]*dir
	byFile              map[identity]*node
	fileWatch           map[identity]int32
	watchedFile         map[int32]identity
	nextID              uint32
	freeIDs             []uint32
	// limbo holds files that were taken out of the table, while it is brought up to date: they may come back.
	limbo map[identity]*node
	// now is when the table was last brought up to date, generation counts these times, shape the files that came and went.
	now int64
	// current is what the table is up to date with: when that was last begun and came to its end.
	current    time.Time
	generation uint64
	shape      uint64
	sweeps     int
	// doubt says that events were lost: files that were indexed as soon as they had changed may have changed once more.
	doubt bool
	// removed and touched are what happened last; forgot is the last generation of which removals are not remembered any
	// more, overlooked that of which changes are not.
	removed            []removal
	recent             []change
	forgot, overlooked uint64
	views              []*view
}

// removal is a file that is not there any more.
type removal struct {
	generation uint64
	rel        string
}

// change is a file that is new, or may have another content.
type change struct {
	generation uint64
	n          *node
}

// changed remembers that something happened to a file.
func (r *root) changed(n *node) {
	if n.change == r.generation {
		return
	}
	n.change = r.generation
	if len(r.recent) >= maxRemovals {
		half := len(r.recent) / 2
		r.overlooked = r.recent[half-1].generation
		r.recent = append(r.recent[:0], r.recent[half:]...)
	}
	r.recent = append(r.recent, change{r.generation, n})
}

// maxRemovals is how many removals are remembered, and how many changes.
const maxRemovals = 1 << 14

func (r *root) log(rel string) {
	if len(r.removed) >= maxRemovals {
		half := len(r.removed) / 2
		r.forgot = r.removed[half-1].generation
		r.removed = append(r.removed[:0], r.removed[half:]...)
	}
	r.removed = append(r.removed, removal{r.generation, rel})
}

func newRoot(s *Service, top string) *root {
	r := &root{
		s: s, top: top, built: make(chan struct{}), wake: make(chan struct{}, 1),
		direct: map[*node]struct{}{}, repos: map[*dir]struct{}{}, byWatch: map[int32]*dir{}, byFile: map[identity]*node{},
		fileWatch: map[identity]int32{}, watchedFile: map[int32]identity{}, limbo: map[identity]*node{}, generation: 1,
		binary: map[*node]struct{}{}, odd: map[*node]struct{}{},
	}
	r.ctx, r.cancel = context.WithCancel(s.ctx)
	return r
}

func defaultWorkers() int { return max(1, runtime.GOMAXPROCS(0)/4) }

// tick is how often a root takes queued events while nobody searches, so that the queue does not overflow.
const tick = time.Second

// run builds what is known of the root, and keeps it until it is not used any more.
func (r *root) run() {
	ctx := r.ctx
	defer r.end()
	if err := r.build(ctx); err != nil {
		r.fail(err)
	}
	close(r.built)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for swept := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-r.wake:
		}
		if time.Since(time.Unix(0, r.used.Load())) > r.s.opt.Idle {
			return
		}
		sweep := time.Since(swept) >= r.s.opt.Sweep
		if sweep {
			swept = time.Now()
		}
		r.maintain(ctx, sweep)
	}
}

// maintain brings the table up to date and indexes what is searched directly.
func (r *root) maintain(ctx context.Context, sweep bool) {
	r.mu.Lock()
	if !r.ready {
		r.mu.Unlock()
		return
	}
	err := error(nil)
	if r.watch != nil || sweep {
		err = r.refresh(ctx, sweep)
	}
	r.mu.Unlock()
	if err == nil {
		err = r.reindex(ctx, false)
	}
	if err != nil && ctx.Err() == nil {
		r.fail(err)
	}
}

// fail ends the use of a root. One that is too large stays as that, until nobody asked for it for a while; in other
// cases the next search begins anew.
func (r *root) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed(err)
}

// failed is fail for who has the lock.
func (r *root) failed(err error) {
	if _, ok := errors.AsType[*tooLarge](err); !ok {
		r.s.forget(r)
		r.cancel()
	}
	r.drop(err)
}

// end releases everything.
func (r *root) end() {
	r.cancel()
	r.s.forget(r)
	r.fail(errClosed)
}

// drop forgets everything. The caller has the lock.
func (r *root) drop(err error) {
	r.ready = false
	if r.problem == nil {
		r.problem = err
	}
	if r.watch != nil {
		r.watch.close()
	}
	if r.walk != nil {
		_ = r.walk.Close()
	}
	r.s.bytes.Add(-r.bytes)
	r.bytes, r.files, r.dirs = 0, 0, 0
	r.binary, r.odd, r.recent = nil, nil, nil
	r.watch, r.walk, r.tree, r.direct, r.segments, r.views, r.removed = nil, nil, nil, nil, nil, nil, nil
	r.repos, r.byWatch, r.byFile, r.fileWatch, r.watchedFile, r.limbo, r.freeIDs = nil, nil, nil, nil, nil, nil, nil
}

func (r *root) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := Status{
		Top: r.top, Ready: r.ready, Strict: r.strict, Files: r.files, Direct: len(r.direct), Built: r.took,
		Table: int64(r.nextID) * nodeBytes, Segments: len(r.segments), Watches: len(r.byWatch) + len(r.watchedFile),
	}
	if r.problem != nil {
		st.Problem = strings.TrimSpace(r.problem.Error())
	}
	for _, s := range r.segments {
		st.Text += s.index.Text()
		st.Index += s.index.Size()
	}
	return st
}

// account tells the service how much memory the root takes. It is an error where that is too much.
func (r *root) account() error {
	bytes := int64(r.nextID) * nodeBytes
	for _, s := range r.segments {
		bytes += s.index.Size() + 8*int64(len(s.nodes))
	}
	if r.s.bytes.Add(bytes-r.bytes) > r.s.opt.MaxBytes {
		r.bytes = bytes
		return &tooLarge{r.s.opt.MaxBytes}
	}
	r.bytes = bytes
	return nil
}
