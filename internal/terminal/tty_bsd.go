//go:build unix && !linux

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput throws away what was typed and not read yet.
func flushInput(tty *os.File) {
	const read = 1 // FREAD of sys/fcntl.h
	_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, read)
}
