package journal

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
)

// Selector says which entries are meant.
type Selector struct {
	// Call is the ID of a call, of an entry or of a prompt. Where it is set the other fields, except Top, do not count.
	Call string
	// Session limits the entries to one session; empty means any.
	Session string
	// All selects every entry of the session, Since every one since then. Without both the newest call is meant that
	// was not undone yet or, with Redo, the newest undo that was not redone.
	All   bool
	Since time.Time
	Redo  bool
	// Top is the directory of the workspace.
	Top string
}

// ErrNothing is returned where no entry is meant.
var ErrNothing = errors.New("there is nothing to undo")

// Select returns the entries that are meant, newest first.
func (j *Journal) Select(s Selector) (list []Entry, err error) {
	f := Filter{Top: s.Top, Since: s.Since}
	if s.Call != "" {
		f = Filter{Top: s.Top}
	}
	newest := s.Call == "" && !s.All && s.Since.IsZero()
	over := map[string]bool{}
	for e, err := range j.entries(f) {
		if err != nil {
			return nil, err
		}
		open := candidate(&e, over, s.Redo)
		switch {
		case s.Call != "" && s.Call != e.Call && s.Call != e.ID && s.Call != e.Prompt:
			continue
		case s.Call == "" && s.Session != "" && s.Session != e.Session:
			continue
		case e.Outside && s.Call != e.ID, e.Client != "" && !open && s.Call != e.ID && s.Call != e.Call:
			continue
		case newest && len(list) > 0 && (e.Call != list[0].Call || e.Call == ""):
			return list, nil
		case newest && len(list) == 0 && !open:
			continue
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, ErrNothing
	}
	return list, nil
}

// candidate reports whether an entry is the next to undo or redo. Over are the entries that newer ones took back.
func candidate(e *Entry, over map[string]bool, redo bool) bool {
	if !over[e.ID] {
		for _, u := range e.Undoes {
			if !u.Part {
				over[u.ID] = true
			}
		}
	}
	return !over[e.ID] && !e.Slight && (len(e.Undoes) > 0 && !e.Redo) == redo && !e.Redo
}

// UndoneBy returns the newest entry that took the given one back and was not taken back itself; nil where none did.
func (j *Journal) UndoneBy(id string) (*Entry, error) {
	over := map[string]bool{}
	for e, err := range j.entries(Filter{}) {
		if err != nil {
			return nil, err
		}
		if e.ID <= id {
			break
		}
		if over[e.ID] {
			continue
		}
		for _, u := range e.Undoes {
			if u.ID == id {
				return &e, nil
			}
			over[u.ID] = over[u.ID] || !u.Part
		}
	}
	return nil, nil
}

// Undo is a transaction that takes entries back, as far as nothing stands against it.
type Undo struct {
	*Txn
	// Conflicts are the paths that are left as they are, since they are not what the entries left.
	Conflicts []Conflict
	// Left are directories that the entries made and that hold something else by now.
	Left []tongs.Path
	// paths are what is meant, empty meaning everything; part is set where something was left out.
	paths []tongs.Path
	part  bool
	// born are the git directories that the entries made.
	born []tongs.Path
}

// Undo begins a transaction and fills it with the inverse of the entries, newest first, as far as they concern the
// paths or what is below them; no paths are all. Several changes of a path come to one. Nothing is changed before its
// Commit; the caller looks at Conflicts first.
func (j *Journal) Undo(ctx context.Context, head Entry, entries []Entry, paths []tongs.Path) (*Undo, error) {
	head.Redo = len(entries) > 0
	for _, e := range entries {
		head.Redo = head.Redo && len(e.Undoes) > 0
	}
	t, err := j.Begin(ctx, head)
	if err != nil {
		return nil, err
	}
	u := &Undo{Txn: t, paths: paths}
	for _, e := range entries {
		u.part = false
		if err := u.entry(ctx, &e); err != nil {
			t.Close()
			return nil, err
		}
		t.head.Undoes = append(t.head.Undoes, Undone{ID: e.ID, Part: u.part})
	}
	if err := u.keepBorn(); err != nil {
		t.Close()
		return nil, err
	}
	return u, nil
}

// entry adds the inverse of one entry: what came goes, the innermost first; then what went comes back, the outermost
// first. What was moved is held in between.
func (u *Undo) entry(ctx context.Context, e *Entry) error {
	changes, err := u.meantOf(ctx, e)
	if err != nil {
		return err
	}
	all := slices.Clone(changes)
	for _, c := range changes {
		if c.Before.Type == Absent && c.After.Type == Dir && path.Base(c.Path.Rel) == ".git" {
			u.born = append(u.born, c.Path)
		}
	}
	var git []*Repository
	for i := range e.Repositories {
		r := &e.Repositories[i]
		switch {
		case !u.meant(e, r):
		case u.elsewhere(r):
			changes = slices.DeleteFunc(changes, func(c Change) bool { _, in := r.Below(c.Path); return in })
		default:
			git, changes = append(git, r), u.repository(r, changes)
		}
	}
	u.invert(e, changes)
	for _, r := range git {
		if err := u.restoreRefs(r, all); err != nil {
			return err
		}
	}
	return nil
}

// invert takes changes back one by one.
func (u *Undo) invert(e *Entry, changes []Change) {
	var came, leaving, went []Change
	for _, c := range changes {
		switch {
		case e.Roots[c.Path.Root] != u.head.Roots[c.Path.Root] || c.From != nil && e.Roots[c.From.Root] != u.head.Roots[c.From.Root]:
			u.conflict(c.Path, "its root is another directory now, or none")
		case c.From != nil, c.Before.Type == Absent && c.After.Type == Dir:
			leaving = append(leaving, c)
		case c.After.Type == Absent:
			went = append(went, c)
		default:
			came = append(came, c)
		}
	}
	for _, c := range slices.Backward(came) {
		u.takeBack(&c)
	}
	slices.SortStableFunc(leaving, func(a, b Change) int { return depth(b.Path) - depth(a.Path) })
	var held []returning
	for _, c := range leaving {
		if c.From == nil {
			u.clear(&c)
		} else if n := u.takeMoved(&c); n != nil {
			held = append(held, returning{path: *c.From, change: c, node: n})
		}
	}
	for _, c := range went {
		held = append(held, returning{path: c.Path, change: c})
	}
	slices.SortStableFunc(held, func(a, b returning) int { return depth(a.path) - depth(b.path) })
	for _, r := range held {
		u.bringBack(&r)
	}
}

// returning is something that comes back to a path: an object that was moved away, or what was taken away.
type returning struct {
	path   tongs.Path
	change Change
	node   *node
}

// meantOf returns the changes of an entry that concern the paths, and the directories that were made for these.
func (u *Undo) meantOf(ctx context.Context, e *Entry) (changes []Change, err error) {
	var dirs []Change
	for c, err := range u.j.Changes(e.ID) {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return nil, err
		case u.concerns(&c):
			changes = append(changes, c)
		case c.From == nil && c.Before.Type == Absent && c.After.Type == Dir:
			dirs = append(dirs, c)
		default:
			u.part = true
		}
	}
	meant := len(changes)
	for _, d := range dirs {
		if slices.ContainsFunc(changes[:meant], func(c Change) bool { return d.Path.Contains(c.Path) }) {
			changes = append(changes, d)
		} else {
			u.part = true
		}
	}
	return changes, nil
}

