//go:build unix && !linux

package mcpclient

import (
	"os/exec"
	"syscall"
)

// group puts a program into a process group of its own. One that outlives this process meets the end of its input.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the program and what it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
