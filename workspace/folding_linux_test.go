package workspace

import (
	"testing"

	"golang.org/x/sys/unix"
)

// mountFolding mounts a file system that ignores case at dir, where the kernel and our rights allow it.
func mountFolding(t *testing.T, dir string) bool {
	if unix.Mount("tmpfs", dir, "tmpfs", 0, "casefold") != nil {
		return false
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	const casefold = 0x40000000 // FS_CASEFOLD_FL
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, casefold) == nil
}
