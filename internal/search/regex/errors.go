package regex

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// SyntaxError says why and where a pattern is no regular expression.
type SyntaxError struct {
	Pattern string
	// At and End are the bounds of the offending place in the pattern, in bytes.
	At, End int
	// Problem is what is wrong there: "missing closing )".
	Problem string
}

// Error describes the problem and its place in one line.
func (e *SyntaxError) Error() string {
	what := e.Problem
	if e.At < e.End {
		what += fmt.Sprintf(" at %q, character %d", e.Pattern[e.At:e.End], 1+utf8.RuneCountInString(e.Pattern[:e.At]))
	}
	return what
}

// Pointer returns the pattern with carets under the offending place. Of a long pattern it shows the part around it.
func (e *SyntaxError) Pointer() string {
	const around = 40
	from, to := max(0, e.At-around), min(len(e.Pattern), e.End+around)
	for from > 0 && !utf8.RuneStart(e.Pattern[from]) {
		from--
	}
	for to < len(e.Pattern) && !utf8.RuneStart(e.Pattern[to]) {
		to++
	}
	printable := strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(e.Pattern[from:to])
	width := max(1, utf8.RuneCountInString(e.Pattern[e.At:e.End]))
	return printable + "\n" + strings.Repeat(" ", utf8.RuneCountInString(e.Pattern[from:e.At])) + strings.Repeat("^", width)
}

// problems are the words for what package syntax finds.
var problems = map[syntax.ErrorCode]string{
	syntax.ErrInvalidCharClass:      "not a character class that is known",
	syntax.ErrInvalidCharRange:      "not a range of characters (the larger one comes last, and classes and escapes have no range)",
	syntax.ErrInvalidEscape:         "not an escape that is known",
	syntax.ErrInvalidNamedCapture:   "not a name for a group",
	syntax.ErrInvalidPerlOp:         "not supported (there is no looking ahead or behind, and no reference back)",
	syntax.ErrInvalidRepeatOp:       "a repetition cannot be repeated",
	syntax.ErrInvalidRepeatSize:     "not a count of repetitions (1000 at most)",
	syntax.ErrInvalidUTF8:           "not valid UTF-8",
	syntax.ErrMissingBracket:        "missing closing ]",
	syntax.ErrMissingParen:          "missing closing )",
	syntax.ErrMissingRepeatArgument: "nothing stands before it that it could repeat",
	syntax.ErrTrailingBackslash:     "a backslash at the end escapes nothing",
	syntax.ErrUnexpectedParen:       "a closing ) without an opening one",
	syntax.ErrNestingDepth:          "groups are nested too deeply",
	syntax.ErrLarge:                 "the expression is too large",
}

func syntaxError(pattern string, err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return &SyntaxError{Pattern: pattern, Problem: err.Error()}
	}
	s := &SyntaxError{Pattern: pattern, Problem: problems[e.Code]}
	if s.Problem == "" {
		s.Problem = string(e.Code)
	}
	if strings.HasPrefix(e.Expr, `\p`) || strings.HasPrefix(e.Expr, `\P`) {
		s.Problem = problems[syntax.ErrInvalidCharClass]
	}
	s.At, s.End = place(pattern, e)
	return s
}

// place finds the offending place. Package syntax names the text, not where it is, and for parentheses not even that.
func place(pattern string, e *syntax.Error) (at, end int) {
	switch e.Code {
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		return 0, 0
	case syntax.ErrMissingParen:
		return openParen(pattern)
	case syntax.ErrTrailingBackslash:
		return len(pattern) - 1, len(pattern)
	case syntax.ErrMissingBracket:
		at := len(pattern) - len(e.Expr)
		return at, min(at+1, len(pattern))
	}
	text := e.Expr
	if e.Code == syntax.ErrUnexpectedParen {
		text = ")"
	}
	if text == "" {
		return 0, 0
	}
	// The first place where the text stands and everything up to it fails in the same way.
	for at := 0; ; at++ {
		i := strings.Index(pattern[at:], text)
		if i < 0 {
			break
		}
		at += i
		var prefix *syntax.Error
		_, err := syntax.Parse(pattern[:at+len(text)], syntax.Perl)
		if errors.As(err, &prefix) && prefix.Code == e.Code {
			return at, at + len(text)
		}
	}
	if i := strings.Index(pattern, text); i >= 0 {
		return i, i + len(text)
	}
	return 0, 0
}

// openParen finds the last parenthesis that is never closed.
func openParen(pattern string) (at, end int) {
	var open []int
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], `\Q`) && !inClass:
			if j := strings.Index(pattern[i:], `\E`); j >= 0 {
				i += j + 1
			} else {
				i = len(pattern)
			}
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
			rest := strings.TrimPrefix(pattern[i+1:], "^")
			i = len(pattern) - len(rest) - 1
			if strings.HasPrefix(rest, "]") {
				i++
			}
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return 0, 0
	}
	last := open[len(open)-1]
	return last, last + 1
}
