package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/tongs-ai/tongs"
)

// handle is an open directory. Every operation takes the name of one entry, follows no link there, and stays in that
// very directory whatever happens to the path it was opened by: a directory swapped for a link changes nothing.
// Errors are those of the system, or errLink and errNotRegular.
type handle interface {
	// walk opens the directory at the clean, slash-separated path below. A link on the way is errLink.
	walk(rel string) (handle, error)
	// lstat describes an entry; "." is the directory itself.
	lstat(name string) (stat, error)
	readlink(name string) (string, error)
	// open opens a regular file for reading and never blocks; anything else is errLink or errNotRegular.
	open(name string) (*os.File, stat, error)
	// create makes a file that is not there yet.
	create(name string, perm fs.FileMode) (*os.File, error)
	mkdir(name string, perm fs.FileMode) error
	symlink(target, name string) error
	// remove removes a file, a link or, where dir is set, an empty directory.
	remove(name string, dir bool) error
	// rename moves an entry to another directory of the same kind of handle. Without replace it fails with
	// fs.ErrExist where the new name is taken, without a moment in which it could be lost.
	rename(name string, to handle, newName string, replace bool) error
	// file opens the directory itself for reading.
	file() (*os.File, error)
	// writable fails where this process may not write to an existing file.
	writable(name string) error
	// adopt gives a new entry the permissions and times of another, and the owner where this process may.
	adopt(name string, st stat) error
	// sync makes changes of entries durable, where the system can.
	sync()
	close()
}

// list calls yield with batches of the names in a directory until it returns false.
func list(h handle, yield func(names []string) bool) error {
	f, err := h.file()
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(256)
		if len(names) > 0 && !yield(names) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var (
	errLink       = errors.New("is a symbolic link")
	errNotRegular = errors.New("is not a regular file")
)

// stat is what the package knows of a file.
type stat struct {
	typ  tongs.FileType
	mode fs.FileMode
	size int64
	// mtime and ctime are in nanoseconds since 1970.
	mtime, ctime    int64
	dev, ino, nlink uint64
	uid, gid        uint32
	// weak is set where the system tells neither inode nor change time; fi is what it tells then.
	weak bool
	fi   fs.FileInfo
}

func (st stat) info(p tongs.Path) tongs.FileInfo {
	return tongs.FileInfo{
		Path: p, Type: st.typ, Size: st.size, Modified: timeOf(st.mtime), Mode: st.mode, Links: st.nlink,
	}
}

// same reports whether two descriptions are of the same file, in whatever state.
func (st stat) same(o stat) bool {
	if st.weak || o.weak {
		return st.fi != nil && o.fi != nil && os.SameFile(st.fi, o.fi)
	}
	return st.typ == o.typ && st.dev == o.dev && st.ino == o.ino
}

func typeOf(mode fs.FileMode) tongs.FileType {
	switch {
	case mode.IsRegular():
		return tongs.FileRegular
	case mode.IsDir():
		return tongs.FileDirectory
	case mode&fs.ModeSymlink != 0:
		return tongs.FileSymlink
	default:
		return tongs.FileOther
	}
}

// entries returns the names in a directory, at most limit of them where limit is positive.
func entries(h handle, limit int) (names []string, err error) {
	err = list(h, func(batch []string) bool {
		names = append(names, batch...)
		return limit <= 0 || len(names) < limit
	})
	if limit > 0 && len(names) > limit {
		names = names[:limit]
	}
	return names, err
}
