package ignore

import "strings"

// form is how a pattern is matched.
type form uint8

const (
	formLiteral form = iota // text is the whole name or path
	formEnd                 // text is the end of the name: *.ext
	formStart               // text is the beginning of the name: tmp*
	formWild                // wild decides, after the literal beginning in text
)

// pattern is one line of an ignore file.
type pattern struct {
	at      int32
	include bool
	dirOnly bool
	// deep patterns are about the path below the ignore file, others about the last element.
	deep bool
	form form
	text string
	wild wild
}

// special are the characters that end the literal part of a pattern.
const special = `*?[\`

// compile reads one line. It returns false for a pattern that cannot match anything.
func compile(line string, fold bool) (p pattern, ok bool) {
	line, p.include = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.deep = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	// "**/name" is the same as "name", whatever wildcards are in the name.
	if name := afterStars(line); name != line && name != "" && !strings.Contains(name, "/") {
		line, p.deep = name, false
	}
	if line == "" {
		return p, false
	}
	literal := strings.IndexAny(line, special)
	if literal < 0 {
		p.text = folded(line, fold)
		return p, true
	}
	p.text = folded(line[:literal], fold)
	tail := line[literal:]
	switch {
	case !p.deep && literal == 0 && tail[0] == '*' && !strings.ContainsAny(tail[1:], special):
		p.form, p.text = formEnd, folded(tail[1:], fold)
		return p, true
	case !p.deep && strings.Trim(tail, "*") == "":
		p.form = formStart
		return p, true
	}
	p.form = formWild
	// Git takes the literal part off before it looks at the rest, so that ** right behind it counts as an element
	// of its own: a**/b matches a/b, ab and ax/y/b.
	p.wild, ok = parseWild(tail, p.deep, fold)
	return p, ok
}

// afterStars returns what is behind every "**/" that the pattern begins with.
func afterStars(line string) string {
	for {
		rest, found := strings.CutPrefix(line, "**/")
		if !found {
			return line
		}
		line = rest
	}
}

func folded(s string, fold bool) string {
	if fold {
		return lower(s)
	}
	return s
}

// match decides about a path and its last element, both folded where the list is.
func (p *pattern) match(rel, name string) bool {
	s := name
	if p.deep {
		s = rel
	}
	switch p.form {
	case formLiteral:
		return s == p.text
	case formEnd:
		return strings.HasSuffix(s, p.text)
	case formStart:
		return strings.HasPrefix(s, p.text)
	default:
		return strings.HasPrefix(s, p.text) && p.wild.match(s[len(p.text):])
	}
}
