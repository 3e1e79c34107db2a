// Package cleantext makes text that others wrote fit to be shown: to a model bounded and without characters that do not show,
// to a person with such characters made visible.
package cleantext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut shortens text to at most n bytes, and says so.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " … (cut)"
}

// Text is s as a model may see it: at most n bytes, and nothing in it that a person would not see. What is not UTF-8 is replaced.
func Text(s string, n int) string {
	return Cut(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if !unicode.IsPrint(r) && r != ' ' || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff { // variations and tags hide text
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")), n)
}
