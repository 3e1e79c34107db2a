//go:build unix

package treestate

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// listing is an open folder with the names in it.
type listing struct {
	dir   *os.File
	fd    int
	names []string
}

func list(host string) (*listing, error) {
	l := &listing{}
	dir, err := os.OpenFile(host, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return l, err
	}
	l.dir, l.fd = dir, int(dir.Fd())
	l.names, err = dir.Readdirnames(-1)
	return l, err
}

func (l *listing) close() {
	if l.dir != nil {
		_ = l.dir.Close()
	}
}

func (l *listing) stat(name string, to *Stat) error {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(l.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "stat", Path: name, Err: err}
		}
		fill(to, &st)
		return nil
	}
}

// StatOf returns the stat of what is at a path on this machine.
func StatOf(host string) (st Stat, err error) {
	err = statOf(host, &st)
	return st, err
}

func statOf(host string, to *Stat) error {
	var st unix.Stat_t
	if err := unix.Lstat(host, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: host, Err: err}
	}
	fill(to, &st)
	return nil
}

var modes = []struct {
	bit  uint32
	mode fs.FileMode
}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}}

func fill(to *Stat, st *unix.Stat_t) {
	mode := fs.FileMode(st.Mode & 0o777)
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	for _, m := range modes {
		if uint32(st.Mode)&m.bit != 0 {
			mode |= m.mode
		}
	}
	*to = Stat{
		Mode: mode, Device: uint64(st.Dev), Inode: st.Ino, Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(), UID: st.Uid, GID: st.Gid,
	}
}
