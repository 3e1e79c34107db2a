package gitdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Find returns the repositories in a directory, at any depth, and those that it is in. It does not look into directories with
// one of the names in skip, unless they are in a repository. What cannot be read has none.
func Find(root string, skip []string) []Repository {
	list := Above(root)
	for _, r := range list {
		list = append(list, inside(r.Dir)...)
	}
	_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		dir, name := filepath.Dir(at), filepath.Base(at)
		switch {
		case err != nil:
			return nil
		case at != root && strings.EqualFold(name, ".git"):
			if r, ok := At(dir, name); ok {
				list = append(append(list, r), inside(r.Dir)...)
			}
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.IsDir() && at != root && slices.Contains(skip, name) && !slices.ContainsFunc(list, func(r Repository) bool {
			return hostpath.Within(filepath.Join(r.Dir, "modules"), at) || hostpath.Within(filepath.Join(r.Dir, "worktrees"), at)
		}):
			return filepath.SkipDir
		case name == "HEAD" && Is(func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }):
			list = append(list, Repository{Dir: dir})
		}
		return nil
	})
	return list
}

// inside returns the repositories in a git directory.
func inside(dir string) (list []Repository) {
	_ = walk(dir, func(at string) {
		if at != dir {
			list = append(list, Repository{Dir: at})
		}
	}, func(string) {})
	return list
}
