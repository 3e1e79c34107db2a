package workspace

import "golang.org/x/sys/unix"

// mountOf returns which mount what is at a path is on, without following a link. Two mounts of one file system are two: nothing can
// be moved from one to the other.
func mountOf(host string) (id uint64, err error) {
	var st unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, host, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
	if err != nil || st.Mask&unix.STATX_MNT_ID != 0 {
		return st.Mnt_id, err
	}
	return uint64(st.Dev_major)<<32 | uint64(st.Dev_minor), nil // a kernel before 5.8
}
