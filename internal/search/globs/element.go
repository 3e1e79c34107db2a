package globs

import (
	"strings"
	"unicode/utf8"
)

// form is how an element is matched.
type form uint8

const (
	formLiteral form = iota // text is the name
	formEnd                 // *text
	formStart               // text*
	formTokens
)

// element matches one element of a path.
type element struct {
	// any is **: any number of elements.
	any    bool
	form   form
	text   string
	tokens []token
}

// token is one thing in an element: a star, or something that matches one character.
type token struct {
	star bool
	// any is ?; set is a class; otherwise r itself is meant.
	any bool
	r   rune
	set *class
}

// simplify finds the simplest form of an element.
func simplify(tokens []token) element {
	var text strings.Builder
	stars, at := 0, 0
	for i, t := range tokens {
		switch {
		case t.star:
			stars++
			at = i
		case t.any || t.set != nil:
			return element{form: formTokens, tokens: tokens}
		default:
			text.WriteString(raw(t.r))
		}
	}
	e := element{form: formTokens, tokens: tokens}
	switch {
	case stars == 0:
		e = element{form: formLiteral, text: text.String()}
	case stars == 1 && at == 0:
		e = element{form: formEnd, text: text.String()}
	case stars == 1 && at == len(tokens)-1:
		e = element{form: formStart, text: text.String()}
	}
	return e
}

// A byte that is not UTF-8 is a character by itself, kept apart from all others.
const notUTF8 = rune(0x110000)

// decode returns the first character of s and its length.
func decode(s string) (rune, int) {
	if c := s[0]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return notUTF8 + rune(s[0]), 1
	}
	return r, n
}

// raw is the other way of decode.
func raw(r rune) string {
	if r >= notUTF8 {
		return string([]byte{byte(r - notUTF8)})
	}
	return string(r)
}

func (e *element) match(name string) bool {
	switch e.form {
	case formLiteral:
		return name == e.text
	case formEnd:
		return strings.HasSuffix(name, e.text)
	case formStart:
		return strings.HasPrefix(name, e.text)
	default:
		return e.matchTokens(name)
	}
}

// matchTokens goes back to the last star when something does not match.
func (e *element) matchTokens(name string) bool {
	t, i := 0, 0
	star, from := -1, 0
	for {
		if t < len(e.tokens) && e.tokens[t].star {
			star, from = t+1, i
			t++
			continue
		}
		if t == len(e.tokens) && i == len(name) {
			return true
		}
		if t < len(e.tokens) && i < len(name) {
			if r, n := decode(name[i:]); e.tokens[t].match(r) {
				t, i = t+1, i+n
				continue
			}
		}
		if star < 0 || from == len(name) {
			return false
		}
		_, n := decode(name[from:])
		from += n
		t, i = star, from
	}
}

func (t *token) match(r rune) bool {
	switch {
	case t.any:
		return true
	case t.set != nil:
		return t.set.has(r)
	default:
		return r == t.r
	}
}

// class is a set of characters.
type class struct {
	negated bool
	ranges  []span
	kinds   []func(rune) bool
}

type span struct{ low, high rune }

func (c *class) has(r rune) bool {
	for _, s := range c.ranges {
		if s.low <= r && r <= s.high {
			return !c.negated
		}
	}
	for _, is := range c.kinds {
		if is(r) {
			return !c.negated
		}
	}
	return c.negated
}
