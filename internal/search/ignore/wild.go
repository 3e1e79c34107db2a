package ignore

import "strings"

// wild is a pattern with wildcards, as tokens. Text is matched byte by byte: to git, too, ? is a byte.
type wild struct {
	tokens []token
	// least is how many bytes of text the tokens need.
	least int
}

type op uint8

const (
	opByte  op = iota // the byte c
	opAny             // any byte but a slash
	opClass           // a byte of the set, never a slash
	opStar            // any bytes but slashes
	opDirs            // nothing, or anything up to and with a slash: **/
	opSpan            // anything up to and with a slash
	opRest            // all the rest
)

type token struct {
	op  op
	c   byte
	set *set
}

// parseWild compiles a pattern from its first wildcard on. It returns false where the pattern cannot match: a
// backslash at the end, a class that does not end or has an unknown name in it.
func parseWild(s string, deep, fold bool) (w wild, ok bool) {
	for i := 0; i < len(s); {
		t := token{op: opByte, c: s[i]}
		switch s[i] {
		case '\\':
			if i++; i == len(s) {
				return w, false
			}
			t.c = s[i] // not folded: to git, an escaped capital matches nothing where case is ignored
			i++
		case '?':
			t.op = opAny
			i++
		case '*':
			t, i = parseStars(s, i, deep)
		case '[':
			t.op = opClass
			if t.set, i, ok = parseClass(s, i, fold); !ok {
				return w, false
			}
		default:
			if fold {
				t.c = lowerByte(t.c)
			}
			i++
		}
		w.tokens = append(w.tokens, t)
		switch t.op {
		case opByte, opAny, opClass, opSpan:
			w.least++
		}
	}
	return w, true
}

// parseStars reads the stars at i. Two or more are one element of a path by themselves, or the same as one.
func parseStars(s string, i int, deep bool) (token, int) {
	end := i
	for end < len(s) && s[end] == '*' {
		end++
	}
	whole := deep && end-i > 1 && (i == 0 || s[i-1] == '/')
	switch {
	case !whole:
		return token{op: opStar}, end
	case end == len(s):
		return token{op: opRest}, end
	case s[end] == '/':
		return token{op: opDirs}, end + 1
	case strings.HasPrefix(s[end:], `\/`):
		return token{op: opSpan}, end + 2
	default:
		return token{op: opStar}, end
	}
}

// resume is where matching goes on when what followed a star did not match: the star takes one more step.
type resume struct{ token, text int }

// match decides whether the tokens match the whole text. Of the stars met so far only the last one within an element
// and the last one across elements are tried again. That is enough: an earlier star that took more would only leave
// a later one less, and neither kind has a choice that the other does not have. So the work is bounded by the text's
// length squared times that of the pattern, whatever they are.
func (w *wild) match(text string) bool {
	if len(text) < w.least {
		return false
	}
	star, span := resume{token: -1}, resume{token: -1}
	t, i := 0, 0
	for {
		if t == len(w.tokens) {
			if i == len(text) {
				return true
			}
		} else {
			tok := &w.tokens[t]
			switch tok.op {
			case opStar:
				star = resume{t + 1, i}
				t++
				continue
			case opRest:
				return true
			case opDirs:
				star, span = resume{token: -1}, resume{t + 1, i}
				t++
				continue
			case opSpan:
				at := strings.IndexByte(text[i:], '/')
				if at >= 0 {
					star, span = resume{token: -1}, resume{t + 1, i + at + 1}
					t, i = t+1, i+at+1
					continue
				}
			default:
				if i < len(text) && tok.one(text[i]) {
					t, i = t+1, i+1
					continue
				}
			}
		}
		// Here it did not match.
		if star.token >= 0 && star.text < len(text) && text[star.text] != '/' {
			star.text++
			t, i = star.token, star.text
			continue
		}
		if span.token < 0 {
			return false
		}
		at := strings.IndexByte(text[span.text:], '/')
		if at < 0 {
			return false
		}
		span.text += at + 1
		star.token = -1
		t, i = span.token, span.text
	}
}

func (t *token) one(c byte) bool {
	switch t.op {
	case opByte:
		return c == t.c
	case opAny:
		return c != '/'
	default:
		return c != '/' && t.set.has(c)
	}
}
