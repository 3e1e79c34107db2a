package regex

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs/internal/search/literal"
)

// Literal is text that a match holds, in any case where Fold is set.
type Literal struct {
	Text string
	Fold bool
}

// requirement is what every match holds.
type requirement struct {
	// clauses are lists of literals; a match holds at least one of each.
	clauses [][]Literal
	// pure says that this is all: a line matches exactly if it holds one of the literals of the only clause, with left
	// before it and right behind it.
	pure        bool
	left, right edge
	// never says that no line matches.
	never bool
}

// edge is what must hold at a border of a literal: conditions of package syntax, or border, the border of a word in any
// script.
type edge struct {
	cond   syntax.EmptyOp
	border bool
}

const (
	// maxSet is how many literals a list can have, maxClass how many characters of a class become literals, and maxText
	// how long a literal grows.
	maxSet   = 64
	maxClass = 8
	maxText  = 256
)

// required returns what every match of a simplified expression holds.
func required(re *syntax.Regexp) requirement {
	core, left, right := strip(re)
	f := look(core)
	r := requirement{clauses: f.all(), left: edge{cond: left}, right: edge{cond: right}}
	// Of several literals that begin at the same place only one is found, and its borders may not be the right ones.
	r.pure = f.pure && f.exact != nil && len(r.clauses) == 1 && (len(f.exact) == 1 || left|right == 0)
	return r
}

// strip takes the conditions off both ends of an expression.
func strip(re *syntax.Regexp) (core *syntax.Regexp, left, right syntax.EmptyOp) {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op != syntax.OpConcat {
		return re, 0, 0
	}
	parts := re.Sub
	for len(parts) > 0 && conditions[parts[0].Op] != 0 {
		left |= conditions[parts[0].Op]
		parts = parts[1:]
	}
	for n := len(parts); n > 0 && conditions[parts[n-1].Op] != 0; n-- {
		right |= conditions[parts[n-1].Op]
		parts = parts[:n-1]
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: parts}, left, right
}

var conditions = map[syntax.Op]syntax.EmptyOp{
	syntax.OpBeginLine:      syntax.EmptyBeginLine,
	syntax.OpEndLine:        syntax.EmptyEndLine,
	syntax.OpBeginText:      syntax.EmptyBeginText,
	syntax.OpEndText:        syntax.EmptyEndText,
	syntax.OpWordBoundary:   syntax.EmptyWordBoundary,
	syntax.OpNoWordBoundary: syntax.EmptyNoWordBoundary,
}

// facts are what is known of the texts that a part of an expression matches.
type facts struct {
	// exact are all the texts, where they are few; nil where they are not.
	exact []Literal
	// pure says that exact is the whole truth: every one of them matches, everywhere.
	pure bool
	// clauses are what every one of the texts holds.
	clauses [][]Literal
	// first and last are texts that every match begins and ends with, where exact is nil; nil where unknown.
	first, last []Literal
}

// all returns the clauses of a part that stands alone.
func (f facts) all() [][]Literal {
	if f.exact != nil {
		return add(f.clauses, f.exact)
	}
	clauses := add(f.clauses, f.first)
	if !slices.Equal(f.first, f.last) {
		clauses = add(clauses, f.last)
	}
	return clauses
}

// nothing is the text of what matches without taking a character.
var nothing = []Literal{{}}

func look(re *syntax.Regexp) facts {
	switch re.Op {
	case syntax.OpLiteral:
		return lookLiteral(re)
	case syntax.OpCharClass:
		return lookClass(re)
	case syntax.OpEmptyMatch:
		return facts{exact: nothing, pure: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return facts{exact: nothing}
	case syntax.OpCapture:
		return look(re.Sub[0])
	case syntax.OpQuest:
		sub := look(re.Sub[0])
		if sub.exact == nil {
			return facts{}
		}
		return facts{exact: union(sub.exact, nothing), pure: sub.pure}
	case syntax.OpPlus:
		return lookPlus(re)
	case syntax.OpConcat:
		return lookConcat(re)
	case syntax.OpAlternate:
		return lookAlternate(re)
	default:
		return facts{}
	}
}

func lookLiteral(re *syntax.Regexp) facts {
	text := string(re.Rune)
	if len(text) > maxText || strings.ContainsRune(text, utf8.RuneError) {
		return facts{} // U+FFFD stands for bytes that are not UTF-8, too
	}
	// A line end in it may be one that a line is cut off at: it says what is in the text, but not that it matches.
	pure := !strings.ContainsAny(text, "\r\n")
	fold := re.Flags&syntax.FoldCase != 0
	return facts{exact: []Literal{{text, fold}}, pure: pure}
}

func lookClass(re *syntax.Regexp) facts {
	var set []Literal
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(set) == maxClass || r == utf8.RuneError {
				return facts{}
			}
			set = append(set, Literal{Text: string(r)})
		}
	}
	if len(set) == 0 {
		return facts{}
	}
	pure := true
	for _, l := range set {
		pure = pure && l.Text != "\r" && l.Text != "\n"
	}
	return facts{exact: set, pure: pure}
}

