package text

import (
	"strconv"
	"strings"
	"unicode"
)

// Name spells a name or a path on one line, so that none can pass for anything else in a list or a diff: as it is where all
// of it can be seen, quoted where it cannot.
func Name(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return s
	}
	return strconv.Quote(s)
}
