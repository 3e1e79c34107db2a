package owned

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to walk through it, which takes no permission to list it.
const dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// listed reports whether an access list may give others than the group what the mode gives the group.
func listed(f *os.File) bool {
	_, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), "system.posix_acl_access", nil)
	return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.EOPNOTSUPP)
}

// unmapped reports whether a directory belongs to a user that this user namespace does not know, as root's do in many
// sandboxes. Who that is cannot be told; what is trusted itself must have a known owner.
func unmapped(st *unix.Stat_t) bool {
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	overflow, err := os.ReadFile("/proc/sys/fs/overflowuid")
	if err != nil || strings.TrimSpace(string(overflow)) != strconv.Itoa(int(st.Uid)) {
		return false
	}
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(ids)), "\n") {
		f := strings.Fields(line)
		if len(f) != 3 {
			return false
		}
		first, err1 := strconv.ParseUint(f[0], 10, 33)
		count, err2 := strconv.ParseUint(f[2], 10, 33)
		if err1 != nil || err2 != nil || uint64(st.Uid) >= first && uint64(st.Uid) < first+count {
			return false
		}
	}
	return true
}
