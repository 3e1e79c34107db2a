// Package hostpath compares paths of the host, and follows the links in them.
package hostpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Within reports whether path is dir or below it. Both are absolute and clean.
func Within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && (rest == "" || os.IsPathSeparator(rest[0]))
}

// Link is a symbolic link that was followed: where it is, and what is written in it.
type Link struct{ At, To string }

// maxLinks is how many links a path may lead through, as for the kernel.
const maxLinks = 40

// ErrLinks says that a path leads through too many links, or in a circle.
var ErrLinks = errors.New("leads through more than 40 links")

// Follow returns where an absolute path leads, with the links on the way. Read returns what is written in the link at a
// path, "" where there is none. Where Follow stops at an error, at is the place that it reached.
func Follow(path string, read func(path string) (to string, err error)) (at string, links []Link, err error) {
	// Not cleaned: what ".." means after a link depends on where the link leads.
	todo := strings.Split(filepath.ToSlash(path), "/")
	at = string(filepath.Separator)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		at = filepath.Join(at, name)
		to, err := read(at)
		if err != nil {
			return at, links, err
		}
		if to == "" {
			continue
		}
		if links = append(links, Link{at, to}); len(links) > maxLinks {
			return at, links, ErrLinks
		}
		if at = filepath.Dir(at); filepath.IsAbs(to) {
			at = string(filepath.Separator)
		}
		todo = append(strings.Split(filepath.ToSlash(to), "/"), todo...)
	}
	return at, links, nil
}

// ReadLink returns what is written in the link at a path, and "" where there is something else. What does not exist is
// [fs.ErrNotExist].
func ReadLink(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	return os.Readlink(path)
}
