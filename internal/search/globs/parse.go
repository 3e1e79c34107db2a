package globs

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

const (
	// maxLength bounds a pattern, maxWays what its braces multiply to.
	maxLength = 4096
	maxWays   = 1024
)

// expand writes out the braces of a pattern.
func expand(pattern string) ([]string, error) {
	if len(pattern) > maxLength {
		return nil, fmt.Errorf("it has %d characters, more than %d", len(pattern), maxLength)
	}
	done, todo := []string(nil), []string{pattern}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		open, shut, commas, err := braces(p)
		if err != nil {
			return nil, err
		}
		if open < 0 {
			done = append(done, p)
			continue
		}
		if len(done)+len(todo)+len(commas) >= maxWays {
			return nil, fmt.Errorf("its braces stand for more than %d patterns; use fewer", maxWays)
		}
		from := open + 1
		var more []string
		for _, to := range append(commas, shut) {
			more = append(more, p[:open]+p[from:to]+p[shut+1:])
			from = to + 1
		}
		todo = append(more, todo...)
	}
	return done, nil
}

// braces finds the first group of braces and the commas directly in it. open is -1 where there is none.
func braces(p string) (open, shut int, commas []int, err error) {
	open = -1
	depth := 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			if end := classEnd(p, i); end > 0 {
				i = end
			}
		case '{':
			if depth++; depth == 1 {
				open = i
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth == 0 {
				return 0, 0, nil, fmt.Errorf(`the "}" at character %d has no "{"; write \} for the character itself`, i+1)
			}
			if depth--; depth == 0 {
				return open, i, commas, nil
			}
		}
	}
	if depth > 0 {
		return 0, 0, nil, fmt.Errorf(`the "{" at character %d is not closed; write \{ for the character itself`, open+1)
	}
	return -1, 0, nil, nil
}

// classEnd returns where the class that begins at i ends, -1 where it does not.
func classEnd(p string, i int) int {
	i++
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		i++
	}
	for first := true; i < len(p); first = false {
		switch {
		case p[i] == '\\':
			i++
		case strings.HasPrefix(p[i:], "[:"):
			if end := strings.Index(p[i+2:], ":]"); end >= 0 {
				i += end + 3
			}
		case p[i] == ']' && !first:
			return i
		}
		i++
	}
	return -1
}

// parse compiles a pattern without braces.
func parse(p string) (way, error) {
	var w way
	var tokens []token
	start := 0
	end := func(i int) error {
		switch text := p[start:i]; {
		case text == "":
			return errEmpty
		case text == "." || text == "..":
			return fmt.Errorf("%q is not an element of a path that can match", text)
		case text != "**":
			w = append(w, simplify(tokens))
		case len(w) == 0 || !w[len(w)-1].any:
			w = append(w, element{any: true})
		}
		tokens, start = nil, i+1
		return nil
	}
	for i := 0; i < len(p); {
		switch p[i] {
		case '/':
			if err := end(i); err != nil {
				return nil, err
			}
			i++
		case '*':
			if len(tokens) == 0 || !tokens[len(tokens)-1].star {
				tokens = append(tokens, token{star: true})
			}
			i++
		case '?':
			tokens = append(tokens, token{any: true})
			i++
		case '[':
			c, next, err := parseClass(p, i)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{set: c})
			i = next
		default:
			r, n, err := character(p, i)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{r: r})
			i += n
		}
	}
	return w, end(len(p))
}

var (
	errBackslash = errors.New("it ends in a backslash, which needs a character behind it")
	errEmpty     = errors.New("it has an empty element, which no path has; write it without a slash at the beginning or end")
)

// character reads the character at i, which may be escaped.
func character(p string, i int) (rune, int, error) {
	if p[i] != '\\' {
		r, n := decode(p[i:])
		return r, n, nil
	}
	if i+1 == len(p) {
		return 0, 0, errBackslash
	}
	if p[i+1] == '/' {
		return 0, 0, errors.New("it escapes a slash, which no name can hold")
	}
	r, n := decode(p[i+1:])
	return r, n + 1, nil
}

// parseClass reads the class that begins at i and returns the place behind it.
func parseClass(p string, i int) (*class, int, error) {
	shut := classEnd(p, i)
	if shut < 0 {
		return nil, 0, fmt.Errorf(`the "[" at character %d is not closed; write \[ for the character itself`, i+1)
	}
	c := &class{}
	body := p[i+1 : shut]
	if body[0] == '!' || body[0] == '^' {
		c.negated, body = true, body[1:]
	}
	for len(body) > 0 {
		if name, ok := strings.CutPrefix(body, "[:"); ok && strings.Contains(name, ":]") {
			name, body, _ = strings.Cut(name, ":]")
			is := kinds[name]
			if is == nil {
				return nil, 0, fmt.Errorf("there is no class [:%s:]; there is alpha, digit, alnum, upper, lower, space and so on", name)
			}
			c.kinds = append(c.kinds, is)
			continue
		}
		low, n, err := character(body, 0)
		if err != nil {
			return nil, 0, err
		}
		body = body[n:]
		high := low
		if len(body) > 1 && body[0] == '-' {
			if high, n, err = character(body[1:], 0); err != nil {
				return nil, 0, err
			}
			if body = body[1+n:]; high < low {
				return nil, 0, fmt.Errorf("the range %s-%s goes backwards", raw(low), raw(high))
			}
		}
		c.ranges = append(c.ranges, span{low, high})
	}
	return c, shut + 1, nil
}

func ascii(is func(rune) bool) func(rune) bool {
	return func(r rune) bool { return r < unicode.MaxASCII && is(r) }
}

// kinds are the classes with a name. Letters, digits and spaces are those of any script; the rest is ASCII, as
// nothing else is usual.
var kinds = map[string]func(rune) bool{
	"alpha": unicode.IsLetter,
	"digit": func(r rune) bool { return '0' <= r && r <= '9' },
	"alnum": func(r rune) bool { return unicode.IsLetter(r) || '0' <= r && r <= '9' },
	"upper": unicode.IsUpper,
	"lower": unicode.IsLower,
	"space": unicode.IsSpace,
	"blank": func(r rune) bool { return r == ' ' || r == '\t' },
	"punct": ascii(func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }),
	"graph": unicode.IsGraphic,
	"print": unicode.IsPrint,
	"cntrl": unicode.IsControl,
	"xdigit": func(r rune) bool {
		return '0' <= r && r <= '9' || 'a' <= r && r <= 'f' || 'A' <= r && r <= 'F'
	},
}
