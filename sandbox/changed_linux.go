package sandbox

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt returns when a file or its entries last changed. Unlike the time of modification, nobody can set it back.
func changedAt(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return time.Now()
}
