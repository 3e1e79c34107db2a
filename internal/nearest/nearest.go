// Package nearest finds what somebody most likely meant by a misspelt word.
package nearest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// maxWord bounds the words that are compared; a longer one is no misspelling of a name.
const maxWord = 128

// Fold returns the word without case, underscores and dashes: what spellings of one name have in common.
func Fold(word string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, word)
}

// Words returns the candidates that are close to word, the closest first, at most limit. Close means few typing
// errors for the length of the word, or that one of the two holds the other.
func Words(word string, candidates []string, limit int) []string {
	type match struct {
		word     string
		distance int
	}
	folded := Fold(word)
	if folded == "" || len(word) > maxWord {
		return nil
	}
	var matches []match
	for _, c := range candidates {
		fc := Fold(c)
		if fc == "" || len(c) > maxWord {
			continue
		}
		d := distance(folded, fc)
		shorter := min(len(folded), len(fc))
		allowed := max(1, shorter/3)
		if shorter >= 3 && (strings.Contains(folded, fc) || strings.Contains(fc, folded)) {
			d = min(d, allowed)
		}
		if d <= allowed && d < shorter {
			matches = append(matches, match{c, d})
		}
	}
	slices.SortFunc(matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.word, b.word))
	})
	var words []string
	for _, m := range matches[:min(limit, len(matches))] {
		words = append(words, m.word)
	}
	return words
}

// Word returns the closest candidate, or "" where none is close.
func Word(word string, candidates []string) string {
	if words := Words(word, candidates, 1); len(words) > 0 {
		return words[0]
	}
	return ""
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours that make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, next := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		next[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(y)]
}
