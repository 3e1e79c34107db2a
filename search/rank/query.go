package rank

import "strings"

// maxTerms is how many words of a query count.
const maxTerms = 24

// Query is what is looked for: words, or names as code spells them, or both. It does not change.
type Query struct {
	terms []term
	// names are the parts of the query that could be the name of a definition, compacted; those that look like one, such
	// as parseURL, are spelt.
	names []name
	tests bool
}

// term is a word of a query.
type term struct {
	word   string
	stems  []string // its own first, then those of words alike
	weight float64
}

type name struct {
	compact, container string
	spelt              bool
}

// Parse reads a query. Words that say nothing, as in "where is the", are left out, unless there are no others.
func Parse(text string) *Query {
	q := &Query{}
	q.take(text, false)
	if len(q.terms) == 0 {
		q.take(text, true)
	}
	return q
}

func (q *Query) take(text string, everything bool) {
	seen := map[string]bool{}
	for field := range strings.FieldsSeq(text) {
		field = strings.Trim(field, "?!.,;:\"'`()[]{}*&")
		if q.tests = q.tests || strings.HasPrefix(strings.ToLower(field), "test"); !everything && idle[strings.ToLower(field)] {
			continue
		}
		q.name(field)
		eachWord([]byte(field), nil, func(b []byte) {
			w := string(b)
			s := stem(w)
			if seen[s] || len(q.terms) >= maxTerms || !everything && idle[w] {
				return
			}
			seen[s] = true
			t := term{word: w, stems: append([]string{s}, alike()[s]...), weight: 1}
			if soft[w] {
				t.weight = 0.35
			}
			q.terms = append(q.terms, t)
		})
	}
}

// name takes up a field of the query as a name: store.Open, Store::open, open(), parse_url.
func (q *Query) name(field string) {
	parts := strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(".:#/>()*&<", r) })
	if len(parts) == 0 || len(q.names) >= maxTerms {
		return
	}
	last := parts[len(parts)-1]
	n := name{compact: compact(last), spelt: len(parts) > 1 || len(wordsOf(last)) > 1 || strings.Contains(last, "_")}
	if len(parts) > 1 {
		n.container = compact(parts[len(parts)-2])
	}
	if len(n.compact) > 1 {
		q.names = append(q.names, n)
	}
}

// Empty reports whether there is nothing to look for.
func (q *Query) Empty() bool { return len(q.terms) == 0 }

// Words returns the words of the query that count.
func (q *Query) Words() []string {
	list := make([]string, len(q.terms))
	for i, t := range q.terms {
		list[i] = t.word
	}
	return list
}

// Stems returns beginnings of words, in small letters: a file that holds none of them, in its text or its path and in any
// case, has nothing to do with the query.
func (q *Query) Stems() (list []string) {
	for _, t := range q.terms {
		list = append(list, t.stems...)
	}
	return list
}
