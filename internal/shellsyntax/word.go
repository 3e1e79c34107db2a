package shellsyntax

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces is how many words braces may make of one before they count as unknown.
const maxBraces = 64

// expander makes the words of a command from one word of its source.
type expander struct {
	a   *analyser
	c   ctx
	st  *state
	src string
	// whole is set where the word is not split: assignments, redirections, here-documents.
	whole bool
	// here is set in a here-document, where quotes are no quotes.
	here bool
	cur  *field
	out  []arg
}

// words expands the words of a command.
func (a *analyser) words(c ctx, st *state, list []*syntax.Word) []arg {
	out := make([]arg, 0, len(list))
	for _, w := range list {
		out = a.expand(c, st, w, out)
	}
	return out
}

// expand appends what becomes of one word of a command.
func (a *analyser) expand(c ctx, st *state, w *syntax.Word, out []arg) []arg {
	src := text(c.src, w.Pos(), w.End())
	if src == "" {
		src = "?"
	}
	variants, ok := []*syntax.Word{w}, true
	if !c.posix {
		variants, ok = braces(w)
	}
	if !ok {
		e := expander{a: a, c: c, st: st, src: src, cur: newField()}
		e.parts(w.Parts, false)
		return append(out, arg{form: formOpaque, many: true, src: src})
	}
	for _, v := range variants {
		e := expander{a: a, c: c, st: st, src: src, cur: newField(), out: out}
		e.parts(v.Parts, false)
		e.flush()
		out = e.out
	}
	return out
}

// one expands a word that stays one.
func (a *analyser) one(c ctx, st *state, w *syntax.Word) arg {
	if w == nil {
		return exactly("")
	}
	e := expander{a: a, c: c, st: st, src: text(c.src, w.Pos(), w.End()), whole: true, cur: newField()}
	e.parts(w.Parts, false)
	got := e.cur.finish(e.src)
	if got.glob { // no names are put in here; a pattern stays as it is
		return arg{text: e.cur.text.String(), src: e.src}
	}
	return got
}

// flush ends the word at hand.
func (e *expander) flush() {
	if e.cur.started {
		e.out = append(e.out, e.cur.finish(e.src))
	}
	e.cur = newField()
}

func (e *expander) parts(parts []syntax.WordPart, quoted bool) {
	if e.a.expanded += len(parts); e.a.expanded > maxWords {
		e.a.poison("the command has too many words to be followed")
		e.a.steps = maxSteps + 1 // nothing more is followed
		e.unknown(arg{form: formOpaque}, quoted)
		return
	}
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			e.lit(p.Value, quoted, i == 0 && !quoted, i == len(parts)-1)
		case *syntax.SglQuoted:
			e.single(p)
		case *syntax.DblQuoted:
			e.double(p)
		case *syntax.ParamExp:
			e.param(p, quoted)
		case *syntax.CmdSubst:
			num := e.numeric(p)
			e.a.substitution(e.c, e.st, p.Stmts, "substitution")
			e.unknown(arg{form: formOpaque, num: num}, quoted)
		case *syntax.ArithmExp:
			e.a.arith(e.c, e.st, p.X)
			e.unknown(arg{form: formOpaque, num: true}, true)
		case *syntax.ProcSubst:
			e.a.substitution(e.c, e.st, p.Stmts, "process substitution")
			e.unknown(arg{form: formOpaque, fd: true}, true)
		case *syntax.ExtGlob:
			if rawSubstitution(p.Pattern.Value, false) {
				e.a.poison("a pattern holds a substitution that cannot be followed")
			}
			e.cur.literal("*", false)
			e.cur.opaque(arg{form: formOpaque}, true)
		default:
			e.a.poison("a part of a word cannot be read")
			e.unknown(arg{form: formOpaque}, quoted)
		}
	}
}

// unknown adds a part that is not known. Unless it is quoted it may be split and hold wildcards.
func (e *expander) unknown(piece arg, quoted bool) {
	if !quoted && !e.whole && !piece.num {
		if i := strings.IndexAny(piece.text, " \t\n*?["); i >= 0 {
			piece.text = piece.text[:i]
		}
		e.cur.opaque(piece, true)
		return
	}
	e.cur.opaque(piece, false)
}

