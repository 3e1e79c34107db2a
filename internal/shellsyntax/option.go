package shellsyntax

import (
	"strings"

	"github.com/tongs-ai/tongs"
)

// options describes the options of a program, as words separated by blanks. "n" is a flag; "n:" takes a value, attached
// or as the next word; "n::" takes two values; "n?" takes a value only if it is attached; "#" stands for a number such
// as -3. One letter is a short option, more are a long one. After a slash stands what the option means:
//
//	read, write, delete  its value is such a path
//	list                 its value is a file that names others to read
//	counts               the same, but only numbers of what it reads come out
//	run                  it runs a program, or its value is code
//	writes, deletes      it changes what cannot be told
//	dir                  the program works in that directory
//	script               its value is a command for a shell
//	env                  its value is an assignment
//	stop                 no command follows
//	code                 its value is code; what follows is for the code
//	last                 what follows is for what its value names
//
// Only the full names of options are known. A prefix of a long option counts as one that is not.
type options string

// option is an option that was given.
type option struct {
	name, role string
	values     []arg
}

func (o option) value() arg {
	if len(o.values) == 0 {
		return exactly("")
	}
	return o.values[len(o.values)-1]
}

// given are the arguments of a program, sorted out.
type given struct {
	options  []option
	operands []arg
	// strange are options that the table does not know.
	strange []arg
	// maybe is a word that may turn out to be any option, nil where there is none.
	maybe *arg
	// rest is what follows the operands, where parsing stopped at the first.
	rest []arg
}

func (g *given) has(names ...string) bool {
	for _, o := range g.options {
		for _, name := range names {
			if o.name == name {
				return true
			}
		}
	}
	return false
}

// find returns what the table says of an option.
func (t options) find(name string) (kind, role string, ok bool) {
	for word := range strings.FieldsSeq(string(t)) {
		if !strings.HasPrefix(word, name) {
			continue
		}
		spec, role, _ := strings.Cut(word, "/")
		switch kind := spec[min(len(name), len(spec)):]; kind {
		case "", ":", "::", "?":
			if len(spec) >= len(name) {
				return kind, role, true
			}
		}
	}
	return "", "", false
}

// hasRole reports whether an option of the table has one of the roles.
func (t options) hasRole(roles ...string) bool {
	for _, role := range roles {
		if strings.Contains(string(t)+" ", "/"+role+" ") || strings.Contains(string(t), "/"+role+"\n") {
			return true
		}
	}
	return false
}

// parse sorts out the words after a program's name. Where first is set, parsing stops before the first operand.
func (t options) parse(words []arg, first bool) given {
	p := parser{table: t, words: words}
	for p.i < len(p.words) {
		w := p.words[p.i]
		switch {
		case w.is("--"):
			p.operands = append(p.operands, p.words[p.i+1:]...)
			if first {
				p.rest, p.operands = p.operands, nil
			}
			return p.given
		case strings.HasPrefix(w.text, "--"):
			p.long(w)
		case strings.HasPrefix(w.text, "-") && !w.is("-"):
			p.short(w)
		case first:
			p.rest = p.words[p.i:]
			return p.given
		default:
			if !w.exact() && !w.fd && !w.solid && (w.text == "" || w.many && !w.glob) {
				p.noteUnsureOption(&p.words[p.i])
			}
			p.operands = append(p.operands, w)
		}
		p.i++
		if n := len(p.options); n > 0 && (p.options[n-1].role == "code" || p.options[n-1].role == "last") {
			p.rest = p.words[min(p.i, len(p.words)):]
			return p.given
		}
	}
	return p.given
}

type parser struct {
	given
	table options
	words []arg
	i     int
}

// noteUnsureOption notes a word that may be an option; one that may be any option outweighs the name of a file.
func (p *parser) noteUnsureOption(w *arg) {
	if p.maybe == nil || p.maybe.here() {
		p.maybe = w
	}
}

// next takes the following word as a value.
func (p *parser) next(w arg) (arg, bool) {
	if p.i+1 >= len(p.words) {
		p.strange = append(p.strange, w)
		return arg{}, false
	}
	p.i++
	v := p.words[p.i]
	if v.many {
		p.noteUnsureOption(&p.words[p.i])
	}
	return v, true
}

