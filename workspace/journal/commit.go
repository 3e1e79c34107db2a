package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// Commit makes the changes, all of them or none, and returns the entry. Where what is there changed since it was looked
// at it is a *ConflictError; after any error everything is as it was, except where somebody else put something into the very
// place of what must come back: that comes to a name beside it, which the error tells. A transaction that changes nothing leaves no
// entry: its ID is empty.
func (t *Txn) Commit(ctx context.Context) (*Entry, error) {
	if t.over {
		return nil, errors.New("journal: the transaction is over")
	}
	defer t.finish()
	err := t.prepare(ctx)
	if err == nil && len(t.steps) == 0 {
		t.discard()
		return &Entry{}, nil
	}
	if err == nil {
		err = t.apply(ctx)
	}
	if err != nil {
		if !t.left {
			t.discard()
		}
		return nil, err
	}
	t.cleanUp() // what is left of it is for the next recovery
	return &t.head, nil
}

// prepare stages everything that is new, keeps everything that goes, and writes down how to take it back.
func (t *Txn) prepare(ctx context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	if err := t.netRefs(); err != nil {
		return err
	}
	pl, err := t.plan()
	if err == nil {
		err = t.free()
	}
	if err != nil {
		return err
	}
	if len(pl.outs)+len(pl.ins)+len(pl.modes) == 0 {
		return nil
	}
	if err := t.j.whole(ctx, t.disk, t.head.Whole); err != nil {
		return err
	}
	removed, err := t.keep(ctx, pl)
	if err != nil {
		return err
	}
	moved, created, err := t.build(ctx, pl)
	if err != nil {
		return err
	}
	if t.last != nil {
		if err := t.last(); err != nil {
			return err
		}
	}
	t.changes = slices.Concat(removed, moved, created)
	if t.steps, err = pl.steps(); err != nil {
		return err
	}
	return t.record()
}

// check compares what is there with what is expected.
func (t *Txn) check() error {
	conflicts := &ConflictError{}
	for _, e := range t.expects {
		now, err := t.disk.look(e.path)
		why := ""
		if err != nil {
			why = err.Error()
		} else {
			why = e.state.differs(now)
		}
		if why != "" {
			conflicts.Conflicts = append(conflicts.Conflicts, Conflict{e.path, why})
		}
	}
	if len(conflicts.Conflicts) > 0 {
		return conflicts
	}
	return nil
}

// free compares the places where nothing was seen with what is there. What comes there later is never replaced.
func (t *Txn) free() error {
	conflicts := &ConflictError{}
	for p, saw := range t.saw {
		if saw.Type != Absent {
			continue
		}
		if fi, err := t.disk.lstat(p); err != nil || fi != nil {
			conflicts.Conflicts = append(conflicts.Conflicts, Conflict{p, "it exists now"})
		}
	}
	if len(conflicts.Conflicts) > 0 {
		return conflicts
	}
	return nil
}

// keep puts what goes into the journal, and returns it as changes.
func (t *Txn) keep(ctx context.Context, pl *planner) (removed []Change, err error) {
	leaves := map[tongs.Path]bool{}
	for _, o := range pl.outs {
		leaves[o.path] = true
	}
	skip := func(p tongs.Path) bool { return leaves[p] }
	k := keeper{j: t.j, left: t.j.opt.MaxChange}
	for _, o := range pl.outs {
		if o.slot, _, _, err = t.slotNear(o.dir); err != nil {
			return nil, err
		}
		if !o.kept {
			continue
		}
		if o.print, err = t.disk.fingerprint(ctx, o.path, skip); err != nil {
			return nil, fmt.Errorf("%s: %w", o.path, err)
		}
		first := len(removed)
		if removed, err = k.tree(ctx, t.disk, o.path, skip, removed); err != nil {
			return nil, fmt.Errorf("%s: %w", o.path, err)
		}
		slices.Reverse(removed[first:])
		for _, c := range removed[first:] {
			t.compare(c.Path, c.Before)
		}
	}
	for _, i := range pl.ins {
		if i.swap == nil {
			continue
		}
		if i.print, err = t.disk.fingerprint(ctx, i.path, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", i.path, err)
		}
		at, name, err := t.disk.parent(i.path)
		if err != nil {
			return nil, err
		}
		if i.old, err = k.state(at, name); err != nil {
			return nil, fmt.Errorf("%s: %w", i.path, err)
		}
		t.compare(i.path, i.old)
	}
	if len(t.conflicts) > 0 {
		return nil, &ConflictError{t.conflicts}
	}
	if t.lost != nil {
		return nil, t.lost
	}
	return removed, nil
}

