package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

var _ workspace.Journal = (*Journal)(nil)

// Keep implements workspace.Journal: it keeps what a change would take away and writes an entry for it, which counts once
// the change was made.
func (j *Journal) Keep(ctx context.Context, c *workspace.Changing) (done func(made bool), err error) {
	if err := j.recoverFor(c.Roots); err != nil {
		return nil, err
	}
	release, err := j.share(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	head := Entry{Roots: c.Roots, Unasked: c.Undoable}
	if call := c.Call; call != nil {
		head.Call, head.Session, head.Agents, head.Tool = call.ID, call.Session, call.Agents, call.Tool
	}
	head.ID, head.Time = j.newID()
	changes, err := j.keepChange(ctx, c)
	if err != nil {
		return nil, err
	}
	var entry bytes.Buffer
	if err := encode(&entry, &head, changes); err != nil {
		return nil, err
	}
	name := j.file("open", head.ID+"."+j.owner)
	if err := j.writeFile(name, entry.Bytes(), false); err != nil {
		return nil, err
	}
	return func(made bool) {
		defer release()
		if made && j.point("made") == nil {
			if os.Rename(name, j.file("done", head.ID)) == nil {
				return
			}
		}
		if kept, err := happened(head.Roots, changes); err == nil {
			_ = j.conclude(name, head, changes, kept)
		}
	}, nil
}

// keepChange returns the changes that a workspace is about to make.
func (j *Journal) keepChange(ctx context.Context, c *workspace.Changing) (changes []Change, err error) {
	d := newDisk(c.Roots)
	defer d.close()
	if c.Undoable {
		if err := j.whole(ctx, d, c.Effects()); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, lostIn(changes)) }()
	}
	k := &keeper{j: j, left: j.opt.MaxChange}
	fi, err := d.lstat(c.Path)
	if err != nil {
		return nil, err
	}
	if fi != nil && c.New == nil { // it goes, alone or for what is moved there
		if changes, err = k.tree(ctx, d, c.Path, nil, nil); err != nil {
			return nil, err
		}
		slices.Reverse(changes)
	}
	if c.From != nil {
		if changes, err = keepMove(d, c, changes); err != nil {
			return nil, err
		}
	}
	for _, p := range c.Dirs {
		s, err := d.look(p)
		if err != nil {
			return nil, err
		}
		changes = append(changes, Change{Path: p, After: s})
	}
	if c.New == nil {
		return changes, nil
	}
	change := Change{Path: c.Path, After: State{
		Type: File, Mode: c.New.Mode & modeBits, Size: c.New.Size, Hash: c.New.Digest, Modified: c.New.Modified.UnixNano(),
	}}
	if fi != nil {
		at, name, err := d.parent(c.Path)
		if err != nil {
			return nil, err
		}
		if change.Before, err = k.state(at, name); err != nil {
			return nil, err
		}
		change.After.Owner = change.Before.Owner
	}
	return append(changes, change), nil
}

// whole refuses effects of which something could not be brought back.
func (j *Journal) whole(ctx context.Context, d *disk, effects []tongs.Effect) error {
	for i, why := range j.undoable(ctx, d, effects, func(tongs.Path) string { return "" }) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if why != "" {
			return &workspace.UnkeptError{Path: effects[i].Path, Why: why}
		}
	}
	return nil
}

// lostIn refuses changes of which something was not kept.
func lostIn(changes []Change) error {
	for _, c := range changes {
		if c.Before.Lost != "" {
			return &workspace.UnkeptError{Path: c.Path, Why: c.Before.Lost}
		}
	}
	return nil
}

func keepMove(d *disk, c *workspace.Changing, changes []Change) ([]Change, error) {
	from := *c.From
	fi, err := d.lstat(from)
	if err != nil {
		return nil, err
	}
	if fi == nil {
		return nil, fmt.Errorf("%s: %w", from, fs.ErrNotExist)
	}
	return append(changes, Change{Path: c.Path, From: &tongs.Path{Root: from.Root, Rel: from.Rel}, After: movedState(d, from, fi)}), nil
}
