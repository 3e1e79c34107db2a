package walk

import (
	"errors"
	"strings"
	"time"
)

// Type is what an entry is.
type Type uint8

// The types of entry. Other is a FIFO, a socket or a device.
const (
	File Type = iota
	Directory
	Symlink
	Other
)

// String returns the type's name, such as "file".
func (t Type) String() string {
	return [...]string{"file", "directory", "symlink", "other"}[min(t, Other)]
}

// Entry is what was found in a directory.
type Entry struct {
	// Rel is the path below the root, slash-separated. It shares memory with the names found beside it: clone it to
	// keep a few of many.
	Rel  string
	Type Type
	// Worker is the number of the goroutine that makes the visit, below Options.Workers: no two visits with the same
	// number overlap.
	Worker int

	name int
	in   *openDir
}

// Name returns the last element of Rel.
func (e *Entry) Name() string { return e.Rel[e.name:] }

// Dir returns the directory that the entry is in. It may be kept.
func (e *Entry) Dir() *Dir { return e.in.dir }

// Stat describes the entry as it is now, without following a link.
func (e *Entry) Stat() (Info, error) { return e.in.sys.stat(e.Name()) }

// errNotFile is why Open refuses.
var errNotFile = errors.New("not a regular file")

// Open opens a regular file for reading. It follows no link and never waits. A file that became something else since it
// was listed is an error or empty.
func (e *Entry) Open() (Handle, error) {
	if e.Type != File {
		return Handle{}, errNotFile
	}
	return e.in.sys.open(e.Name())
}

// Info is what the system tells about a file. Zero fields are not known on this system.
type Info struct {
	Type Type
	Size int64
	// Modified and Changed are in nanoseconds since 1970: when the content was last written, and when the file was
	// last changed in any way.
	Modified, Changed int64
	Device, Inode     uint64
	Links             uint64
}

// ModTime returns Modified as a time.
func (i Info) ModTime() time.Time { return time.Unix(0, i.Modified) }

// join returns the path of an entry of the directory at rel, which is "" for the root.
func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// Order compares names, or paths in one directory, such that whole paths come in the order of their bytes: a directory is compared as if its name
// ended in a slash.
func Order(a string, aDir bool, b string, bDir bool) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	return at(a, n, aDir) - at(b, n, bDir)
}

func at(s string, i int, dir bool) int {
	switch {
	case i < len(s):
		return int(s[i])
	case dir:
		return '/'
	default:
		return -1
	}
}
