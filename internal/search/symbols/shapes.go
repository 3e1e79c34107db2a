package symbols

import (
	"bytes"
	"strings"
)

// controls are words that look like functions where a condition follows them, or show that a line is no declaration.
var controls = words(
	"if", "for", "while", "switch", "catch", "return", "new", "else", "do", "sizeof", "synchronized", "lock", "using", "fixed", "foreach", "when", "with",
	"throw", "await", "yield", "case", "delete", "typeof", "instanceof", "assert", "defined", "super", "this", "goto", "try", "alignas", "decltype", "not",
	"function", "import", "require", "checked", "unchecked", "in", "of", "print",
)

// shape returns the function that a line defines by its shape: a name, parameters, and a body behind them.
func (r *reader) shape(line []byte) (d Definition, ok bool) {
	paren := bytes.IndexByte(line, '(')
	if paren <= 0 {
		return d, false
	}
	before := bytes.TrimRight(line[:paren], " \t")
	before = withoutParameters(before)
	if len(before) == 0 {
		return d, false
	}
	i := len(before)
	for i > 0 && (word(before[i-1]) || before[i-1] == '$' || r.name == "c" && (before[i-1] == ':' || before[i-1] == '~')) {
		i--
	}
	name, lead := strings.TrimLeft(string(before[i:]), ":"), bytes.TrimSpace(before[:i])
	if name == "" || digit(name[0]) || controls[name] || bytes.ContainsAny(lead, "=.(){};!+?|%/") || refuses(lead) {
		return d, false
	}
	// The line is the end of the text up to r.to, trimmed: where its parenthesis is follows from its own length.
	at := bytes.Index(r.masked[r.from:r.to], line)
	if at < 0 {
		return d, false
	}
	open := r.from + at + paren
	n := balancedParens(r.masked[open:])
	if n == 0 {
		return d, false
	}
	d = Definition{Name: name, Kind: Function}
	if i := strings.LastIndex(name, "::"); i >= 0 {
		d.Name, d.Container = strings.TrimPrefix(name[i+2:], "~"), name[:i]
		if j := strings.LastIndex(d.Container, "::"); j >= 0 {
			d.Container = d.Container[j+2:]
		}
	}
	d.Name = strings.TrimPrefix(d.Name, "~")
	switch r.follows(r.masked[open+n:]) {
	case '{':
		return d, true
	case ';':
		kind, in := r.inner()
		switch {
		case r.prototypes && len(lead) > 0 && !in:
			d.Kind = Declaration
			return d, true
		case in && kind.holds() && (len(lead) > 0 || kind == Interface):
			return d, true
		}
	}
	return d, false
}

// withoutParameters returns name for name<T>.
func withoutParameters(b []byte) []byte {
	if len(b) == 0 || b[len(b)-1] != '>' {
		return b
	}
	depth := 0
	for i := len(b) - 1; i >= 0; i-- {
		switch b[i] {
		case '>':
			depth++
		case '<':
			if depth--; depth == 0 {
				return b[:i]
			}
		}
	}
	return nil
}

// refuses reports whether a line that begins so declares nothing.
func refuses(lead []byte) bool {
	w, _ := cutWord(lead)
	return controls[w]
}

