package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// clone makes dst share the content of src, where the file system can.
func clone(dst, src *os.File) error { return unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) }

// syncAll makes everything on the file system of an open directory durable.
func syncAll(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }
