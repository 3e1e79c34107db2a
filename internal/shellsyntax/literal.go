package shellsyntax

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// lit adds a literal part. first and last say where it stands in its word.
func (e *expander) lit(s string, quoted, first, last bool) {
	if rawSubstitution(s, quoted) {
		e.a.poison("a substitution stands where it cannot be followed")
	}
	if quoted {
		escapes := "$`\"\\\n"
		if e.here {
			escapes = "$`\\\n"
		}
		e.cur.literal(unescapeQuoted(s, escapes), true)
		return
	}
	if first && strings.HasPrefix(s, "~") {
		s = e.tilde(s, last)
	}
	for s != "" {
		i := strings.IndexByte(s, '\\')
		plain := s
		if i >= 0 {
			plain = s[:i]
		}
		if j := strings.Index(plain, "=~"); j >= 0 || strings.Contains(plain, ":~") {
			// Here shells and their modes differ in what they expand.
			e.cur.opaque(arg{form: formOpaque}, false)
		}
		e.cur.literal(plain, false)
		if i < 0 {
			return
		}
		_, size := utf8.DecodeRuneInString(s[i+1:])
		e.cur.literal(s[i+1:i+1+size], true)
		s = s[i+1+size:]
	}
}

// tilde expands ~ at the beginning of a word and returns the rest.
func (e *expander) tilde(s string, last bool) string {
	name, rest := s, ""
	if i := strings.IndexByte(s, '/'); i >= 0 {
		name, rest = s[:i], s[i:]
	} else if !last {
		e.cur.opaque(arg{form: formOpaque}, false)
		return s
	}
	home := e.a.variable(e.c, e.st, "HOME", use{})
	if name == "~" && home.exact() {
		e.cur.literal(home.text, true)
		return rest
	}
	e.cur.opaque(arg{form: formOpaque}, false)
	return rest
}

// rawSubstitution reports whether a literal holds what a shell may take for a substitution.
func rawSubstitution(s string, quoted bool) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '`':
			return true
		case '<', '>':
			if !quoted && i+1 < len(s) && s[i+1] == '(' {
				return true
			}
		case '$':
			if i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '{') {
				return true
			}
		}
	}
	return false
}

// unescapeQuoted takes off the backslashes before the characters that it makes literal inside double quotes or a
// here-document.
func unescapeQuoted(s, escapes string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(escapes, s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (e *expander) single(p *syntax.SglQuoted) {
	if !p.Dollar {
		e.cur.literal(p.Value, true)
		return
	}
	s, ok := ansi(p.Value)
	if !ok {
		e.cur.opaque(arg{form: formOpaque}, false)
		return
	}
	e.cur.literal(s, true)
}

// ansi decodes the escapes of $'...'. It returns false for what it does not know for sure.
func ansi(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", false
		}
		if at := strings.IndexByte("abeEfnrtv\\'\"?", s[i]); at >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[at])
			continue
		}
		digits, base := 0, 16
		switch c := s[i]; {
		case c >= '0' && c <= '7':
			i--
			digits, base = 3, 8
		case c == 'x':
			digits = 2
		case c == 'u':
			digits = 4
		case c == 'U':
			digits = 8
		default:
			return "", false
		}
		j := i + 1
		for j < len(s) && j <= i+digits && isDigit(s[j], base) {
			j++
		}
		n, err := strconv.ParseUint(s[i+1:j], base, 32)
		if err != nil || n == 0 || n > 0x7f { // beyond ASCII it depends on the locale
			return "", false
		}
		b.WriteByte(byte(n))
		i = j - 1
	}
	return b.String(), true
}

func isDigit(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '9':
		return int(c-'0') < base
	case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		return base == 16
	}
	return false
}

// braces returns the words that braces make of a word: itself where there are none to expand, false where that is not
// sure. Only the plain form is expanded, one group of plain words or numbers.
func braces(w *syntax.Word) ([]*syntax.Word, bool) {
	at, marks := -1, false
	open, closed := false, false
	for i, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		if strings.IndexByte(lit.Value, '{') >= 0 {
			open, at = true, i
		}
		closed = closed || open && strings.IndexByte(lit.Value, '}') >= 0
		marks = marks || strings.IndexByte(lit.Value, ',') >= 0 || strings.Contains(lit.Value, "..")
	}
	if !open || !closed || !marks {
		return []*syntax.Word{w}, true
	}
	lit := w.Parts[at].(*syntax.Lit)
	for i, part := range w.Parts {
		if l, ok := part.(*syntax.Lit); ok && i != at && strings.ContainsAny(l.Value, "{}") {
			return nil, false
		}
	}
	if strings.Count(lit.Value, "{") != 1 || strings.Count(lit.Value, "}") != 1 || strings.ContainsAny(lit.Value, `\$`) {
		return nil, false
	}
	before, rest, _ := strings.Cut(lit.Value, "{")
	if at > 0 && before == "" { // braces come first: $x{a,b} is $xa $xb
		if p, ok := w.Parts[at-1].(*syntax.ParamExp); ok && p.Short {
			return nil, false
		}
	}
	group, after, ok := strings.Cut(rest, "}")
	if !ok {
		return nil, false
	}
	items, ok := braceItems(group)
	if !ok {
		return nil, false
	}
	out := make([]*syntax.Word, len(items))
	for n, item := range items {
		v := &syntax.Word{Parts: append([]syntax.WordPart{}, w.Parts...)}
		l := *lit
		l.Value = before + item + after
		v.Parts[at] = &l
		out[n] = v
	}
	return out, true
}

// braceItems returns what a group of braces stands for.
func braceItems(group string) ([]string, bool) {
	if strings.IndexByte(group, ',') >= 0 {
		items := strings.Split(group, ",")
		return items, len(items) <= maxBraces
	}
	from, to, ok := strings.Cut(group, "..")
	if !ok {
		return []string{"{" + group + "}"}, true
	}
	if len(from) > 4 || len(to) > 4 || from == "" || to == "" || strings.Trim(from+to, "0123456789") != "" ||
		len(from) > 1 && from[0] == '0' || len(to) > 1 && to[0] == '0' {
		return nil, false
	}
	x, _ := strconv.Atoi(from)
	y, _ := strconv.Atoi(to)
	if x > y || y-x >= maxBraces {
		return nil, false
	}
	var items []string
	for ; x <= y; x++ {
		items = append(items, strconv.Itoa(x))
	}
	return items, true
}