// balancedParens is balanced for parentheses alone.
func balancedParens(b []byte) int {
	depth := 0
	for i, c := range b[:min(len(b), 4096)] {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// follows tells what comes behind the parameters of a function: '{' for a body, ';' for none, 0 for anything else.
func (r *reader) follows(b []byte) byte {
	b = b[:min(len(b), 400)]
	sameLine := bytes.TrimLeft(b, " \t")
	next := bytes.TrimLeft(b, " \t\r\n")
	if len(next) == 0 {
		return 0
	}
	if next[0] == '{' || next[0] == ';' {
		return next[0]
	}
	if len(sameLine) == 0 {
		return 0
	}
	w, _ := cutWord(next)
	switch {
	case w == "throws" || w == "where" || w == "const" || w == "noexcept" || w == "override" || w == "final" || w == "volatile" || w == "async" || w == "sync":
	case has(sameLine, "=>") && r.name != "javascript":
		return '{'
	case has(sameLine, ":") || has(sameLine, "->") || has(sameLine, "= 0") || has(sameLine, "= default"):
	case has(next, ": ") && r.name == "c":
	default:
		return 0
	}
	depth := 0
	for i, c := range next {
		switch {
		case c == '(' || c == '<':
			depth++
		case c == ')' || c == '>' && next[i-1] != '-' && next[i-1] != '=':
			depth--
		case c == ';' && depth <= 0:
			return ';'
		case c == '{' && depth <= 0:
			return '{'
		case c == '\n' && r.name == "javascript" && depth <= 0:
			return ';'
		}
	}
	return 0
}

// propertyOf returns the field or property that a line behind modifiers declares: its type, its name, and what follows.
func propertyOf(line []byte) (d Definition, ok bool) {
	end := bytes.IndexAny(line, "={;")
	if end < 0 {
		end = len(line)
	}
	head := bytes.TrimRight(line[:end], " \t")
	i := len(head)
	for i > 0 && word(head[i-1]) {
		i--
	}
	kind := bytes.TrimSpace(head[:i])
	if i == len(head) || len(kind) == 0 || digit(head[i]) || bytes.ContainsAny(kind, "()\"") || refuses(kind) {
		return d, false
	}
	return Definition{Name: string(head[i:]), Kind: Field}, true
}

// property returns the function that a line of JavaScript gives a name: name: function, a.b = function, name = (x) =>.
func property(r *reader, line []byte) (d Definition, ok bool) {
	if r.local() {
		return d, false
	}
	line, _ = r.unmodified(line)
	name, rest := r.cutName(line)
	rest = bytes.TrimLeft(rest, " \t")
	if name == "" || digit(name[0]) || len(rest) < 2 || rest[0] != ':' && rest[0] != '=' || rest[1] == '=' || rest[1] == '>' {
		return d, false
	}
	value := bytes.TrimLeft(rest[1:], " \t")
	value = bytes.TrimLeft(bytes.TrimPrefix(value, []byte("async")), " \t")
	if !has(value, "function") && !has(value, "class") && !(has(value, "(") && bytes.Contains(value, []byte("=>"))) {
		return d, false
	}
	d = Definition{Name: name, Kind: Function}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		d.Name, d.Container = name[i+1:], strings.TrimSuffix(name[:i], ".prototype")
		if d.Container == "exports" || d.Container == "module.exports" {
			d.Container = ""
		}
	}
	return d, true
}

// assigned returns what finds a name that is given a value by one of the marks, at the outermost level or in a class.
func assigned(marks ...string) func(*reader, []byte) (Definition, bool) {
	return func(r *reader, line []byte) (d Definition, ok bool) {
		name, rest := r.cutName(line)
		if name == "" || digit(name[0]) || r.local() {
			return d, false
		}
		rest = bytes.TrimLeft(rest, " \t")
		if has(rest, ":") && r.name == "python" { // with a type
			if i := bytes.IndexByte(rest, '='); i > 0 {
				rest = rest[i:]
			}
		}
		for _, m := range marks {
			if !has(rest, m) || m == "=" && len(rest) > 1 && (rest[1] == '=' || rest[1] == '~' || rest[1] == '>') {
				continue
			}
			d = Definition{Name: name[strings.LastIndexAny(name, ".:")+1:], Kind: Variable}
			if m != "=" {
				d.Kind = Function
			}
			return d, d.Name != "" && (m != "=" || !strings.ContainsAny(name, ".:") && (r.name != "ruby" || name[0] >= 'A' && name[0] <= 'Z'))
		}
		return d, false
	}
}

func shellFunction(r *reader, line []byte) (d Definition, ok bool) {
	name, rest := r.cutName(line)
	rest = bytes.TrimLeft(rest, " \t")
	if name == "" || !has(rest, "(") || !has(bytes.TrimLeft(rest[1:], " \t"), ")") {
		return d, false
	}
	return Definition{Name: name, Kind: Function}, true
}

// sqlCreate returns what a statement creates.
func sqlCreate(_ *reader, line []byte) (d Definition, ok bool) {
	fields := strings.FieldsFunc(string(line[:min(len(line), 500)]), func(r rune) bool { return r == ' ' || r == '\t' || r == '(' || r == ';' })
	if len(fields) < 3 || !strings.EqualFold(fields[0], "create") {
		return d, false
	}
	created := map[string]Kind{
		"table": Table, "view": Table, "index": Table, "sequence": Table, "function": Function, "procedure": Function, "trigger": Function,
		"type": Type, "domain": Type, "schema": Module, "database": Module, "extension": Module,
	}
	for i, f := range fields[1 : len(fields)-1] {
		kind, known := created[strings.ToLower(f)]
		if !known {
			continue
		}
		rest := fields[i+2:]
		for len(rest) > 1 && words("if", "not", "exists", "concurrently")[strings.ToLower(rest[0])] {
			rest = rest[1:]
		}
		name := strings.Trim(rest[0], "\"`[]")
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			name = strings.Trim(name[i+1:], "\"`[]")
		}
		return Definition{Name: name, Kind: kind}, name != ""
	}
	return d, false
}

