package index

import (
	"bytes"
	"unicode/utf8"
)

// Characters that differ in length from the letters they are the same as, but for case: the Kelvin sign and the long s.
var kelvin, longS = []byte("\u212a"), []byte("\u017f")

// Odd reports whether a text holds what trigrams cannot tell from something else: bytes that are not UTF-8, which a
// search may decode, and the two characters that are small letters of ASCII in another case.
func Odd(text []byte) bool {
	return !utf8.Valid(text) || bytes.Contains(text, kelvin) || bytes.Contains(text, longS)
}
