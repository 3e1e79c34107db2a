//go:build unix

package mcpclient

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// killGroup ends the program and what it started, and returns when they are gone, or after a second: what cannot be
// ended at once is in the kernel.
func killGroup(cmd *exec.Cmd) {
	for range 1000 {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
