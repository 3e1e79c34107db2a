package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// Code reads an error code in any case, empty for none.
func Code(text string) (tongs.Code, error) {
	code := tongs.Code(strings.ToUpper(text))
	if code != "" && !slices.Contains(tongs.Codes(), code) {
		return "", Usagef("%q is not a code; the codes are %v", text, tongs.Codes())
	}
	return code, nil
}

// Moment reads a point in time as people write it.
func Moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, ok := span(text); ok {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Usagef("%q is no time; write a duration like 2h or 7d, or a date like 2026-01-31", text)
}

// span reads a length of time as people write it: 90m, 2h, 7d, 2w.
func span(text string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			count, err := strconv.Atoi(n)
			return time.Duration(count) * length, err == nil && count >= 0 && count < 10000
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
