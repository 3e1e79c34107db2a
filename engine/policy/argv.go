package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/environ"
)

// A pattern of a command is a list of tokens, separated by blanks. Each matches one whole word of the command from its
// beginning; what follows is free, unless the first token is a lone =. A * matches any characters within one word; a
// lone * at the end matches any further words, also none. 'single' and "double" quotes (the latter with the escapes
// of Go) and a backslash make characters literal.
//
// Tokens of the form NAME=value before the program are the variables that the command is given, in any order. What a
// preApproved pattern or a grant does not name, the command must not have, unless it is known to be harmless: a makefile
// or a script may run it. *=* stands for any variables, also none.

// anyVariables before the command allows it any variables.
const anyVariables = "*=*"

// exactMark as the first token makes a pattern cover the command with exactly these words.
const exactMark = "="

// token is one token of a pattern: raw text, or where something in it was quoted, the literal parts between its stars.
type token struct {
	raw    string
	parts  []string
	quoted bool
}

func (t token) lone(mark string) bool { return !t.quoted && t.raw == mark }

func (t token) match(word string) bool {
	if !t.quoted {
		return starMatch(t.raw, word)
	}
	first, last := t.parts[0], t.parts[len(t.parts)-1]
	if len(t.parts) == 1 {
		return word == first
	}
	if !strings.HasPrefix(word, first) {
		return false
	}
	word = word[len(first):]
	for _, part := range t.parts[1 : len(t.parts)-1] {
		at := strings.Index(word, part)
		if at < 0 {
			return false
		}
		word = word[at+len(part):]
	}
	return strings.HasSuffix(word, last)
}

// lexer takes tokens off a pattern.
type lexer struct{ rest string }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// next returns the next token, false at the end. A token without quotes is cut out of the pattern, not copied.
func (l *lexer) next() (t token, ok bool, err error) {
	i := 0
	for i < len(l.rest) && blank(l.rest[i]) {
		i++
	}
	l.rest = l.rest[i:]
	if l.rest == "" {
		return t, false, nil
	}
	for i = 0; i < len(l.rest) && !blank(l.rest[i]); i++ {
		if c := l.rest[i]; c == '\'' || c == '"' || c == '\\' {
			t, err = l.quoted()
			return t, true, err
		}
	}
	t.raw, l.rest = l.rest[:i], l.rest[i:]
	return t, true, nil
}

// quoted reads a token that has quotes or escapes in it.
func (l *lexer) quoted() (token, error) {
	t := token{quoted: true}
	var part strings.Builder
	for l.rest != "" && !blank(l.rest[0]) {
		switch l.rest[0] {
		case '*':
			t.parts = append(t.parts, part.String())
			part.Reset()
			l.rest = l.rest[1:]
		case '\\':
			if len(l.rest) == 1 {
				return t, errors.New("a backslash at the end escapes nothing; double it to mean itself")
			}
			_, size := utf8.DecodeRuneInString(l.rest[1:])
			part.WriteString(l.rest[1 : 1+size])
			l.rest = l.rest[1+size:]
		case '\'':
			text, rest, ok := strings.Cut(l.rest[1:], "'")
			if !ok {
				return t, errors.New("a single quote is not closed")
			}
			part.WriteString(text)
			l.rest = rest
		case '"':
			quote, err := strconv.QuotedPrefix(l.rest)
			if err != nil {
				return t, errors.New("a double quote is not closed or has an escape that is none; try single quotes")
			}
			text, err := strconv.Unquote(quote)
			if err != nil {
				return t, fmt.Errorf("double quotes: %w", err)
			}
			part.WriteString(text)
			l.rest = l.rest[len(quote):]
		default:
			part.WriteByte(l.rest[0])
			l.rest = l.rest[1:]
		}
	}
	t.parts = append(t.parts, part.String())
	return t, nil
}

// errNoTokens refuses a pattern that would match nothing or, read otherwise, everything.
var errNoTokens = errors.New("it is empty; write the beginning of a command, or * for every command")

// errUnresolved says that a word of the command is not known, so that neither is what it and the words after it are.
var errUnresolved = errors.New("a word of the command is only known when it runs")

// resolved reports whether a word is known. One that is not holds a NUL byte, which no program can be given, behind
// what it surely begins with.
func resolved(word string) bool { return strings.IndexByte(word, 0) < 0 }

// excludes reports whether the token cannot match a word that is not resolved.
func (t token) excludes(word string) bool {
	begin, _, _ := strings.Cut(word, "\x00")
	return !t.quoted && begin != "" && strings.IndexByte(t.raw, '*') < 0 && !strings.HasPrefix(t.raw, begin)
}

// command is what a pattern is matched against.
type command struct {
	argv, env []string
	// strict reads the pattern as an ask or blocked rule is read.
	strict bool
}

// commandOf returns the command of an execute effect.
func commandOf(e *tongs.Effect, strict bool) command { return command{e.Argv, e.Env, strict} }

// matches matches a command. Strictly read, the first token also matches the name of a program given by its path, and
// variables that the pattern does not name do not count. A pattern does not see past a word that is not resolved: what it
// would have to say about it, or about the words after it, is errUnresolved.
func (c command) matches(pattern string) (bool, error) {
	l := lexer{pattern}
	t, ok, err := l.next()
	exact := ok && t.lone(exactMark)
	if exact {
		t, ok, err = l.next()
	}
	var given []token
	for ; ok && err == nil && t.assigns(); t, ok, err = l.next() {
		given = append(given, t)
	}
	if err != nil {
		return false, err
	}
	if !ok {
		return false, errNoTokens
	}
	named, ok, err := c.words(&l, t, exact)
	if !ok || err != nil {
		return false, err
	}
	return c.variables(given, named)
}