// concerns reports whether a change concerns the paths.
func (u *Undo) concerns(c *Change) bool {
	if len(u.paths) == 0 {
		return true
	}
	for _, p := range u.paths {
		if p.Contains(c.Path) || c.From != nil && p.Contains(*c.From) {
			return true
		}
		if c.From == nil && c.Before.Type == Dir && c.After.Type == Absent && c.Path.Contains(p) {
			return true // it cannot come back without its directory
		}
		if c.From != nil && (c.Path.Contains(p) || c.From.Contains(p)) {
			u.conflict(p, fmt.Sprintf("it was moved with its directory, from %s to %s; undo that as a whole", c.From, c.Path))
		}
	}
	return false
}

func (u *Undo) conflict(p tongs.Path, why string) {
	u.Conflicts = append(u.Conflicts, Conflict{p, why})
}

// is reports whether what would be at p is in the given state, and notes the conflict where it is not.
func (u *Undo) is(p tongs.Path, want State) bool {
	n := u.tree.at(p)
	now, err := u.tree.look(p)
	if err != nil {
		u.conflict(p, err.Error())
		return false
	}
	why := want.differs(now)
	if why != "" && want.Index != "" { // whoever looked at the files has git note so in the index
		now.Index = u.indexDigest(&n)
		if why = want.differs(now); why == "" {
			want = now
		}
	}
	if why != "" {
		u.conflict(p, why)
		return false
	}
	if n.kind == there && now.Type != Absent {
		u.saw[n.at] = want
	}
	return true
}

