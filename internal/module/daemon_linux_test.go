package module_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What a module leaves behind ends with its host: a pipe that it holds has its end when nobody holds it any more.
func TestDaemon(t *testing.T) {
	t.Parallel()
	b := newHostile(t)
	name := filepath.Join(b.Dir, "alive")
	b.Must(syscall.Mkfifo(name, 0o600))
	pipe, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	b.Must(err)
	defer pipe.Close()
	b.OK("daemon")
	b.Must(pipe.SetReadDeadline(time.Now().Add(time.Minute)))
	here := make([]byte, 5)
	for { // nobody holds it until the daemon does
		_, err := io.ReadFull(pipe, here)
		if err == nil {
			break
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	b.set.Close()
	if n, err := pipe.Read(here); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("it lives on: %d bytes, %v", n, err)
	}
}
