package journal

import "golang.org/x/sys/unix"

func renameFd(from int, name string, to int, newName string, exchange bool) error {
	if exchange {
		return unix.Renameat2(from, name, to, newName, unix.RENAME_EXCHANGE)
	}
	return unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
}
