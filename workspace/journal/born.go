package journal

import (
	"slices"

	"github.com/tongs-ai/tongs"
)

// keepBorn leaves the git directories alone that the entries made. No tool removes a repository: without its HEAD and configuration,
// what others committed there since would be lost to git.
func (u *Undo) keepBorn() error {
	for _, dir := range u.born {
		fi, err := u.disk.lstat(dir)
		if err != nil {
			return err
		}
		if fi == nil {
			continue
		}
		u.conflict(dir, "it is a repository, which a person has to remove")
		if err := u.tree.put(dir, &node{kind: there, at: dir}); err != nil {
			return err
		}
		u.Left = slices.DeleteFunc(u.Left, func(p tongs.Path) bool { return dir.Contains(p) })
	}
	return nil
}
