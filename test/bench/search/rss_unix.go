//go:build unix

package main

import (
	"os"
	"syscall"
)

// maxRSS is the most memory that an ended process had, in KiB on Linux.
func maxRSS(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss)
	}
	return 0
}