func (e *expander) double(p *syntax.DblQuoted) {
	if p.Dollar {
		e.unknown(arg{form: formOpaque}, true) // translated
		e.parts(p.Parts, true)
		return
	}
	if len(p.Parts) == 1 {
		if pe, ok := p.Parts[0].(*syntax.ParamExp); ok && e.list(pe) {
			return
		}
	}
	e.cur.literal("", true)
	here := e.here
	e.here = false
	e.parts(p.Parts, true)
	e.here = here
}

// notQuoted makes sure that single quotes hide nothing in an expansion that is in double quotes or in a here-document. The
// parser takes them for quotes; the shell takes them for characters, and expands what is between them.
func (a *analyser) notQuoted(p *syntax.ParamExp) {
	syntax.Walk(p, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // a text of its own
		case *syntax.SglQuoted:
			if strings.ContainsAny(n.Value, "}\"\\$`") {
				a.poison("single quotes in a quoted expansion are no quotes for a shell, and may hide commands")
			}
		}
		return true
	})
}

// list expands "$@" and "${a[@]}", each element a word of its own.
func (e *expander) list(p *syntax.ParamExp) bool {
	words, ok := e.elements(p)
	if !ok {
		return false
	}
	if words == nil {
		e.cur.opaque(arg{form: formOpaque}, true)
		return true
	}
	for i, w := range words {
		if i > 0 {
			e.flush()
		}
		e.cur.soft = e.cur.soft || w.soft
		if w.exact() {
			e.cur.literal(w.text, true)
		} else {
			e.cur.opaque(w, w.many)
		}
	}
	return true
}

// elements returns what "$@" or "${a[@]}" stands for, nil where that is not known, and false for anything else.
func (e *expander) elements(p *syntax.ParamExp) ([]arg, bool) {
	if p.Param == nil || !plain(p) {
		return nil, false
	}
	if p.Param.Value == "@" && p.Index == nil {
		args, known := e.a.arguments(e.c, e.st, e.c.at(p))
		if !known || e.whole {
			return nil, true
		}
		return append([]arg{}, args...), true
	}
	w, ok := p.Index.(*syntax.Word)
	if !ok || w.Lit() != "@" {
		return nil, false
	}
	t := e.c.facts.last(p.Param.Value, e.c.at(p))
	if t == nil || t.value == nil || !t.value.array || e.whole {
		return nil, true
	}
	return append([]arg{}, t.value.list...), true
}

// plain reports whether the expansion has neither operator nor prefix; it may have an index.
func plain(p *syntax.ParamExp) bool {
	return p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil &&
		p.Split == syntax.OptUnset && p.GlobSubst == syntax.OptUnset && p.RcExpand == syntax.OptUnset
}

func (e *expander) param(p *syntax.ParamExp, quoted bool) {
	if quoted {
		e.a.notQuoted(p)
	}
	e.a.paramParts(e.c, e.st, p)
	if p.Param == nil {
		e.a.poison("an expansion without a name cannot be followed")
		e.unknown(arg{form: formOpaque}, quoted)
		return
	}
	name := p.Param.Value
	switch {
	case p.Length:
		e.unknown(arg{form: formOpaque, num: true}, quoted)
		return
	case name == "@" || name == "*" || p.Index != nil || !plain(p):
		if name == "@" || name == "*" && !quoted {
			e.cur.opaque(arg{form: formOpaque}, true)
			return
		}
		if p.Index != nil && quoted {
			if w, ok := p.Index.(*syntax.Word); ok && w.Lit() == "@" {
				e.cur.opaque(arg{form: formOpaque}, true)
				return
			}
		}
		e.unknown(arg{form: formOpaque}, quoted)
		return
	}
	v := e.a.variable(e.c, e.st, name, e.c.at(p))
	e.cur.soft = e.cur.soft || v.soft
	switch {
	case !v.exact():
		e.unknown(v, quoted)
	case quoted || e.whole:
		e.cur.literal(v.text, true)
	default:
		e.split(v)
	}
}

