package symbols

import (
	"bytes"
	"strings"
)

// reader finds the definitions of one file, line by line.
type reader struct {
	*language
	text, masked []byte
	list         []Definition
	// frames are the definitions that the line may be part of, the innermost last.
	frames []frame
	// from and to are the bounds of the line, number is its number, last that of the last line that was not blank.
	from, to     int
	number, last int
	// above is where the comments and attributes right above the line begin, 0 where there are none.
	above  int
	fenced bool // in a block of code of a document
}

type frame struct {
	indent int
	name   string
	kind   Kind
	index  int // in the list, -1 for what is not in it
}

// maxFrames bounds how deep definitions are nested.
const maxFrames = 64

// read returns the definitions in text.
func (l *language) read(text []byte) []Definition {
	r := &reader{language: l, text: text, masked: l.mask(text)}
	for r.to = -1; r.to < len(text) && len(r.list) < MaxDefinitions; {
		r.from = r.to + 1
		if r.from >= len(text) {
			break
		}
		r.to = r.from + lineEnd(text[r.from:])
		r.number++
		r.line()
	}
	r.close(-1, r.last)
	return r.list
}

func (r *reader) line() {
	masked := bytes.TrimRight(r.masked[r.from:r.to], " \t\r")
	line := bytes.TrimLeft(masked, " \t")
	if len(line) == 0 {
		r.blankLine()
		return
	}
	indent := width(masked[:len(masked)-len(line)])
	defer func() { r.last = r.number }()
	switch {
	case line[0] == '#' && r.cppRaw:
		r.define(line)
		return
	case attribute(line):
		if r.above == 0 {
			r.above = r.number
		}
		if line = afterAttributes(line); len(line) == 0 {
			return
		}
	case line[0] == '{' || line[0] == ')':
		return // of a definition that began above
	case line[0] == '}':
		r.close(indent, r.number)
		r.above = 0
		return
	case bytes.Equal(line, []byte("end")):
		r.close(indent, r.number)
		return
	}
	r.close(indent, r.last)
	if d, ok := r.declared(line); ok {
		r.add(d, indent)
	}
	r.above = 0
}

// blankLine notes where comments begin. A line without anything ends them.
func (r *reader) blankLine() {
	if len(bytes.TrimSpace(r.text[r.from:r.to])) == 0 {
		r.above = 0
	} else if r.above == 0 {
		r.above = r.number
	}
}

func width(space []byte) (n int) {
	for _, c := range space {
		if c == '\t' {
			n += 4
		} else {
			n++
		}
	}
	return n
}

// attribute reports whether a line begins with a decorator, an annotation or an attribute.
func attribute(line []byte) bool {
	return line[0] == '@' && len(line) > 1 && word(line[1]) && !bytes.HasPrefix(line, []byte("@inter")) && !bytes.HasPrefix(line, []byte("@impl")) &&
		!bytes.HasPrefix(line, []byte("@protocol")) || has(line, "#[") || has(line, "[[")
}

// afterAttributes returns what follows the attributes that a line begins with.
func afterAttributes(line []byte) []byte {
	for len(line) > 0 && attribute(line) {
		i := 1
		for i < len(line) && (word(line[i]) || line[i] == '.') {
			i++
		}
		if i < len(line) && (line[i] == '(' || line[i] == '[') {
			n := balanced(line[i:])
			if n == 0 {
				return nil
			}
			i += n
		}
		line = bytes.TrimLeft(line[i:], " \t]")
	}
	return line
}

// close ends the definitions that are indented as far as that, or farther, with a line.
func (r *reader) close(indent, line int) {
	for len(r.frames) > 0 {
		f := r.frames[len(r.frames)-1]
		if f.indent < indent {
			return
		}
		if f.index >= 0 {
			r.list[f.index].End = max(line, r.list[f.index].Line)
		}
		r.frames = r.frames[:len(r.frames)-1]
	}
}

