package state

import (
	"errors"
	"math/rand/v2"
	"os"
	"time"
)

// lockPatience is how long a process waits for the lock of the head file, which others keep for microseconds.
const lockPatience = 30 * time.Second

// lockFile waits for the lock of an open file and returns what frees it. The end of the process frees it too.
func lockFile(f *os.File) (func(), error) {
	deadline := time.Now().Add(lockPatience)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 2*time.Millisecond) {
		free, err := tryLock(f)
		switch {
		case err != nil:
			return nil, err
		case free:
			return func() { unlock(f) }, nil
		case time.Now().After(deadline):
			return nil, errors.New("another process kept it locked for too long: see which of them hangs")
		}
		time.Sleep(pause/2 + rand.N(pause))
	}
}
