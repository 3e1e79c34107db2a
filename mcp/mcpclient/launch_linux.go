package mcpclient

import (
	"os/exec"
	"syscall"
)

// group puts a program into a process group of its own, and has the kernel end it if this process is gone.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
