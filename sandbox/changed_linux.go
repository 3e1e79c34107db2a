package sandbox

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// stampOf returns what a directory looks like now, zero where there is none. It goes by the time of change: unlike that
// of modification, nobody can set it back.
func stampOf(dir string) stamp {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return stamp{}
	}
	return stamp{st.Dev, st.Ino, st.Ctim.Nano()}
}

// stampOfFile returns what tells whether a file was changed.
func stampOfFile(info fs.FileInfo) stamp {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return stamp{st.Dev, st.Ino, st.Ctim.Nano()}
	}
	return stamp{changed: info.ModTime().UnixNano()}
}
