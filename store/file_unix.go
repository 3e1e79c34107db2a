//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// hasModes says that permission bits mean something here.
const hasModes = true

// checkDir refuses a directory in which somebody else could put another file in place of ours.
func checkDir(dir string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("state directory %s: its owner cannot be told", dir)
	}
	perm := info.Mode().Perm()
	switch {
	case int(stat.Uid) != os.Geteuid() && perm&0o077 != 0:
		return fmt.Errorf("state directory %s belongs to another user (%d) and has mode %04o: use one of your own", dir, stat.Uid, perm)
	case perm&0o002 != 0, perm&0o020 != 0 && int(stat.Gid) != os.Getegid():
		return fmt.Errorf("state directory %s can be written by others (mode %04o): run \"chmod 700\" on it, or use another", dir, perm)
	}
	return nil
}

// checkOwner refuses a file that somebody else put there.
func checkOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("state file %s: its owner cannot be told", path)
	}
	if int(stat.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return fmt.Errorf("state file %s belongs to another user (%d): use another state directory", path, stat.Uid)
	}
	return nil
}
