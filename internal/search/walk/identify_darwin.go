package walk

import (
	"io/fs"
	"syscall"
)

// identify adds what the system tells about the identity of a file.
func identify(fi fs.FileInfo, i *Info) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		i.Device, i.Inode, i.Links = uint64(st.Dev), uint64(st.Ino), uint64(st.Nlink)
		i.Changed = st.Ctimespec.Nano()
	}
}
