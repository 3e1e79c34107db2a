//go:build unix

package sqlitefile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// hasModes says that permission bits mean something here.
const hasModes = true

// noFollow makes opening a symbolic link an error.
const noFollow = syscall.O_NOFOLLOW

// checkOwner refuses a file that somebody else put there.
func checkOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("state file %s: its owner cannot be told", path)
	}
	if int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("state file %s belongs to another user (%d): use another state directory", path, stat.Uid)
	}
	return nil
}
