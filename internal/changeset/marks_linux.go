package changeset

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// markPrefix starts the names of the attributes by which an overlay keeps its books. Those of the program that start so
// get it twice.
const markPrefix = "user.overlay."

func owner(st *unix.Stat_t) string {
	return strconv.FormatUint(uint64(st.Uid), 10) + ":" + strconv.FormatUint(uint64(st.Gid), 10)
}

// attributes returns the marks of an overlay that an entry of the upper layer has, and the names of other attributes.
func attributes(path string, st *unix.Stat_t) (marks map[string]bool, others []string) {
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil, nil // links have none of the user's
	}
	var buf [1024]byte
	list := buf[:]
	n, err := unix.Llistxattr(path, list)
	if errors.Is(err, unix.ERANGE) {
		list = make([]byte, 64<<10)
		n, err = unix.Llistxattr(path, list)
	}
	if err != nil {
		return nil, nil
	}
	marks = map[string]bool{}
	for name := range bytes.SplitSeq(list[:n], []byte{0}) {
		switch mark, ok := strings.CutPrefix(string(name), markPrefix); {
		case len(name) == 0 || strings.HasPrefix(string(name), "security."):
		case ok && !strings.HasPrefix(mark, "overlay."):
			marks[mark] = true
		default:
			others = append(others, string(name))
		}
	}
	return marks, others
}

// opaque reports whether a directory of an upper layer hides the one below it.
func opaque(dir string) bool {
	var b [4]byte
	n, err := unix.Lgetxattr(dir, markPrefix+"opaque", b[:])
	return err == nil && n == 1 && b[0] == 'y'
}

// bare takes the marks of the overlay off a file of the layer, so that it can become one of the tree, and reports
// whether it could.
func bare(path string, mode fs.FileMode) bool {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	marks, others := attributes(path, &st)
	for _, name := range others {
		if mark, ok := strings.CutPrefix(name, markPrefix); ok {
			marks[mark] = true // one of the program's that looks like them
		}
	}
	if len(marks) > 0 && mode&0o200 == 0 && os.Chmod(path, 0o600) != nil {
		return false
	}
	for mark := range marks {
		if unix.Lremovexattr(path, markPrefix+mark) != nil {
			return false
		}
	}
	return true
}
