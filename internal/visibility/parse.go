package visibility

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// token is one token of CSS. Text is as it was written; word is an identifier, function or unit without escapes, in lower case.
type token struct {
	kind css.TokenType
	text string
	word string
}

func (t token) is(word string) bool { return t.kind == css.IdentToken && t.word == word }

func (t token) delim(c string) bool { return t.kind == css.DelimToken && t.text == c }

// tokens splits CSS into tokens, without comments.
func tokens(text string) (list []token) {
	lexer := css.NewLexer(parse.NewInputString(strings.ReplaceAll(text, "\x00", "\ufffd")))
	for {
		kind, data := lexer.Next()
		switch kind {
		case css.ErrorToken:
			return list
		case css.CommentToken:
			continue
		}
		t := token{kind: kind, text: string(data)}
		switch kind {
		case css.IdentToken, css.FunctionToken, css.AtKeywordToken, css.HashToken, css.DimensionToken, css.CustomPropertyNameToken:
			t.word = strings.ToLower(unescape(strings.TrimSuffix(t.text, "(")))
		case css.CustomPropertyValueToken: // the lexer takes it whole; a value is tokens like any other
			list = append(list, tokens(t.text)...)
			continue
		}
		list = append(list, t)
	}
}

// unescape undoes escapes such as \64 isplay and \.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		end := i + 1
		for end < len(s) && end < i+7 && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 {
			end++
		}
		if end == i+1 {
			if end < len(s) { // the character after it stands for itself
				_, size := utf8.DecodeRuneInString(s[end:])
				b.WriteString(s[end : end+size])
				i += size
			}
			continue
		}
		n, _ := strconv.ParseInt(s[i+1:end], 16, 32)
		b.WriteRune(rune(n))
		if end < len(s) && strings.IndexByte(" \t\n\r\f", s[end]) >= 0 {
			end++
		}
		i = end - 1
	}
	return b.String()
}

// trim takes white space off both ends.
func trim(list []token) []token {
	for len(list) > 0 && list[0].kind == css.WhitespaceToken {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].kind == css.WhitespaceToken {
		list = list[:len(list)-1]
	}
	return list
}

// solid are the tokens that are not white space.
func solid(list []token) (out []token) {
	for _, t := range list {
		if t.kind != css.WhitespaceToken {
			out = append(out, t)
		}
	}
	return out
}

// depth is how a token changes the nesting of brackets.
func depth(t token) int {
	switch t.kind {
	case css.FunctionToken, css.LeftParenthesisToken, css.LeftBracketToken, css.LeftBraceToken:
		return 1
	case css.RightParenthesisToken, css.RightBracketToken, css.RightBraceToken:
		return -1
	}
	return 0
}

// matching is the index of the token that closes the one at i, or the length.
func matching(list []token, i int) int {
	level := 0
	for ; i < len(list); i++ {
		if level += depth(list[i]); level == 0 {
			return i
		}
	}
	return i
}

// split cuts tokens at a kind that stands outside of brackets.
func split(list []token, at css.TokenType) (parts [][]token) {
	from, level := 0, 0
	for i, t := range list {
		level += depth(t)
		if level == 0 && t.kind == at {
			parts, from = append(parts, list[from:i]), i+1
		}
	}
	return append(parts, list[from:])
}

