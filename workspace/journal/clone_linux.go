package journal

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// clone makes dst share the content of src, where the file system can.
func clone(dst, src *os.File) error { return unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) }

// syncAll makes everything on the file system of an open directory durable.
func syncAll(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }

// keepAttributes copies extended attributes, access control lists among them, as far as the system lets us.
func keepAttributes(from, to *os.File) {
	names := make([]byte, 4096)
	n, err := unix.Flistxattr(int(from.Fd()), names)
	if err != nil || n == 0 {
		return
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		// Others, such as capabilities and content hashes, belong to the content.
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" && name != "security.selinux" {
			continue
		}
		if n, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
	}
}
