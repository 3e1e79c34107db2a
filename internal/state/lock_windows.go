package state

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is the byte that stands for the lock, beyond the records: a locked byte cannot be read by others here.
const lockAt = 1 << 20

// tryLock takes the lock of an open file, and reports whether it was free.
func tryLock(f *os.File) (bool, error) {
	at := &windows.Overlapped{Offset: lockAt}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func unlock(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: lockAt})
}
