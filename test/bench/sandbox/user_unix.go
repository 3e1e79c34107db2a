//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// runAs has a command run as a user and the group of the same number.
func runAs(cmd *exec.Cmd, user int) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
}