// everyWord is what words returns for a pattern that covers every command.
const everyWord = -1

// words matches the words of the command, from the token at hand on, and returns how many of them the pattern names.
func (c command) words(l *lexer, t token, exact bool) (named int, ok bool, err error) {
	for n := 0; ; n++ {
		next, more, err := l.next()
		if err != nil {
			return 0, false, err
		}
		if !more && !exact && t.lone("*") {
			if n == 0 {
				return everyWord, true, nil
			}
			return n, true, nil
		}
		if n < len(c.argv) && !resolved(c.argv[n]) {
			if t.excludes(c.argv[n]) {
				return 0, false, nil
			}
			return 0, false, errUnresolved
		}
		if n >= len(c.argv) || !(t.match(c.argv[n]) || n == 0 && c.strict && t.match(program(c.argv[0]))) {
			return 0, false, nil
		}
		if !c.strict && !t.assigns() && slices.Contains(c.env, c.argv[n]) {
			return 0, false, nil // a variable among the words, which a * does not name
		}
		if !more {
			if exact && len(c.argv) > n+1 && !resolved(c.argv[n+1]) {
				return 0, false, errUnresolved
			}
			return n + 1, !exact || len(c.argv) == n+1, nil
		}
		t = next
	}
}

// variables matches the variables of the command with the tokens for them. named is how many of its words the pattern
// names: a variable that stands among them, as make takes them, is named by that.
func (c command) variables(given []token, named int) (bool, error) {
	any := false
	for _, t := range given {
		if any = any || t.lone(anyVariables); t.lone(anyVariables) {
			continue
		}
		if ok, err := t.assigned(c.env); !ok || err != nil {
			return false, err
		}
	}
	if any || c.strict || named == everyWord && len(given) == 0 {
		return true, nil
	}
	for _, assignment := range c.env {
		switch {
		case environ.Harmless(assignment), named > 0 && slices.Contains(c.argv[:named], assignment):
		case !resolved(assignment):
			return false, errUnresolved
		case !slices.ContainsFunc(given, func(t token) bool { return t.match(assignment) }):
			return false, nil
		}
	}
	return true, nil
}

// assigns reports whether the token is one for a variable: a name, literally, and an =.
func (t token) assigns() bool {
	begin := t.raw
	if t.quoted {
		begin = t.parts[0]
	}
	name, _, ok := strings.Cut(begin, "=")
	return ok && environ.IsName(name) || t.lone(anyVariables)
}

// assigned reports whether one of the assignments is what the token is for.
func (t token) assigned(env []string) (bool, error) {
	unsure := false
	for _, assignment := range env {
		name, _, _ := strings.Cut(assignment, "=")
		switch {
		case resolved(assignment):
			if t.match(assignment) {
				return true, nil
			}
		case strings.HasPrefix(t.literal(), name+"="), !environ.IsName(name):
			unsure = true
		}
	}
	if unsure {
		return false, errUnresolved
	}
	return false, nil
}

// literal returns the token's beginning that is no pattern.
func (t token) literal() string {
	if t.quoted {
		return t.parts[0]
	}
	begin, _, _ := strings.Cut(t.raw, "*")
	return begin
}

// program returns the name of the program at a path, without the endings that Windows adds.
func program(path string) string {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		switch strings.ToLower(name[dot:]) {
		case ".exe", ".com", ".bat", ".cmd":
			return name[:dot]
		}
	}
	return name
}

// checkArgv says what is wrong with a pattern of a command.
func checkArgv(pattern string) error {
	tokens, _, err := lexAll(pattern)
	if err != nil {
		return err
	}
	if tokens = tokens[variables(tokens):]; len(tokens) == 0 {
		return errors.New("it names variables and no command; write the command after them")
	}
	if t := tokens[0]; t.quoted && len(t.parts) == 1 && t.parts[0] == "" {
		return errors.New("its first word is empty; write the name of a program")
	}
	return nil
}

// variables returns how many tokens stand for variables, before the command.
func variables(tokens []token) (n int) {
	for n < len(tokens) && tokens[n].assigns() {
		n++
	}
	return n
}

// lexAll returns the tokens of a pattern, without the mark that makes it exact. There is at least one.
func lexAll(pattern string) (tokens []token, exact bool, err error) {
	l := lexer{pattern}
	for {
		t, ok, err := l.next()
		switch {
		case err != nil:
			return nil, false, err
		case !ok && len(tokens) == 0:
			return nil, false, errNoTokens
		case !ok:
			return tokens, exact, nil
		case len(tokens) == 0 && !exact && t.lone(exactMark):
			exact = true
		default:
			tokens = append(tokens, t)
		}
	}
}

// writeTokens spells tokens so that lexAll reads them back, with one blank between them.
func writeTokens(tokens []token, exact bool) string {
	var b strings.Builder
	if exact {
		b.WriteString(exactMark)
	}
	for _, t := range tokens {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if !t.quoted && printable(t.raw) {
			b.WriteString(t.raw)
			continue
		}
		parts := t.parts
		if !t.quoted {
			parts = strings.Split(t.raw, "*")
		}
		for i, part := range parts {
			if i > 0 {
				b.WriteByte('*')
			}
			if part != "" || len(parts) == 1 {
				b.WriteString(quoteWord(part))
			}
		}
	}
	return b.String()
}

// quoteWord spells a literal word of a command: bare where that is the same, else in quotes.
func quoteWord(word string) string {
	special := word == "" || word == exactMark || strings.HasPrefix(word, "@") || strings.ContainsAny(word, " *'\"\\")
	switch {
	case !printable(word) || special && strings.Contains(word, "'"):
		return strconv.Quote(word)
	case special:
		return "'" + word + "'"
	default:
		return word
	}
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
