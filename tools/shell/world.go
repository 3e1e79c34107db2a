package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// place is where a command starts: its directory and what it knows of its variables.
type place struct {
	files tongs.FileView
	dir   tongs.Path
	// vars are the variables that the session keeps.
	vars map[string]string
	// confined is set where the full sandbox runs the command to its end. A job may outlive what it hides: a hidden file
	// that is replaced meanwhile is visible to it.
	confined bool
	// tells is set where somebody is told what git will do.
	tells bool
}

// looked is what an analysis looked at: files whose content counts, and directories.
type looked struct {
	files, dirs []tongs.Path
	// undecided is met when the same is looked at again by a running call, and something else is there by then.
	undecided *tongs.Need
}

// note keeps a need that came up, and reports whether err is nil.
func (l *looked) note(err error) bool {
	if need, ok := errors.AsType[*tongs.Need](err); ok && l.undecided == nil {
		l.undecided = need
	}
	return err == nil
}

// add gives an analysis the effects of having been looked at: running a file reads it, and a call that runs may look
// only at what was decided.
func (l *looked) add(a *shellsyntax.Analysis) {
	covered := func(p tongs.Path, below bool) bool {
		return slices.ContainsFunc(a.Effects, func(e tongs.Effect) bool {
			return e.Kind == tongs.EffectRead && !e.Unknown && e.Path.Contains(p) ||
				below && e.Kind.OnPath() && !e.Unknown && p.Contains(e.Path)
		})
	}
	for i, list := range [][]tongs.Path{l.files, l.dirs} {
		for _, p := range list {
			if !covered(p, i == 1) {
				a.Effects = append(a.Effects, tongs.Effect{Kind: tongs.EffectRead, Path: p})
			}
		}
	}
}

// world is what a command would meet there.
func (s *Set) world(at place, look *looked) shellsyntax.World {
	w := shellsyntax.World{
		Resolve:      at.resolver(at.files.Resolve),
		ResolveEntry: at.resolver(at.files.ResolveEntry),
		IsDir: func(p tongs.Path) bool {
			look.dirs = append(look.dirs, p)
			info, err := at.files.Stat(p)
			return look.note(err) && info.Type == tongs.FileDirectory
		},
		Hash: func(p tongs.Path) (tongs.Version, error) {
			look.files = append(look.files, p)
			version, err := hash(at.files, p, s.opt.HashBytes)
			look.note(err)
			return version, err
		},
		Read: func(p tongs.Path) (string, error) {
			look.files = append(look.files, p)
			text, err := shellsyntax.ReadText(at.files, p)
			look.note(err)
			return text, err
		},
		LookPath: s.opt.LookPath,
		Home:     s.opt.Home,
		Var: func(name string) (string, bool) {
			value, ok := at.vars[name]
			return value, ok
		},
		Inherits: s.opt.Inherits,
	}
	if at.tells {
		w.Repository = func(dir string) shellsyntax.Repository {
			p, err := w.Resolve(path.Join(".", dir))
			if err != nil {
				return shellsyntax.Repository{}
			}
			return shellsyntax.ViewRepository(at.files, p)
		}
	}
	if w.Confined = at.confined; w.Confined {
		w.Scratch, w.Relayed = s.opt.Scratch, s.opt.Relayed
		if s.opt.Shown != nil {
			w.Shown = s.opt.Shown()
		}
	}
	return w
}

// resolver turns what a shell takes a spelling for into what the files of a call do: relative to the directory the
// command starts in, and absolute on the host.
func (at place) resolver(resolve func(string) (tongs.Path, error)) func(string) (tongs.Path, error) {
	start := filepath.ToSlash(at.files.Host(at.dir))
	return func(spelling string) (tongs.Path, error) {
		if spelling == "" {
			return tongs.Path{}, tongs.Errorf(tongs.CodeInvalidPath, "the path is empty")
		}
		if !path.IsAbs(spelling) {
			spelling = start + "/" + spelling // not cleaned: a link before .. counts
		}
		p, err := resolve(spelling)
		if err == nil && p.Root != tongs.WorkspaceRoot && at.zoneSpelling(spelling, p.Root) {
			return tongs.Path{}, tongs.Errorf(tongs.CodeInvalidPath, "%s is not the zone for a program, but a directory of the machine", spelling)
		}
		return p, err
	}
}

// zoneSpelling reports whether a spelling is the name of a zone, as calls know it: to a program such a path is one of
// the machine, which the zone only happens to be called like.
func (at place) zoneSpelling(spelling, root string) bool {
	host := filepath.ToSlash(at.files.Host(tongs.Path{Root: root, Rel: "."}))
	clean := path.Clean(spelling)
	first, _, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	return first == root && clean != host && !strings.HasPrefix(clean, host+"/")
}

// hash returns the content hash of a regular file of at most limit bytes.
func hash(files tongs.FileView, p tongs.Path, limit int64) (tongs.Version, error) {
	f, err := files.Open(p)
	if tongs.CodeOf(err) == tongs.CodeFileNotFound {
		return tongs.Absent, nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return "", err
	case n > limit:
		return "", tongs.Errorf(tongs.CodeTooLarge, "%s is too large to be bound by its content", p)
	}
	return tongs.Version("sha256:" + hex.EncodeToString(h.Sum(nil))), nil
}
