//go:build !linux

package sandbox

// GitSSH returns nothing: only on Linux can git in a sandbox reach remotes of ssh.
func GitSSH(string) (command, program string, err error) { return "", "", nil }
