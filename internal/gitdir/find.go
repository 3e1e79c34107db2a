package gitdir

import "path/filepath"

// Found returns the repositories in a directory and those that it is in. Gits are the entries called .git that are in it, at
// any depth, and bare the directories in it that git takes for a repository whatever their name is.
func Found(root string, gits, bare []string) []Repository {
	list := Above(root)
	for _, r := range list {
		list = append(list, inside(r.Dir)...)
	}
	for _, git := range gits {
		if r, ok := At(filepath.Dir(git), filepath.Base(git)); ok {
			list = append(append(list, r), inside(r.Dir)...)
		}
	}
	for _, dir := range bare {
		list = append(append(list, Repository{Dir: dir}), inside(dir)...)
	}
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
