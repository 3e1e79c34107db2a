package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// step is one rename or change of mode. Each can be told to have been done or not by what is there, and be taken back.
type step struct {
	Op   string     `json:"op"`
	Path tongs.Path `json:"path"`
	// Slot is the place in the stage; ID identifies what comes from there, empty where the system cannot tell.
	Slot tongs.Path `json:"slot,omitzero"`
	ID   string     `json:"id,omitempty"`
	// Old and New are modes.
	Old fs.FileMode `json:"old,omitempty"`
	New fs.FileMode `json:"new,omitempty"`

	// print is the fingerprint of what must be taken away.
	print string
}

const (
	opOut  = "out"  // from the path to the slot
	opIn   = "in"   // from the slot to the path
	opSwap = "swap" // both at once
	opMode = "mode" // of a directory
)

// asideSuffix is added to a slot for what is taken away where a file system cannot exchange two names.
const asideSuffix = "-old"

func (s *step) moveAway() tongs.Path {
	return tongs.Path{Root: s.Slot.Root, Rel: s.Slot.Rel + asideSuffix}
}

// steps lists what a transaction does: what goes, the innermost first; what comes, the outermost first; modes.
func (pl *planner) steps() (list []step, err error) {
	ids := map[tongs.Path]string{}
	unsealed := map[tongs.Path]bool{}
	unseal := func(p tongs.Path) error {
		if os.Geteuid() == 0 {
			return nil
		}
		fi, err := pl.t.disk.lstat(p)
		if err != nil || fi == nil || unsealed[p] || !sealed(fi) {
			return err
		}
		unsealed[p] = true
		old := fi.Mode() & modeBits
		list = append(list, step{Op: opMode, Path: p, Old: old, New: old | 0o200})
		to, stays := pl.final(p)
		if k := slices.IndexFunc(pl.modes, func(m modeChange) bool { return m.path == to }); stays && k >= 0 {
			pl.modes[k].old = old | 0o200 // it gets another mode anyway
		} else if stays {
			pl.modes = append(pl.modes, modeChange{path: to, old: old | 0o200, new: old, quiet: true})
		}
		return nil
	}
	for _, o := range pl.outs {
		if err := errors.Join(unseal(o.path.Dir()), unseal(o.path)); err != nil {
			return nil, err
		}
		list = append(list, step{Op: opOut, Path: o.path, Slot: o.slot, print: o.print})
		ids[o.slot] = identity(o.fi)
	}
	for _, i := range pl.ins {
		if i.dir == i.path.Dir() {
			if err := unseal(i.path.Dir()); err != nil {
				return nil, err
			}
		}
		op := opIn
		if i.swap != nil {
			op = opSwap
		}
		list = append(list, step{Op: op, Path: i.path, Slot: i.slot, ID: ids[i.slot], print: i.print})
	}
	slices.SortStableFunc(pl.modes, func(a, b modeChange) int { return depth(b.path) - depth(a.path) })
	for _, m := range pl.modes {
		list = append(list, step{Op: opMode, Path: m.path, Old: m.old, New: m.new})
	}
	return list, nil
}

// final returns where an object of the disk will be, and whether it will.
func (pl *planner) final(p tongs.Path) (tongs.Path, bool) {
	var nearest *out
	for _, o := range pl.outs {
		if o.path.Contains(p) && (nearest == nil || len(o.path.Rel) > len(nearest.path.Rel)) {
			nearest = o
		}
	}
	if nearest == nil {
		return p, true
	}
	for _, i := range pl.ins {
		if i.node.kind == there && i.node.at == nearest.path {
			rel := strings.TrimPrefix(strings.TrimPrefix(p.Rel, nearest.path.Rel), "/")
			if rel == "" {
				return i.path, true
			}
			return i.path.Join(rel), true
		}
	}
	return tongs.Path{}, false
}

// apply takes the steps and marks the transaction as done. After an error they are taken back. One transaction does so at a time:
// two that meet would each take what the other is about to bring back.
func (t *Txn) apply(ctx context.Context) error {
	release, err := t.j.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	n, err := t.take(ctx)
	if err == nil {
		err = t.syncPlaces()
	}
	if err == nil {
		if err = t.j.point("mark"); err == nil {
			err = os.Rename(t.file(""), t.j.file("done", t.head.ID))
		}
	}
	if err == nil {
		t.j.syncDir(t.j.file("done"))
		return nil
	}
	// What somebody changed at this very moment stays; what was there is beside it, or still in the stage.
	left, stuck := t.j.revert(t.disk, t.steps[:n])
	if t.left = left; stuck != nil {
		return fmt.Errorf("%w; and not all could be taken back: %w", err, stuck)
	}
	return err
}

// take takes the steps and returns how many may have been taken.
func (t *Txn) take(ctx context.Context) (int, error) {
	for i := range t.steps {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		if err := t.j.point("step " + t.steps[i].Op); err != nil {
			return i, err
		}
		if err := t.takeOne(ctx, &t.steps[i]); err != nil {
			if _, ok := errors.AsType[*ConflictError](err); ok {
				return i + 1, err
			}
			return i + 1, fmt.Errorf("%s: %w", t.steps[i].Path, err)
		}
	}
	return len(t.steps), nil
}