// lispForm returns what a form such as (defun name or (define (name defines.
func lispForm(_ *reader, line []byte) (d Definition, ok bool) {
	if !has(line, "(def") {
		return d, false
	}
	fields := bytes.FieldsFunc(line[1:min(len(line), 500)], func(r rune) bool { return r == ' ' || r == '\t' || r == '(' || r == ')' || r == '[' })
	i := 1
	for i < len(fields) && (fields[i][0] == '^' || fields[i][0] == ':') {
		i++
	}
	if i >= len(fields) {
		return d, false
	}
	kind := Function
	switch string(fields[0]) {
	case "def", "defvar", "defparameter", "defcustom", "defonce":
		kind = Variable
	case "defconst", "defconstant":
		kind = Constant
	case "defmacro":
		kind = Macro
	case "defstruct", "defrecord", "deftype":
		kind = Struct
	case "defclass", "defprotocol":
		kind = Class
	case "define":
		if !bytes.Contains(line, []byte("(define (")) {
			kind = Variable
		}
	}
	return Definition{Name: strings.Trim(string(fields[i]), "'\""), Kind: kind}, true
}

// signature returns the function of Haskell that a line gives a type.
func signature(r *reader, line []byte) (d Definition, ok bool) {
	name, rest := cutWord(line)
	if name == "" || !has(bytes.TrimLeft(rest, " \t'"), "::") || r.local() {
		return d, false
	}
	return Definition{Name: name, Kind: Function}, true
}

// makeTarget returns the target or the variable of a makefile.
func makeTarget(r *reader, line []byte) (d Definition, ok bool) {
	if r.text[r.from] == '\t' || line[0] == '.' {
		return d, false
	}
	i := bytes.IndexAny(line, ":=")
	if i <= 0 {
		return d, false
	}
	name := string(bytes.TrimRight(line[:i], " \t?+:"))
	switch {
	case name == "" || strings.ContainsAny(name, " \t$%("):
		return d, false
	case line[i] == '=' || bytes.HasPrefix(line[i:], []byte(":=")) || bytes.HasPrefix(line[i:], []byte("::=")):
		return Definition{Name: name, Kind: Variable}, true
	}
	return Definition{Name: name, Kind: Target}, true
}

// heading returns the heading that a line of a document is.
func heading(r *reader, line []byte) (d Definition, ok bool) {
	if has(line, "```") || has(line, "~~~") {
		r.fenced = !r.fenced
		return d, false
	}
	name := bytes.TrimLeft(line, "#")
	if depth := len(line) - len(name); r.fenced || depth == 0 || depth > 6 || !has(name, " ") {
		return d, false
	}
	name, _, _ = bytes.Cut(name[:min(len(name), 200)], []byte("<!--"))
	return Definition{Name: string(bytes.Trim(name, " #")), Kind: Heading}, true
}

// define notes a macro of C.
func (r *reader) define(line []byte) {
	line = bytes.TrimLeft(line[1:], " \t")
	if !has(line, "define") {
		return
	}
	if name, _ := cutWord(bytes.TrimLeft(line[len("define"):], " \t")); name != "" {
		d := Definition{Name: name, Kind: Macro, Line: r.number, End: r.number, Doc: r.number}
		if r.above > 0 {
			d.Doc = r.above
		}
		r.list = append(r.list, d)
	}
	r.above = 0
}
