package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// outputPipe makes a pipe that holds as much as is copied at a time, where the user may have such.
func outputPipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	if raw, err := r.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, copyBuffer) })
	}
	return r, w, nil
}
