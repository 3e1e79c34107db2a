//go:build unix

package confine

import (
	"io/fs"
	"syscall"
)

// linked reports whether a file has other names, by which it could be changed.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 1
}
