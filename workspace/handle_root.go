package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/tongs-ai/tongs"
)

// rootDir is a handle by os.Root, for systems without the calls of unixDir. It goes down one directory at a time and
// compares what it saw with what it opened, since os.Root follows links that stay inside.
type rootDir struct{ root *os.Root }

func openRootHandle(host string) (handle, error) {
	root, err := os.OpenRoot(host)
	if err != nil {
		return nil, err
	}
	return rootDir{root}, nil
}

func (d rootDir) walk(rel string) (handle, error) {
	cur, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		if name == "." {
			continue
		}
		next, err := enter(cur, name)
		_ = cur.Close()
		if err != nil {
			return nil, err
		}
		cur = next
	}
	return rootDir{cur}, nil
}

func enter(cur *os.Root, name string) (*os.Root, error) {
	seen, err := cur.Lstat(name)
	if err != nil {
		return nil, err
	}
	if seen.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return nil, errLink
	}
	if !seen.IsDir() {
		return nil, syscall.ENOTDIR
	}
	next, err := cur.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = errLink
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

func (d rootDir) lstat(name string) (stat, error) {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return stat{}, err
	}
	return weakStat(fi), nil
}

func (d rootDir) readlink(name string) (string, error) { return d.root.Readlink(name) }

func (d rootDir) open(name string) (*os.File, stat, error) {
	seen, err := d.root.Lstat(name)
	if err != nil {
		return nil, stat{}, err
	}
	switch {
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, stat{}, errLink
	case seen.IsDir():
		return nil, stat{}, syscall.EISDIR
	case !seen.Mode().IsRegular():
		return nil, stat{}, errNotRegular
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, stat{}, err
	}
	fi, err := f.Stat()
	if err == nil && !os.SameFile(seen, fi) {
		err = errLink
	}
	if err != nil {
		_ = f.Close()
		return nil, stat{}, err
	}
	return f, weakStat(fi), nil
}

func (d rootDir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

func (d rootDir) mkdir(name string, perm fs.FileMode) error { return d.root.Mkdir(name, perm) }

func (d rootDir) symlink(target, name string) error { return d.root.Symlink(target, name) }

func (d rootDir) remove(name string, dir bool) error {
	// Remove takes files and empty directories alike.
	fi, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if fi.IsDir() != dir {
		if dir {
			return syscall.ENOTDIR
		}
		return syscall.EISDIR
	}
	return d.root.Remove(name)
}

func (d rootDir) rename(name string, to handle, newName string, replace bool) error {
	t, ok := to.(rootDir)
	if !ok {
		return errors.ErrUnsupported
	}
	if !replace {
		if _, err := t.root.Lstat(newName); err == nil {
			return fs.ErrExist
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if d == t {
		return d.root.Rename(name, newName)
	}
	// os.Root renames inside one root only; the names are absolute and their directories are held open.
	from := d.root.Name() + string(os.PathSeparator) + name
	if err := d.still(); err != nil {
		return err
	}
	if err := t.still(); err != nil {
		return err
	}
	return os.Rename(from, t.root.Name()+string(os.PathSeparator)+newName)
}

// still fails where the name of the open directory has come to mean another one.
func (d rootDir) still() error {
	opened, err := d.root.Stat(".")
	if err != nil {
		return err
	}
	named, err := os.Lstat(d.root.Name())
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return errLink
	}
	return nil
}

func (d rootDir) file() (*os.File, error) { return d.root.Open(".") }

func (d rootDir) writable(name string) error {
	fi, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if fi.Mode().Perm()&0o200 == 0 {
		return fs.ErrPermission
	}
	return nil
}

func (d rootDir) adopt(name string, st stat) error {
	if st.typ == tongs.FileSymlink {
		return nil
	}
	if err := d.root.Chmod(name, st.mode.Perm()); err != nil {
		return err
	}
	return d.root.Chtimes(name, timeOf(st.mtime), timeOf(st.mtime))
}

func (d rootDir) sync() {}

func (d rootDir) close() { _ = d.root.Close() }

// weakStat describes a file by what every system knows. The version of such a file rests on its content.
func weakStat(fi fs.FileInfo) stat {
	return stat{
		typ: typeOf(fi.Mode()), mode: fi.Mode(), size: fi.Size(), mtime: fi.ModTime().UnixNano(), weak: true, fi: fi,
	}
}

func timeOf(ns int64) time.Time { return time.Unix(0, ns) }
