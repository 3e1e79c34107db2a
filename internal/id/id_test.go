package id

import (
	"regexp"
	"testing"
	"time"
)

func TestNew(t *testing.T) {
	form := regexp.MustCompile(`^c_[0-9a-hjkmnp-tv-z]{20}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := New("c")
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%q: malformed or repeated", id)
		}
		seen[id] = true
	}
}

func TestNewSortsByTime(t *testing.T) {
	last := New("c")
	for range 3 {
		for start := time.Now().UnixMilli(); time.Now().UnixMilli() == start; {
		}
		next := New("c")
		if next <= last {
			t.Errorf("%q does not sort after %q", next, last)
		}
		last = next
	}
}
