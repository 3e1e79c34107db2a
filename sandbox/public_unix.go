//go:build unix

package sandbox

import (
	"io/fs"
	"syscall"
)

// ownedByRoot reports whether a file is the administrator's.
func ownedByRoot(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
