package gitdir

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Outside is the git repository of a directory, where it is not in it.
type Outside struct {
	// Dir is the git directory that everything is in: the common one of linked worktrees, that of a submodule, or the .git
	// of a work tree that the directory is a part of.
	Dir string
	// Files are what git needs to read to find it: the file .git of the work tree, where that is not in the directory.
	Files []string
}

// Elsewhere returns the repository that git would use in a directory, where its files are elsewhere. The environment has no part
// in it. A file .git that merely claims to belong to a repository is not believed: the repository must point back. Nobody
// else may own what is found; homes, what is above them, and other file systems are not looked at.
func Elsewhere(dir string, homes ...string) (Outside, bool) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Outside{}, false
	}
	home := func(at string) bool {
		return slices.ContainsFunc(homes, func(home string) bool {
			real, err := filepath.EvalSymlinks(home)
			return err == nil && hostpath.Within(at, real)
		})
	}
	for at := dir; ; at = filepath.Dir(at) {
		if at != dir && (at == filepath.Dir(at) || home(at) || !sameDevice(at, dir)) {
			return Outside{}, false
		}
		git := filepath.Join(at, ".git")
		info, err := os.Lstat(git)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || !ours(info) {
			return Outside{}, false
		}
		r, ok := found(at, git, info)
		if !ok || hostpath.Within(dir, r.Dir) || hostpath.Within(r.Dir, dir) || home(r.Dir) {
			return Outside{}, false
		}
		if at != dir && !info.IsDir() {
			r.Files = []string{git}
		}
		return r, true
	}
}

// found returns the repository that a .git stands for, if it is one.
func found(at, git string, info os.FileInfo) (Outside, bool) {
	dir := git
	if info.Mode().IsRegular() {
		var ok bool
		if dir, ok = linked(at, git); !ok {
			return Outside{}, false
		}
	} else if !info.IsDir() {
		return Outside{}, false
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Outside{}, false
	}
	for _, name := range []string{"", "HEAD", "objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !ours(info) {
			return Outside{}, false
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); !os.IsNotExist(err) {
		return Outside{}, false // it leads further on
	}
	return Outside{Dir: dir}, true
}

// linked returns the repository that the file .git of a work tree leads to: of a linked worktree the common one, and that
// of a submodule.
func linked(at, git string) (string, bool) {
	to, ok := pointer(git, "gitdir: ", os.Lstat)
	if !ok {
		return "", false
	}
	if back, ok := pointer(filepath.Join(to, "gitdir"), "", os.Lstat); ok {
		common, ok := pointer(filepath.Join(to, "commondir"), "", os.Lstat)
		if !ok || !samePath(back, git) || !samePath(filepath.Dir(to), filepath.Join(common, "worktrees")) {
			return "", false
		}
		return common, true
	}
	tree, ok := workTree(filepath.Join(to, "config"))
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(to, tree)
	}
	return to, samePath(tree, at)
}

// workTree returns what the last core.worktree in a configuration says.
func workTree(config string) (tree string, ok bool) {
	info, err := os.Lstat(config)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	text, err := readFile(config)
	if err != nil {
		return "", false
	}
	list, err := Parse(text)
	if err != nil {
		return "", false
	}
	for _, s := range list {
		if s.Key() == "core.worktree" {
			tree = s.Value
		}
	}
	return tree, tree != ""
}

func samePath(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
