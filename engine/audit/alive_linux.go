package audit

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Alive reports whether the process that had this number at that time still runs. A later process that was
// given the same number does not count.
func Alive(pid int, at time.Time) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) // hidden is not gone
	}
	// The name in parentheses may contain anything; the start time is the 20th field after it, in ticks since boot.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return true
	}
	if fields[0] == "Z" {
		return false
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	boot, ok := bootTime()
	if err != nil || !ok {
		return true
	}
	const perSecond = 100 // USER_HZ, the same on every architecture that Go supports
	started := boot.Add(time.Duration(ticks) * time.Second / perSecond)
	return !started.After(at.Add(2 * time.Second)) // both clocks are coarse
}

func bootTime() (time.Time, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	for line := range strings.Lines(string(stat)) {
		if rest, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return time.Unix(seconds, 0), err == nil
		}
	}
	return time.Time{}, false
}
