package terminal

// Wording rules for everything a person reads here:
//
//   - Say what happens and to what, in the words of the person: "write src/a.go", not "mutation requested".
//   - Name the value that was wrong, and the next thing to do, as a command that can be copied.
//   - No exclamation marks, no praise, no apologies, no jargon that the person did not bring.
//   - Text from elsewhere (arguments, file names, diffs, reasons) is never printed as it came: it goes through clean
//     or cleanLines, and stands behind a mark at the start of each line, so that it cannot pass for ours.
//   - Colour adds nothing that the words do not say.

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Clean makes text fit for one line of a terminal: what a terminal would act on, and what would make the text read
// as something else (control characters, escape sequences, direction overrides, invisible characters), becomes visible.
func Clean(s string) string { return sanitise(s, false) }

// CleanLines is clean for text of several lines; tabs and line ends stay.
func CleanLines(s string) string { return sanitise(s, true) }

func sanitise(s string, lines bool) string {
	if lines {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r != ' ' && (!unicode.IsPrint(r) || invisible(r)):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// invisible reports characters that count as printable and show nothing, or hide others.
func invisible(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800, 0x034f, 0x180b, 0x180c, 0x180d, 0x180e:
		return true
	}
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef
}

// Plural is "1 line", "2 lines".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// IsTerminal reports whether w writes to a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// palette are the styles of the prompt.
type palette struct {
	title, faint, added, removed, hunk, warn, hotkey lipgloss.Style
}

func newPalette() palette {
	colour := func(c string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(c)) }
	return palette{
		title: lipgloss.NewStyle().Bold(true), faint: lipgloss.NewStyle().Faint(true), added: colour("2"),
		removed: colour("1"), hunk: colour("6"), warn: colour("3"), hotkey: lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("4")),
	}
}

// maxLine is how much of one line of untrusted text is shown where not all of a text is.
const maxLine = 4000

// quoted prints untrusted text, each line of it, wrapped to the width, behind a bar. It prints at most limit lines of
// the text, zero meaning all, and says how many are left.
func quoted(w io.Writer, text string, width, limit int, style func(line string) lipgloss.Style) {
	lines := strings.Split(strings.TrimRight(CleanLines(text), "\n"), "\n")
	left := 0
	if limit > 0 && len(lines) > limit {
		left = len(lines) - limit
		lines = lines[:limit]
	}
	bar := newPalette().faint.Render("│") + " "
	for _, line := range lines {
		s := style(line)
		line = strings.ReplaceAll(line, "\t", "    ")
		if r := []rune(line); limit > 0 && len(r) > maxLine {
			line = fmt.Sprintf("%s … (%d more characters in this line; v shows all)", string(r[:maxLine]), len(r)-maxLine)
		}
		for part := range strings.SplitSeq(ansi.Hardwrap(line, max(20, width-2), true), "\n") {
			fmt.Fprintln(w, bar+s.Render(part))
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "%s … %s not shown; v shows all\n", bar, Plural(left, "more line"))
	}
}

// diffStyle colours the lines of a unified diff.
func diffStyle(p palette) func(string) lipgloss.Style {
	return func(line string) lipgloss.Style {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			return p.title
		case strings.HasPrefix(line, "+"):
			return p.added
		case strings.HasPrefix(line, "-"):
			return p.removed
		case strings.HasPrefix(line, "@@"):
			return p.hunk
		}
		return lipgloss.NewStyle()
	}
}
