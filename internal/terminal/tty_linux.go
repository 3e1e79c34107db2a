package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput throws away what was typed and not read yet.
func flushInput(tty *os.File) { _ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
