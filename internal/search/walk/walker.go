package walk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
)

const (
	// batchSize is how many files of a directory one worker visits while others could help.
	batchSize = 64
	// maxOpen is how many directories stay open for later. Beyond it a worker finishes what it has begun.
	maxOpen = 256
)

// walker is one walk.
type walker struct {
	tree  *Tree
	visit func(*Entry) error
	down  bool
	queue *queue
	open  atomic.Int32

	mu    sync.Mutex
	first error
	// panic is what a visit panicked with.
	panic any
}

func newWalker(t *Tree, visit func(*Entry) error, down bool) *walker {
	return &walker{tree: t, visit: visit, down: down, queue: newQueue(t.opt.Workers)}
}

func (w *walker) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = err
	}
	w.queue.stop()
}

func (w *walker) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}

// skipped reports a directory that could not be listed. The root must be listed.
func (w *walker) skipped(d *Dir, top bool, err error) {
	switch {
	case top:
		w.fail(&fs.PathError{Op: "walk", Path: filepath.Join(w.tree.opt.Root, filepath.FromSlash(d.rel)), Err: bare(err)})
	case gone(err) || w.tree.opt.Skipped == nil:
	default:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tree.opt.Skipped(d.Rel(), err)
	}
}

// bare strips the operation and the path from an error of the system.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// release gives up one use of an open directory.
func (w *walker) release(o *openDir) {
	if o.refs.Add(-1) == 0 {
		o.sys.close()
		w.open.Add(-1)
	}
}

// parallel walks by several workers.
func (w *walker) parallel(d *Dir) {
	w.queue.push([]job{{dir: d}})
	var group sync.WaitGroup
	for i := range w.tree.opt.Workers {
		group.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					w.broke(p)
				}
			}()
			k := &worker{walker: w, top: d}
			k.entry.Worker = i
			for {
				j, ok := w.queue.pop()
				if !ok {
					return
				}
				k.do(j)
			}
		})
	}
	group.Wait()
	for _, j := range w.queue.rest() {
		if j.open != nil {
			w.release(j.open)
		}
	}
	if w.panic != nil {
		panic(w.panic) // in the goroutine of whoever walks, where it can be dealt with
	}
}

// broke takes up a panic of a visit and ends the walk.
func (w *walker) broke(p any) {
	w.mu.Lock()
	w.panic = p
	w.mu.Unlock()
	w.queue.stop()
}

// worker is one goroutine of a walk.
type worker struct {
	*walker
	top   *Dir
	chunk chunk
	jobs  []job
	files []ref
	entry Entry
}

func (k *worker) do(j job) {
	switch {
	case j.refs != nil:
		defer k.release(j.open)
		k.visitAll(j.open, j.text, j.refs)
	case j.dir == nil:
		k.read(j.open)
	default:
		o, err := k.tree.open(j.dir, j.open)
		if j.open != nil {
			k.release(j.open)
		}
		if err != nil {
			k.skipped(j.dir, j.dir == k.top, err)
			return
		}
		k.walker.open.Add(1)
		k.read(o)
	}
}

// read reads a part of a directory, leaves what others can do in the queue, and visits the rest. It gives up its use of
// the directory.
func (k *worker) read(o *openDir) {
	defer k.release(o)
	for more := true; more && !k.queue.over.Load(); {
		text := ""
		if text, more = k.part(o); text == "" {
			continue
		}
		share := k.walker.open.Load() < maxOpen
		k.jobs, k.files = k.jobs[:0], k.files[:0]
		if more && share {
			o.refs.Add(1)
			k.jobs = append(k.jobs, job{open: o})
			more = false
		}
		k.sortEntries(o, text, share)
		files := k.files
		for share && len(files) > batchSize {
			o.refs.Add(1)
			cut := len(files) - batchSize
			k.jobs = append(k.jobs, job{open: o, text: text, refs: append([]ref(nil), files[cut:]...)})
			files = files[:cut]
		}
		if len(k.jobs) > 0 {
			k.queue.push(k.jobs)
			clear(k.jobs)
		}
		k.visitAll(o, text, files)
	}
}

// part reads the next part of a directory, and its ignore files before the first one. It returns the paths of the
// entries, and whether there may be more.
func (k *worker) part(o *openDir) (text string, more bool) {
	c := &k.chunk
	c.reset(k.tree.above, o.dir.rel, k.tree.opt.Hidden)
	more, err := o.sys.next(c)
	if err != nil {
		k.skipped(o.dir, false, err)
	}
	if !o.entered {
		if more {
			c.found = specialAll
		}
		k.tree.enter(o, c.found)
	}
	return string(c.text), more
}

// sortEntries sorts the entries of the chunk into files to visit and directories to enter, without what is left out. With
// share the directory stays open for those below it.
func (k *worker) sortEntries(o *openDir, text string, share bool) {
	t, d := k.tree, o.dir
	down := k.down && (t.opt.MaxDepth <= 0 || d.depth+1 < t.opt.MaxDepth)
	for _, r := range k.chunk.refs {
		dir := r.typ == Directory
		if t.leaves(d, r.path(text), k.chunk.prefix, dir) {
			continue
		}
		if !dir {
			k.files = append(k.files, r)
			continue
		}
		if t.opt.Dirs && !k.visitOne(o, r.path(text), r.typ) {
			continue
		}
		if !down {
			continue
		}
		j := job{dir: &Dir{parent: d, rel: r.path(text)[len(t.above):], depth: d.depth + 1, rules: d.rules}}
		if share {
			o.refs.Add(1)
			j.open = o
		}
		k.jobs = append(k.jobs, j)
	}
}

func (k *worker) visitAll(o *openDir, text string, refs []ref) {
	for _, r := range refs {
		if k.queue.over.Load() {
			return
		}
		k.visitOne(o, r.path(text), r.typ)
	}
}

// visitOne visits an entry and reports whether to go into it. path begins at the common top of the rules.
func (k *worker) visitOne(o *openDir, path string, typ Type) bool {
	e := &k.entry
	e.Rel = path[len(k.tree.above):]
	e.Type, e.in = typ, o
	e.name = below(o.dir.rel)
	err := k.visit(e)
	if err == nil {
		return true
	}
	if !errors.Is(err, fs.SkipDir) {
		k.fail(err)
	}
	return false
}
