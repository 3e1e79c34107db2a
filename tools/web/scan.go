package web

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/secrets"
)

// scanner looks for secrets in what would leave, also in the encodings that a request commonly has.
type scanner struct {
	exact *secrets.Redactor
	// lower knows the values in lower case, as they would stand in the name of a host.
	lower *secrets.Redactor
}

func newScanner(r *secrets.Redactor, environ []string) *scanner {
	low := make([]string, 0, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			low = append(low, name+"="+strings.ToLower(value))
		}
	}
	return &scanner{exact: r, lower: secrets.New(low)}
}

// part is a part of a request, for a person: "the body".
type part struct{ name, text string }

// find says what secrets the parts hold, each once, without showing them.
func (s *scanner) find(parts ...part) (found []string) {
	for _, p := range parts {
		for _, text := range unfolded(p.text) {
			for _, m := range s.matches(text) {
				line := fmt.Sprintf("%s (%s, %s)", p.name, m.Kind, masked(text[m.Start:m.End]))
				if !slices.Contains(found, line) {
					found = append(found, line)
				}
			}
		}
	}
	return found
}

func (s *scanner) matches(text string) []secrets.Match {
	if found := s.exact.Find(text); len(found) > 0 {
		return found
	}
	if len(text) > 4096 { // no host name, and not worth a copy
		return nil
	}
	// Values in a host name are in lower case, and may be cut by dots.
	for _, spelled := range []string{strings.ToLower(text), strings.ReplaceAll(strings.ToLower(text), ".", "")} {
		for _, m := range s.lower.Find(spelled) {
			if m.Kind == "environment secret" {
				return []secrets.Match{{Start: 0, End: len(text), Kind: m.Kind}}
			}
		}
	}
	return nil
}

// text takes secrets out of what is shown.
func (s *scanner) text(t string) string { return s.exact.Text(t) }

// masked shows enough of a secret to know it by, and not enough to use it.
func masked(secret string) string {
	if len(secret) < 16 {
		return fmt.Sprintf("%d characters", len(secret))
	}
	return fmt.Sprintf("%s..., %d characters", strings.ToValidUTF8(secret[:4], "?"), len(secret))
}

// maxUnfold bounds what is looked at in decoded form.
const maxUnfold = 256 << 10

// unfolded returns a text and what it may stand for: without percent signs, and the decoded forms of long words.
func unfolded(text string) []string {
	texts := []string{text}
	plain := text
	for range 3 {
		next, err := url.QueryUnescape(plain)
		if err != nil || next == plain {
			break
		}
		plain = next
		texts = append(texts, plain)
	}
	left := maxUnfold
	for word := range strings.FieldsFuncSeq(plain, func(r rune) bool { return !encoded(r) }) {
		if len(word) < 12 || len(word) > left {
			continue
		}
		left -= len(word)
		texts = append(texts, decoded(word)...)
	}
	return texts
}

func encoded(r rune) bool {
	return r < 128 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("+/-_", r))
}

// decoded returns what a word is in hexadecimal digits and base64, where that is text.
func decoded(word string) (texts []string) {
	for digits := range strings.FieldsFuncSeq(word, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }) {
		if raw, err := hex.DecodeString(digits[len(digits)%2:]); err == nil && len(raw) >= 6 {
			texts = append(texts, string(raw))
		}
	}
	word = strings.NewReplacer("-", "+", "_", "/").Replace(word)
	// A value that was encoded along with what is before it starts at any of four places.
	for skip := range 4 {
		if len(word)-skip < 12 {
			break
		}
		cut := word[skip:]
		cut = cut[:len(cut)/4*4]
		if raw, err := base64.RawStdEncoding.DecodeString(cut); err == nil {
			texts = append(texts, string(raw))
		}
		if whole, err := base64.RawStdEncoding.DecodeString(word[skip:]); err == nil {
			texts = append(texts, string(whole))
		}
	}
	return texts
}
