//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// onResize calls f whenever the terminal gets another size, until stop is called.
func onResize(f func()) (stop func()) {
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	go func() {
		for range sizes {
			f()
		}
	}()
	return func() {
		signal.Stop(sizes)
		close(sizes)
	}
}
