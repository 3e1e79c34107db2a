package gitdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Part is a part of a git directory that git executes or obeys.
type Part struct {
	// Name is its path below the git directory, with slashes.
	Name string
	// Why completes "git ".
	Why string
	// Changes says that git itself changes it in ordinary work. A program may, too, and what it left is looked at.
	Changes bool
}

// parts is the list. Everything else in a git directory is data of the repository, which a commit must be able to write:
// objects, refs, logs, the index, and lists that hide files (info/exclude) or history (info/grafts, shallow).
var parts = []Part{
	{Name: "hooks", Why: "runs the programs in it"},
	{Name: "config", Why: "runs programs that it names"},
	{Name: "config.worktree", Why: "runs programs that it names"},
	{Name: "commondir", Why: "takes hooks and configuration from the directory it names"},
	{Name: "gitdir", Why: "repairs, moves and removes the work tree it names"},
	{Name: "info/attributes", Why: "runs the filters and drivers it selects"},
	{Name: "objects/info/alternates", Why: "reads history from the directories it names"},
	{Name: "objects/info/http-alternates", Why: "fetches history from the places it names"},
	{Name: "remotes", Why: "fetches from and pushes to the places it names"},
	{Name: "branches", Why: "fetches from and pushes to the places it names"},
	{Name: "rebase-merge/git-rebase-todo", Why: "runs the exec lines in it", Changes: true},
	{Name: "rebase-merge/strategy", Why: "runs the merge program it names", Changes: true},
	{Name: "sequencer/opts", Why: "runs the merge program it names", Changes: true},
	{Name: "rebase-apply/apply-opt", Why: "applies patches with the options in it", Changes: true},
}

// Parts returns the parts of a git directory that git executes or obeys.
func Parts() []Part { return slices.Clone(parts) }

// PartsOf returns the paths of the parts of one git directory, whether they are there or not. Those of its worktrees and
// submodules are not among them: see Obeyed.
func PartsOf(dir string) []string {
	paths := make([]string, len(parts))
	for i, p := range parts {
		paths[i] = filepath.Join(dir, filepath.FromSlash(p.Name))
	}
	return paths
}

// Changes reports whether git changes the part at a path of a git directory in ordinary work.
func Changes(path string) bool {
	path = filepath.ToSlash(path)
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Changes && strings.HasSuffix(path, "/"+p.Name) })
}

// Is reports whether git takes a directory for a repository, whatever its name is: one that has HEAD, objects and refs, or
// HEAD and commondir, which names where the others are. Has reports whether the directory has an entry.
func Is(has func(name string) bool) bool {
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// Obeyed returns the parts that git executes or obeys of the git directory dir and of every git directory in it, such as
// those of worktrees and submodules, at any depth. A directory that cannot be read is one of the paths.
func Obeyed(dir string) ([]string, error) {
	if _, err := os.Lstat(dir); err != nil {
		return nil, err
	}
	paths := PartsOf(dir)
	err := walk(dir, func(at string) { paths = append(paths, PartsOf(at)...) }, func(at string) { paths = append(paths, at) })
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// walk calls repository for every git directory below the git directory dir, and unreadable for what cannot be looked into.
func walk(dir string, repository, unreadable func(dir string)) error {
	return filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			unreadable(at)
			return filepath.SkipDir
		case !d.IsDir():
			return nil
		case at == filepath.Join(dir, "objects"):
			return filepath.SkipDir // those of a submodule are looked into: the name of another may begin like that
		}
		if Is(func(name string) bool { _, err := os.Lstat(filepath.Join(at, name)); return err == nil }) {
			repository(at)
		}
		return nil
	})
}
