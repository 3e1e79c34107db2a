package workspace

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/tongs-ai/tongs"
)

// Check makes the effects of a plan complete, whatever the tool that planned them forgot, and refuses those that are
// not what they say. Every path must be canonical, with no link on the way (INVALID_PATH); only the name itself may be
// a link, and not for writing, unless the same plan deletes the link first. Nothing in a read-only root is written or deleted, and neither a root nor a .git
// directory is deleted (PERMISSION_DENIED). Writes and deletes get the version of what is there. Writing or deleting
// protected names, deleting a directory that has some, and reading secrets become MustAsk, changing instructions for agents
// Steers, and deletes NoGrant.
// What a tool set itself is kept.
func (w *Workspace) Check(effects []tongs.Effect) ([]tongs.Effect, error) {
	return w.checkAmong(effects, effects)
}

// checkAmong is Check for some of the effects of a plan.
func (w *Workspace) checkAmong(effects, plan []tongs.Effect) ([]tongs.Effect, error) {
	out := slices.Clone(effects)
	for i := range out {
		if err := w.checkEffect(&out[i], plan); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CheckNew is Check for writes that come to where nothing is by then, whatever is there or on the way there now: only what
// the paths say counts.
func (w *Workspace) CheckNew(effects []tongs.Effect) ([]tongs.Effect, error) {
	out := slices.Clone(effects)
	for i := range out {
		e := &out[i]
		if e.Kind != tongs.EffectWrite || e.Unknown {
			return nil, tongs.Errorf(tongs.CodeInternal, "only writes of known paths can be new, not %s", e)
		}
		if err := w.mayChange(e.Path); err != nil {
			return nil, err
		}
		w.flag(e, stat{})
		if e.Version == "" {
			e.Version = tongs.Absent
		}
	}
	return out, nil
}

func (w *Workspace) checkEffect(e *tongs.Effect, plan []tongs.Effect) error {
	switch e.Kind {
	case tongs.EffectRead, tongs.EffectWrite:
	case tongs.EffectDelete:
		e.NoGrant = true
	case tongs.EffectExecute, tongs.EffectNetwork:
		return nil
	default:
		return tongs.Errorf(tongs.CodeInternal, "effect of kind %d is not one of read, write, delete, execute, network", e.Kind)
	}
	if e.Unknown {
		return nil
	}
	if err := w.canonical(e.Path); err != nil {
		return err
	}
	if e.Kind != tongs.EffectRead {
		if err := w.mayChange(e.Path); err != nil {
			return err
		}
	}
	h, name, err := w.parent(e.Path)
	switch {
	case missing(err), e.Kind == tongs.EffectWrite && w.goesFirst(e.Path, err, plan):
		w.flag(e, stat{})
		if e.Kind != tongs.EffectRead && e.Version == "" {
			e.Version = tongs.Absent
		}
		return nil
	case errors.Is(err, errLink):
		return badPath("path %q leads through a symbolic link; resolve it first", e.Path.String())
	case errors.Is(err, syscall.ENOTDIR):
		return badPath("path %q: a part of it is a file, not a directory", e.Path.String())
	case err != nil:
		return fail(e.Kind.String(), e.Path, err)
	}
	defer h.close()
	return w.checkTarget(e, h, name, plan)
}

// replacing reports whether a plan deletes what is at p before something comes there. A plan that runs a program or sends
// something does not count: only a tool that changes files itself keeps that order.
func replacing(plan []tongs.Effect, p tongs.Path) bool {
	return !slices.ContainsFunc(plan, func(e tongs.Effect) bool { return !e.Kind.OnPath() || e.Unknown }) &&
		slices.ContainsFunc(plan, func(e tongs.Effect) bool { return e.Kind == tongs.EffectDelete && e.Path == p })
}

// goesFirst reports whether p could not be reached since something is on the way that is no directory, and the plan replaces
// that.
func (w *Workspace) goesFirst(p tongs.Path, err error, plan []tongs.Effect) bool {
	if !errors.Is(err, errLink) && !errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	for p.Rel != "." {
		p = p.Dir()
		if h, _, err := w.parent(p); err == nil {
			h.close()
			return replacing(plan, p)
		}
	}
	return false
}

func (w *Workspace) checkTarget(e *tongs.Effect, h handle, name string, plan []tongs.Effect) error {
	st, err := h.lstat(name)
	if err != nil && !missing(err) {
		return fail(e.Kind.String(), e.Path, err)
	}
	switch e.Kind {
	case tongs.EffectWrite:
		if st.typ == tongs.FileSymlink && !replacing(plan, e.Path) {
			return badPath("path %q is a symbolic link; resolve it and write to what it leads to", e.Path.String())
		}
	case tongs.EffectDelete:
		if err := w.mayRemove(e.Path, st); err != nil {
			return err
		}
	}
	w.flag(e, st)
	if e.Kind != tongs.EffectRead && e.Version == "" {
		s, err := w.stateIn(h, name, "")
		if err != nil {
			return fail("look at", e.Path, err)
		}
		e.Version = s.version()
	}
	return nil
}

// flag sets MustAsk or Steers where a person must decide about the effect on what is at its path.
func (w *Workspace) flag(e *tongs.Effect, st stat) {
	var why string
	var found, steers bool
	if e.Repository && e.Kind == tongs.EffectWrite && IsGitDir(e.Path) {
		return // only what git records there is meant, and nothing that it runs
	}
	if e.Kind == tongs.EffectRead {
		if why, found = w.Secret(e.Path); !found {
			why, found = w.historySecret(e.Path)
		}
	} else {
		why, steers, found = w.protection(e.Path)
		steers = steers && st.typ != tongs.FileDirectory
		if !found && e.Kind == tongs.EffectDelete && st.typ == tongs.FileDirectory {
			if why, found = w.scan(e.Path); found {
				why = "protected: the directory " + why
			}
		}
	}
	if !found {
		return
	}
	e.MustAsk, e.Steers = e.MustAsk || !steers, steers
	switch e.Why {
	case "":
		e.Why = why
	case why:
	default:
		e.Why += "; " + why
	}
}

// IsGitDir reports whether a path is that of a git directory by its name: the .git of a directory, or the repository of the
// workspace that is elsewhere.
func IsGitDir(p tongs.Path) bool {
	return p.Root == tongs.RepositoryRoot && p.Rel == "." || p.Root != tongs.RepositoryRoot && path.Base(p.Rel) == ".git"
}

// Nameable refuses paths that no call can name, whatever is there: what is not valid UTF-8, is too long or belongs to
// another root (INVALID_PATH), and what a change of many files goes through (PERMISSION_DENIED).
func (w *Workspace) Nameable(p tongs.Path) error {
	if err := w.canonical(p); err != nil {
		return err
	}
	if strings.HasPrefix(p.Rel, stagePrefix) || strings.Contains(p.Rel, "/"+stagePrefix) {
		return tongs.Errorf(tongs.CodePermissionDenied, "%q belongs to a change that is going on; leave it alone", p.String())
	}
	return nil
}

// mayChange refuses paths that no call can write to or delete.
func (w *Workspace) mayChange(p tongs.Path) error {
	if err := w.Nameable(p); err != nil {
		return err
	}
	if !w.byName[p.Root].Writable {
		return tongs.Errorf(tongs.CodePermissionDenied, "%q cannot be changed: %s is read-only", p.String(), w.label(p.Root))
	}
	return nil
}

// mayRemove refuses to delete or move what everything else rests on.
func (w *Workspace) mayRemove(p tongs.Path, st stat) error {
	if p.Rel == "." {
		return tongs.Errorf(tongs.CodePermissionDenied, "%q is %s itself, which is never deleted or moved",
			p.String(), w.label(p.Root))
	}
	if root, ok := w.holdsRoot(p); ok {
		return tongs.Errorf(tongs.CodePermissionDenied, "%q holds %s, which is never deleted or moved",
			p.String(), w.label(root))
	}
	if st.typ == tongs.FileDirectory && formOf(lastName(p)).match(".git") {
		return tongs.Errorf(tongs.CodePermissionDenied,
			"%q is a git directory, which is never deleted or moved by a tool; a person can do it", p.String())
	}
	return nil
}
