package journal

import "golang.org/x/sys/unix"

func renameFd(from int, name string, to int, newName string, exchange bool) error {
	if exchange {
		return unix.RenameatxNp(from, name, to, newName, unix.RENAME_SWAP)
	}
	return unix.RenameatxNp(from, name, to, newName, unix.RENAME_EXCL)
}
