package shellsyntax

import (
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/environ"
	"mvdan.cc/sh/v3/syntax"
)

// simple follows a simple command.
func (a *analyser) simple(c ctx, st *state, call *syntax.CallExpr) {
	st.moved = nil
	a.wordsApart(c, call)
	c.call = call
	early := c
	early.in = c.wordsIn
	words := a.words(early, st, call.Args)
	before := ""
	if len(call.Args) > 0 {
		before = " "
		if len(words) > 0 && words[0].exact() {
			before = words[0].text
		}
	}
	given := st.exports.clone()
	for _, as := range call.Assigns {
		a.assign(early, st, as, before)
	}
	if len(words) == 0 {
		return
	}
	if len(call.Assigns) > 0 && !a.inShell(st, words[0]) {
		defer func() { st.exports = given }()
	}
	name := words[0]
	if !name.exact() || name.many || name.text == "" {
		a.poison("which command " + name.src + " is can only be told when it runs")
		return
	}
	if len(st.aliases) > 0 {
		a.alias(c, st, call, words)
	}
	a.run(c, st, words, false)
}

// inShell reports whether the shell may run a command itself. What is assigned before such a command may stay: some shells
// keep it, and a function or a builtin may export it.
func (a *analyser) inShell(st *state, name arg) bool {
	return !name.exact() || st.funcs[name.text] != nil || len(st.aliases) > 0 || lookupBuiltin(name.text) != nil
}

// wordsApart makes sure that the words of a command stand apart: where two of them touch, the shell takes them for one.
func (a *analyser) wordsApart(c ctx, call *syntax.CallExpr) {
	check := func(n syntax.Node) {
		if end := int(n.End().Offset()); end < len(c.src) && strings.IndexByte(" \t\n;&|()<>`}\\", c.src[end]) < 0 {
			a.poison("where " + text(c.src, n.Pos(), n.End()) + " ends is not read the same way by every shell")
		}
	}
	for _, as := range call.Assigns {
		check(as)
	}
	for _, w := range call.Args {
		check(w)
	}
}

// alias follows a word that may stand for others. It may also be the command itself: an alias counts only in lines that
// are read after it was made, and only where aliases are expanded.
func (a *analyser) alias(c ctx, st *state, call *syntax.CallExpr, words []arg) {
	body, ok := st.aliases[call.Args[0].Lit()]
	if !ok {
		return
	}
	if body == nil {
		a.poison("what the alias " + words[0].text + " stands for is not sure")
		return
	}
	if _, again := st.aliases[body[0]]; again && body[0] != words[0].text {
		a.poison("an alias stands for another one")
	}
	expanded := make([]arg, 0, len(body)+len(words))
	for _, w := range body {
		expanded = append(expanded, exactly(w))
	}
	a.run(c.inside("alias "+words[0].text), st, append(expanded, words[1:]...), false)
}

// run follows a command given as words. An external one is neither a function nor a builtin of the shell.
func (a *analyser) run(c ctx, st *state, words []arg, external bool) {
	if !a.step() {
		return
	}
	if c.depth++; c.depth > maxDepth*4 {
		a.poison("commands are nested too deep to be followed")
		return
	}
	name := words[0]
	if !name.exact() || name.many || name.text == "" {
		a.poison("which command " + name.src + " is can only be told when it runs")
		return
	}
	if name.soft {
		a.poison("which command " + name.src + " is can only be told when it runs")
	}
	if !external {
		if f := st.funcs[name.text]; f != nil {
			a.function(c, st, f, words)
			if f.sure {
				return
			}
		}
		if a.builtin(c, st, words) {
			return
		}
	}
	defer a.giving(st.exports.list())()
	known, file, unsure := a.program(st, name)
	if unsure {
		a.execute(words)
		a.poison("which program " + name.text + " is depends on a directory that is only known when it runs")
		return
	}
	if !slices.Contains(deaf, known) && slices.ContainsFunc(a.env, func(v string) bool { return !environ.Harmless(v) }) {
		a.writes = true
	}
	if file != nil || !leavesInput(known, words) {
		a.readsOn(c, known)
	}
	if file != nil {
		a.executeFile(st, words, 0, *file)
		return
	}
	if strings.HasPrefix(known, "python") && known != "python-config" {
		known = "python"
	}
	if h := lookupProgram(known); h != nil {
		h(a, c, st, words)
		return
	}
	a.writes = true
	a.execute(words)
}

// execute adds the execute effect of a command.
func (a *analyser) execute(words []arg) int { return a.executeArgv(elements(words)) }

func (a *analyser) executeArgv(argv []string) int {
	if a.at >= 0 && a.commands[a.at].Argv == nil {
		a.commands[a.at].Argv = argv
	}
	return a.effect(tongs.Effect{Kind: tongs.EffectExecute, Argv: argv, Env: a.env})
}

