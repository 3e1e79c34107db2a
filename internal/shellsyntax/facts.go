package shellsyntax

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// facts are what a whole text does to its variables, told before any of it is followed.
//
// The value of a variable is known only where the text touches the variable in one place, and the use is where that
// place must have run just before: later in the same list. Nothing is known of a variable that two places touch, of one
// that the shell itself sets, and of any variable of a text that can touch variables which it does not name, as eval
// and source do. A value is sure enough to name a command only where the place is a plain assignment of a literal that
// runs once, whatever happens; any other value is soft.
type facts struct {
	// wild is set where any variable may be touched.
	wild  bool
	names map[string][]*touch
	// places are the touches by the node that makes them.
	places map[syntax.Node]*touch
	// computed are the calls whose command is not known before the walk.
	computed map[syntax.Node]bool
	stack    []syntax.Node
	file     *syntax.File
}

// touch is one place that may change a variable.
type touch struct {
	// from and to are where in the text the touch was the last to run before; both are 0 where that is nowhere.
	from, to uint
	// once is set where it runs exactly once, before everything that stands behind it; top is then its statement.
	once bool
	top  *syntax.Stmt
	// number is set where it gives a number, keyed where it makes an associative array, item where it only changes what
	// an array holds.
	number, keyed, item bool
	// freezes is set where it may make the variable read-only.
	freezes bool
	// in is the function that it stands in, nil outside of functions.
	in *syntax.FuncDecl
	// value is what it gave when it was last followed, nil where that is not known.
	value *value
}

// value is what is known of a variable.
type value struct {
	arg arg
	// list are the elements of an array.
	list  []arg
	array bool
}

// arguments is the name by which facts know the positional parameters.
const arguments = "@"

// nothing are the facts of a text of which nothing is known.
var nothing = &facts{wild: true}

// gather returns the facts of a text.
func gather(file *syntax.File) *facts {
	f := &facts{
		names: map[string][]*touch{}, places: map[syntax.Node]*touch{}, computed: map[syntax.Node]bool{}, file: file,
	}
	syntax.Walk(file, f.visit)
	for _, list := range f.names {
		for _, t := range list {
			if t.top != nil {
				t.to = f.unit(t.top, t.from)
			}
		}
	}
	return f
}

func (f *facts) visit(n syntax.Node) bool {
	if n == nil {
		f.stack = f.stack[:len(f.stack)-1]
		return true
	}
	f.stack = append(f.stack, n)
	switch n := n.(type) {
	case *syntax.Assign:
		f.assign(n)
	case *syntax.DeclClause:
		f.wild = f.wild || n.Variant.Value == "nameref"
	case *syntax.ForClause:
		f.loop(n)
	case *syntax.BinaryArithm:
		if assigns(n.Op) {
			f.calculated(n.X, n.Op == syntax.Assgn)
		}
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			f.calculated(n.X, false)
		}
	case *syntax.ParamExp:
		if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			f.add(n.Param.Value, n)
		}
	case *syntax.Redirect:
		if n.N != nil {
			f.add(strings.Trim(n.N.Value, "{}"), n)
		}
	case *syntax.CoprocClause:
		f.wild = true
	case *syntax.CallExpr:
		f.call(n, n.Args)
	}
	return true
}

// add notes that a node touches a variable.
func (f *facts) add(name string, n syntax.Node) *touch {
	t := &touch{in: f.function()}
	f.names[name] = append(f.names[name], t)
	f.places[n] = t
	return t
}

// function returns the function that the node at hand stands in.
func (f *facts) function() *syntax.FuncDecl {
	for i := len(f.stack) - 1; i >= 0; i-- {
		if d, ok := f.stack[i].(*syntax.FuncDecl); ok {
			return d
		}
	}
	return nil
}

// above returns the node n levels above the one at hand, nil where there is none.
func (f *facts) above(n int) syntax.Node {
	if i := len(f.stack) - 1 - n; i >= 0 {
		return f.stack[i]
	}
	return nil
}

func (f *facts) assign(as *syntax.Assign) {
	if as.Name == nil {
		return // an option of declare, which decl looks at
	}
	t := f.add(as.Name.Value, as)
	t.item = as.Index != nil || as.Array != nil || as.Append
	t.number = !t.item && as.Value != nil && numeric(as.Value)
	switch parent := f.above(1).(type) {
	case *syntax.CallExpr:
		if len(parent.Args) == 0 && !as.Append && as.Index == nil {
			f.rest(t, 2, as.End())
			t.once = t.top != nil
		}
	case *syntax.DeclClause:
		t.freezes = true
		flags, plain := declared(parent)
		f.wild = f.wild || !plain || strings.Contains(flags, "n")
		t.keyed = strings.Contains(flags, "A")
		t.number = t.number && strings.Trim(flags, "rx") == ""
		if t.keyed || strings.Trim(flags, "rx") == "" && !as.Naked && !as.Append && as.Index == nil {
			f.rest(t, 2, parent.End())
		}
	}
}

