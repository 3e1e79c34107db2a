//go:build !unix && !windows

package audit

import "time"

// processAlive cannot tell here, and so does not say that a call was interrupted.
func processAlive(int, time.Time) bool { return true }
