//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

func openConsole() (in, out *os.File, err error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}

// foreground reports whether the process may read from the terminal without being stopped.
func foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
