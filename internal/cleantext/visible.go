package cleantext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes text fit for one line that a person reads: what a screen would act on, and what would make the text read as
// something else (control characters, escape sequences, direction overrides, invisible characters), becomes visible.
func Line(s string) string { return visible(s, false) }

// Lines is Line for text of several lines; tabs and line ends stay.
func Lines(s string) string { return visible(s, true) }

func visible(s string, lines bool) string {
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
		case r != ' ' && (!unicode.IsPrint(r) || Invisible(r)):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// Invisible reports characters that count as printable and show nothing, or hide others.
func Invisible(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800, 0x034f, 0x180b, 0x180c, 0x180d, 0x180e:
		return true
	}
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef
}
