package shellsyntax

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// interpreters are programs that run the script they are given. An option that is not here may be one that runs code.
var interpreters = map[string]options{
	"python": `B d E i/run I O P q s S u v x b V version help h W: X: c:/code m:/last`,
	"pypy":   `B d E i/run I O q s S u v V version help h W: X: c:/code m:/last`,
	"pypy3":  `B O u V version help h W: X: c:/code m:/last`,
	"node": `e:/code eval:/code p:/code print:/code r:/run require:/run import:/run c check i/run test watch loader:/run
 experimental-loader:/run max-old-space-size: no-warnings trace-warnings enable-source-maps v version h help
 run:/last`,
	"nodejs": `e:/code p:/code r:/run c v version h help`,
	"perl":   `e:/code E:/code n p a F: i?/writes I:/run M:/run m:/run w W c T t U l? 0? s S v C?`,
	"ruby":   `e:/code r:/run I:/run n p a c w v version h help i?/writes l s S C:/dir E: F:`,
	"php":    `r:/code B:/code R:/code E:/code F:/run d:/run c:/run n l i m v version h help S:/run z:/run`,
	"lua":    `e:/code l:/run i/run v W E`, "luajit": `e:/code l:/run i/run v b/run`,
	"Rscript": `e:/code version help verbose vanilla`, "julia": `e:/code E:/code L:/run i/run project? q v h version help`,
	"guile":   `c:/code e:/run l:/run s:/last version help`,
	"ts-node": `e:/code p:/code r:/run T transpile-only v version h help`,
	"tsx":     `e:/code p:/code r:/run version help`,
}

func interpreterProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	name := baseName(words[0].text)
	t, ok := interpreters[name]
	if !ok {
		t = interpreters["python"]
	}
	g := t.parse(words[1:], true)
	if g.has("V", "version", "h", "help") || name == "node" && g.has("v") {
		if len(g.options) == 1 && len(g.rest) == 0 {
			a.execute(words)
			return
		}
	}
	a.follow(c, st, name, t, g, false)
	switch {
	case g.has("m", "run", "s") && lastRole(g) == "last":
		a.execute(words)
		if m := lastOption(g).value(); !m.exact() || slices.Contains([]string{
			"timeit", "code", "pdb", "profile", "cProfile",
			"trace",
			"runpy", "sqlite3", "idlelib",
		}, m.text) {
			a.poison("what " + name + " runs as " + m.src + " cannot be told")
		}
		a.note(name + " runs code that is installed or in the workspace.")
	case lastRole(g) == "code":
		a.execute(words)
	case len(g.rest) == 0 || g.rest[0].is("-"):
		a.execute(words)
		a.poison("what " + name + " reads as its program is only known when it runs")
	case !g.rest[0].exact() || g.rest[0].many:
		a.execute(words)
		a.poison("which program " + name + " runs is only known then: " + g.rest[0].src)
	default:
		a.scriptFile(st, words, len(words)-len(g.rest))
	}
}

func lastOption(g given) option {
	if len(g.options) == 0 {
		return option{}
	}
	return g.options[len(g.options)-1]
}

func lastRole(g given) string { return lastOption(g).role }

const awkOptions = options("F: v: f:/run field-separator: assign: file:/run version V posix P re-interval r")

// awkProgram follows awk. A program that is plainly without commands, files and indirect calls only transforms text.
func awkProgram(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	name := baseName(words[0].text)
	g := awkOptions.parse(words[1:], true)
	a.follow(c, st, name, awkOptions, g, false)
	rest := g.rest
	if !g.has("f", "file") {
		if len(rest) == 0 {
			return
		}
		a.awkText(rest[0])
		rest = rest[1:]
	}
	for _, w := range rest {
		before, _, ok := strings.Cut(w.text, "=")
		if ok && isName(before) || w.is("-") {
			continue
		}
		a.path(st, tongs.EffectRead, w)
	}
}

// awkText looks at a program for awk. It does not parse it: whatever could be a command, a redirection or an indirect
// call counts as one, also inside strings.
func (a *analyser) awkText(w arg) {
	if !w.exact() {
		a.poison("the program for awk is only known when it runs: " + w.src)
		return
	}
	text := strings.ReplaceAll(w.text, "||", "")
	for _, sign := range []string{
		"system", "|", "getline", "@", "ARGV", "ARGC", "extension", "load", "include",
		"ENVIRON[\"PATH",
	} {
		if strings.Contains(text, sign) {
			a.poison("the awk program may run commands or read files: it has " + sign)
			return
		}
	}
	// Outside of braces there is no print, so that > is a comparison there.
	if brace := strings.IndexByte(text, '{'); brace >= 0 && strings.Contains(text[brace:], ">") {
		a.unknown(tongs.EffectWrite, "the program for awk may write files: it has >")
	}
	if strings.Contains(text, "/inet") {
		a.poison("the program for awk may open connections")
	}
}

const sedOptions = options(`n E r s u z l: b e: expression: f:/run file:/run i? in-place? quiet silent regexp-extended
 separate unbuffered null-data line-length: posix sandbox debug follow-symlinks binary help version`)

func sedProgram(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	g := sedOptions.parse(words[1:], false)
	a.follow(c, st, "sed", sedOptions, g, false)
	operands := g.operands
	inPlace, scripted := false, false
	for _, o := range g.options {
		switch o.name {
		case "e", "expression":
			scripted = true
			a.sedText(st, o.value())
		case "f", "file":
			scripted = true
		case "i", "in-place":
			inPlace = true
			if v := o.value(); !v.is("") {
				a.unknown(tongs.EffectWrite, "sed -i keeps copies under other names")
			}
		}
	}
	if !scripted && len(operands) > 0 {
		a.sedText(st, operands[0])
		operands = operands[1:]
	}
	for _, w := range operands {
		if w.is("-") {
			continue
		}
		a.path(st, tongs.EffectRead, w)
		if inPlace {
			a.path(st, tongs.EffectWrite, w)
		}
	}
}

