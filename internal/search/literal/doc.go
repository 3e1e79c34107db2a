// Package literal finds a literal in bytes, as fast as memory allows and, where asked, without regard to case.
//
// Most search tools look for the first byte of a literal and compare from there, which is slow for literals that start
// like everything else in the text. A Finder looks at the two bytes of the literal that are rarest in source code, both
// at once and at their distance, and compares the rest only where both are found. On amd64 with AVX2 that is done for 64
// places at a time; elsewhere by the standard library's search for a single byte, or eight bytes in a word.
//
// Without regard to case means simple folding, as (?i) in package regexp: k finds K and the Kelvin sign, s finds S and
// the long s. Letters whose forms have the same length in UTF-8 take part in the fast search: a byte of the text matches
// under a mask of the bits in which the forms differ.
package literal
