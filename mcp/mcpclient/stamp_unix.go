//go:build unix

package mcpclient

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// endings are those of programs.
var endings = []string{""}

// stampOf is the stat identity of a file: it changes with the content, whatever times somebody sets.
func stampOf(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%o:%d:%d", st.Dev, st.Ino, st.Size, st.Mode, info.ModTime().UnixNano(), ctime(st).UnixNano())
}

// changedAt is when a file was last changed.
func changedAt(info fs.FileInfo) time.Time {
	t := info.ModTime()
	if st, ok := info.Sys().(*syscall.Stat_t); ok && ctime(st).After(t) {
		t = ctime(st)
	}
	return t
}
