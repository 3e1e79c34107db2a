package schema

import (
	"fmt"
	"unicode"

	"github.com/tongs-ai/tongs"
)

// The most tokens that a description may have, by [Tokens].
const (
	MaxTokens        = 20
	MaxTokensComplex = 40
)

// Tokens estimates how many tokens a model reads s as, without asking any model. A word counts as one token and one
// more for each five letters beyond ten, where a capital inside it starts a new word; a number one for each three
// digits; a mark of punctuation one; a letter of a script that does not part words by spaces one. Spaces are free.
// English text comes out within about a fifth of what common tokenizers say.
func Tokens(s string) int {
	total, letters, digits := 0, 0, 0
	end := func() {
		if letters > 0 {
			total += 1 + max(0, letters-10+4)/5
		}
		total += (digits + 2) / 3
		letters, digits = 0, 0
	}
	lower := false
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r) ||
			unicode.Is(unicode.Hangul, r) || unicode.Is(unicode.Thai, r):
			end()
			total++
		case unicode.IsLetter(r) || unicode.IsMark(r):
			if digits > 0 || unicode.IsUpper(r) && lower {
				end()
			}
			letters++
		case unicode.IsDigit(r):
			if letters > 0 {
				end()
			}
			digits++
		case unicode.IsSpace(r):
			end()
		default:
			end()
			total++
		}
		lower = unicode.IsLower(r)
	}
	end()
	return total
}

// CheckDescription returns an error for a spec whose description is missing or takes more tokens than it may: 20, or
// 40 where the tool is complex.
func CheckDescription(spec *tongs.Spec) error {
	limit := MaxTokens
	if spec.Complex {
		limit = MaxTokensComplex
	}
	if spec.Description == "" {
		return fmt.Errorf("tool %s has no description", spec.Name)
	}
	if n := Tokens(spec.Description); n > limit {
		return fmt.Errorf("description of %s has about %d tokens, at most %d are allowed; shorten it", spec.Name, n, limit)
	}
	return nil
}
