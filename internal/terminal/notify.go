package terminal

import (
	"slices"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// maxNotification is how much of a question a notification shows.
const maxNotification = 200

// notification is what makes a terminal show a clean text on the desktop (OSC 9), also from another machine. It is empty for terminals
// that are not known to do so, since some act on the sequence in other ways.
func notification(text string, env func(string) string) string {
	known := []string{"iTerm.app", "WezTerm", "ghostty", "WarpTerminal", "rio"}
	if !slices.Contains(known, env("TERM_PROGRAM")) && env("KITTY_WINDOW_ID") == "" || env("TMUX") != "" || env("STY") != "" {
		return ""
	}
	return "\x1b]9;Tongs: " + cleantext.Cut(cleantext.Line(text), maxNotification) + "\x1b\\"
}
