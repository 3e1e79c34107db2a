package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

const dirFlags = unix.O_RDONLY

func openHandle(host string) (handle, error) {
	fd, err := unix.Open(host, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &unixDir{fd: fd}, nil
}

func renameExclusive(from int, name string, to int, newName string) error {
	return unix.RenameatxNp(from, name, to, newName, unix.RENAME_EXCL)
}

// keepAttributes does nothing here: the attributes of this system include ones that must not be copied.
func keepAttributes(_, _ *os.File) {}
