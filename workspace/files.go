package workspace

import (
	"fmt"
	"iter"
	"path"
	"sync"

	"github.com/tongs-ai/tongs"
)

// Files returns what a running call may do with files: what the effects of its permit say, looked up at each operation.
// Reading needs a read effect on the path or a directory above it, or any effect on the very path; a secret needs one on
// the very path, and so does what a rule names. Writing and deleting need their effect with the version of what is there
// now, or what this Files itself left there. Anything else is a *tongs.Need. Once the permit has no effects, everything
// fails, open files too.
func (w *Workspace) Files(dir tongs.Path, permit *tongs.Permit) tongs.Files {
	return &files{view: view{w: w, dir: dir}, permit: permit, made: map[tongs.Path]tongs.Version{}}
}

type files struct {
	view
	permit *tongs.Permit
	mu     sync.Mutex
	// made holds the versions that this call's own changes left.
	made map[tongs.Path]tongs.Version
}

func lastName(p tongs.Path) string { return path.Base(p.Rel) }

// alive fails once the call has ended.
func (f *files) alive() error {
	if len(f.permit.Effects()) == 0 {
		return tongs.Errorf(tongs.CodeCancelled, "the call has ended; its files can no longer be used")
	}
	return nil
}

func (f *files) Resolve(name string) (tongs.Path, error) {
	if err := f.alive(); err != nil {
		return tongs.Path{}, err
	}
	return f.view.Resolve(name)
}

func (f *files) ResolveEntry(name string) (tongs.Path, error) {
	if err := f.alive(); err != nil {
		return tongs.Path{}, err
	}
	return f.view.ResolveEntry(name)
}

func (f *files) Stat(p tongs.Path) (tongs.FileInfo, error) {
	if err := f.mayStat(p); err != nil {
		return tongs.FileInfo{}, err
	}
	return f.view.Stat(p)
}

func (f *files) Version(p tongs.Path) (tongs.Version, error) {
	if err := f.mayRead(p); err != nil {
		return "", err
	}
	return f.view.Version(p)
}

func (f *files) Open(p tongs.Path) (tongs.File, error) {
	if err := f.mayRead(p); err != nil {
		return nil, err
	}
	return f.w.open(p, f.alive)
}

