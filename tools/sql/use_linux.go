package sql

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// unused refuses a database that another program has open: it would go on with the file that is replaced, and what it writes
// there would be lost. The kernel gives a write lease only on a file that nobody else has open.
func unused(host string, d database) error {
	fd, err := unix.Open(host, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return tongs.Errorf(tongs.CodeExecutionError, "%s cannot be opened: %w", d.path, err)
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
	switch {
	case err == nil:
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		return nil
	case errors.Is(err, unix.EAGAIN):
		return tongs.Errorf(tongs.CodeExecutionError,
			"%s is open in another program, which would lose the change or its own; end that program, or have it make the change", d.path)
	}
	return untold(d) // a file of another user, or of a file system without leases
}

// maxGrowth is how much memory a statement may use, and pace how often that is looked at.
const (
	maxGrowth = 512 << 20
	pace      = 20 * time.Millisecond
)

var errMemory = tongs.Errorf(tongs.CodeTooLarge, "the statement needs more than %d MiB of memory; narrow it", maxGrowth>>20)

// bounded returns a context that ends once this process has grown by more than a statement may use.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	began := resident()
	go func() {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if resident()-began > maxGrowth {
					cancel(errMemory)
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// resident is the memory of this process, 0 where it cannot be told.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
