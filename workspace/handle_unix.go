//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// nonblock keeps opening a FIFO from waiting for its other end.
const nonblock = unix.O_NONBLOCK

// unixDir is a handle that works by descriptor: openat, fstatat, renameat, unlinkat.
type unixDir struct {
	fd int
	// beneath opens a directory below in one step, nil where the system cannot: then it is element by element.
	beneath func(fd int, rel string) (int, error)
}

func (d *unixDir) walk(rel string) (handle, error) {
	if d.beneath != nil {
		fd, err := d.beneath(d.fd, rel)
		if err == nil {
			return &unixDir{fd: fd, beneath: d.beneath}, nil
		}
		if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
			return nil, linkError(err)
		}
	}
	fd, err := d.openDir(d.fd, ".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		if name == "." {
			continue
		}
		next, err := d.openDir(fd, name)
		_ = unix.Close(fd)
		if err != nil {
			return nil, err
		}
		fd = next
	}
	return &unixDir{fd: fd, beneath: d.beneath}, nil
}

func (d *unixDir) openDir(fd int, name string) (int, error) {
	next, err := eintr(func() (int, error) {
		return unix.Openat(fd, name, dirFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		// Both are said of a link, depending on the system.
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return -1, errLink
		}
	}
	return next, err
}

func (d *unixDir) lstat(name string) (stat, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stat{}, err
	}
	return statOf(&st), nil
}

func (d *unixDir) readlink(name string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func (d *unixDir) open(name string) (*os.File, stat, error) {
	// Looked at first: opening some devices does something.
	st, err := d.lstat(name)
	if err == nil {
		err = regular(st)
	}
	if err != nil {
		return nil, stat{}, err
	}
	fd, err := eintr(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, stat{}, linkError(err)
	}
	st, err = statFd(fd)
	if err == nil {
		err = regular(st)
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, stat{}, err
	}
	return os.NewFile(uintptr(fd), name), st, nil
}

func (d *unixDir) create(name string, perm fs.FileMode) (*os.File, error) {
	fd, err := eintr(func() (int, error) {
		const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		return unix.Openat(d.fd, name, flags, uint32(perm.Perm()))
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d *unixDir) mkdir(name string, perm fs.FileMode) error {
	return unix.Mkdirat(d.fd, name, uint32(perm.Perm()))
}

func (d *unixDir) symlink(target, name string) error { return unix.Symlinkat(target, d.fd, name) }

func (d *unixDir) remove(name string, dir bool) error {
	flags := 0
	if dir {
		flags = unix.AT_REMOVEDIR
	}
	return unix.Unlinkat(d.fd, name, flags)
}

func (d *unixDir) rename(name string, to handle, newName string, replace bool) error {
	t, ok := to.(*unixDir)
	if !ok {
		return errors.ErrUnsupported
	}
	if replace {
		return unix.Renameat(d.fd, name, t.fd, newName)
	}
	err := renameExclusive(d.fd, name, t.fd, newName)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	// A file system without the exclusive form: a hard link is exclusive, too.
	if err := unix.Linkat(d.fd, name, t.fd, newName, 0); err == nil {
		return unix.Unlinkat(d.fd, name, 0)
	} else if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EXDEV) {
		return err
	}
	if _, err := t.lstat(newName); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(d.fd, name, t.fd, newName)
}

func (d *unixDir) file() (*os.File, error) {
	fd, err := d.reopen()
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "."), nil
}

// reopen opens the directory itself for reading.
func (d *unixDir) reopen() (int, error) {
	return eintr(func() (int, error) {
		return unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
}

func (d *unixDir) writable(name string) error {
	return unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS)
}

func (d *unixDir) adopt(name string, st stat) error {
	if st.typ == tongs.FileRegular || st.typ == tongs.FileDirectory {
		fd, err := eintr(func() (int, error) {
			return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			return linkError(err)
		}
		_ = unix.Fchown(fd, int(st.uid), int(st.gid)) // kept where this process may
		err = unix.Fchmod(fd, uint32(st.mode.Perm()))
		_ = unix.Close(fd)
		if err != nil {
			return err
		}
	}
	ts := unix.NsecToTimespec(st.mtime)
	return unix.UtimesNanoAt(d.fd, name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

func (d *unixDir) sync() {
	if fd, err := d.reopen(); err == nil {
		_ = unix.Fsync(fd)
		_ = unix.Close(fd)
	}
}

func (d *unixDir) close() { _ = unix.Close(d.fd) }

// keepOwner gives f the owner of the file it will replace.
func keepOwner(f *os.File, st stat) error {
	have, err := statFile(f)
	if err != nil || st.weak || (have.uid == st.uid && have.gid == st.gid) {
		return err
	}
	return f.Chown(int(st.uid), int(st.gid))
}

func statFile(f *os.File) (stat, error) { return statFd(int(f.Fd())) }

func statFd(fd int) (stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return stat{}, err
	}
	return statOf(&st), nil
}

func regular(st stat) error {
	switch {
	case st.mode.IsRegular():
		return nil
	case st.mode&fs.ModeSymlink != 0:
		return errLink
	case st.mode.IsDir():
		return unix.EISDIR
	default:
		return errNotRegular
	}
}

func linkError(err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV) {
		return errLink
	}
	if errors.Is(err, unix.ENXIO) {
		return errNotRegular
	}
	return err
}

func statOf(st *unix.Stat_t) stat {
	s := stat{
		mode: fs.FileMode(st.Mode) & fs.ModePerm, size: st.Size,
		mtime: unix.TimespecToNsec(st.Mtim), ctime: unix.TimespecToNsec(st.Ctim),
		dev: uint64(st.Dev), ino: st.Ino, nlink: uint64(st.Nlink), uid: st.Uid, gid: st.Gid,
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		s.mode |= fs.ModeDir
	case unix.S_IFLNK:
		s.mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		s.mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		s.mode |= fs.ModeSocket
	case unix.S_IFCHR:
		s.mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		s.mode |= fs.ModeDevice
	default:
		s.mode |= fs.ModeIrregular
	}
	if st.Mode&unix.S_ISUID != 0 {
		s.mode |= fs.ModeSetuid
	}
	if st.Mode&unix.S_ISGID != 0 {
		s.mode |= fs.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		s.mode |= fs.ModeSticky
	}
	s.typ = typeOf(s.mode)
	return s
}

func eintr(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
