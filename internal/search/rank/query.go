package rank

import (
	"strings"

	"github.com/tongs-ai/tongs/internal/search/literal"
)

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

// Stems returns the beginnings of words that the query looks for, in small letters: a text that holds none of them, in any
// case, has nothing to do with it.
func (q *Query) Stems() (list []string) {
	for _, t := range q.terms {
		list = append(list, t.stems...)
	}
	return list
}

// Filter tells files that have to do with a query from those that do not, by what is in them.
type Filter struct {
	// own finds the query's words, alike those that may stand for a word, for each word that has some.
	own   *literal.Set
	alike []*literal.Set
	need  int
}

// Filter returns the filter of a query that is not empty.
func (q *Query) Filter() *Filter {
	f := &Filter{}
	var own []*literal.Finder
	for i, t := range q.terms {
		if !q.counts(i) {
			continue
		}
		var others []*literal.Finder
		for j, s := range t.stems {
			if j == 0 {
				own = append(own, literal.New(s, true))
			} else {
				others = append(others, literal.New(s, true))
			}
		}
		if f.need++; len(others) > 0 {
			f.alike = append(f.alike, literal.NewSet(others...))
		}
	}
	f.own, f.need = literal.NewSet(own...), min(f.need, enoughAlike)
	return f
}

// enoughAlike is how many words of a query must be there by words that may stand for them, where the query's own are not.
const enoughAlike = 2

// counts reports whether a term decides about files at all: one that says little does not, where there are others.
func (q *Query) counts(i int) bool {
	if q.terms[i].weight == 1 {
		return true
	}
	for _, t := range q.terms {
		if t.weight == 1 {
			return false
		}
	}
	return true
}

// Match reports whether a file may have to do with the query, given its path and its text. A file that does not match
// does not change what Index.Search returns, except that it counts as one of Scope.Others.
func (f *Filter) Match(name string, text []byte) bool {
	if begins(f.own, text) || begins(f.own, []byte(name)) {
		return true
	}
	n := 0
	for _, s := range f.alike {
		if begins(s, text) || begins(s, []byte(name)) {
			n++
		}
		if n >= f.need {
			return true
		}
	}
	return false
}

// begins reports whether a word in text begins with one of the literals.
func begins(s *literal.Set, text []byte) bool {
	for from := 0; from < len(text); {
		start, _, next := s.Find(text, from)
		if start < 0 {
			return false
		}
		if start == 0 || classOf(text[start]) != lower || classOf(text[start-1]) != lower && classOf(text[start-1]) != upper {
			return true
		}
		from = max(next, from+1)
	}
	return false
}
