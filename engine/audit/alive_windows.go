package audit

import (
	"errors"
	"time"

	"golang.org/x/sys/windows"
)

// Alive reports whether the process that had this number at that time still runs.
func Alive(pid int, at time.Time) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // hidden is not gone
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return true
	}
	if exited.Nanoseconds() > 0 && exited.HighDateTime != 0 {
		return false
	}
	return !time.Unix(0, created.Nanoseconds()).After(at.Add(2 * time.Second))
}
