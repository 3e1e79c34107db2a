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

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Clean makes text fit for one line of a terminal, and shows what a terminal would act on.
func Clean(s string) string { return cleantext.Line(s) }

// CleanLines is Clean for text of several lines; tabs and line ends stay.
func CleanLines(s string) string { return cleantext.Lines(s) }

// Plural is "1 line", "2 lines".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Columns is how wide the terminal is that w writes to, 0 where it is none.
func Columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	wide, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return wide
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
			line = fmt.Sprintf("%s … (%d more characters in this line; ? shows all)", string(r[:maxLine]), len(r)-maxLine)
		}
		for part := range strings.SplitSeq(ansi.Hardwrap(line, max(20, width-2), true), "\n") {
			fmt.Fprintln(w, bar+s.Render(part))
		}
	}
	if left > 0 {
		fmt.Fprintf(w, "%s … %s not shown; ? shows all\n", bar, Plural(left, "more line"))
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
