//go:build unix

package live

import (
	"os"
	"syscall"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// sameDir reports whether an open directory is the one that is known.
func sameDir(f *os.File, known walk.Info) bool {
	if f == nil {
		return true
	}
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Ino) == known.Inode && uint64(st.Dev) == known.Device
}
