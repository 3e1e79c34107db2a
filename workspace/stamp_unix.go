//go:build linux || darwin

package workspace

import "golang.org/x/sys/unix"

// stampOf returns what a directory looks like now, zero where there is none. It goes by the time of change: unlike that
// of modification, nobody can set it back.
func stampOf(dir string) stamp {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return stamp{}
	}
	return stamp{uint64(st.Dev), st.Ino, unix.TimespecToNsec(st.Ctim)}
}