// lookPlus keeps what one repetition says. A match begins and ends with one.
func lookPlus(re *syntax.Regexp) facts {
	sub := look(re.Sub[0])
	f := facts{clauses: sub.clauses, first: sub.first, last: sub.last}
	if sub.exact != nil {
		f.first, f.last = sub.exact, sub.exact
	}
	return f
}

// lookConcat joins neighbours whose texts are known to longer ones.
func lookConcat(re *syntax.Regexp) facts {
	f := facts{pure: true}
	run, whole := nothing, true
	end := func() { // the run is over: what it came to must be there
		if whole {
			f.first = run
		} else {
			f.clauses = add(f.clauses, run)
		}
		run, whole = nothing, false
	}
	for _, part := range re.Sub {
		sub := look(part)
		f.clauses = append(f.clauses, sub.clauses...)
		f.pure = f.pure && sub.pure && sameFold(run, sub.exact)
		if sub.exact != nil {
			if joined := join(run, sub.exact); joined != nil {
				run = joined
				continue
			}
			end()
			run = sub.exact
			continue
		}
		if joined := join(run, sub.first); joined != nil {
			run = joined
		}
		end()
		if sub.last != nil {
			run = sub.last
		}
	}
	if whole {
		f.exact = run
		return f
	}
	f.last, f.pure = run, false
	return f
}

func lookAlternate(re *syntax.Regexp) facts {
	f := facts{exact: []Literal{}, pure: true}
	var one []Literal // a clause that holds for every alternative
	known := true
	for _, part := range re.Sub {
		sub := look(part)
		f.pure = f.pure && sub.pure
		if sub.exact == nil {
			f.exact = nil
		}
		if f.exact != nil {
			f.exact = union(f.exact, sub.exact)
		}
		if known {
			clause := best(sub.all())
			one = union(one, clause)
			known = one != nil && clause != nil
		}
	}
	if f.exact == nil && known {
		f.clauses = add(nil, one)
	}
	return f
}

// union returns all literals of two lists, nil where they are too many.
func union(a, b []Literal) []Literal {
	out := append([]Literal{}, a...)
	for _, l := range b {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if len(out) > maxSet {
		return nil
	}
	return out
}

// join returns every literal of a followed by every one of b, nil where they are too many. A literal that is folded in
// part is folded in whole, which lets through more than it should.
func join(a, b []Literal) []Literal {
	if a == nil || b == nil || len(a)*len(b) > maxSet {
		return nil
	}
	out := make([]Literal, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			l := Literal{x.Text + y.Text, x.Fold || y.Fold}
			if len(l.Text) > maxText {
				return nil
			}
			out = append(out, l)
		}
	}
	return out
}

// sameFold reports whether joining two lists folds nothing that was not folded.
func sameFold(a, b []Literal) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Fold != y.Fold && x.Text != "" && y.Text != "" {
				return false
			}
		}
	}
	return true
}

// add adds a clause, unless it says nothing because it has the empty literal.
func add(clauses [][]Literal, set []Literal) [][]Literal {
	if len(set) == 0 || len(set) > maxSet {
		return clauses
	}
	for _, l := range set {
		if l.Text == "" {
			return clauses
		}
	}
	return append(clauses[:len(clauses):len(clauses)], set)
}

// best returns the clause that the fewest lines satisfy, nil where there is none.
func best(clauses [][]Literal) (clause []Literal) {
	most := 0
	for _, c := range clauses {
		if s := selectivity(c); s > most {
			clause, most = c, s
		}
	}
	return clause
}

// selectivity estimates how many bits of choice a clause has: those of its commonest literal, less for each further one.
func selectivity(clause []Literal) int {
	least := 1 << 20
	for _, l := range clause {
		least = min(least, literal.Rarity(l.Text, l.Fold))
	}
	return max(1, least-2*(len(clause)-1))
}
