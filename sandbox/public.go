package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Public reports whether an absolute path leads to a file of the system that every program can read in tier A, and that
// nobody but the administrator can change or exchange for another: a link to it gives nothing away. A path that goes through
// a home, one with ".." in it, and one to anything but a regular file never does.
func Public(path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || !inSystem(path) {
		return false
	}
	real, links, err := resolve(path)
	if err != nil || !inSystem(real) {
		return false
	}
	passed := []string{real}
	for _, l := range links {
		passed = append(passed, l.At)
	}
	for _, at := range passed {
		if home, err := os.UserHomeDir(); err != nil || hostpath.Within(home, at) || !administered(at) {
			return false
		}
	}
	info, err := os.Lstat(real)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0
}

// inSystem reports whether a path is in one of the directories that have programs and libraries.
func inSystem(path string) bool {
	return slices.ContainsFunc(systemDirs(), func(dir string) bool { return path != dir && hostpath.Within(dir, path) })
}

// administered reports whether only the administrator can change what is at a path, and everything on the way there.
func administered(path string) bool {
	for {
		info, err := os.Lstat(path)
		if err != nil || !ownedByRoot(info) || info.Mode()&os.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0 {
			return false
		}
		up := filepath.Dir(path)
		if up == path {
			return true
		}
		path = up
	}
}
