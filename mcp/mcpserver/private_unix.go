//go:build unix

package mcpserver

import (
	"fmt"
	"os"
	"syscall"
)

// private refuses a directory that others can enter, or that is somebody else's.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory; put the socket into one of your own", dir)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user; put the socket into a directory of your own", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be entered by others (%s); make it private with 'chmod 700 %s', or choose another directory",
			dir, info.Mode().Perm(), dir)
	}
	return nil
}

// readableByOwner refuses a file that others can read.
func readableByOwner(path string, info os.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by others (%s), so its token is no secret; remove it, and a new one is made", path, info.Mode().Perm())
	}
	return nil
}