// executeFile adds the execute effect of a command that runs the workspace file of its word at, bound to its content.
func (a *analyser) executeFile(st *state, words []arg, at int, file tongs.Path) {
	a.writes = true
	argv := elements(words)
	// Rules see where the file is, whatever directory it was named from.
	spelled := path.Clean(words[at].text)
	if p := file.String(); spelled != p || at == 0 && !strings.Contains(words[at].text, "/") {
		if file.Root == tongs.WorkspaceRoot && at == 0 {
			p = "./" + p
		}
		argv[at] = p
	}
	e := tongs.Effect{Kind: tongs.EffectExecute, Argv: argv, Env: a.env}
	a.bind(&e, st, words, at, file)
	if a.at >= 0 && a.commands[a.at].Argv == nil {
		a.commands[a.at].Argv = argv
	}
	a.effect(e)
}

// bind ties an execute effect to the content of the file of its word at, and of what that plainly runs.
func (a *analyser) bind(e *tongs.Effect, st *state, words []arg, at int, file tongs.Path) {
	e.NoGrant, e.Why = true, "what "+file.String()+" holds when it runs is not known"
	kind := asProgram
	if _, shell := shells[baseName(words[0].text)]; at > 0 {
		kind = asData
		if shell || words[0].is(".") || words[0].is("source") {
			kind = asShell
		}
	}
	b, dir := a.newBinding(), ""
	if len(st.dirs) == 1 {
		dir = st.dirs[0]
	} else {
		kind = asData // where it works is not known, and so what it names is not
		b.loose = true
	}
	spelled := words[at].text
	if at == 0 && !strings.Contains(spelled, "/") { // found on the PATH
		spelled, _ = a.w.LookPath(spelled)
	}
	if b.file(join(dir, spelled), dir, kind) {
		e.NoGrant = false
		b.finish(e, "runs the workspace file "+file.String())
		return
	}
	if _, absent := b.versions[file]; absent {
		e.Version = b.versions[file]
	}
}

// wrapped records a wrapper that was taken off.
func (a *analyser) wrapped(name string) {
	if a.at >= 0 {
		a.commands[a.at].Wrappers = append(a.commands[a.at].Wrappers, name)
	}
}

// declare makes a name a function.
func (a *analyser) declare(c ctx, st *state, f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		a.poison("a function without a name cannot be followed")
		return
	}
	switch f.Body.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause,
		*syntax.ArithmCmd, *syntax.TestClause:
	default:
		a.poison("where the function " + f.Name.Value + " ends is not read the same way by every shell")
	}
	if a.declared == nil {
		a.declared = map[*syntax.FuncDecl]*declaration{}
	}
	if a.declared[f] == nil {
		a.declared[f] = &declaration{src: c.src, facts: c.facts}
	}
	st.setFunc(f.Name.Value, &function{bodies: []*syntax.FuncDecl{f}, sure: true})
}

// function follows the call of a function.
func (a *analyser) function(c ctx, st *state, f *function, words []arg) {
	name := words[0].text
	for _, decl := range f.bodies {
		if slices.Contains(c.calls, decl) {
			a.poison("the function " + name + " calls itself")
			continue
		}
		sub := c.inside("function " + name)
		sub.repeated, sub.in = true, c.in.shared()
		if d := a.declared[decl]; d != nil {
			d.called, sub.src = true, d.src
			if d.facts != c.facts {
				sub.facts = nothing // another shell
			}
		}
		sub.calls = append(slices.Clone(c.calls), decl)
		args, known := st.args, st.argsKnown
		before := st.clone()
		st.args, st.argsKnown = soft(words[1:]), true
		a.stmt(sub, st, decl.Body)
		st.merge(before)
		st.args, st.argsKnown = args, known
	}
	st.moved = nil
}

// soft returns the words as those that are not sure enough to say what runs.
func soft(words []arg) []arg {
	words = slices.Clone(words)
	for i := range words {
		words[i].soft = true
	}
	return words
}

// uncalled follows the functions that nothing was seen to call, with nothing known of the shell.
func (a *analyser) uncalled(c ctx, st *state) {
	for {
		var next *syntax.FuncDecl
		for f, d := range a.declared {
			if !d.called && (next == nil || next.Pos().After(f.Pos())) {
				next = f
			}
		}
		if next == nil {
			return
		}
		d := a.declared[next]
		d.called = true
		sub := st.child()
		sub.dirs = nil
		if c.continued {
			sub.exports.byThen()
		}
		own := c.inside("function " + next.Name.Value)
		own.src, own.facts = d.src, d.facts
		own.calls = []*syntax.FuncDecl{next}
		a.stmt(own, sub, next.Body)
	}
}
