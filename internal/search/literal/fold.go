package literal

import (
	"unicode"
	"unicode/utf8"
)

// forms returns the characters that differ from r in case only, r first.
func forms(r rune) []rune {
	all := []rune{r}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		all = append(all, f)
	}
	return all
}

func hasCase(text string) bool {
	for _, r := range text {
		if unicode.SimpleFold(r) != r {
			return true
		}
	}
	return false
}

// sameFold reports whether r, decoded from size bytes, is a form of want. A byte that is not UTF-8 is no character.
func sameFold(want, r rune, size int) bool {
	if r == utf8.RuneError && size == 1 {
		return false
	}
	if want == r {
		return true
	}
	for f := unicode.SimpleFold(want); f != want; f = unicode.SimpleFold(f) {
		if f == r {
			return true
		}
	}
	return false
}

// Fixed reports whether all forms of r have the same length in UTF-8, so that the bytes of a text can be compared in
// place. It is false for k, s and a few letters of other scripts.
func Fixed(r rune) bool {
	n := utf8.RuneLen(r)
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if utf8.RuneLen(f) != n {
			return false
		}
	}
	return n > 0
}

// patterns returns what the bytes of a fixed character must be.
func patterns(r rune) []pattern {
	var first [utf8.UTFMax]byte
	n := utf8.EncodeRune(first[:], r)
	out := make([]pattern, n)
	for _, f := range forms(r) {
		var form [utf8.UTFMax]byte
		utf8.EncodeRune(form[:], f)
		for i := range out {
			out[i].mask |= form[i] ^ first[i]
		}
	}
	for i := range out {
		out[i].value = first[i] | out[i].mask
	}
	return out
}

// foldFilter makes the filter of the run of fixed characters that is rarest.
func (f *Finder) foldFilter() {
	runes := []rune(f.text)
	best := -1
	for i := 0; i < len(runes); {
		if !Fixed(runes[i]) {
			i++
			continue
		}
		var filter []pattern
		start := i
		for ; i < len(runes) && Fixed(runes[i]); i++ {
			filter = append(filter, patterns(runes[i])...)
		}
		if rarity := Rarity(string(runes[start:i]), true); rarity > best {
			best, f.filter, f.before = rarity, filter, start
		}
	}
	if !f.isWhole(runes) {
		f.runes = runes
	}
}

// isWhole reports whether the filter alone is the literal: all of it, and each byte an ASCII letter or always the same.
func (f *Finder) isWhole(runes []rune) bool {
	if len(f.filter) != len(runes) {
		return false
	}
	for _, r := range runes {
		if r >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func firstBytes(r rune) *[256]bool {
	var set [256]bool
	for _, f := range forms(r) {
		set[string(f)[0]] = true
	}
	return &set
}
