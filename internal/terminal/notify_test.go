package terminal

import (
	"strings"
	"testing"
)

// A terminal that is known to show notifications gets one sequence, which no text of a question can leave; others get nothing.
func TestNotification(t *testing.T) {
	for env, want := range map[string]bool{
		"TERM_PROGRAM=ghostty": true, "TERM_PROGRAM=iTerm.app": true, "KITTY_WINDOW_ID=1": true,
		"TERM_PROGRAM=Apple_Terminal": false, "TERM=linux": false, "TERM_PROGRAM=ghostty TMUX=/tmp/x": false,
	} {
		got := notification("edit  a\x1b]0;owned\x07\x1b\\.txt "+strings.Repeat("x", 500), func(name string) string {
			for _, pair := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if (got != "") != want {
			t.Errorf("%s: %q", env, got)
		}
		if want && (!strings.HasPrefix(got, "\x1b]9;Tongs: edit") || strings.Count(got, "\x1b") != 2 || strings.Contains(got, "\a") || len(got) > 300) {
			t.Errorf("%s: %q", env, got)
		}
	}
}
