package workspace

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// Journal is told of each change before it is made, so that it can be undone. It is safe for concurrent use.
type Journal interface {
	// Keep is called under the locks of the paths, after everything was decided. Where it fails the change is not made.
	// Done is called once, when the change was made, or was not; a removal that was not made may have been in part.
	Keep(ctx context.Context, c *Changing) (done func(made bool), err error)
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
	done, err = f.w.journal.Keep(ctx, &c)
	if err != nil {
		code, say := explain(err)
		return nil, tongs.Errorf(code, "%q was not changed, since what is there could not be kept for undo: %s%w",
			c.Path.String(), say, causeOf{plain(err)})
	}
	return done, nil
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
