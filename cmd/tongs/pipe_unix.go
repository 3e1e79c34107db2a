//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// quietPipe makes a write to a closed pipe an error rather than the end of the process, so that rows are closed.
func quietPipe() { signal.Ignore(syscall.SIGPIPE) }