// words cuts a value at its white space, outside of functions.
func words(list []token) (parts [][]token) {
	for _, part := range split(trim(list), css.WhitespaceToken) {
		if len(part) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// declaration is one property with its value.
type declaration struct {
	name      string
	value     []token
	important bool
}

// declared reads "name: value", false where it is none.
func declared(list []token) (d declaration, ok bool) {
	list = trim(list)
	if len(list) < 2 || list[0].kind != css.IdentToken && list[0].kind != css.CustomPropertyNameToken {
		return d, false
	}
	d.name = list[0].word
	if strings.HasPrefix(list[0].text, "--") {
		d.name = unescape(list[0].text)
	}
	rest := trim(list[1:])
	if len(rest) == 0 || rest[0].kind != css.ColonToken {
		return d, false
	}
	d.value = trim(rest[1:])
	if n := len(d.value); n >= 2 && d.value[n-1].is("important") {
		if before := trim(d.value[:n-1]); len(before) > 0 && before[len(before)-1].delim("!") {
			d.important, d.value = true, trim(before[:len(before)-1])
		}
	}
	return d, true
}

// block is what stands between braces: declarations, and rules in it.
type block struct {
	declarations []declaration
	rules        []statement
}

// statement is a rule or an at-rule. Body is nil where it ends with a semicolon.
type statement struct {
	at      string
	prelude []token
	body    *block
	// loose are declarations that stand after a rule, which count from there.
	loose bool
}

// maxNesting bounds rules in rules. What is deeper is not read, and counts as not understood.
const maxNesting = 30

// reader turns tokens into statements.
type reader struct {
	// deep is set where something was nested too deeply.
	deep bool
}

// block reads the content of a block: declarations and rules, in any order.
func (r *reader) block(list []token, level int) *block {
	b := &block{}
	if level > maxNesting {
		r.deep = true
		return b
	}
	for len(list) > 0 {
		switch list[0].kind {
		case css.WhitespaceToken, css.SemicolonToken, css.CDOToken, css.CDCToken:
			list = list[1:]
			continue
		case css.RightBraceToken: // one too many
			list = list[1:]
			continue
		}
		end, brace := statementEnd(list)
		if d, ok := declared(list[:end]); ok && (brace < 0 || strings.HasPrefix(d.name, "--")) {
			b.declare(d)
			list = list[min(end+1, len(list)):]
			continue
		}
		if brace < 0 {
			if list[0].kind == css.AtKeywordToken {
				b.rules = append(b.rules, statement{at: list[0].word, prelude: trim(list[1:end])})
			}
			list = list[min(end+1, len(list)):]
			continue
		}
		close := matching(list, brace)
		s := statement{prelude: trim(list[:brace]), body: r.block(list[brace+1:min(close, len(list))], level+1)}
		if list[0].kind == css.AtKeywordToken {
			s.at, s.prelude = list[0].word, trim(list[1:brace])
		}
		b.rules = append(b.rules, s)
		list = list[min(close+1, len(list)):]
	}
	return b
}

// declare adds a declaration where it stands.
func (b *block) declare(d declaration) {
	if len(b.rules) == 0 {
		b.declarations = append(b.declarations, d)
		return
	}
	last := &b.rules[len(b.rules)-1]
	if !last.loose {
		b.rules = append(b.rules, statement{loose: true, body: &block{}})
		last = &b.rules[len(b.rules)-1]
	}
	last.body.declarations = append(last.body.declarations, d)
}

// statementEnd is where a statement ends: at a semicolon, or where its braces open (brace, or -1).
func statementEnd(list []token) (end, brace int) {
	custom := strings.HasPrefix(list[0].text, "--")
	level := 0
	for i, t := range list {
		if level == 0 && !custom && t.kind == css.LeftBraceToken {
			return i, i
		}
		if level == 0 && (t.kind == css.SemicolonToken || t.kind == css.RightBraceToken) {
			return i, -1
		}
		if level += depth(t); level < 0 {
			level = 0
		}
	}
	return len(list), -1
}

// styleAttribute reads the declarations of a style attribute.
func styleAttribute(text string) []declaration {
	var list []declaration
	for _, part := range split(tokens(text), css.SemicolonToken) {
		if d, ok := declared(part); ok {
			list = append(list, d)
		}
	}
	return list
}

// dataSheet is the text of a style sheet that is in its address; ok is false where it is elsewhere. Typed is set where the
// address says that it is one: browsers take no other.
func dataSheet(address string) (source string, typed, ok bool) {
	rest, ok := cutPrefixFold(strings.TrimSpace(address), "data:")
	if !ok {
		return "", false, false
	}
	head, body, _ := strings.Cut(rest, ",")
	body, _, _ = strings.Cut(body, "#")
	typed = strings.HasPrefix(strings.ToLower(strings.TrimSpace(head)), "text/css")
	plain, err := url.PathUnescape(body)
	if err != nil {
		plain = body
	}
	if strings.HasSuffix(strings.ToLower(strings.TrimSpace(head)), "base64") {
		packed := strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "", "=", "").Replace(plain)
		data, _ := base64.RawStdEncoding.DecodeString(packed)
		return string(data), typed, true
	}
	return plain, typed, true
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// address is what url(...) or a string names.
func address(t token, rest []token) string {
	switch t.kind {
	case css.StringToken:
		return unquote(t.text)
	case css.URLToken:
		inside := strings.TrimSuffix(strings.TrimSpace(t.text[strings.IndexByte(t.text, '(')+1:]), ")")
		return unquote(strings.TrimSpace(inside))
	case css.FunctionToken:
		if len(rest) > 0 && rest[0].kind == css.StringToken {
			return unquote(rest[0].text)
		}
	}
	return ""
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') {
		s = s[1 : len(s)-1]
	}
	return unescape(s)
}
