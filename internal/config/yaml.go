package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a configuration file. They are far above what a person writes.
const (
	maxFileSize = 1 << 20
	maxDepth    = 32
	maxTokens   = 20_000 // the parser takes time by the square of them
	maxProblems = 10
)

// Problem is one thing wrong in a configuration file.
type Problem struct {
	// File is the path; Line and Column are 1-based, 0 where the file as a whole is meant.
	File         string
	Line, Column int
	Message      string
	// Text is the offending line.
	Text string
}

// Error shows the place, the message and the offending line with a mark under the column.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	s := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Text == "" {
		return s
	}
	text, mark := excerpt(p.Text, p.Column)
	return fmt.Sprintf("%s\n    %4d | %s\n         | %s^", s, p.Line, text, strings.Repeat(" ", mark))
}

// excerpt makes a line of a file nobody vouches for fit to be printed: at most 100 characters around the column, and
// nothing that a terminal would act on. The second result is where the column is in it.
func excerpt(line string, column int) (string, int) {
	runes := []rune(line)
	at := min(max(column-1, 0), len(runes))
	from := max(0, at-60)
	to := min(len(runes), from+100)
	for i, r := range runes[from:to] {
		if !printable(r) {
			runes[from+i] = '\uFFFD'
		}
	}
	return string(runes[from:to]), at - from
}

// source is one file while it is read: what it says, and what is wrong with it.
type source struct {
	path     string
	lines    []string
	problems []Problem
}

func (s *source) fail(pos *token.Position, format string, args ...any) {
	if len(s.problems) >= maxProblems {
		return
	}
	p := Problem{File: s.path, Message: fmt.Sprintf(format, args...)}
	if pos != nil && pos.Line >= 1 {
		p.Line, p.Column = pos.Line, max(pos.Column, 1)
		if pos.Line <= len(s.lines) {
			p.Text = strings.TrimRight(s.lines[pos.Line-1], "\r")
		}
	}
	s.problems = append(s.problems, p)
}

func (s *source) err() error {
	errs := make([]error, len(s.problems))
	for i, p := range s.problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// parse returns the single document of data, nil for an empty one. Everything that could make reading it expensive or
// make it say something else than it seems to (aliases, tags, merge keys, several documents) is refused.
func (s *source) parse(data []byte) (root ast.Node) {
	if len(data) > maxFileSize {
		s.fail(nil, "the file has %d bytes; at most %d are read", len(data), maxFileSize)
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	s.lines = strings.Split(string(data), "\n")
	if !s.plainText() {
		return nil
	}
	// The parser is given only what the checks below passed, but it is not ours: what it cannot take is an error.
	defer func() {
		if r := recover(); r != nil {
			root = nil
			s.fail(nil, "the YAML could not be read: %v", r)
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if !s.plainYAML(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		s.syntax(err)
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			s.fail(position(doc.Body), "a second document starts here; a configuration file holds one")
			return nil
		}
		root = doc.Body
	}
	return root
}

func (s *source) syntax(err error) {
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil {
		s.fail(ye.GetToken().Position, "%s", ye.GetMessage())
		return
	}
	s.fail(nil, "%v", err)
}

// plainText reports whether the lines are text without what YAML forbids: invalid UTF-8, control characters, and
// tabs in the indentation.
func (s *source) plainText() bool {
	for i, line := range s.lines {
		at := &token.Position{Line: i + 1, Column: 1}
		if !utf8.ValidString(line) {
			s.fail(at, "the line is not valid UTF-8")
			return false
		}
		body := strings.TrimLeft(line, " ")
		if strings.HasPrefix(body, "\t") && strings.TrimSpace(body) != "" {
			at.Column = len(line) - len(body) + 1
			s.fail(at, "there is a tab in the indentation; use spaces")
			return false
		}
		for col, r := range []rune(strings.TrimSuffix(line, "\r")) {
			if r < ' ' && r != '\t' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
				at.Column = col + 1
				s.fail(at, "the control character %U is not allowed", r)
				return false
			}
		}
	}
	return true
}

// plainYAML refuses the parts of YAML that a configuration file has no use for, and nesting that could exhaust the
// parser's stack.
func (s *source) plainYAML(tokens token.Tokens) bool {
	depth, line, nested := 0, 0, 0
	for _, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
			line, nested = t.Position.Line, 0
		}
		refused := ""
		switch t.Type {
		case token.AnchorType, token.AliasType:
			refused = "anchors and aliases are not allowed; write the value out"
		case token.MergeKeyType:
			refused = "merge keys are not allowed; write the keys out"
		case token.TagType:
			refused = "tags are not allowed"
		case token.DirectiveType:
			refused = "directives are not allowed"
		case token.MappingKeyType:
			refused = `"?" keys are not allowed; write key: value`
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingValueType:
			if depth == 0 {
				nested++
			}
		}
		if depth > maxDepth || nested > maxDepth || t.Position != nil && t.Position.IndentLevel > maxDepth {
			refused = fmt.Sprintf("values are nested more than %d deep", maxDepth)
		}
		if refused != "" {
			s.fail(t.Position, "%s", refused)
			return false
		}
	}
	if len(tokens) > maxTokens {
		s.fail(tokens[maxTokens].Position, "the file has more than %d words and marks; at most so many are read", maxTokens)
		return false
	}
	return true
}

func position(n ast.Node) *token.Position {
	if n == nil || n.GetToken() == nil {
		return nil
	}
	return n.GetToken().Position
}
