package custom

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a model is shown of a tool.
const (
	maxText  = 1 << 10
	maxUsage = 4 << 10
)

// cut shortens text to at most n bytes and says so.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " … (cut)"
}

// readable is text of a tool's author as a model may see it: bounded, and without characters that do not show.
func readable(s string, n int) string {
	return cut(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if !unicode.IsPrint(r) && r != ' ' || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe0fff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")), n)
}
