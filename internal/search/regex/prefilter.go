package regex

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tongs-ai/tongs/internal/search/literal"
)

// minChoice is the selectivity below which looking for a clause first does not pay, however short the lines are.
const minChoice = 9

// inLine leaves out what no line holds. A clause of nothing else means that no line matches.
func (r *requirement) inLine() {
	for i, c := range r.clauses {
		c = slices.DeleteFunc(slices.Clone(c), func(l Literal) bool { return strings.Contains(l.Text, "\n") })
		r.clauses[i] = c
		r.never = r.never || len(c) == 0
	}
}

// set returns the finder of the clause that a text is best searched for, nil where there is none.
func (r requirement) set() *literal.Set {
	var worth [][]Literal
	for _, c := range r.clauses {
		if r.pure || selectivity(c) >= minChoice {
			worth = append(worth, c)
		}
	}
	clause := best(worth)
	if clause == nil {
		return nil
	}
	return literal.NewSet(findersOf(clause)...)
}

func findersOf(clause []Literal) (list []*literal.Finder) {
	for _, l := range clause {
		list = append(list, literal.New(l.Text, l.Fold))
	}
	return list
}

// fits reports whether the borders of line[start:end] are as they should be.
func (r *requirement) fits(line []byte, start, end int) bool {
	return (r.left == (edge{}) || r.left.holds(line, start, true)) &&
		(r.right == (edge{}) || r.right.holds(line, end, false))
}

// holds reports whether the edge holds at a position of a line; left says which side of it is the literal's other side.
func (e edge) holds(line []byte, at int, left bool) bool {
	if e.border {
		if left {
			r, size := utf8.DecodeLastRune(line[:at])
			return size == 0 || !inWord(r)
		}
		r, size := utf8.DecodeRune(line[at:])
		return size == 0 || !inWord(r)
	}
	var holds syntax.EmptyOp
	before, behind := false, false
	if at == 0 {
		holds |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	} else {
		before = isWord(line[at-1])
	}
	if at == len(line) {
		holds |= syntax.EmptyEndLine | syntax.EmptyEndText
	} else {
		behind = isWord(line[at])
	}
	if before != behind {
		holds |= syntax.EmptyWordBoundary
	} else {
		holds |= syntax.EmptyNoWordBoundary
	}
	return e.cond&^holds == 0
}

// inWord reports whether a character is one of a word: wordless without the not.
func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord(byte(r))
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}
