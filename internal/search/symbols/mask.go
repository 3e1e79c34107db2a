package symbols

import "bytes"

// lexis is how comments and strings are written in a language.
type lexis struct {
	// line are what begins a comment that ends with the line. After '#' of a shell only the beginning of a word counts.
	line []string
	// block is what begins and ends a comment, nested says that comments hold comments.
	block  [2]string
	nested bool
	quotes []quote
	// docs are blocks whose marks stand at the beginning of a line: =begin and =end of Ruby.
	docs [2]string
	flags
}

// flags are peculiarities of languages.
type flags struct {
	hashWord  bool // "#" begins a comment only where a word could begin
	tick      bool // "'" may begin a lifetime or be part of a name: it is a quote only where another closes it
	regexes   bool // "/" may begin a regular expression
	heredocs  string
	rawHashes bool // r#"..."# of Rust, #"..."# of Swift
	cppRaw    bool // R"x(...)x"
	verbatim  bool // @"..." with "" for a quote
}

// quote is how a string is written.
type quote struct {
	open, close string
	escape      bool // a backslash takes the next byte's meaning
	lines       bool // it may contain line ends
}

// mask returns a copy of text in which comments, and strings except their quotes, are blank. Line ends stay.
func (l *lexis) mask(text []byte) []byte {
	m := &masking{lexis: l, text: text, out: bytes.Clone(text)}
	m.prepare()
	for m.at < len(text) {
		if !m.special[text[m.at]] {
			if c := text[m.at]; c > ' ' {
				m.last = c
			}
			m.at++
			continue
		}
		m.step()
	}
	return m.out
}

type masking struct {
	*lexis
	text, out []byte
	at        int
	last      byte // the last byte of code that is not space
	special   [256]bool
	// ends are the marks that end the heredocs which begin with the next line.
	ends []string
}

func (m *masking) prepare() {
	for _, s := range m.line {
		m.special[s[0]] = true
	}
	for _, q := range m.quotes {
		m.special[q.open[0]] = true
	}
	for _, s := range []string{m.block[0], m.docs[0], m.heredocs} {
		if s != "" {
			m.special[s[0]] = true
		}
	}
	m.special['/'] = m.special['/'] || m.regexes
	m.special['\n'] = m.heredocs != ""
	m.special['#'] = m.special['#'] || m.rawHashes
	m.special['@'] = m.special['@'] || m.verbatim
	m.special['R'] = m.special['R'] || m.cppRaw
}

// step handles a byte that may begin something.
func (m *masking) step() {
	rest := m.text[m.at:]
	switch {
	case m.docs[0] != "" && m.lineStart() && has(rest, m.docs[0]):
		m.blank(m.docEnd(rest))
	case m.block[0] != "" && has(rest, m.block[0]):
		m.blank(m.blockEnd(rest))
	case m.comment(rest):
		m.blank(lineEnd(rest))
	case m.rawHashes && rest[0] == '#' && m.hashes(rest):
	case m.verbatim && rest[0] == '@' && len(rest) > 1 && rest[1] == '"':
		m.blank(2 + verbatimEnd(rest[2:]))
	case m.cppRaw && rest[0] == 'R' && m.raw(rest):
	case m.heredocs != "" && has(rest, m.heredocs) && m.heredoc(rest):
	case rest[0] == '\n' && len(m.ends) > 0:
		m.at++
		m.skipHeredocs()
	case m.regexes && rest[0] == '/' && regexMayBegin(m.last):
		m.blank(regexEnd(rest))
		m.last = '/'
	default:
		m.string(rest)
	}
}

func has(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

func (m *masking) lineStart() bool { return m.at == 0 || m.text[m.at-1] == '\n' }

func (m *masking) comment(rest []byte) bool {
	for _, s := range m.line {
		if !has(rest, s) {
			continue
		}
		if s == "#" && m.hashWord && m.at > 0 && !bytes.ContainsRune([]byte(" \t\n;(){}&|`"), rune(m.text[m.at-1])) {
			continue
		}
		if s == "#" && m.heredocs == "<<<" && has(rest, "#[") { // an attribute of PHP
			continue
		}
		return true
	}
	return false
}

func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i
	}
	return len(b)
}

// blank blanks the next n bytes and passes over them.
func (m *masking) blank(n int) {
	for i := m.at; i < m.at+n; i++ {
		if m.out[i] != '\n' {
			m.out[i] = ' '
		}
	}
	m.at += n
}

func (m *masking) docEnd(rest []byte) int {
	i := bytes.Index(rest, []byte("\n"+m.docs[1]))
	if i < 0 {
		return len(rest)
	}
	return i + 1 + lineEnd(rest[i+1:])
}