// sedText follows a script for sed.
func (a *analyser) sedText(st *state, w arg) {
	if !w.exact() {
		a.poison("the script for sed is only known when it runs: " + w.src)
		return
	}
	s := sedScanner{a: a, st: st, text: w.text}
	for s.i < len(s.text) {
		if !s.command() {
			a.poison("the script for sed may run commands, or cannot be read: " + w.src)
			return
		}
	}
}

// sedScanner reads a script for sed command by command.
type sedScanner struct {
	a    *analyser
	st   *state
	text string
	i    int
}

func (s *sedScanner) peek() byte {
	if s.i < len(s.text) {
		return s.text[s.i]
	}
	return 0
}

func (s *sedScanner) skip(set string) {
	for s.i < len(s.text) && strings.IndexByte(set, s.text[s.i]) >= 0 {
		s.i++
	}
}

// line takes the rest of the line.
func (s *sedScanner) line() string {
	rest := s.text[s.i:]
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	s.i += len(rest)
	return rest
}

// command reads one command, and reports whether it is known to be harmless or is followed.
func (s *sedScanner) command() bool {
	s.skip(" \t\n;")
	if s.i >= len(s.text) {
		return true
	}
	if !s.address() {
		return false
	}
	s.skip(" \t")
	if s.peek() == ',' {
		s.i++
		s.skip(" \t")
		if !s.address() {
			return false
		}
	}
	s.skip(" \t!")
	c := s.peek()
	s.i++
	switch c {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return s.end(c)
	case 'q', 'Q', 'l', 'L':
		s.skip(" \t0123456789")
		return s.end(c)
	case '#':
		s.line()
		return true
	case ':', 'b', 't', 'T':
		s.skip(" \t")
		s.skip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
		return s.end(c)
	case 'a', 'i', 'c':
		return s.inserted()
	case 's':
		return s.substitute()
	case 'y':
		return s.delimited() && s.end(c)
	case 'w', 'W', 'r', 'R':
		s.skip(" \t")
		return s.file(c, s.line())
	}
	return false
}

// end reports whether a command ends here.
func (s *sedScanner) end(c byte) bool {
	s.skip(" \t")
	switch s.peek() {
	case 0, ';', '\n', '}', '#':
		return true
	}
	return c == '{' || c == '}'
}

// inserted takes the text of a, i and c: the rest of the line, or the next line after a backslash. With any other
// backslash it depends on the version of sed where the text ends.
func (s *sedScanner) inserted() bool {
	line := strings.TrimLeft(s.line(), " \t")
	if line == `\` && s.i < len(s.text) {
		s.i++
		line = s.line()
	}
	return line != "" && strings.IndexByte(line, '\\') < 0
}

func (s *sedScanner) address() bool {
	switch c := s.peek(); {
	case c >= '0' && c <= '9' || c == '+' || c == '~':
		s.skip("0123456789+~")
		return true
	case c == '$':
		s.i++
		return true
	case c == '\\':
		s.i++
		fallthrough
	case c == '/':
		ok := s.pattern()
		s.skip("IM")
		return ok
	}
	return true
}

// pattern takes a regular expression up to its delimiter, which is the character at hand.
func (s *sedScanner) pattern() bool {
	delim := s.peek()
	if delim == 0 || delim == '\n' || delim == '\\' || delim >= 0x80 {
		return false
	}
	for i := s.i + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '\n':
			return false
		case '[':
			// Whether a delimiter, a backslash or a newline counts in brackets differs between versions.
			end := bracketEnd(s.text, i)
			if end < 0 || strings.ContainsAny(s.text[i:end], string(delim)+"\\\n") {
				return false
			}
			i = end
		case delim:
			s.i = i + 1
			return true
		}
	}
	return false
}

// bracketEnd returns where the bracket expression ends that begins at i, -1 where it has no end.
func bracketEnd(s string, i int) int {
	i++
	if i < len(s) && s[i] == '^' {
		i++
	}
	for first := true; i < len(s); first = false {
		switch {
		case s[i] == ']' && !first:
			return i
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			close := strings.Index(s[i+2:], s[i+1:i+2]+"]")
			if close < 0 {
				return -1
			}
			i += 2 + close + 2
		default:
			i++
		}
	}
	return -1
}

// delimited takes two parts: the pattern and what replaces it. The scanner is at the first delimiter.
func (s *sedScanner) delimited() bool {
	delim := s.peek()
	if !s.pattern() {
		return false
	}
	for i := s.i; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case delim:
			s.i = i + 1
			return true
		}
	}
	return false
}

func (s *sedScanner) substitute() bool {
	if !s.delimited() {
		return false
	}
	for {
		switch c := s.peek(); {
		case c == 'g' || c == 'p' || c == 'i' || c == 'I' || c == 'm' || c == 'M' || c >= '0' && c <= '9':
			s.i++
		case c == 'w':
			s.i++
			s.skip(" \t")
			return s.file('w', s.line())
		default:
			return s.end('s')
		}
	}
}

// file follows the file of a command.
func (s *sedScanner) file(c byte, name string) bool {
	kind := tongs.EffectWrite
	if c == 'r' || c == 'R' {
		kind = tongs.EffectRead
	}
	s.a.path(s.st, kind, exactly(name))
	return name != ""
}
