//go:build !linux && !darwin

package workspace

import "os"

// mountOf knows only whether something is there.
func mountOf(host string) (id uint64, err error) {
	_, err = os.Lstat(host)
	return 0, err
}
