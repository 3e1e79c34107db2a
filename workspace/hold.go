package workspace

import (
	"context"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrepo"
)

var _ tongs.Holder = (*files)(nil)

// Hold implements tongs.Holder.
func (f *files) Hold(ctx context.Context, effects []tongs.Effect) (release func(changed string), err error) {
	if err := f.alive(); err != nil {
		return nil, err
	}
	paths := make([]tongs.Path, len(effects))
	for i, e := range effects {
		paths[i] = e.Path
	}
	unlock := func() {}
	if len(paths) > 0 {
		if unlock, err = f.w.lock(ctx, paths...); err != nil {
			return nil, err
		}
	}
	if err = f.mayHold(effects); err == nil {
		err = f.mayKeep(ctx, effects)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return func(changed string) {
		f.w.survey.forget()
		if changed != "" {
			f.permit.Sent(changed)
		}
		unlock()
	}, nil
}

// LockAll keeps every call that changes a file from the paths until unlock is called, in this process and in others. It asks
// nobody: it is for whoever makes a change that was decided elsewhere.
func (w *Workspace) LockAll(ctx context.Context, paths ...tongs.Path) (unlock func(), err error) {
	if len(paths) == 0 {
		return func() {}, nil
	}
	release, err := w.lock(ctx, paths...)
	if err != nil {
		return nil, err
	}
	return func() {
		w.survey.forget()
		release()
	}, nil
}

// mayHold checks that all effects were decided and that their paths are in the decided state. What nobody decided is
// one Need.
func (f *files) mayHold(effects []tongs.Effect) error {
	var open []tongs.Effect
	for _, e := range effects {
		ok, err := f.heldBy(e)
		if err != nil {
			return err
		}
		if !ok {
			open = append(open, tongs.Effect{Kind: e.Kind, Path: e.Path})
		}
	}
	if len(open) == 0 {
		return nil
	}
	open, err := f.w.checkAmong(open, f.permit.Effects())
	if err != nil {
		return err
	}
	return &tongs.Need{Effects: open, Reason: open[0].Path.String() + ": nobody decided to change it"}
}

// mayKeep checks that what was decided as something that can be undone still can be.
func (f *files) mayKeep(ctx context.Context, effects []tongs.Effect) error {
	var undoable []tongs.Effect
	for _, e := range f.permit.Effects() {
		switch {
		case !e.Undoable:
		case e.Repository:
			for _, part := range effects {
				if recordIn(e, part.Path) {
					undoable = append(undoable, part)
				}
			}
		case slices.ContainsFunc(effects, e.SameTarget):
			undoable = append(undoable, e)
		}
	}
	for i, why := range f.w.Undoable(ctx, undoable) {
		if why != "" {
			return f.unkept(&UnkeptError{Path: undoable[i].Path, Why: why}, undoable)
		}
	}
	return nil
}

// recordIn reports whether an effect on a git directory covers a path: it is one of git's records there, and nothing that git runs.
func recordIn(e tongs.Effect, p tongs.Path) bool {
	if !e.Repository || e.Kind != tongs.EffectWrite || !IsGitDir(e.Path) || e.Path.Root != p.Root || e.Path == p || !e.Path.Contains(p) {
		return false
	}
	name := p.Rel
	if e.Path.Rel != "." {
		name = strings.TrimPrefix(name, e.Path.Rel+"/")
	}
	return gitrepo.Record(name)
}

// heldBy reports whether an effect was decided, for its path or, where that is not protected and no rule names it, for a
// directory above it: a delete of the directory, or a write of one that is new as a whole.
func (f *files) heldBy(want tongs.Effect) (bool, error) {
	if err := f.w.mayChange(want.Path); err != nil {
		return false, err
	}
	_, protected := f.w.Protected(want.Path)
	covered := false
	decided := f.permit.Effects()
	if want.Kind != tongs.EffectRead && slices.ContainsFunc(decided, func(e tongs.Effect) bool { return recordIn(e, want.Path) }) {
		return true, nil // whoever changes git's records compares their values
	}
	for _, e := range decided {
		switch {
		case e.Kind != want.Kind:
		case !e.Unknown && e.Path == want.Path && (e.ByName() || !protected):
			now, err := f.w.stateAt(e.Path, e.Version)
			if f.w.goesFirst(e.Path, err, decided) {
				now, err = parseVersion(tongs.Absent), nil
			}
			if err != nil {
				return false, fail("look at", e.Path, err)
			}
			if !now.holds(e.Version) {
				return false, f.changed(e.Path, e.Kind, e.Version, now)
			}
			return true, nil
		case protected:
		case e.Unknown, e.Path.Contains(want.Path) && (e.Kind == tongs.EffectDelete || replaces(decided, e)):
			covered = !f.permit.Ruled(want.Kind, want.Path)
		}
	}
	return covered, nil
}

// replaces reports whether a decided write is of something that is no directory, or of one that goes as a whole: what is
// below it afterwards is new.
func replaces(decided []tongs.Effect, e tongs.Effect) bool {
	if e.Kind != tongs.EffectWrite || e.Version == "" {
		return false
	}
	if parseVersion(e.Version).kind != string(tongs.FileDirectory) {
		return true
	}
	return slices.ContainsFunc(decided, func(o tongs.Effect) bool {
		return o.Kind == tongs.EffectDelete && !o.Unknown && o.Path == e.Path
	})
}
