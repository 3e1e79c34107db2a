package launch

import "golang.org/x/sys/unix"

func isFork(nr uintptr) bool { return nr == unix.SYS_CLONE }
