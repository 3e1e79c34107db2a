package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// watcher is an instance of inotify.
type watcher struct {
	fd  int
	buf []byte
}

const (
	inEntries = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	inContent = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE
	inDir     = inEntries | inContent | unix.IN_MOVE_SELF | unix.IN_DELETE_SELF | unix.IN_ONLYDIR
	inFile    = inContent | unix.IN_DONT_FOLLOW
)

func newWatcher() (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &watcher{fd: fd, buf: make([]byte, 64<<10)}, nil
}

func (w *watcher) close() { _ = unix.Close(w.fd) }

// dir watches an open directory: that one, whatever its path leads to by now.
func (w *watcher) dir(f walk.Folder) (int32, error) {
	watch, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(f.Fd()), inDir)
	return int32(watch), err
}

// file watches a file.
func (w *watcher) file(host string) (int32, error) {
	watch, err := unix.InotifyAddWatch(w.fd, host, inFile)
	return int32(watch), err
}

func (w *watcher) remove(watch int32) { _, _ = unix.InotifyRmWatch(w.fd, uint32(watch)) }

// read calls found with each event that is queued.
func (w *watcher) read(found func(event)) error {
	for {
		n, err := unix.Read(w.fd, w.buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("the events of the file system cannot be read: %w", err)
		}
		for rest := w.buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			name, _, _ := bytes.Cut(rest[unix.SizeofInotifyEvent:size], []byte{0})
			mask := binary.NativeEndian.Uint32(rest[4:])
			found(event{
				watch: int32(binary.NativeEndian.Uint32(rest)), name: string(name),
				entries:  mask&(inEntries|unix.IN_ISDIR) != 0,
				ended:    mask&unix.IN_IGNORED != 0,
				overflow: mask&unix.IN_Q_OVERFLOW != 0,
			})
			rest = rest[size:]
		}
	}
}

// maxWatches returns how many watches a root may take: half of what the system allows.
func maxWatches() int {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if n, err2 := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && err2 == nil {
		return max(n/2, 1)
	}
	return 4096
}

func isMissing(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// remotes are file systems that others can change without an event here.
var remotes = map[uint32]string{
	unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smb", unix.SMB2_SUPER_MAGIC: "smb", unix.CIFS_SUPER_MAGIC: "cifs",
	unix.FUSE_SUPER_MAGIC: "fuse", unix.V9FS_MAGIC: "9p", unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs",
	unix.AFS_FS_MAGIC: "afs", unix.CODA_SUPER_MAGIC: "coda", unix.NCP_SUPER_MAGIC: "ncp", unix.OCFS2_SUPER_MAGIC: "ocfs2",
	0x786f4256: "vboxsf", 0xbacbacbc: "vmhgfs", 0x0bd00bd0: "lustre", 0x47504653: "gpfs", 0x01161970: "gfs2",
}

// remoteCheck looks whether a directory is on a file system of which not every change is an event.
func (r *root) remoteCheck(f walk.Folder) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(f.Fd(), &st); err != nil {
		r.becomeStrict("its file system cannot be told: " + err.Error())
		return
	}
	if name, ok := remotes[uint32(st.Type)]; ok {
		r.becomeStrict("others can change what is on " + name + " without an event here")
	}
}
