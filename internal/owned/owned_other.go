//go:build unix && !linux

package owned

import (
	"os"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to walk through it.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

// listed: access lists are not read here.
func listed(*os.File) bool { return false }

func unmapped(*unix.Stat_t) bool { return false }
