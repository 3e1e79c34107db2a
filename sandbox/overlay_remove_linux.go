package sandbox

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeLayers removes a directory with everything in it, also below directories that may not be entered and those that
// are too deep for any path. No program writes to it any more.
func removeLayers(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	top, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return shortError("opening", dir, err)
	}
	defer top.Close()
	r := &remover{top: int(top.Fd())}
	for r.left = true; r.left; {
		r.left = false
		if err := r.each(r.top, r.takeApart); err != nil {
			return shortError("removing", dir, err)
		}
	}
	return os.Remove(dir)
}

// shortError leaves out a path that may be as long as a program made it.
func shortError(what, dir string, err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	return &os.PathError{Op: what, Path: dir, Err: err}
}

// remover removes what is in a directory. What is deeper than one level is moved up first, so that it takes few open
// files, however deep it is.
type remover struct {
	top   int
	moved int
	left  bool // there is something in the directory that was not there when it was listed
}

// each calls f for the entries of an open directory.
func (r *remover) each(dir int, f func(dir int, name string) error) error {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	list := os.NewFile(uintptr(fd), "layer")
	defer list.Close()
	names, err := list.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f(dir, name); err != nil {
			return err
		}
	}
	return nil
}

// remove removes an entry; full says that it is a directory with something in it, which is open to us by now.
func (r *remover) remove(dir int, name string) (full bool, err error) {
	err = unix.Unlinkat(dir, name, 0)
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return false, err
	}
	err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
		return false, err
	}
	return true, unix.Fchmodat(dir, name, 0o700, 0)
}

// takeApart removes an entry of the top, and moves what is in the directories in it up.
func (r *remover) takeApart(dir int, name string) error {
	full, err := r.remove(dir, name)
	if err != nil || !full {
		return err
	}
	sub, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(sub)
	err = r.each(sub, func(dir int, name string) error {
		full, err := r.remove(dir, name)
		if err != nil || !full {
			return err
		}
		r.left = true
		for {
			r.moved++
			err := unix.Renameat2(dir, name, r.top, "moved-"+strconv.Itoa(r.moved), unix.RENAME_NOREPLACE)
			if !errors.Is(err, unix.EEXIST) {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}
