package walk

import (
	"errors"
	"slices"
)

// maxHeld is how deep a sorted walk keeps directories open while it is below them. Deeper ones are opened again.
const maxHeld = 128

var errTooMany = errors.New("it has too many entries to sort; those beyond are left out")

// sorted visits what is in d one by one, in order.
func (w *walker) sorted(d *Dir) {
	k := &worker{walker: w, top: d}
	o, err := w.tree.open(d, nil)
	if err != nil {
		w.skipped(d, true, err)
		return
	}
	k.inOrder(o)
}

// inOrder visits what is in a directory and closes it.
func (k *worker) inOrder(o *openDir) {
	defer func() { o.sys.close() }()
	t, d := k.tree, o.dir
	names, refs := k.whole(o)
	above := t.above
	if d.rel != "" {
		above += d.rel + "/"
	}
	down := k.down && (t.opt.MaxDepth <= 0 || d.depth+1 < t.opt.MaxDepth)
	for _, r := range refs {
		if k.queue.over.Load() {
			return
		}
		dir, path := r.typ == Directory, above+r.path(names)
		if t.leaves(d, path, len(above), dir) {
			continue
		}
		if (!dir || t.opt.Dirs || !k.down) && !k.visitOne(o, path, r.typ) || !dir || !down {
			continue
		}
		child := &Dir{parent: d, rel: path[len(t.above):], depth: d.depth + 1, rules: d.rules}
		if !k.inside(o, child) {
			return
		}
	}
}

// inside visits what is in a child of o. It returns false where o could not be opened again afterwards.
func (k *worker) inside(o *openDir, child *Dir) bool {
	c, err := k.tree.open(child, o)
	if err != nil {
		k.skipped(child, false, err)
		return true
	}
	if child.depth <= maxHeld {
		k.inOrder(c)
		return true
	}
	o.sys.close()
	o.sys = noDir()
	k.inOrder(c)
	again, err := k.tree.open(&Dir{parent: o.dir.parent, rel: o.dir.rel}, nil)
	if err != nil {
		k.skipped(o.dir, false, err)
		return false
	}
	o.sys = again.sys
	return true
}

// whole reads all of a directory, and returns the names in it in order.
func (k *worker) whole(o *openDir) (names string, refs []ref) {
	c := &k.chunk
	c.reset("", "", k.tree.opt.Hidden)
	for more := true; more && !k.queue.over.Load(); {
		var err error
		if more, err = o.sys.next(c); c.full {
			more, err = false, errTooMany
		}
		if err != nil {
			k.skipped(o.dir, false, err)
		}
	}
	k.tree.enter(o, c.found)
	names = string(c.text)
	c.sort(names)
	return names, slices.Clone(c.refs)
}
