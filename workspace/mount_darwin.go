package workspace

import "golang.org/x/sys/unix"

// mountOf returns which file system what is at a path is on, without following a link.
func mountOf(host string) (id uint64, err error) {
	var st unix.Stat_t
	err = unix.Lstat(host, &st)
	return uint64(st.Dev), err
}
