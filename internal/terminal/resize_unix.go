//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// OnResize calls f whenever the terminal gets another size, until stop is called.
func OnResize(f func()) (stop func()) {
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