func (m *masking) blockEnd(rest []byte) int {
	open, end := m.block[0], m.block[1]
	depth, i := 1, len(open)
	for i < len(rest) {
		switch {
		case has(rest[i:], end):
			i += len(end)
			if depth--; depth == 0 {
				return i
			}
		case m.nested && has(rest[i:], open):
			depth++
			i += len(open)
		default:
			i++
		}
	}
	return len(rest)
}

// string blanks the string that begins here, if one does.
func (m *masking) string(rest []byte) {
	for _, q := range m.quotes {
		if !has(rest, q.open) {
			continue
		}
		if q.open == "'" && m.at > 0 && digit(m.text[m.at-1]) || m.tick && q.open == "'" && !closes(rest) {
			break // 1'000, 'a, x'
		}
		n := len(q.open)
		end, closed := q.end(rest[n:])
		m.at += n
		m.blank(end)
		if closed {
			m.at += len(q.close)
		}
		m.last = '"'
		return
	}
	m.last = rest[0]
	m.at++
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// closes reports whether the tick at the beginning of b is the first of a character in quotes.
func closes(b []byte) bool {
	if len(b) < 3 {
		return false
	}
	if b[1] == '\\' {
		return true
	}
	for i := 2; i < len(b) && i <= 5; i++ { // a character has up to four bytes
		if b[i] == '\'' {
			return i == 2 || b[1] >= 0x80
		}
	}
	return false
}

// end returns where the string that b is in ends: at the quote that closes it, the end of the line or that of the text.
func (q *quote) end(b []byte) (int, bool) {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\\' && q.escape:
			i++
		case c == '\n' && !q.lines:
			return i, false
		case c == q.close[0] && has(b[i:], q.close):
			return i, true
		}
	}
	return len(b), false
}

// hashes blanks a string in hashes: #"..."#, with any number of them.
func (m *masking) hashes(rest []byte) bool {
	n := 0
	for n < len(rest) && rest[n] == '#' {
		n++
	}
	if n == len(rest) || rest[n] != '"' {
		return false
	}
	end := append([]byte{'"'}, rest[:n]...)
	i := bytes.Index(rest[n+1:], end)
	if i < 0 {
		m.blank(len(rest))
	} else {
		m.blank(n + 1 + i + len(end))
	}
	return true
}

func verbatimEnd(b []byte) int {
	for i := 0; i < len(b); i++ {
		if b[i] != '"' {
			continue
		}
		if i+1 == len(b) || b[i+1] != '"' {
			return i + 1
		}
		i++
	}
	return len(b)
}

// raw blanks R"x(...)x" of C++.
func (m *masking) raw(rest []byte) bool {
	if !has(rest, `R"`) {
		return false
	}
	paren := bytes.IndexByte(rest[:min(len(rest), 20)], '(')
	if paren < 0 {
		return false
	}
	end := ")" + string(rest[2:paren]) + `"`
	i := bytes.Index(rest, []byte(end))
	if i < 0 {
		return false
	}
	m.blank(i + len(end))
	return true
}

// heredoc notes what ends the text that begins with the next line.
func (m *masking) heredoc(rest []byte) bool {
	i := len(m.heredocs)
	for i < len(rest) && bytes.IndexByte([]byte("-~ \t'\"\\"), rest[i]) >= 0 {
		i++
	}
	begin := i
	for i < len(rest) && word(rest[i]) {
		i++
	}
	upper := i > begin && rest[begin] >= 'A' && rest[begin] <= 'Z' // what is small is a shift: x << y
	if !upper && (i == begin || !bytes.ContainsAny(rest[len(m.heredocs):begin], `'"-~\`)) {
		return false
	}
	m.ends = append(m.ends, string(rest[begin:i]))
	for i < len(rest) && (rest[i] == '\'' || rest[i] == '"') {
		i++
	}
	m.at += i
	return true
}

func (m *masking) skipHeredocs() {
	for _, end := range m.ends {
		for m.at < len(m.text) {
			n := lineEnd(m.text[m.at:])
			line := bytes.TrimSpace(m.text[m.at : m.at+n])
			m.blank(min(n+1, len(m.text)-m.at))
			if has(line, end) && (len(line) == len(end) || !word(line[len(end)])) {
				break
			}
		}
	}
	m.ends = nil
}

// regexMayBegin reports whether a slash after the byte begins a regular expression: after an operand it divides.
func regexMayBegin(last byte) bool {
	return last == 0 || bytes.IndexByte([]byte("(,=:[!&|?{};+-*%<>~^"), last) >= 0
}

func regexEnd(b []byte) int {
	class := false
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\\':
			i++
		case c == '\n':
			return 1 // it was none
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return i + 1
		}
	}
	return 1
}

// word reports whether a byte can be part of a name.
func word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