// declared returns the options of declare and the like, and whether they are plain.
func declared(x *syntax.DeclClause) (flags string, plain bool) {
	for _, as := range x.Args {
		if as.Name != nil {
			continue
		}
		text, ok := "", false
		if as.Value != nil {
			text, ok = constant(as.Value)
		}
		if !ok || len(text) < 2 || text[0] != '-' {
			return "", false
		}
		flags += text[1:]
	}
	return flags, true
}

// rest notes which part of the text runs only after the statement n levels above the node at hand did: what follows in
// its list, from the given position on.
func (f *facts) rest(t *touch, n int, after syntax.Pos) {
	for {
		s, ok := f.above(n).(*syntax.Stmt)
		if !ok || s.Background || s.Coprocess || s.Disown || s.Negated || len(s.Redirs) > 0 {
			return
		}
		to := uint(0)
		switch list := f.above(n + 1).(type) {
		case *syntax.File:
			t.top = s
		case *syntax.Block, *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.WhileClause,
			*syntax.ForClause, *syntax.CaseItem:
			to = list.End().Offset()
		case *syntax.IfClause:
			to = list.End().Offset()
			if list.Else != nil && s.Pos().After(list.ThenPos) {
				to = list.Else.Pos().Offset()
			}
		case *syntax.BinaryCmd:
			if list.Op != syntax.AndStmt && (list.Op != syntax.OrStmt || list.X != s) {
				return
			}
			if list.X == s {
				n += 2
				continue
			}
			// It runs only where what is before it succeeded, and so does what && follows it with.
			to = f.chain(n + 1)
		default:
			return
		}
		t.from, t.to = after.Offset(), to
		return
	}
}

// chain returns where the list of && ends that the binary command n levels above is in.
func (f *facts) chain(n int) uint {
	end := f.above(n).End().Offset()
	for {
		s, ok := f.above(n + 1).(*syntax.Stmt)
		if !ok || s.Negated || len(s.Redirs) > 0 || s.Background {
			return end
		}
		b, ok := f.above(n + 2).(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.AndStmt || b.X != s {
			return end
		}
		end, n = b.End().Offset(), n+2
	}
}

func (f *facts) loop(x *syntax.ForClause) {
	it, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	t := f.add(it.Name.Value, x)
	if x.Select {
		return
	}
	t.from, t.to = x.DoPos.Offset(), x.End().Offset()
	t.number = len(it.Items) > 0
	for _, w := range it.Items {
		t.number = t.number && numeric(w)
	}
}

// calculated notes that arithmetic gives a variable a number. In the head of a for loop, it does so before all the rest.
func (f *facts) calculated(x syntax.ArithmExpr, fresh bool) {
	w, ok := x.(*syntax.Word)
	if !ok {
		f.wild = true
		return
	}
	t := f.add(arithName(w), x)
	t.number = w.Lit() != ""
	l, ok := f.above(1).(*syntax.CStyleLoop)
	if !ok || !fresh {
		return
	}
	if loop, ok := f.above(2).(*syntax.ForClause); ok && l.Init == f.above(0) {
		t.from, t.to = l.Init.End().Offset(), loop.End().Offset()
	}
}

// numeric reports whether a word is surely a number.
func numeric(w *syntax.Word) bool {
	if len(w.Parts) == 1 {
		if _, ok := w.Parts[0].(*syntax.ArithmExp); ok {
			return true
		}
	}
	text, ok := constant(w)
	return ok && exactly(text).number()
}

// call notes what a builtin of the shell may touch, where its name is not computed. Where it is, the walk finds out.
func (f *facts) call(n syntax.Node, words []*syntax.Word) {
	if len(words) == 0 {
		return
	}
	name, ok := constant(words[0])
	if !ok {
		f.computed[n] = true
		return
	}
	rest := words[1:]
	switch name {
	case "command", "builtin":
		for len(rest) > 0 {
			if option, ok := constant(rest[0]); !ok || !strings.HasPrefix(option, "-") {
				break
			}
			rest = rest[1:]
		}
		f.call(n, rest)
	case "eval", "source", ".", "alias", "unalias", "enable":
		f.wild = true
	case "trap":
		f.trap(rest)
	case "shift":
		f.add(arguments, n)
	case "set":
		f.set(n, rest)
	case "printf":
		for _, w := range rest[:min(2, len(rest))] {
			if begin := leading(w); begin != "" && begin[0] != '-' && w == rest[0] {
				return // a format
			}
			f.named(n, w)
		}
	case "read", "mapfile", "readarray", "getopts", "unset", "let", "wait", "export", "declare", "typeset", "local",
		"readonly":
		for _, w := range rest {
			f.named(n, w)
		}
	}
}

// named notes the variables that a word of a builtin may name: the name that it begins with, and for an option any that
// it ends with.
func (f *facts) named(n syntax.Node, w *syntax.Word) {
	text, ok := constant(w)
	if !ok {
		f.wild = true
		return
	}
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		for i := range rest {
			f.add(rest[i:], n).freezes = true
		}
		return
	}
	end := 0
	for end < len(text) && isName(text[:end+1]) {
		end++
	}
	f.add(text[:end], n).freezes = true
}

