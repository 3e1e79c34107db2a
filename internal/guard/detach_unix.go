//go:build unix

package guard

import (
	"os/exec"
	"syscall"
)

// detach has a process outlive the session of the client.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
