//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// quietPipe makes a write to a closed pipe an error rather than the end of the process, so that rows are closed.
func quietPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
