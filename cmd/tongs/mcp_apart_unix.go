//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart keeps Ctrl-C at our terminal from a program.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
