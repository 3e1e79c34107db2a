package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tongs-ai/tongs"
)

// build stages what comes, and returns what is moved and what is made as changes.
func (t *Txn) build(ctx context.Context, pl *planner) (moved, created []Change, err error) {
	slots := map[tongs.Path]*out{}
	for _, o := range pl.outs {
		slots[o.path] = o
	}
	b := builder{t: t, ctx: ctx, from: newDisk(t.disk.tops)}
	defer b.from.close()
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
	// from reaches where contents come from.
	from *disk
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
	return restoreAttributes(at, name, s)
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
		dir, was, err := b.from.parent(*s)
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
	at, name, err := b.from.parent(*n.content.disk)
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

// sync makes a file durable. It has not got its mode yet: one that is closed to this process is opened to it.
func (b *builder) sync(at *os.Root, name string) error {
	if b.t.j.opt.NoSync || b.files > fewFiles {
		return nil
	}
	f, err := at.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) && at.Chmod(name, 0o600) == nil {
		f, err = at.OpenFile(name, os.O_RDWR, 0)
	}
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
