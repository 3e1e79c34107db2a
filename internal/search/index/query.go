package index

import (
	"strings"

	"github.com/tongs-ai/tongs/internal/search/regex"
)

// Query is what to look for. It does not change.
type Query struct {
	clauses []clause
	// whole says that literals of one match may be in several blocks of a file.
	whole bool
	odd   bool
}

// clause is a list of literals, of which a match holds one; a literal is a list of pieces, each as trigrams.
type clause [][][]uint32

// For returns the query for what a matcher finds. It is false where the index is of no use, since no literal of three
// bytes is known: then every file may match.
func For(m *regex.Matcher) (*Query, bool) {
	q := &Query{whole: m.Multiline()}
	for _, literals := range m.Required() {
		c, odd, ok := clauseOf(literals)
		if !ok {
			continue
		}
		q.clauses = append(q.clauses, c)
		q.odd = q.odd || odd
	}
	return q, len(q.clauses) > 0
}

// clauseOf returns the trigrams of a clause; false where a literal of it has none. odd says that a text may contain one of
// the literals in a form that the trigrams do not tell.
func clauseOf(literals []regex.Literal) (c clause, odd, ok bool) {
	for _, l := range literals {
		var pieces [][]uint32
		for text := range strings.SplitSeq(l.Text, "\n") {
			if list := trigrams(text, l.Fold); len(list) > 0 {
				pieces = append(pieces, list)
			}
		}
		if len(pieces) == 0 {
			return nil, false, false
		}
		c = append(c, pieces)
		odd = odd || isOdd(l)
	}
	return c, odd, len(c) > 0
}

// isOdd reports whether other bytes than those of a literal may stand for it: in a text of another encoding, or where
// letters of another length are the same but for their case.
func isOdd(l regex.Literal) bool {
	for i := range len(l.Text) {
		if c := l.Text[i]; c >= 0x80 || l.Fold && (c|0x20 == 'k' || c|0x20 == 's') {
			return true
		}
	}
	return false
}

// Odd reports whether files that are [Odd] may match although Find does not find them.
func (q *Query) Odd() bool { return q.odd }

// Whole reports whether a match may span lines, and so blocks.
func (q *Query) Whole() bool { return q.whole }