// takeBack undoes that something came to a path, or changed there.
func (u *Undo) takeBack(c *Change) {
	if !u.is(c.Path, c.After) {
		return
	}
	err := error(nil)
	if c.Before.Type == Absent {
		err = u.tree.put(c.Path, &node{})
	} else {
		err = u.restore(c.Path, c.Before)
	}
	if err != nil {
		u.conflict(c.Path, err.Error())
	}
}

// restore puts what was there.
func (u *Undo) restore(p tongs.Path, s State) error {
	switch s.Type {
	case File:
		return u.Restore(p, s)
	case Dir:
		return u.Dir(p, s)
	case Link:
		return u.Link(p, s)
	default:
		return errors.New(s.Lost)
	}
}

// takeMoved takes up what was moved.
func (u *Undo) takeMoved(c *Change) *node {
	at := u.tree.at(c.Path)
	now := at.state
	if at.kind == there {
		fi, err := u.disk.lstat(at.at)
		if err != nil || fi == nil {
			u.conflict(c.Path, "it is gone")
			return nil
		}
		now = movedState(u.disk, at.at, fi)
	}
	if at.kind == gone {
		u.conflict(c.Path, "it is gone")
		return nil
	}
	if why := c.After.differs(now); why != "" && c.After.Type != Dir || now.Type != c.After.Type {
		u.conflict(c.Path, why)
		return nil
	}
	n, err := u.tree.take(c.Path)
	if err != nil {
		u.conflict(c.Path, err.Error())
		return nil
	}
	return n
}

// clear undoes that a directory was made, if nothing is in it.
func (u *Undo) clear(c *Change) {
	now, err := u.tree.look(c.Path)
	switch {
	case err != nil:
		u.conflict(c.Path, err.Error())
		return
	case now.Type == Absent:
		return
	case now.Type != Dir:
		u.conflict(c.Path, c.After.differs(now))
		return
	}
	empty, err := u.tree.empty(c.Path)
	switch {
	case err != nil:
		u.conflict(c.Path, err.Error())
	case !empty:
		u.Left = append(u.Left, c.Path)
	default:
		if err := u.tree.put(c.Path, &node{}); err != nil {
			u.conflict(c.Path, err.Error())
		}
	}
}

// bringBack undoes that something left a path.
func (u *Undo) bringBack(r *returning) {
	now, err := u.tree.look(r.path)
	back := func(p tongs.Path, why string) {
		u.conflict(p, why)
		if r.node != nil {
			_ = u.tree.put(r.change.Path, r.node)
		}
	}
	dirs := r.node == nil && r.change.Before.Type == Dir && now.Type == Dir
	switch {
	case err != nil:
		back(r.path, err.Error())
		return
	case now.Type != Absent && !dirs:
		back(r.path, "it exists now")
		return
	}
	if n := u.tree.at(r.path); n.kind == there && !dirs {
		u.saw[n.at] = State{}
	}
	if r.node != nil {
		err = u.tree.put(r.path, r.node)
	} else if !dirs {
		err = u.restore(r.path, r.change.Before)
	}
	if err != nil {
		back(r.path, err.Error())
	}
}
