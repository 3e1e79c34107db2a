//go:build unix && !linux && !darwin

package journal

import "golang.org/x/sys/unix"

func renameFd(_ int, _ string, _ int, _ string, _ bool) error { return unix.ENOSYS }
