package workspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identity tells the directory from any other that takes its path, also later and after a restart.
func (d *unixDir) identity() string {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("birth:%d.%d.%d", st.Ino, st.Btim.Sec, st.Btim.Nsec)
}
