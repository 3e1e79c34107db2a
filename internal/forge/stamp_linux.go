package forge

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// stampOf looks at a file, without following a link.
func stampOf(name string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return stamp{Missing: true}, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return stampFrom(&st), nil
}

func stampFrom(st *unix.Stat_t) stamp {
	return stamp{Size: st.Size, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Inode: st.Ino, Mode: st.Mode}
}

// top is the forge, opened, so that the way to it is gone once for all that is in it.
type top struct{ fd int }

func openTop(dir string) (*top, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return &top{fd}, nil
}

func (t *top) close() { _ = unix.Close(t.fd) }

// stamp looks at what is at a path below the forge.
func (t *top) stamp(rel string) stamp {
	var st unix.Stat_t
	if unix.Fstatat(t.fd, rel, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return stamp{Missing: true}
	}
	return stampFrom(&st)
}
