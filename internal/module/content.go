package module

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Bounds of what a module is made of.
const (
	maxFiles   = 20_000
	maxBytes   = 64 << 20
	maxPreview = 256 << 10
)

// content is what a module is made of: files by their slash-separated paths.
type content map[string][]byte

// digest identifies the content.
func (c content) digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(c[name]))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// bounded refuses content that is too large.
func (c content) bounded() error {
	total := 0
	for _, data := range c {
		total += len(data)
	}
	if len(c) > maxFiles || total > maxBytes {
		return fmt.Errorf("with what it imports it has %d files and %d MiB; a module has at most %d and %d", len(c), total>>20, maxFiles, maxBytes>>20)
	}
	return nil
}

// save writes the files below a directory that exists.
func (c content) save(dir string) error {
	for name, data := range c {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%q is no name of a file", name)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		mode := fs.FileMode(0o400)
		if !strings.Contains(name, ".") {
			mode = 0o500
		}
		if err := os.WriteFile(to, data, mode); err != nil {
			return err
		}
	}
	return nil
}

// loadContent reads all files below a directory, which is one of ours.
func loadContent(dir string) (content, error) {
	c := content{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		c[filepath.ToSlash(rel)], err = os.ReadFile(name)
		return err
	})
	return c, err
}

// readFile reads a regular file of at most maxBytes, whatever links lead to it, without waiting for a FIFO.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxBytes>>20)
	}
	return data, err
}

// show writes the module out for a person: all of it, or how it differs from what was approved. What is generated from
// the rest is left out; of packages of others there is a line each.
func (c content) show(before content) string {
	var b strings.Builder
	b.WriteString(c.vendored(before)) // first, where nothing is cut off
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := c[name]; !there && written(name) {
			fmt.Fprintf(&b, "%s: removed\n", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		data := c[name]
		was, there := before[name]
		switch {
		case !written(name) || there && bytes.Equal(was, data):
		case !isText(data) || there && !isText(was):
			fmt.Fprintf(&b, "%s: binary, %d bytes, sha256 %x\n", name, len(data), sha256.Sum256(data))
		case before != nil:
			b.WriteString(udiff.Unified("approved/"+name, "now/"+name, string(was), string(data)))
		default:
			fmt.Fprintf(&b, "--- %s\n%s\n", name, strings.TrimSuffix(string(data), "\n"))
		}
	}
	text := b.String()
	if text == "" && before != nil && c.digest() != before.digest() {
		text = "Your sources are the same; the packages that they import, or what they were bundled to, differ.\n"
	}
	return cleantext.Cut(text, maxPreview)
}

// vendored says which packages of others there are, or which changed.
func (c content) vendored(before content) string {
	was, now := before.packages(), c.packages()
	var b strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(was)) {
		if _, there := now[dir]; !there {
			fmt.Fprintf(&b, "%s: removed\n", dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(now)) {
		if p := now[dir]; was[dir].digest() != p.digest() {
			fmt.Fprintf(&b, "%s: %d files, %s\n", dir, len(p), p.digest())
		}
	}
	return b.String()
}

// packages are the files that are not shown, by their directories.
func (c content) packages() map[string]content {
	found := map[string]content{}
	for name, data := range c {
		if written(name) || name == bundleName {
			continue
		}
		dir := path.Dir(name)
		if found[dir] == nil {
			found[dir] = content{}
		}
		found[dir][name] = data
	}
	return found
}

// bundleName is what a JavaScript module is bundled to; a person reads its sources.
const bundleName = "module.mjs"

// written reports whether people wrote a file, so that they are shown it.
func written(name string) bool {
	return name != bundleName && (!strings.HasPrefix(name, "vendor/") || name == "vendor/modules.txt")
}

func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// input is a file that a module was made of, in the state that it was read in.
type input struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Mtime   int64  `json:"mtime"`
	Changed int64  `json:"ctime,omitempty"`
	Inode   uint64 `json:"inode,omitempty"`
}

// stampOf is the state that a file is in, whatever links lead to it. A file that is not there has none.
func stampOf(path string) input {
	info, err := os.Stat(path)
	if err != nil {
		return input{Path: path, Size: -1}
	}
	in := input{Path: path, Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	in.Changed, in.Inode = identity(info)
	return in
}

// unchanged reports whether every file is in the state that it was in.
func unchanged(inputs []input) bool {
	for _, in := range inputs {
		if stampOf(in.Path) != in {
			return false
		}
	}
	return len(inputs) > 0
}
