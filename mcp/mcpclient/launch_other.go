//go:build !unix

package mcpclient

import (
	"os/exec"
	"strconv"
)

func group(*exec.Cmd) {}

// killGroup ends the program and what it started, as far as the system knows what that is.
func killGroup(cmd *exec.Cmd) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
	_ = cmd.Process.Kill()
}