// compare notes a conflict where what is kept is not what was seen there, and what should be kept whole and was not.
func (t *Txn) compare(p tongs.Path, now State) {
	if now.Lost != "" && t.lost == nil && slices.ContainsFunc(t.head.Whole, func(e tongs.Effect) bool { return e.Path.Contains(p) }) {
		t.lost = &workspace.UnkeptError{Path: p, Why: now.Lost}
	}
	if saw, ok := t.saw[p]; ok {
		if why := saw.differs(now); why != "" {
			t.conflicts = append(t.conflicts, Conflict{p, why})
		}
	}
}

// keeper puts contents into the journal, up to a bound.
type keeper struct {
	j    *Journal
	left int64
}

// tree adds what is at p and below it, as removed, to a list: the outermost first.
func (k *keeper) tree(ctx context.Context, d *disk, p tongs.Path, skip func(tongs.Path) bool, list []Change) ([]Change, error) {
	err := d.each(ctx, p, skip, func(q tongs.Path, at *os.Root, name string, _ fs.FileInfo) error {
		s, err := k.state(at, name)
		list = append(list, Change{Path: q, Before: s})
		return err
	})
	return list, err
}

// state returns the state of an entry and keeps its content. What cannot be kept says so.
func (k *keeper) state(at *os.Root, name string) (State, error) {
	s, err := lookIn(at, name, func(f *os.File, size int64) (string, int64, error) {
		if size > k.left {
			return "", 0, errTooLarge
		}
		return k.j.blobs.keep(f, size)
	})
	switch {
	case errors.Is(err, errTooLarge):
		s.Lost, err = fmt.Sprintf("%d bytes are more than the journal keeps", s.Size), nil
	case errors.Is(err, fs.ErrPermission) && s.Type == File:
		s.Lost, err = "it could not be read", nil
	case s.Type == Other:
		s.Lost = "it is a FIFO, a socket or a device"
	}
	if s.Hash != "" {
		k.left -= s.Size
	}
	return s, err
}

// file is the name of a file of an open transaction.
func (t *Txn) file(kind string) string { return t.j.file("open", t.head.ID+"."+t.j.owner+kind) }

type stagesFile struct {
	Roots  map[string]string `json:"roots"`
	Stages []tongs.Path      `json:"stages"`
}

func (t *Txn) writeStages(durable bool) error {
	f := stagesFile{Roots: map[string]string{}}
	for name, dir := range t.head.Roots {
		f.Roots[name] = quote(dir)
	}
	for _, st := range t.stages {
		f.Stages = append(f.Stages, quotePath(st.path))
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return t.j.writeFile(t.file(stagesSuffix), data, durable)
}

const (
	stagesSuffix = ".stages"
	stepsSuffix  = ".steps"
)

// record writes the steps, then the entry: with that the transaction is prepared.
func (t *Txn) record() error {
	for i := range t.steps {
		s := &t.steps[i]
		if s.Op == opIn || s.Op == opSwap {
			if s.ID == "" {
				fi, err := t.disk.lstat(s.Slot)
				if err != nil || fi == nil {
					return errors.Join(err, fmt.Errorf("journal: %s is not staged", s.Path))
				}
				s.ID = identity(fi)
			}
		}
	}
	steps := slices.Clone(t.steps)
	for i := range steps {
		steps[i].Path, steps[i].Slot = quotePath(steps[i].Path), quotePath(steps[i].Slot)
	}
	data, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	if err := t.writeStages(true); err != nil {
		return err
	}
	if err := t.j.writeFile(t.file(stepsSuffix), data, true); err != nil {
		return err
	}
	var entry bytes.Buffer
	if err := encode(&entry, &t.head, t.changes); err != nil {
		return err
	}
	if err := t.j.writeFile(t.file(""), entry.Bytes(), true); err != nil {
		return err
	}
	t.j.syncDir(t.j.file("open"))
	return t.j.point("prepared")
}

// discard removes everything that an uncommitted transaction staged.
func (t *Txn) discard() {
	_ = os.Remove(t.file(""))
	t.cleanUp()
}

// cleanUp removes the stages, then the word about them.
func (t *Txn) cleanUp() {
	_ = t.j.point("clean up")
	clean := true
	for _, st := range t.stages {
		clean = removeStage(t.disk, st.path) == nil && clean
	}
	_ = t.j.point("cleaned up")
	_ = os.Remove(t.file(stepsSuffix))
	if clean {
		_ = os.Remove(t.file(stagesSuffix))
	}
}

// removeStage removes the directory of a transaction, and nothing else.
func removeStage(d *disk, p tongs.Path) error {
	d.forget()
	at, name, err := d.parent(p)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(name, StagePrefix) {
		return fmt.Errorf("%s is not the directory of a transaction", p)
	}
	return removeAll(at, name)
}
