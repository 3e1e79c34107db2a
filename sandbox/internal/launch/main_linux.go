package launch

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/gitssh"
)

// Main returns at once in a program that is itself. In one that was started as a part of a sandbox it never returns.
func Main() {
	if len(os.Args) > 1 && os.Args[1] == gitssh.Name {
		unix.Exit(gitSSH(os.Args[2:]))
	}
	if len(os.Args) != 1 {
		return
	}
	switch os.Args[0] {
	case KeeperName:
		runtime.LockOSThread()
		unix.Exit(keep(3)) // not os.Exit: nothing of the host program is to be run at the end
	case initName:
		runtime.LockOSThread()
		unix.Exit(initialize(3))
	case idleName:
		// Holds a user namespace until it is killed, or until its parent is gone.
		var b [1]byte
		_, _ = unix.Read(3, b[:])
		unix.Exit(0)
	}
}
