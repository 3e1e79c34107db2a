package regex

import (
	"regexp"
	"regexp/syntax"
	"sync"

	"github.com/tongs-ai/tongs/internal/search/literal"
)

// Options say how a pattern is meant.
type Options struct {
	// Literal takes the pattern as text in which nothing is special.
	Literal bool
	// Fold ignores case, like (?i).
	Fold bool
	// Word wants a match to begin and end at the border of a word: neither before nor after it stands a letter, a mark,
	// a digit or an underscore of any script.
	Word bool
	// Multiline looks for matches in the text as a whole, like (?ms): they may span lines, ^ and $ are the bounds of
	// lines, and a dot matches line ends too. The lines that a match touches are found together.
	Multiline bool
}

// Matcher is a compiled pattern. It does not change and is safe for concurrent use.
type Matcher struct {
	opt     Options
	pattern string
	re      *regexp.Regexp
	// group is the part of re that is the pattern: 1 where Word put something around it, else 0.
	group int
	need  requirement
	// literals are the literals to look for first; nil where there are none.
	literals *literal.Set
	nfa      *nfa // nil where the pattern is too large for an automaton
	ascii    bool
	// begin says that the pattern asks for the begin of the text, which only the first line has.
	begin bool
	pool  sync.Pool
}

// wordless is a character that no word holds.
const wordless = `[^\pL\pM\pN_]`

// Compile returns the matcher of a pattern. A pattern that is no regular expression is a *SyntaxError.
func Compile(pattern string, opt Options) (*Matcher, error) {
	expr := pattern
	if opt.Literal {
		expr = regexp.QuoteMeta(pattern)
	}
	if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
		return nil, syntaxError(pattern, err)
	}
	expr = closed(expr)
	m := &Matcher{opt: opt, pattern: pattern}
	flags := ""
	if opt.Fold {
		flags += "i"
	}
	if opt.Multiline {
		flags += "ms"
	}
	if flags != "" {
		expr = "(?" + flags + ":" + expr + ")"
	}
	inner := expr
	if opt.Word {
		edge := "(?:^|" + wordless + ")"
		expr, m.group = "(?m:"+edge+"("+expr+")(?:$|"+wordless+"))", 1
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, syntaxError(pattern, err)
	}
	if m.re, err = regexp.Compile(expr); err != nil {
		return nil, syntaxError(pattern, err)
	}
	simple := tree.Simplify()
	m.need = required(simple)
	if opt.Word {
		if err := m.words(inner); err != nil {
			return nil, err
		}
	}
	return m, m.analyse(simple)
}

// words looks whether a pattern that is to match words is a list of literals. inner is the pattern without what was put
// around it.
func (m *Matcher) words(inner string) error {
	tree, err := syntax.Parse(inner, syntax.Perl)
	if err != nil {
		return syntaxError(m.pattern, err)
	}
	need := required(tree.Simplify())
	if need.pure && len(need.clauses[0]) == 1 && need.left == (edge{}) && need.right == (edge{}) {
		need.left.border, need.right.border = true, true
		m.need = need
	}
	return nil
}

// analyse makes what finds the lines that may match.
func (m *Matcher) analyse(simple *syntax.Regexp) error {
	if m.opt.Multiline {
		m.need.pure = false
	} else {
		m.need.inLine()
		m.literals = m.need.set()
	}
	prog, err := syntax.Compile(simple)
	if err != nil {
		return &SyntaxError{Pattern: m.pattern, Problem: err.Error()}
	}
	auto := newNFA(prog)
	m.ascii, m.begin = auto.ascii, auto.begin
	if len(auto.insts) <= maxInsts {
		auto.classify()
		m.nfa = auto
	}
	return nil
}

// closed returns a pattern in which a \Q that is never ended is ended, so that something can stand behind it.
func closed(pattern string) string {
	ended := pattern + `\E`
	if _, err := syntax.Parse(ended, syntax.Perl); err == nil {
		return ended // elsewhere \E is an error
	}
	return pattern
}

// Pattern returns the pattern as it was given.
func (m *Matcher) Pattern() string { return m.pattern }

// ASCII reports whether what the pattern matches depends on the ASCII characters of a text only, so that it need not be
// decoded from an encoding that extends ASCII.
func (m *Matcher) ASCII() bool { return m.ascii }

// Multiline reports whether matches may span lines.
func (m *Matcher) Multiline() bool { return m.opt.Multiline }

// Match reports whether a line matches, by package regexp. It is the definition of what a Scanner finds.
func (m *Matcher) Match(line []byte) bool { return m.re.Match(line) }

// Locate returns the bounds of the first match in a line, or in the lines that a Scanner found together, or -1, -1.
func (m *Matcher) Locate(line []byte) (start, end int) {
	at := m.re.FindSubmatchIndex(line)
	if at == nil {
		return -1, -1
	}
	return at[2*m.group], at[2*m.group+1]
}

// Required returns what every match holds: of each list at least one literal. It is empty where nothing is known.
func (m *Matcher) Required() [][]Literal { return m.need.clauses }
