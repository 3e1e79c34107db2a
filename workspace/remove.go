package workspace

import (
	"context"
	"errors"
	"syscall"

	"github.com/tongs-ai/tongs"
)

// maxRemoved is how many removed paths are returned by name.
const maxRemoved = 10_000

// Remove deletes what is at p: a link rather than its target, and a directory with all that is in it where recursive
// is set. It never follows a link, whatever happens to the tree meanwhile, and does not enter another file system.
// Of what it removed it returns at most the first 10,000 paths; p itself is the last to go.
func (f *files) Remove(ctx context.Context, p tongs.Path, recursive bool) ([]tongs.Path, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("delete", p, err)
	}
	if _, err := f.decided(tongs.EffectDelete, p); err != nil {
		return nil, err
	}
	unlock, err := f.w.lock(ctx, p)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e, err := f.decided(tongs.EffectDelete, p)
	if err != nil {
		return nil, err
	}
	h, name, err := f.w.parent(p)
	if err != nil {
		return nil, fail("delete", p, err)
	}
	defer h.close()
	st, err := h.lstat(name)
	if err != nil {
		return nil, fail("delete", p, err)
	}
	if err := f.mayLose(h, name, p, e, st, recursive); err != nil {
		return nil, err
	}
	if recursive {
		if err := f.mayTouch(ctx, p, st, touch{tongs.EffectDelete, p}); err != nil {
			return nil, err
		}
	}
	if !recursive && st.typ == tongs.FileDirectory {
		if list, err := firstEntry(h, name); err == nil && list > 0 {
			return nil, (&removal{}).full(h, name, p) // nothing is kept in vain
		}
	}
	done, err := f.keep(ctx, Changing{Path: p})
	if err != nil {
		return nil, err
	}
	t := removal{ctx: ctx, dev: st.dev, recursive: recursive}
	err = t.remove(h, name, p)
	done(err == nil)
	if t.changed {
		v := tongs.Absent
		if err != nil {
			v = "" // what is left of it is for a new decision
		}
		f.leave(p, v, "deleted "+p.String())
	}
	if err != nil {
		return t.gone, fail("delete", p, err)
	}
	h.sync()
	return t.gone, nil
}

// mayLose checks that what is at p may be deleted or moved away: that it is in the decided state, and that a directory
// holds nothing that must be asked for.
func (f *files) mayLose(h handle, name string, p tongs.Path, e tongs.Effect, st stat, whole bool) error {
	if err := f.w.mayRemove(p, st); err != nil {
		return err
	}
	if _, err := f.admit(h, name, p, e, ""); err != nil {
		return err
	}
	if st.typ != tongs.FileDirectory || !whole || (e.MustAsk && e.Path == p && !e.Unknown) {
		return nil
	}
	if why, found := f.w.scan(p); found {
		return f.need("the directory "+why, tongs.Effect{Kind: tongs.EffectDelete, Path: p})
	}
	return nil
}

// removal removes a tree by the descriptors of its directories.
type removal struct {
	ctx       context.Context
	dev       uint64
	recursive bool
	gone      []tongs.Path
	changed   bool
}

func (t *removal) remove(h handle, name string, p tongs.Path) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	st, err := h.lstat(name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.typ == tongs.FileDirectory {
		return t.removeDir(h, name, p)
	}
	err = h.remove(name, false)
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EPERM) {
		// It may have become a directory since; what cannot be removed says so again.
		if st, serr := h.lstat(name); serr == nil && st.typ == tongs.FileDirectory {
			return t.removeDir(h, name, p)
		}
	}
	return t.note(p, err)
}

func (t *removal) note(p tongs.Path, err error) error {
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	t.changed = true
	if len(t.gone) < maxRemoved {
		t.gone = append(t.gone, tongs.Path{Root: p.Root, Rel: escape(p.Rel)})
	}
	return nil
}

func (t *removal) removeDir(h handle, name string, p tongs.Path) error {
	if !t.recursive {
		err := h.remove(name, true)
		if notEmpty(err) {
			return t.full(h, name, p)
		}
		return t.note(p, err)
	}
	// Others may add entries while this goes on: it begins anew a few times, then gives up.
	for try := 0; ; try++ {
		if err := t.removeEntries(h, name, p); err != nil {
			return err
		}
		err := h.remove(name, true)
		if notEmpty(err) && try < 10 {
			continue
		}
		return t.note(p, err)
	}
}

func (t *removal) removeEntries(h handle, name string, p tongs.Path) error {
	d, err := h.walk(name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.close()
	st, err := d.lstat(".")
	if err != nil {
		return err
	}
	if st.dev != t.dev {
		return tongs.Errorf(tongs.CodePermissionDenied,
			"cannot delete %q: another file system is mounted there; unmount it first", display(p))
	}
	list, err := entries(d, 0)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := t.remove(d, e, p.Join(e)); err != nil {
			return err
		}
	}
	return nil
}

// firstEntry counts the entries of a directory, at most one.
func firstEntry(h handle, name string) (int, error) {
	d, err := h.walk(name)
	if err != nil {
		return 0, err
	}
	defer d.close()
	list, err := entries(d, 1)
	return len(list), err
}

func notEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

func (t *removal) full(h handle, name string, p tongs.Path) error {
	count := 0
	if d, err := h.walk(name); err == nil {
		list, _ := entries(d, maxRemoved)
		count = len(list)
		d.close()
	}
	say := "entries"
	if count == 1 {
		say = "entry"
	}
	return tongs.Errorf(tongs.CodeNotEmpty, "directory %q has %d %s; delete it recursively, or its entries first",
		display(p), count, say).With("entries", count)
}