// split adds a known value that is not quoted: blanks in it separate words, and wildcards count.
func (e *expander) split(v arg) {
	value := v.text
	for i, word := range strings.FieldsFunc(value, isBlank) {
		if i > 0 || isBlank(rune(value[0])) {
			e.flush()
			e.cur.soft = v.soft
		}
		e.cur.literal(word, false)
	}
	if value != "" && isBlank(rune(value[len(value)-1])) {
		e.flush()
	}
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// arguments returns the positional parameters where they are used, false where they are not known.
func (a *analyser) arguments(c ctx, st *state, at use) ([]arg, bool) {
	if t := c.facts.last(arguments, at); t != nil && t.value != nil {
		return t.value.list, true
	}
	if c.facts.wild || len(c.facts.names[arguments]) > 0 || !st.argsKnown {
		return nil, false
	}
	return st.args, true
}

// variable returns what is known of a parameter where it is used.
func (a *analyser) variable(c ctx, st *state, name string, at use) arg {
	unknown := arg{form: formOpaque}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		args, known := a.arguments(c, st, at)
		n := int(name[0] - '1')
		switch {
		case !known || slices.ContainsFunc(args, func(a arg) bool { return a.many }):
			return unknown
		case n < len(args):
			return args[n]
		}
		return arg{soft: true}
	}
	if t := c.facts.last(name, at); t != nil && t.value != nil && !t.value.array {
		return t.value.arg
	}
	if c.facts.number(name, at) || name == "?" || name == "#" || name == "$" {
		return arg{form: formOpaque, num: true}
	}
	if c.facts.wild || len(c.facts.names[name]) > 0 {
		return unknown
	}
	if dynamic(name) {
		return arg{form: formOpaque, num: true}
	}
	if name == "HOME" && a.w.Home != "" {
		return arg{text: a.w.Home, soft: true}
	}
	if a.w.Var != nil && name != "_" {
		if value, ok := a.w.Var(name); ok && !strings.Contains(value, unresolved) {
			return arg{text: value, soft: true}
		}
	}
	return unknown
}

// paramParts follows what is nested in an expansion, and what it does besides expanding.
func (a *analyser) paramParts(c ctx, st *state, p *syntax.ParamExp) {
	if p.Excl && p.Names == 0 {
		a.poison("${!...} expands a variable whose name is only known when it runs")
	}
	if p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 || p.Width || p.IsSet {
		a.poison("an expansion cannot be followed")
	}
	if p.Index != nil {
		a.subscript(c, st, p.Param, p.Index)
	}
	if p.Slice != nil {
		a.arith(c, st, p.Slice.Offset)
		a.arith(c, st, p.Slice.Length)
	}
	if p.Repl != nil {
		a.one(c, st, p.Repl.Orig)
		a.one(c, st, p.Repl.With)
	}
	if p.Exp == nil {
		return
	}
	value := a.one(c, st, p.Exp.Word)
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		if !value.exact() || !strings.Contains("UuLQEAaKk", value.text) || len(value.text) != 1 {
			a.poison("${...@" + value.text + "} may run commands that are in the value")
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Param != nil {
			a.assignName(st, p.Param.Value, nil)
		}
	}
}

// numeric reports whether a substitution is surely a number.
func (e *expander) numeric(p *syntax.CmdSubst) bool {
	if len(p.Stmts) != 1 {
		return false
	}
	stmt := p.Stmts[0]
	for {
		b, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe {
			break
		}
		stmt = b.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	name := call.Args[0].Lit()
	if e.st.funcs[name] != nil || e.st.aliases != nil {
		return false
	}
	rest := call.Args[1:]
	switch name {
	case "wc":
		return len(rest) == 1 && slices.Contains([]string{"-l", "-c", "-w", "-m"}, rest[0].Lit())
	case "nproc":
		return len(rest) == 0
	case "date":
		return len(rest) == 1 && rest[0].Lit() == "+%s"
	}
	return false
}

// dynamic reports whether the shell itself makes the value of a variable, which is a number.
func dynamic(name string) bool {
	switch name {
	case "PPID", "UID", "EUID", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "EPOCHSECONDS", "HISTCMD":
		return true
	}
	return false
}