func (f *files) ReadDir(p tongs.Path) iter.Seq2[tongs.FileInfo, error] {
	return func(yield func(tongs.FileInfo, error) bool) {
		if err := f.mayRead(p); err != nil {
			yield(tongs.FileInfo{}, err)
			return
		}
		for info, err := range f.view.ReadDir(p) {
			if ended := f.alive(); ended != nil {
				yield(tongs.FileInfo{}, ended)
				return
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// mayStat is mayRead for what a directory shows anyway: a secret's size and times, and the directories above a path
// that was decided.
func (f *files) mayStat(p tongs.Path) error {
	for _, e := range f.permit.Effects() {
		if !e.Kind.OnPath() {
			continue
		}
		if e.Kind == tongs.EffectRead && (e.Unknown || e.Path.Contains(p)) || !e.Unknown && p.Contains(e.Path) {
			return f.w.canonical(p)
		}
	}
	return f.mayRead(p)
}

func (f *files) mayRead(p tongs.Path) error {
	if err := f.alive(); err != nil {
		return err
	}
	if err := f.w.canonical(p); err != nil {
		return err
	}
	_, secret := f.w.Secret(p)
	for _, e := range f.permit.Effects() {
		switch {
		case !e.Kind.OnPath():
		case !e.Unknown && e.Path == p && (e.MustAsk || !secret):
			return nil
		case e.Kind == tongs.EffectRead && !secret && (e.Unknown || e.Path.Contains(p)) && !f.permit.Ruled(e.Kind, p):
			return nil
		}
	}
	return f.need("nobody decided that it may be read", tongs.Effect{Kind: tongs.EffectRead, Path: p})
}

// need asks for effects, complete as Check makes them.
func (f *files) need(reason string, effects ...tongs.Effect) error {
	effects, err := f.w.Check(effects)
	if err != nil {
		return err
	}
	return &tongs.Need{Effects: effects, Reason: effects[0].Path.String() + ": " + reason}
}

// decided returns the effect that allows a write or delete of p, in whatever state it is.
func (f *files) decided(kind tongs.EffectKind, p tongs.Path) (tongs.Effect, error) {
	if err := f.alive(); err != nil {
		return tongs.Effect{}, err
	}
	if err := f.w.mayChange(p); err != nil {
		return tongs.Effect{}, err
	}
	_, protected := f.w.Protected(p)
	var wider *tongs.Effect
	for _, e := range f.permit.Effects() {
		switch {
		case e.Kind != kind:
		case !e.Unknown && e.Path == p:
			if protected && !e.ByName() {
				return tongs.Effect{}, f.need("it became protected since it was decided", tongs.Effect{Kind: kind, Path: p})
			}
			return e, nil
		case protected:
		case (e.Unknown || kind == tongs.EffectDelete && e.Path.Contains(p)) && !f.permit.Ruled(kind, p):
			wider = &e
		}
	}
	if wider != nil {
		return *wider, nil
	}
	return tongs.Effect{}, f.need(fmt.Sprintf("nobody decided to %s it", kind), tongs.Effect{Kind: kind, Path: p})
}

// admit compares what is at p now with what was decided and, where expect is set, with that. It returns the state
// that was found. The caller holds the lock of p.
func (f *files) admit(h handle, name string, p tongs.Path, e tongs.Effect, expect tongs.Version) (state, error) {
	made := f.left(p)
	var like tongs.Version
	for _, v := range []tongs.Version{e.Version, made, expect} {
		if parseVersion(v).digest != "" {
			like = v
		}
	}
	now, err := f.w.stateIn(h, name, like)
	if err != nil {
		return state{}, fail("look at", p, err)
	}
	if !e.Unknown && e.Path != p {
		if err := f.sameDirectory(e); err != nil {
			return state{}, err
		}
	}
	if !e.Unknown && e.Path == p && !now.holds(e.Version) && !now.holds(made) {
		return state{}, f.changed(p, e.Kind, e.Version, now)
	}
	if expect != "" && !now.holds(expect) {
		return state{}, f.changed(p, e.Kind, expect, now)
	}
	return now, nil
}

// sameDirectory fails where the directory that a delete was decided for is another one now. What is in it may have
// changed, not least by this call.
func (f *files) sameDirectory(e tongs.Effect) error {
	h, name, err := f.w.parent(e.Path)
	if err != nil {
		return fail("look at", e.Path, err)
	}
	defer h.close()
	st, err := h.lstat(name)
	if err != nil {
		return fail("look at", e.Path, err)
	}
	old, now := parseVersion(e.Version), identify(st)
	if old.kind != now.kind || old.identity != now.identity {
		return f.need("is another directory than the one that was decided",
			tongs.Effect{Kind: e.Kind, Path: e.Path})
	}
	return nil
}

func (f *files) changed(p tongs.Path, kind tongs.EffectKind, old tongs.Version, now state) error {
	return f.need("changed since it was planned: "+Changed(old, now.version()),
		tongs.Effect{Kind: kind, Path: p, Version: now.version()})
}

// left returns the version that this call's own changes left at p, "" where it changed nothing there.
func (f *files) left(p tongs.Path) tongs.Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, ok := f.made[p]; ok {
		return v
	}
	for dir := p; dir.Rel != "."; {
		if dir = dir.Dir(); f.made[dir] == tongs.Absent {
			return tongs.Absent // it went with its directory
		}
	}
	return ""
}

// leave records what this call's own change left at p.
func (f *files) leave(p tongs.Path, v tongs.Version, what string) {
	f.mu.Lock()
	f.made[p] = v
	f.mu.Unlock()
	f.w.survey.forget()
	f.permit.Sent(what)
}
