//go:build unix

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps opening a FIFO from waiting for its other end.
const nonblock = unix.O_NONBLOCK

// device identifies the file system that something is on.
func device(fi fs.FileInfo) string {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(st.Dev), 36)
	}
	return ""
}

// identity identifies a file as long as it exists; empty where the system cannot.
func identity(fi fs.FileInfo) string {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return device(fi) + "." + strconv.FormatUint(uint64(st.Ino), 36)
	}
	return ""
}

// ownerOf returns "UID:GID" where that is not this process's.
func ownerOf(fi fs.FileInfo) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Uid, st.Gid)
}

// foreign reports whether a file belongs to another user, and could not be given back to them.
func foreign(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) != os.Geteuid() && os.Geteuid() != 0
}

// linkCount is how many names a file has.
func linkCount(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

func renameAt(a *os.Root, name string, b *os.Root, newName string, exchange bool) error {
	from, err := a.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := b.Open(".")
	if err != nil {
		return err
	}
	defer to.Close()
	err = renameFd(int(from.Fd()), name, int(to.Fd()), newName, exchange)
	if exchange || !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	// A file system without the exclusive form.
	if _, err := b.Lstat(newName); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(int(from.Fd()), name, int(to.Fd()), newName)
}

// noExchange reports whether the system or the file system cannot exchange two names.
func noExchange(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}

// linkAt gives a file a second name.
func linkAt(a *os.Root, name string, b *os.Root, newName string) error {
	from, err := a.Open(".")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := b.Open(".")
	if err != nil {
		return err
	}
	defer to.Close()
	return unix.Linkat(int(from.Fd()), name, int(to.Fd()), newName, 0)
}
