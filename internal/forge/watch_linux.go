package forge

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// watched is everything that can happen to what is in a directory.
const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// watch hears of changes in directories.
type watch struct {
	fd   int
	dirs map[int32]string
}

// newWatch begins to hear of changes in the directories, or says why it cannot.
func newWatch(dirs []string) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	w := &watch{fd, make(map[int32]string, len(dirs))}
	for _, dir := range dirs {
		wd, err := unix.InotifyAddWatch(fd, dir, watched)
		if err != nil {
			w.close()
			return nil, err
		}
		w.dirs[int32(wd)] = dir
	}
	return w, nil
}

// changedDirs returns the directories in which something happened since it was last asked, nil for none; whatever it cannot tell
// apart is in a directory without a name.
func (w *watch) changedDirs() (dirs map[string]bool) {
	var events [8 << 10]byte
	for {
		n, err := unix.Read(w.fd, events[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return dirs
		case dirs == nil:
			dirs = map[string]bool{}
		}
		if err != nil || n <= 0 {
			dirs[""] = true
			return dirs
		}
		for at := events[:n]; len(at) >= unix.SizeofInotifyEvent; { // wd, mask, cookie, length of the name, name
			dirs[w.dirs[int32(binary.NativeEndian.Uint32(at))]] = true // one that was lost has no directory
			at = at[min(unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(at[12:])), len(at)):]
		}
	}
}

func (w *watch) close() { _ = unix.Close(w.fd) }
