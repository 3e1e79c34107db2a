package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Commit makes the changes, all of them or none, and returns the entry. Where what is there changed since it was looked
// at it is a *ConflictError; after any error everything is as it was. A transaction that changes nothing leaves no
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
		t.discard()
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
	pl, err := t.plan()
	if err != nil {
		return err
	}
	if len(pl.outs)+len(pl.ins)+len(pl.modes) == 0 {
		return nil
	}
	removed, err := t.keep(ctx, pl)
	if err != nil {
		return err
	}
	moved, created, err := t.build(ctx, pl)
	if err != nil {
		return err
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
	return removed, nil
}

// compare notes a conflict where what is kept is not what was seen there.
func (t *Txn) compare(p tongs.Path, now State) {
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

// build stages what comes, and returns what is moved and what is made as changes.
func (t *Txn) build(ctx context.Context, pl *planner) (moved, created []Change, err error) {
	slots := map[tongs.Path]*out{}
	for _, o := range pl.outs {
		slots[o.path] = o
	}
	b := builder{t: t, ctx: ctx}
	for _, i := range pl.ins {
		if i.node.kind == there {
			o := slots[i.node.at]
			if o == nil {
				return nil, nil, fmt.Errorf("journal: %s has no place to come from", i.node.at)
			}
			i.slot = o.slot
			from := i.node.at
			moved = append(moved, Change{Path: i.path, From: &from, After: movedState(t.disk, from, o.fi)})
			continue
		}
		at, name := (*os.Root)(nil), ""
		if i.slot, at, name, err = t.slotNear(i.dir); err != nil {
			return nil, nil, err
		}
		first := len(b.changes)
		if err := b.make(at, name, i.path, i.node); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", i.path, err)
		}
		b.changes[first].Before = i.old
		if i.swap != nil && i.swap.Mode().IsRegular() && i.node.state.Type == File {
			t.inherit(at, name, i)
		}
		if err := pl.unseal(at, name, i); err != nil {
			return nil, nil, err
		}
	}
	for _, m := range pl.modes {
		if !m.quiet {
			after := m.state
			after.Mode = m.new
			b.changes = append(b.changes, Change{Path: m.path, Before: m.state, After: after})
		}
	}
	return moved, b.changes, t.syncStages(b.files)
}

// inherit gives a new file the extended attributes of the one that it replaces, as far as that can be done; its mode is
// its own.
func (t *Txn) inherit(at *os.Root, name string, i *in) {
	other := newDisk(t.disk.tops)
	defer other.close()
	dir, was, err := other.parent(i.path)
	if err != nil {
		return
	}
	from, err := openFile(dir, was, i.swap)
	if err != nil {
		return
	}
	defer from.Close()
	if to, err := at.OpenFile(name, os.O_RDONLY, 0); err == nil {
		keepAttributes(from, to)
		_ = to.Close()
		_ = at.Chmod(name, i.node.state.Mode) // which a list of access rights may have changed
	}
}

// movedState is the state of an object that is moved, without its hash: nothing of it is lost.
func movedState(d *disk, p tongs.Path, fi fs.FileInfo) State {
	s := stateOf(fi)
	if s.Type == Link {
		if at, name, err := d.parent(p); err == nil {
			s.Target, _ = at.Readlink(name)
		}
	}
	return s
}

// unseal lets a new directory be moved that nobody may write to, and gives it its mode afterwards.
func (pl *planner) unseal(at *os.Root, name string, i *in) error {
	fi, err := at.Lstat(name)
	if err != nil || !sealed(fi) {
		return err
	}
	pl.modes = append(pl.modes, modeChange{path: i.path, old: i.node.state.Mode | 0o700, new: i.node.state.Mode, quiet: true})
	return at.Chmod(name, i.node.state.Mode|0o700)
}

// builder makes new objects in a stage.
type builder struct {
	t       *Txn
	ctx     context.Context
	changes []Change
	files   int
}

func (b *builder) make(at *os.Root, name string, p tongs.Path, n *node) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if err := b.t.j.point("build " + string(n.state.Type)); err != nil {
		return err
	}
	mine := len(b.changes)
	b.changes = append(b.changes, Change{Path: p})
	var err error
	switch n.state.Type {
	case File:
		b.files++
		err = b.file(at, name, n)
	case Link:
		err = at.Symlink(n.state.Target, name)
	case Dir:
		if err := b.dir(at, name, p, n); err != nil {
			return err
		}
	default:
		err = fmt.Errorf("a %q cannot be made", n.state.Type)
	}
	if err != nil {
		return err
	}
	n.state.Lost = ""
	b.changes[mine].After = n.state
	s := n.state
	if b.fills(n) {
		s.Mode |= 0o700
	}
	return adorn(at, name, s)
}

// fills reports whether an object of the disk comes into a new directory that nobody may write to.
func (b *builder) fills(n *node) bool {
	if n.state.Mode&0o200 != 0 {
		return false
	}
	for _, child := range n.names {
		if child.kind == there {
			return true
		}
	}
	return false
}

func (b *builder) dir(at *os.Root, name string, p tongs.Path, n *node) error {
	if err := at.Mkdir(name, 0o700); err != nil {
		return err
	}
	sub, err := at.OpenRoot(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	for _, c := range n.sorted() {
		if child := n.names[c]; child.kind == made {
			if err := b.make(sub, c, p.Join(c), child); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) file(at *os.Root, name string, n *node) error {
	if s := n.content.staged; s != nil {
		from := newDisk(b.t.disk.tops)
		defer from.close()
		dir, was, err := from.parent(*s)
		if err != nil {
			return err
		}
		if err = renameAt(dir, was, at, name, false); err == nil {
			return b.sync(at, name)
		}
		n.content.disk = s // it is on another file system
	}
	r, err := b.open(n)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := at.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n.state.Size, err = io.Copy(io.MultiWriter(f, sum), r)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	n.state.Hash = hex.EncodeToString(sum.Sum(nil))
	return b.sync(at, name)
}

// open opens where the content of a new file comes from.
func (b *builder) open(n *node) (io.ReadCloser, error) {
	if n.content.disk == nil {
		return b.t.j.Content(n.content.hash)
	}
	d := newDisk(b.t.disk.tops)
	defer d.close()
	at, name, err := d.parent(*n.content.disk)
	if err != nil {
		return nil, err
	}
	fi, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	return openFile(at, name, fi)
}

// fewFiles is how many files are made durable one by one; more are with everything else on the file system.
const fewFiles = 16

func (b *builder) sync(at *os.Root, name string) error {
	if b.t.j.opt.NoSync || b.files > fewFiles {
		return nil
	}
	f, err := at.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (t *Txn) syncStages(files int) error {
	if t.j.opt.NoSync || files <= fewFiles {
		return nil
	}
	for _, st := range t.stages {
		at, err := t.disk.dir(st.path)
		if err != nil {
			return err
		}
		f, err := at.Open(".")
		if err != nil {
			return err
		}
		if err := errors.Join(syncAll(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// files of an open transaction.
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
