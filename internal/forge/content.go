package forge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Bounds of what a tool is made of.
const (
	maxFiles   = 200
	maxBytes   = 128 << 20
	maxPreview = 256 << 10
)

// stamp is the stat identity of a file.
type stamp struct {
	Size    int64  `json:"size"`
	Mtime   int64  `json:"mtime"`
	Ctime   int64  `json:"ctime,omitempty"`
	Inode   uint64 `json:"inode,omitempty"`
	Mode    uint32 `json:"mode"`
	Missing bool   `json:"missing,omitempty"`
}

// file is one of those that a tool is made of.
type file struct {
	// Path is slash-separated, below the directory of the tool.
	Path  string `json:"path"`
	Stamp stamp  `json:"stamp"`
	// Exec says that its owner may run it.
	Exec bool `json:"exec,omitempty"`
	// Hash is that of its content, empty where it was not read.
	Hash string `json:"hash,omitempty"`
}

// list returns the files that a tool is made of, by stat only. Names that begin with a dot, and what Python compiles, are no
// part of it: they are not copied either. A link, or too much, is an error.
func list(dir string) ([]file, error) {
	var files []file
	var total int64
	var others int // in vendor
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		switch {
		case err != nil || rel == ".":
			return err
		case strings.HasPrefix(d.Name(), ".") || d.Name() == "__pycache__":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is a link or no regular file; a tool holds regular files only", rel)
		}
		s, err := stampOf(name)
		if err != nil {
			return err
		}
		if strings.HasPrefix(filepath.ToSlash(rel), vendorDir) {
			others++
		}
		if total += s.Size; total > maxBytes || len(files)-others >= maxFiles || others > maxVendored {
			return fmt.Errorf("it has more than %d files or %d MiB; a tool is smaller", maxFiles, maxBytes>>20)
		}
		files = append(files, file{Path: filepath.ToSlash(rel), Stamp: s, Exec: fs.FileMode(s.Mode)&0o100 != 0})
		return nil
	})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// sameStamps reports whether nothing changed between two lists.
func sameStamps(a, b []file) bool {
	return slices.EqualFunc(a, b, func(x, y file) bool { return x.Path == y.Path && x.Stamp == y.Stamp })
}

// content is what a tool is made of, read.
type content struct {
	files []file
	data  map[string][]byte
}

// load reads all files of a tool.
func load(dir string) (*content, error) {
	files, err := list(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := &content{files: files, data: map[string][]byte{}}
	var total int64
	for i := range files {
		f := &c.files[i]
		data, err := readRegular(root, f.Path, maxBytes-total)
		if err != nil {
			return nil, err
		}
		total += int64(len(data))
		sum := sha256.Sum256(data)
		f.Hash, c.data[f.Path] = hex.EncodeToString(sum[:]), data
	}
	return c, nil
}

// readRegular reads a file without waiting for a FIFO, and no more of it than there may be.
func readRegular(root *os.Root, name string, limit int64) ([]byte, error) {
	if info, err := root.Lstat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no regular file any more", name), err)
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is too large; a tool has at most %d MiB", name, maxBytes>>20)
	}
	return data, err
}

// digest identifies files by their names, content, and whether they can be run.
func digest(files []file) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %t %s\n", f.Path, f.Exec, f.Hash)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// save writes the files below a new directory that nobody else can read, all or nothing.
func (c *content) save(to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(to), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, f := range c.files {
		name := filepath.Join(tmp, filepath.FromSlash(f.Path))
		mode := fs.FileMode(0o400)
		if f.Exec {
			mode = 0o500
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := writeSynced(name, c.data[f.Path], mode); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, to); err != nil {
		if _, there := os.Stat(to); there == nil {
			return nil // somebody else was faster, with the same content
		}
		return err
	}
	return nil
}

func writeSynced(name string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}

// show writes the tool out for a person: all of it, or how it differs from what was approved.
func (c *content) show(before *content, note func(path string) string) string {
	var b strings.Builder
	old := map[string][]byte{}
	if before != nil {
		old = before.data
		for _, f := range before.files {
			if _, there := c.data[f.Path]; !there && !inVendor(f.Path) {
				fmt.Fprintf(&b, "%s: removed\n", f.Path)
			}
		}
	}
	for _, f := range c.files {
		if inVendor(f.Path) {
			continue
		}
		data := c.data[f.Path]
		was, there := old[f.Path]
		switch {
		case there && bytes.Equal(was, data):
			if i := slices.IndexFunc(before.files, func(o file) bool { return o.Path == f.Path }); before.files[i].Exec != f.Exec {
				fmt.Fprintf(&b, "%s: may be run: %t\n", f.Path, f.Exec)
			}
		case !text(data) || there && !text(was):
			fmt.Fprintf(&b, "%s: binary, %d bytes, sha256 %s%s\n", f.Path, len(data), f.Hash, note(f.Path))
		case before != nil:
			b.WriteString(udiff.Unified("approved/"+f.Path, "now/"+f.Path, string(was), string(data)))
		default:
			fmt.Fprintf(&b, "--- %s\n%s\n", f.Path, strings.TrimSuffix(string(data), "\n"))
		}
	}
	c.showPackages(&b, before)
	return cleantext.Cut(b.String(), maxPreview)
}

// inVendor reports whether a file is one of a module in vendor.
func inVendor(path string) bool { return strings.HasPrefix(path, vendorDir) && path != vendorList }

func text(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}
