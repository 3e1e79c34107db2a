//go:build unix

package terminal

import (
	"os/exec"
	"syscall"
)

// ownProcessGroup keeps Ctrl-C at our terminal from a program.
func ownProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
