package workspace

import (
	"encoding/hex"
	"fmt"

	"golang.org/x/sys/unix"
)

// identity tells the directory from any other that takes its path, also later and after a restart. The number of the
// device is no part of it where that can be: network and other virtual file systems get another one each time they are
// mounted. The number of the inode alone would not do, since it is given away again.
func (d *unixDir) identity() string {
	var st unix.Statx_t
	err := unix.Statx(d.fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err == nil && st.Mask&unix.STATX_BTIME != 0 && st.Btime != (unix.StatxTimestamp{}) {
		return fmt.Sprintf("birth:%d.%d.%d", st.Ino, st.Btime.Sec, st.Btime.Nsec)
	}
	if h, _, err := unix.NameToHandleAt(d.fd, "", unix.AT_EMPTY_PATH); err == nil {
		return fmt.Sprintf("handle:%d.%s", h.Type(), hex.EncodeToString(h.Bytes()))
	}
	return fmt.Sprintf("device:%d.%d.%d", st.Dev_major, st.Dev_minor, st.Ino)
}
