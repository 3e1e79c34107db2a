package workspace

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to look things up in it: that needs no permission to list it.
const dirFlags = unix.O_PATH

func openHandle(host string) (handle, error) {
	fd, err := unix.Open(host, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &unixDir{fd: fd, beneath: openat2}, nil
}

// openat2 opens a directory beneath another one; the kernel refuses every link and every way out.
func openat2(fd int, rel string) (int, error) {
	how := &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for range 128 {
		next, err := unix.Openat2(fd, rel, how)
		// EAGAIN: something was renamed meanwhile and the kernel cannot tell whether that led out.
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return next, err
		}
	}
	return -1, unix.ENOSYS // opened element by element instead
}

func renameExclusive(from int, name string, to int, newName string) error {
	return unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
}

// keepAttributes copies extended attributes, access control lists among them, as far as the system lets us.
func keepAttributes(from, to *os.File) {
	buf := make([]byte, 4096)
	n, err := unix.Flistxattr(int(from.Fd()), buf)
	if err != nil || n == 0 {
		return
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		// Others, such as capabilities and content hashes, belong to the old content.
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" && name != "security.selinux" {
			continue
		}
		if n, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
	}
}
