package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Journal is told of each change before it is made, so that it can be undone. It is safe for concurrent use.
type Journal interface {
	// Keep is called under the locks of the paths, after everything was decided. Where it fails the change is not made.
	// Done is called once, when the change was made, or was not; a removal that was not made may have been in part.
	Keep(ctx context.Context, c *Changing) (done func(made bool), err error)
	// Undoable says of each of the writes and deletes of one call why what it would replace could not be brought back, "" where
	// it could. Roots are as in Changing. It asks about the state that is there now. Except says the same of each path that
	// would be replaced, for reasons that a journal does not know.
	Undoable(ctx context.Context, roots map[string]string, effects []tongs.Effect, except func(tongs.Path) (why string)) (why []string)
	// Own reports whether the file at p was made by the session and is as the session left it.
	Own(ctx context.Context, roots map[string]string, session string, p tongs.Path) bool
}

// UnkeptError is returned by a journal for a change that should be undoable and is not. Nothing was changed.
type UnkeptError struct {
	Path tongs.Path
	// Why says why it could not be brought back.
	Why string
}

func (e *UnkeptError) Error() string {
	return fmt.Sprintf("%s: it could not be undone: %s", e.Path, e.Why)
}

// Changing is a change that is about to be made: of New a file that comes to Path, with From a move to it, else a removal.
type Changing struct {
	// Call is the call that it is made for.
	Call *tongs.Call
	// Roots are the directories on this machine of all roots, by their names.
	Roots map[string]string
	Path  tongs.Path
	From  *tongs.Path
	New   *NewFile
	// Dirs are the directories that were made for it already, the outermost first.
	Dirs []tongs.Path
	// Undoable says that it was decided as something that can be undone. Where it cannot be, Keep returns an *UnkeptError.
	Undoable bool
}

// Effects are those of the change.
func (c *Changing) Effects() []tongs.Effect {
	switch {
	case c.From != nil:
		return moving(*c.From, c.Path)
	case c.New != nil:
		return []tongs.Effect{{Kind: tongs.EffectWrite, Path: c.Path}}
	default:
		return []tongs.Effect{{Kind: tongs.EffectDelete, Path: c.Path}}
	}
}

// NewFile is a file that comes to a path.
type NewFile struct {
	Mode     fs.FileMode
	Size     int64
	Modified time.Time
	// Digest is the SHA-256 of the content, in hex.
	Digest string
}

// stagePrefix starts the names of directories in which a journal makes a change of many files. No call sees them.
const stagePrefix = ".tongs-txn-"

// keep tells the journal, if there is one, of a change.
func (f *files) keep(ctx context.Context, c Changing) (done func(made bool), err error) {
	if f.w.journal == nil {
		return func(bool) {}, nil
	}
	c.Call, c.Roots = f.permit.Call(), f.w.tops()
	var undoable []tongs.Effect
	for _, e := range f.permit.Effects() {
		if e.Undoable && slices.ContainsFunc(c.Effects(), func(o tongs.Effect) bool {
			return e.Kind == o.Kind && (e.Path == o.Path || e.Kind == tongs.EffectDelete && e.Path.Contains(o.Path))
		}) {
			undoable = append(undoable, e)
		}
	}
	c.Undoable = len(undoable) > 0
	done, err = f.w.journal.Keep(ctx, &c)
	if unkept, ok := errors.AsType[*UnkeptError](err); ok {
		return nil, f.unkept(unkept, undoable)
	}
	if err != nil {
		code, say := explain(err)
		return nil, tongs.Errorf(code, "%q was not changed, since what is there could not be kept for undo: %s%w",
			c.Path.String(), say, causeOf{plain(err)})
	}
	return done, nil
}

// unkept asks for effects anew that were decided as undoable and are not.
func (f *files) unkept(why *UnkeptError, effects []tongs.Effect) error {
	for i := range effects {
		effects[i] = tongs.Effect{Kind: effects[i].Kind, Path: effects[i].Path}
	}
	err := f.need("it could not be undone: "+why.Why, effects...)
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		need.Lasting = true
	}
	return err
}

// Undoable says of each of the writes and deletes of a call why it could not be undone, "" where it could. Without a journal
// nothing can, nor what is in a directory that programs write to directly or on another file system than its root.
func (w *Workspace) Undoable(ctx context.Context, effects []tongs.Effect) []string {
	if w.journal == nil {
		return slices.Repeat([]string{"changes are not recorded here"}, len(effects))
	}
	why := w.journal.Undoable(ctx, w.tops(), effects, func(p tongs.Path) string {
		if _, secret := w.Secret(p); secret {
			return "it looks like a secret"
		}
		return ""
	})
	for i, e := range effects {
		switch {
		case w.letThrough(w.Host(e.Path)):
			why[i] = "commands write there directly (sandbox.through)"
		case w.mounted(e.Path):
			why[i] = "another file system is mounted there, or it cannot be told"
		}
	}
	return why
}

// mounted reports whether a path is on another mount than its root: what is brought back is made in the root and moved from there.
func (w *Workspace) mounted(p tongs.Path) bool {
	root, err := mountOf(w.byName[p.Root].Dir)
	for ; err == nil && p.Rel != "."; p = p.Dir() {
		at, failed := mountOf(w.Host(p))
		if missing(failed) || errors.Is(failed, syscall.ENOTDIR) {
			continue
		}
		return failed != nil || at != root
	}
	return err != nil && !missing(err)
}

// letThrough reports whether a path of this machine is, or holds, one that programs write to directly.
func (w *Workspace) letThrough(host string) bool {
	return slices.ContainsFunc(w.through, func(dir string) bool {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		return hostpath.Within(dir, host) || hostpath.Within(host, dir)
	})
}

// Own reports whether the file at p was made by the session and is as the session left it.
func (w *Workspace) Own(ctx context.Context, session string, p tongs.Path) bool {
	return w.journal != nil && w.journal.Own(ctx, w.tops(), session, p)
}

// tops are the directories of the roots by name.
func (w *Workspace) tops() map[string]string {
	tops := make(map[string]string, len(w.roots))
	for _, r := range w.roots {
		tops[r.Name] = r.Dir
	}
	return tops
}

// paths returns which directories were made on the way to p, the outermost first.
func (ps *parents) paths(p tongs.Path) (list []tongs.Path) {
	at := tongs.Path{Root: p.Root, Rel: "."}
	for i, name := range strings.Split(p.Dir().Rel, "/") {
		at = at.Join(name)
		if i < len(ps.names) && ps.names[i] != "" {
			list = append(list, at)
		}
	}
	return list
}
