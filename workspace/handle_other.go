//go:build !linux && !darwin

package workspace

import "os"

// nonblock has no meaning here: what could block is refused before it is opened.
const nonblock = 0

func openHandle(host string) (handle, error) { return openRootHandle(host) }

func keepAttributes(_, _ *os.File) {}

func keepOwner(*os.File, stat) error { return nil }

func statFile(f *os.File) (stat, error) {
	fi, err := f.Stat()
	if err != nil {
		return stat{}, err
	}
	return weakStat(fi), nil
}