// inner returns the kind of the innermost definition that the line is in, and whether there is one.
func (r *reader) inner() (Kind, bool) {
	if len(r.frames) == 0 {
		return outer, false
	}
	return r.frames[len(r.frames)-1].kind, true
}

// local reports whether the line is in a function.
func (r *reader) local() bool {
	kind, in := r.inner()
	return in && !kind.holds()
}

// add notes a definition. What has no name, such as "X::()" in broken code, is none.
func (r *reader) add(d Definition, indent int) {
	if d.Name == "" && d.Kind != outer {
		return
	}
	kind, in := r.inner()
	if in && d.Container == "" && kind.holds() {
		d.Container = r.frames[len(r.frames)-1].name
	}
	switch d.Kind {
	case Function:
		if in && (kind.holds() && kind != Module) || d.Container != "" && kind != Module {
			d.Kind = Method
		}
	case Variable, Constant, Field:
		if r.local() {
			return
		}
	}
	f := frame{indent: indent, name: d.Name, kind: d.Kind, index: -1}
	if d.Kind != outer {
		d.Line, d.End, d.Doc = r.number, r.number, r.number
		if r.above > 0 {
			d.Doc = r.above
		}
		f.index = len(r.list)
		r.list = append(r.list, d)
	}
	if len(r.frames) < maxFrames {
		r.frames = append(r.frames, f)
	}
}

// declared returns what a line declares.
func (r *reader) declared(line []byte) (Definition, bool) {
	rest, modified := r.unmodified(line)
	w, after := cutWord(rest)
	if r.fold {
		w = strings.ToLower(w)
	}
	if kind, ok := r.keywords[w]; ok {
		if d, ok := r.named(kind, w, after); ok {
			return d, true
		}
	}
	if r.shapes && !r.local() {
		if d, ok := r.shape(rest); ok {
			return d, true
		}
	}
	if r.properties && modified && !r.local() {
		if d, ok := propertyOf(rest); ok {
			return d, true
		}
	}
	if r.special != nil {
		return r.special(r, line)
	}
	return Definition{}, false
}

// unmodified returns a line without the modifiers that it begins with, and whether there are some.
func (r *reader) unmodified(line []byte) ([]byte, bool) {
	modified := false
	for {
		w, after := cutWord(line)
		if !r.modifiers[w] || w == "" {
			return line, modified
		}
		if len(after) > 0 && (after[0] == '(' && w == "pub" || after[0] == '<' || has(after, " <") && w == "template") { // pub(crate), template <...>
			after = bytes.TrimLeft(after, " ")
			n := balanced(after)
			if n == 0 {
				return line, modified
			}
			after = after[n:]
		}
		trimmed := bytes.TrimLeft(after, " \t")
		if len(trimmed) == 0 || !word(trimmed[0]) && trimmed[0] != '*' && trimmed[0] != '"' && trimmed[0] != '~' && trimmed[0] != '#' {
			return line, modified // the word is a name here
		}
		if trimmed[0] == '"' { // extern "C"
			if i := bytes.IndexByte(trimmed[1:], '"'); i >= 0 {
				trimmed = bytes.TrimLeft(trimmed[i+2:], " \t")
			}
		}
		line, modified = trimmed, true
	}
}

// cutWord returns the name at the beginning of a line and what follows it. An @ may begin it.
func cutWord(line []byte) (string, []byte) {
	i := 0
	if len(line) > 0 && line[0] == '@' {
		i = 1
	}
	for i < len(line) && word(line[i]) {
		i++
	}
	return string(line[:i]), line[i:]
}

// balanced returns the length of what is in the brackets that b begins with, with them; 0 where they are not closed.
func balanced(b []byte) int {
	depth := 0
	for i, c := range b[:min(len(b), 4096)] {
		switch c {
		case '(', '[', '{', '<':
			depth++
		case '>':
			if i > 0 && (b[i-1] == '-' || b[i-1] == '=') {
				continue
			}
			depth--
		case ')', ']', '}':
			depth--
		}
		if depth == 0 {
			return i + 1
		}
	}
	return 0
}

