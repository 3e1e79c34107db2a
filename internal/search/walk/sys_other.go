//go:build !linux

package walk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// sysRoot is the directory that everything is opened beneath. os.Root keeps every path inside it.
type sysRoot struct{ root *os.Root }

func openRoot(host string, dir *os.File) (sysRoot, error) {
	root, err := os.OpenRoot(host)
	if err != nil {
		return sysRoot{}, err
	}
	if dir == nil {
		return sysRoot{root}, nil
	}
	want, err := dir.Stat()
	if err == nil {
		var got fs.FileInfo
		if got, err = root.Stat("."); err == nil && !os.SameFile(want, got) {
			err = &os.PathError{Op: "open", Path: host, Err: errors.New("another directory took its place")}
		}
	}
	if err != nil {
		_ = root.Close()
		return sysRoot{}, err
	}
	return sysRoot{root}, nil
}

func (r sysRoot) stat(rel string) (Info, error) { return sysDir{root: r.root, rel: "."}.stat(rel) }

func (r sysRoot) close() error { return r.root.Close() }

func (r sysRoot) dir(rel string) (sysDir, error) {
	if rel == "" {
		rel = "."
	}
	seen, err := r.root.Lstat(rel)
	if err != nil {
		return sysDir{}, err
	}
	if !seen.IsDir() {
		return sysDir{}, &os.PathError{Op: "open", Path: rel, Err: syscall.ENOTDIR}
	}
	f, err := r.root.Open(rel)
	if err != nil {
		return sysDir{}, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(seen, opened) {
		_ = f.Close()
		return sysDir{}, &os.PathError{Op: "open", Path: rel, Err: errors.New("it changed while it was opened")}
	}
	return sysDir{root: r.root, rel: rel, f: f}, nil
}

// sysDir is an open directory.
type sysDir struct {
	root *os.Root
	rel  string
	f    *os.File
}

// dir opens a directory in this one. A link is an error.
func (d sysDir) dir(name string) (sysDir, error) { return sysRoot{d.root}.dir(path.Join(d.rel, name)) }

// noDir is a directory that is closed already.
func noDir() sysDir { return sysDir{} }

func (d sysDir) close() {
	if d.f != nil {
		_ = d.f.Close()
	}
}

func (d sysDir) info() (Info, error) {
	fi, err := d.f.Stat()
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi), nil
}

func (d sysDir) stat(name string) (Info, error) {
	fi, err := d.root.Lstat(path.Join(d.rel, name))
	if err != nil {
		return Info{}, err
	}
	return infoOf(fi), nil
}

func infoOf(fi fs.FileInfo) Info {
	i := Info{Type: typeOf(fi.Mode()), Size: fi.Size(), Modified: fi.ModTime().UnixNano()}
	identify(fi, &i)
	return i
}

func typeOf(mode fs.FileMode) Type {
	switch {
	case mode.IsRegular():
		return File
	case mode.IsDir():
		return Directory
	case mode&fs.ModeSymlink != 0:
		return Symlink
	default:
		return Other
	}
}

func (d sysDir) open(name string) (Handle, error) {
	full := path.Join(d.rel, name)
	seen, err := d.root.Lstat(full)
	if err != nil {
		return Handle{}, err
	}
	if !seen.Mode().IsRegular() {
		return Handle{}, errNotFile
	}
	f, err := d.root.OpenFile(full, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Handle{}, err
	}
	if opened, err := f.Stat(); err != nil || !opened.Mode().IsRegular() {
		_ = f.Close()
		return Handle{}, errNotFile
	}
	return Handle{f}, nil
}

// content returns what is in a small regular file.
func (d sysDir) content(name string, limit int64) ([]byte, bool) {
	h, err := d.open(name)
	if err != nil {
		return nil, false
	}
	defer h.Close()
	content, err := io.ReadAll(io.LimitReader(h.f, limit+1))
	return content, err == nil && int64(len(content)) <= limit
}

// next adds entries to the chunk, about as many as it is for, and reports whether there may be more.
func (d sysDir) next(c *chunk) (more bool, err error) {
	entries, err := d.f.ReadDir(chunkSize)
	for _, e := range entries {
		c.add([]byte(e.Name()), typeOf(e.Type()))
	}
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil && len(entries) > 0, err
}

// Handle is an open file. Whoever opened it closes it.
type Handle struct{ f *os.File }

// Read reads up to len(b) bytes; at the end of the file it returns io.EOF.
func (h Handle) Read(b []byte) (int, error) { return h.f.Read(b) }

// ReadAt reads up to len(b) bytes from an offset on; at the end of the file it returns io.EOF.
func (h Handle) ReadAt(b []byte, off int64) (int, error) { return h.f.ReadAt(b, off) }

// Stat describes the open file.
func (h Handle) Stat() (Info, error) { return sysDir{f: h.f}.info() }

// Close closes the file.
func (h Handle) Close() error { return h.f.Close() }
