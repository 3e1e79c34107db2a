package shellsyntax

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// exports are what is known of the variables that a shell gives to the programs that it starts, beyond those that it
// started with. A value that is not known holds a NUL byte, as a word does.
type exports struct {
	// values are those of all variables that were given one, exported or not.
	values map[string]string
	// marked are the variables that may be exported.
	marked map[string]bool
}

func newExports(assignments []string) (e exports) {
	for _, assignment := range assignments {
		name, value, _ := strings.Cut(assignment, "=")
		e.set(name, value)
	}
	return e
}

// give gives a variable a value.
func (e *exports) give(name, value string) {
	if e.values == nil {
		e.values = map[string]string{}
	}
	e.values[name] = value
}

// set gives a variable a value and exports it.
func (e *exports) set(name, value string) {
	e.give(name, value)
	e.mark(name)
}

// mark exports a variable, with whatever value it gets.
func (e *exports) mark(name string) {
	if e.marked == nil {
		e.marked = map[string]bool{}
	}
	e.marked[name] = true
}

func (e exports) clone() exports { return exports{maps.Clone(e.values), maps.Clone(e.marked)} }

// merge keeps what may be in either.
func (e *exports) merge(o exports) {
	for name, value := range o.values {
		if mine, ok := e.values[name]; !ok || mine != value {
			e.give(name, notSure(name))
		}
	}
	for name := range e.values {
		if _, ok := o.values[name]; !ok {
			e.give(name, notSure(name))
		}
	}
	for name := range o.marked {
		e.mark(name)
	}
}

// notSure is the value of a variable that is only known when it runs.
func notSure(name string) string { return unresolved + name + "=..." }

// list returns the assignments, sorted.
func (e exports) list() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		if e.marked[name] {
			list = append(list, name+"="+e.values[name])
		}
	}
	return list
}

// exported returns how a value that is given to programs is written.
func exported(name string, v *value) string {
	if v == nil || v.array || !v.arg.exact() {
		return notSure(name)
	}
	return v.arg.text
}

// gets notes that a variable was given a value, nil where that is not known.
func (a *analyser) gets(st *state, name string, v *value) {
	st.exports.give(name, exported(name, v))
	if a.w.Inherits == nil || a.w.Inherits(name) {
		st.exports.mark(name)
	}
}

// exports notes that a variable is exported with the value that it has.
func (a *analyser) exports(c ctx, st *state, name string) {
	st.exports.mark(name)
	if _, given := st.exports.values[name]; !given && c.continued {
		st.exports.give(name, notSure(name))
	}
}

// giving makes env what the program that is followed is given; the returned function goes back.
func (a *analyser) giving(env []string) func() {
	outer := a.env
	a.env = env
	return func() { a.env = outer }
}

// exporting reports whether a declaration exports what it names: export does, and the others with the option x.
func exporting(x *syntax.DeclClause) bool {
	if x.Variant.Value == "export" {
		return true
	}
	return slices.ContainsFunc(x.Args, func(as *syntax.Assign) bool {
		// An option that is not a literal is not followed, and so is a question anyway.
		return as.Name == nil && as.Value != nil && strings.ContainsRune(as.Value.Lit(), 'x')
	})
}

// weaken makes unknown what a part of a script may give variables, where that part may have run before.
func (e *exports) weaken(ch *changes) {
	for name := range ch.names {
		e.give(name, notSure(name))
	}
	for name := range ch.exports {
		e.mark(name)
	}
	if ch.wild {
		e.byThen()
	}
}

// variables adds what a part of a script does to variables.
func (ch *changes) variables(st *state, list []*syntax.Stmt, called map[*syntax.FuncDecl]bool) {
	f := gather(&syntax.File{Stmts: list})
	ch.wild = ch.wild || f.wild || len(f.computed) > 0 || st.aliases != nil
	for name := range f.names {
		ch.names[name] = true
	}
	for _, stmt := range list {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DeclClause:
				for _, as := range n.Args {
					if as.Name != nil && exporting(n) {
						ch.exports[as.Name.Value] = true
					}
				}
			case *syntax.CallExpr:
				ch.call(st, n, called)
			}
			return true
		})
	}
}

// call adds what a function that is called does, and that what is assigned before it may stay.
func (ch *changes) call(st *state, n *syntax.CallExpr, called map[*syntax.FuncDecl]bool) {
	if len(n.Args) == 0 {
		return
	}
	name := n.Args[0].Lit()
	f := st.funcs[name]
	if f != nil || lookupBuiltin(name) != nil {
		for _, as := range n.Assigns {
			ch.exports[as.Name.Value] = true
		}
	}
	if f == nil {
		return
	}
	for _, decl := range f.bodies {
		if !called[decl] {
			called[decl] = true
			ch.variables(st, []*syntax.Stmt{decl.Body}, called)
		}
	}
}

// giveWord adds a variable that a wrapper gives to its command.
func (a *analyser) giveWord(st *state, w arg) {
	name, value, ok := strings.Cut(w.text, "=")
	switch {
	case !ok && !w.exact() || steers(name):
		a.poison("assigning " + w.src + " changes what runs")
	case w.exact():
		st.exports.set(name, value)
	default:
		st.exports.set(name, notSure(name))
	}
}

// byThen notes that a command may be given any variables by the time it runs.
func (e *exports) byThen() { e.set(unresolved+"with the variables that are set by then", "") }

// clearing is the name under which it is noted that a command is not given what others are.
const clearing = unresolved + "without the usual variables"

// deaf are the programs that only read whatever variables they are given, apart from those that steer every program. A
// program that is itself a script, loads plugins or starts others is not here.
var deaf = strings.Fields(`cat tac nl rev head tail wc ls dir vdir stat du df md5sum sha1sum sha224sum sha256sum sha384sum sha512sum
 b2sum cksum sum cut paste comm join fold fmt expand unexpand tsort cmp grep sort uniq base64 base32 od basename dirname realpath
 readlink tr seq expr factor whoami id uname nproc tty printenv sleep true false echo printf pwd test [ numfmt date`)
