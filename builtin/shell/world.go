package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/command"
)

// place is where a command starts: its directory and what it knows of its variables.
type place struct {
	files tongs.FileView
	dir   tongs.Path
	// vars are the variables that the session keeps.
	vars map[string]string
}

// world is what a command would meet there.
func (s *Set) world(at place) command.World {
	return command.World{
		Resolve:      at.resolver(at.files.Resolve),
		ResolveEntry: at.resolver(at.files.ResolveEntry),
		IsDir: func(p tongs.Path) bool {
			info, err := at.files.Stat(p)
			return err == nil && info.Type == tongs.FileDirectory
		},
		Hash:     func(p tongs.Path) (tongs.Version, error) { return hash(at.files, p, s.opt.HashBytes) },
		LookPath: s.opt.LookPath,
		Home:     s.opt.Home,
		Var: func(name string) (string, bool) {
			value, ok := at.vars[name]
			return value, ok
		},
		Scratch: s.opt.Scratch,
	}
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