// named returns the definition that a keyword declares, given what follows the keyword.
func (r *reader) named(kind Kind, keyword string, after []byte) (d Definition, ok bool) {
	if len(after) == 0 || word(after[0]) {
		return d, false
	}
	after = bytes.TrimLeft(after, " \t*&!")
	if len(after) > 0 && (after[0] == '<' || after[0] == '(' && r.name == "go") { // parameters of type, the receiver of a method
		after = bytes.TrimLeft(after[balanced(after):], " \t")
	}
	if keyword == "impl" {
		return implementation(after)
	}
	if keyword == "enum" { // enum class of C++ and Kotlin
		if w, rest := cutWord(after); w == "class" || w == "struct" {
			after = bytes.TrimLeft(rest, " \t")
		}
	}
	name, rest := r.cutName(after)
	if n := balanced(rest); n > 0 && rest[0] == '<' && has(rest[n:], ".") && r.name == "kotlin" { // fun List<T>.name()
		own, further := r.cutName(rest[n+1:])
		name, rest = name+"."+own, further
	}
	if name == "" || digit(name[0]) {
		return d, false
	}
	d = Definition{Name: name, Kind: kind}
	if i := strings.LastIndexAny(name, r.joins); i >= 0 && r.joins != "" && r.name != "shell" && r.name != "powershell" {
		d.Name, d.Container = name[i+1:], strings.Trim(name[:i], ".:")
		if d.Container == "self" {
			d.Container = ""
		}
	}
	if kind == Module { // it keeps its whole name
		d.Name, d.Container = name, ""
	}
	if r.strict && kind.holds() {
		return r.body(d, rest)
	}
	if kind == Constant || kind == Variable {
		value := bytes.TrimSpace(rest)
		if bytes.Contains(value, []byte("=>")) || bytes.Contains(value, []byte("function")) {
			d.Kind = Function
		}
	}
	return d, d.Name != ""
}

// cutName returns the name at the beginning of b, with what may join its parts, and what follows it.
func (r *reader) cutName(b []byte) (string, []byte) {
	i := 0
	for i < len(b) && (word(b[i]) || i > 0 && i+1 < len(b) && strings.IndexByte(r.joins, b[i]) >= 0 && (word(b[i+1]) || b[i+1] == ':' && b[i] == ':') || b[i] == '$') {
		i++
	}
	if i > 0 && i < len(b) && strings.IndexByte(r.tails, b[i]) >= 0 && (b[i] != '=' || i+1 < len(b) && b[i+1] == '(') {
		i++
	}
	return string(b[:i]), b[i:]
}

// body has a class count only where a body, or what it derives from, follows its name: the last one before them.
func (r *reader) body(d Definition, rest []byte) (Definition, bool) {
	for {
		rest = bytes.TrimLeft(rest, " \t")
		if len(rest) == 0 {
			return d, true
		}
		switch c := rest[0]; {
		case c == '{' || c == ':' || c == '<':
			return d, true
		case c == '(':
			return d, r.name != "c"
		case c == ';':
			return d, r.name == "csharp" // a record, or a namespace of the whole file
		case !word(c):
			return d, false
		}
		var w string
		switch w, rest = cutWord(rest); w {
		case "extends", "implements", "with", "on", "permits", "where", "final":
			return d, true
		}
		d.Name = w // class EXPORTED Name
		if next := bytes.TrimLeft(rest, " \t"); len(next) == 0 || next[0] != '{' && next[0] != ':' && !has(next, "final") {
			return d, false
		}
	}
}

// implementation returns what an impl block of Rust is about.
func implementation(after []byte) (d Definition, ok bool) {
	if i := bytes.Index(after, []byte(" for ")); i >= 0 {
		after = after[i+len(" for "):]
	}
	after = bytes.TrimLeft(after, " &*")
	name, rest := cutWord(after)
	for has(rest, "::") {
		name, rest = cutWord(rest[2:])
	}
	return Definition{Name: name, Kind: outer}, name != ""
}