// rest returns what follows the first n bytes of a word, which is known at least that far.
func (w arg) after(n int) arg {
	w.text = w.text[n:]
	w.below, w.fd = false, false
	return w
}

func (p *parser) long(w arg) {
	name, _, attached := strings.Cut(w.text[2:], "=")
	if !w.exact() && !attached {
		p.strange = append(p.strange, w)
		return
	}
	kind, role, ok := "", "", false
	if len(name) > 1 {
		kind, role, ok = p.table.find(name)
	}
	if !ok || attached && kind == "" || w.many && !w.glob {
		p.strange = append(p.strange, w)
		return
	}
	o := option{name: name, role: role}
	switch {
	case attached:
		o.values = []arg{w.after(len(name) + 3)}
	case kind == ":" || kind == "::":
		if !p.values(&o, w, len(kind)) {
			return
		}
	}
	p.options = append(p.options, o)
}

func (p *parser) values(o *option, w arg, n int) bool {
	for range n {
		v, ok := p.next(w)
		if !ok {
			return false
		}
		o.values = append(o.values, v)
	}
	return true
}

func (p *parser) short(w arg) {
	if w.many && !w.glob {
		p.strange = append(p.strange, w)
		return
	}
	if w.exact() && strings.Trim(w.text[1:], "0123456789") == "" {
		if _, _, ok := p.table.find("#"); ok {
			p.options = append(p.options, option{name: "#", values: []arg{w}})
			return
		}
	}
	for i := 1; i < len(w.text); i++ {
		kind, role, ok := p.table.find(w.text[i : i+1])
		if !ok {
			p.strange = append(p.strange, w)
			return
		}
		o := option{name: w.text[i : i+1], role: role}
		switch {
		case kind == "":
			p.options = append(p.options, o)
			continue
		case i+1 < len(w.text) || !w.exact():
			o.values = []arg{w.after(i + 1)}
		case kind == ":" || kind == "::":
			if !p.values(&o, w, len(kind)) {
				return
			}
		}
		p.options = append(p.options, o)
		return
	}
	if !w.exact() {
		p.strange = append(p.strange, w)
	}
}

// follow adds what the options of a program do. Where known is set, the table has every option that is not harmless, so
// that a word which may turn out to be an option is one of them at worst.
func (a *analyser) follow(c ctx, st *state, program string, t options, g given, known bool) {
	for _, o := range g.options {
		a.role(c, st, program, o)
	}
	for _, w := range g.strange {
		a.poison("what " + program + " does with " + w.src + " is not known")
	}
	if g.maybe == nil {
		return
	}
	why := g.maybe.src + " may turn out to be an option of " + program
	if !known || t.hasRole("run", "code", "script", "env") {
		a.poison(why)
	}
	if t.hasRole("write", "writes") {
		a.unknown(tongs.EffectWrite, why)
	}
	if t.hasRole("delete", "deletes") {
		a.unknown(tongs.EffectDelete, why)
	}
	if t.hasRole("list", "dir") || t.hasRole("read", "counts") && !g.maybe.here() {
		a.unknown(tongs.EffectRead, why)
	}
}

// role adds what one option does.
func (a *analyser) role(c ctx, st *state, program string, o option) {
	dashes := "-"
	if len(o.name) > 1 {
		dashes = "--"
	}
	name := program + " " + dashes + o.name
	switch o.role {
	case "read":
		a.path(st, tongs.EffectRead, o.value())
	case "write":
		if !o.value().is("-") {
			a.path(st, tongs.EffectWrite, o.value())
		}
	case "list", "counts":
		a.path(st, tongs.EffectRead, o.value())
		a.unknown(tongs.EffectRead, name+" reads files that are only known when it runs")
	case "run":
		a.poison(name + " makes it run something of its own")
	case "code":
		a.poison(name + " is code, and what it does cannot be told")
	case "writes":
		a.unknown(tongs.EffectWrite, name+" writes files that are only known when it runs")
	case "deletes":
		a.unknown(tongs.EffectDelete, name+" deletes files that are only known when it runs")
	case "dir":
		a.workIn(st, o.value())
	case "env":
		a.giveWord(st, o.value())
	}
}