// leading returns the literal that a word begins with.
func leading(w *syntax.Word) string {
	if len(w.Parts) == 0 {
		return ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.SglQuoted:
		if !p.Dollar {
			return p.Value
		}
	case *syntax.DblQuoted:
		if !p.Dollar {
			return leading(&syntax.Word{Parts: p.Parts})
		}
	}
	return ""
}

// trap adds what the text of a trap touches, at any time.
func (f *facts) trap(words []*syntax.Word) {
	if len(words) == 0 {
		return
	}
	text, ok := constant(words[0])
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if !ok || err != nil {
		f.wild = true
		return
	}
	in := gather(file)
	f.wild = f.wild || in.wild
	for name := range in.names {
		f.names[name] = append(f.names[name], &touch{freezes: true})
	}
}

// set notes a call of set that changes the positional parameters.
func (f *facts) set(n syntax.Node, words []*syntax.Word) {
	for i := 0; i < len(words); i++ {
		if text, ok := constant(words[i]); ok && len(text) > 1 && strings.ContainsAny(text[:1], "-+") && text != "--" {
			if strings.HasSuffix(text, "o") {
				i++
			}
			continue
		}
		t := f.add(arguments, n)
		f.rest(t, 1, n.End())
		return
	}
}

// last returns the touch whose value a variable has where it is used, nil where that is not known.
func (f *facts) last(name string, at use) *touch {
	if f.wild || special(name) || len(f.names[name]) != 1 {
		return nil
	}
	if t := f.names[name][0]; t.holds(at) {
		return t
	}
	return nil
}

// holds reports whether the touch was the last one that ran before the use, if no other touches the variable.
func (t *touch) holds(at use) bool {
	return t.from <= at.offset && at.offset < t.to && (t.once || t.in == at.in)
}

// number reports whether a variable holds a number where it is used: everything that touches it gives it one.
func (f *facts) number(name string, at use) bool {
	if f.wild || special(name) {
		return false
	}
	given := false
	for _, t := range f.names[name] {
		if !t.number {
			return false
		}
		given = given || t.holds(at)
	}
	return given
}

// keyed reports whether a variable is surely an associative array where it is used, whose subscripts are words.
func (f *facts) keyed(name string, at use) bool {
	list := f.names[name]
	if f.wild || special(name) || len(list) == 0 || !list[0].keyed || !list[0].holds(at) {
		return false
	}
	for _, t := range list[1:] {
		if !t.item {
			return false
		}
	}
	return true
}

// use is where a variable is used.
type use struct {
	offset uint
	in     *syntax.FuncDecl
}

// at returns the place of a node, for the facts of the text that is followed.
func (c ctx) at(n syntax.Node) use { return c.atOffset(n.Pos().Offset()) }

func (c ctx) atOffset(offset uint) use {
	u := use{offset: offset}
	if n := len(c.calls); n > 0 {
		u.in = c.calls[n-1]
	}
	return u
}

// special reports whether the shell itself changes a variable, or takes it for more than a value.
func special(name string) bool {
	return strings.HasPrefix(name, "BASH") || strings.HasPrefix(name, "COMP_") || strings.HasPrefix(name, "READLINE_") ||
		listed(specialNames, name)
}

const specialNames = ` _ COLUMNS COMPREPLY COPROC DIRSTACK EPOCHREALTIME EPOCHSECONDS ERRNO EUID FUNCNAME GROUPS HISTCMD
 HOSTNAME HOSTTYPE IFS LINENO LINES MACHTYPE MAPFILE OLDPWD OPTARG OPTERR OPTIND OSTYPE PIPESTATUS POSIXLY_CORRECT PPID
 PS4 PWD RANDOM REPLY SECONDS SHELLOPTS SHLVL SRANDOM UID `
