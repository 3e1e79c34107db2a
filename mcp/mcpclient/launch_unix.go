//go:build unix && !linux

package mcpclient

import (
	"os/exec"
	"syscall"
)

// group puts a program into a process group of its own. One that outlives this process meets the end of its input.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
