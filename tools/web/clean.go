package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible reports whether a character shows nothing, and has no use in text that people write.
func invisible(r rune) bool {
	switch {
	case r == 0x200b, r == 0x200e, r == 0x200f, r == 0x00ad, r == 0x180e, r == 0xfeff, r == 0x061c, r == 0x034f, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb:
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags and the supplement of variation selectors
		return true
	case r >= 0x1d173 && r <= 0x1d17a, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5:
		return true
	}
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r <= 0x9f && r != 0x85
}

// clean takes out characters that nobody sees. Joiners stay where scripts need them, and so do the marks of emoji.
func clean(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	before := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		after, _ := utf8.DecodeRuneInString(s[i+size:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
		case invisible(r):
			i += size
			continue
		case r == 0x200c || r == 0x200d: // between letters of scripts that join, or emoji
			if !joins(before) || !joins(after) {
				i += size
				continue
			}
			b.WriteRune(r)
		case r >= 0xfe00 && r <= 0xfe0f: // one variation selector, after something that varies
			if before < 0x80 && !unicode.IsDigit(before) && before != '#' && before != '*' || before >= 0xfe00 && before <= 0xfe0f {
				i += size
				continue
			}
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		before = r
		i += size
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// joins reports whether a character may stand beside a joiner.
func joins(r rune) bool {
	return r > 0x2ff && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsSymbol(r))
}