func (t *Txn) takeOne(ctx context.Context, s *step) error {
	switch s.Op {
	case opOut:
		if err := t.disk.rename(s.Path, s.Slot, false); err != nil {
			return err
		}
		return t.verify(ctx, s, s.Slot)
	case opIn:
		err := t.disk.rename(s.Slot, s.Path, false)
		if errors.Is(err, fs.ErrExist) {
			return &ConflictError{[]Conflict{{s.Path, "it exists now"}}}
		}
		return err
	case opSwap:
		err := t.disk.rename(s.Slot, s.Path, true)
		if !noExchange(err) {
			if err != nil {
				return err
			}
			return t.verify(ctx, s, s.Slot)
		}
		if err := t.disk.rename(s.Path, s.moveAway(), false); err != nil {
			return err
		}
		if err := t.verify(ctx, s, s.moveAway()); err != nil {
			return err
		}
		if err := t.j.point("swap in"); err != nil {
			return err
		}
		return t.disk.rename(s.Slot, s.Path, false)
	default:
		return t.disk.chmod(s.Path, s.New)
	}
}

// verify compares what was taken away with what was kept.
func (t *Txn) verify(ctx context.Context, s *step, slot tongs.Path) error {
	if s.print == "" {
		return nil
	}
	now, err := t.disk.fingerprint(ctx, slot, nil)
	if err != nil {
		return err
	}
	if now != s.print {
		return &ConflictError{[]Conflict{{s.Path, "it changed just now"}}}
	}
	return nil
}

// syncPlaces makes the renames durable.
func (t *Txn) syncPlaces() error {
	if t.j.opt.NoSync {
		return nil
	}
	if len(t.steps) > fewFiles {
		return t.syncStages(len(t.steps))
	}
	synced := map[tongs.Path]bool{}
	for _, s := range t.steps {
		dir := s.Path.Dir()
		if synced[dir] {
			continue
		}
		synced[dir] = true
		at, err := t.disk.dir(dir)
		if missing(err) {
			continue // it went later
		}
		if err != nil {
			return err
		}
		if f, err := at.Open("."); err == nil {
			_ = f.Sync()
			_ = f.Close()
		}
	}
	return nil
}

// revert takes steps back, the last first. A step that was not taken is left alone. What it cannot put back into its place,
// since somebody else did something there since, is put beside it; that is in the error. Left says that something could
// be put nowhere, and is in the stage still.
func (j *Journal) revert(d *disk, steps []step) (left bool, stuck error) {
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		d.forget()
		_ = j.point("revert") // a place to die; a full disk does not stop it
		err := revertOne(d, s)
		if err == nil {
			continue
		}
		stuck = errors.Join(stuck, fmt.Errorf("%s: %w", s.Path, err))
		left = left || !errors.Is(err, errBeside)
	}
	return left, stuck
}

func revertOne(d *disk, s *step) error {
	if s.Op == opMode {
		fi, err := d.lstat(s.Path)
		if err != nil || fi == nil || fi.Mode()&modeBits != s.New {
			return err
		}
		return d.chmod(s.Path, s.Old)
	}
	slot, err := d.lstat(s.Slot)
	if err != nil {
		return err
	}
	now, err := d.lstat(s.Path)
	if err != nil {
		return err
	}
	ours := now != nil && (s.ID == "" || identity(now) == s.ID)
	switch s.Op {
	case opOut:
		return revertOut(d, s.Slot, s.Path, slot, now)
	case opIn:
		if slot != nil || !ours {
			return nil // not taken, or taken away again by somebody
		}
		return d.rename(s.Path, s.Slot, false)
	}
	aside, err := d.lstat(s.moveAway())
	if err != nil {
		return err
	}
	if aside != nil {
		if slot == nil && ours {
			if err := d.rename(s.Path, s.Slot, false); err != nil {
				return err
			}
			now = nil
		}
		return revertOut(d, s.moveAway(), s.Path, aside, now)
	}
	switch {
	case slot == nil || s.ID == "" || identity(slot) == s.ID:
		return nil // not taken
	case ours:
		return d.rename(s.Slot, s.Path, true)
	default:
		return revertOut(d, s.Slot, s.Path, slot, now)
	}
}

// revertOut brings back what was taken away, to its place or, where that is taken, beside it.
func revertOut(d *disk, slot, p tongs.Path, had, now fs.FileInfo) error {
	if had == nil {
		return nil
	}
	if now == nil {
		return d.rename(slot, p, false)
	}
	beside := tongs.Path{Root: p.Root, Rel: p.Rel + besideSuffix + strings.ToLower(rand.Text()[:6])}
	if err := d.rename(slot, beside, false); err != nil {
		return fmt.Errorf("something else is there now, and what was there is still in %s: %w", slot, err)
	}
	return fmt.Errorf("%w: %s", errBeside, beside)
}

// besideSuffix is added to the name of what could not be put back into its place.
const besideSuffix = ".before-"

var errBeside = errors.New("something else is there now; what was there is beside it")
