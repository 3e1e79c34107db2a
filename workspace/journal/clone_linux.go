package journal

import (
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// clone makes dst share the content of src, where the file system can.
func clone(dst, src *os.File) error { return unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) }

// syncAll makes everything on the file system of an open directory durable.
func syncAll(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }

// keepAttributes copies extended attributes, access control lists among them, as far as the system lets us.
func keepAttributes(from, to *os.File) {
	value := make([]byte, 64<<10)
	for _, name := range attributes(from) {
		// Others, such as capabilities and content hashes, belong to the content.
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" && name != "security.selinux" {
			continue
		}
		if n, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:n], 0)
		}
	}
}

// attributes are the names of the extended attributes of an open file, as far as they can be told.
func attributes(f *os.File) []string {
	names := make([]byte, 4096)
	n, err := unix.Flistxattr(int(f.Fd()), names)
	if err != nil || n == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00")
}

// hasAttributes reports whether an open file has attributes that a person or a program gave it, or might have: one that
// cannot be listed counts.
func hasAttributes(f *os.File) bool {
	n, err := unix.Flistxattr(int(f.Fd()), nil)
	if err != nil {
		return !errors.Is(err, unix.ENOTSUP)
	}
	if n > 4096 {
		return true
	}
	return slices.ContainsFunc(attributes(f), func(name string) bool {
		return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_") || name == "security.capability"
	})
}
