//go:build !unix && !windows

package audit

import "time"

// Alive cannot tell here, and so does not say that a call was interrupted.
func Alive(int, time.Time) bool { return true }
