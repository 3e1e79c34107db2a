package shellsyntax

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"mvdan.cc/sh/v3/syntax"
)

// handler follows a command that is known. words[0] is its name.
type handler func(a *analyser, c ctx, st *state, words []arg)

// lookupBuiltin returns the handler of a command that the shell runs itself, nil where it is none.
func lookupBuiltin(name string) handler {
	switch name {
	case ":", "true", "false", "break", "continue", "exit", "return", "echo", "pwd", "times", "umask", "ulimit", "type",
		"jobs", "caller", "help", "logout", "suspend", "disown", "bg", "fg", "dirs":
		return plainBuiltin
	case "test", "[":
		return testBuiltin
	case "printf":
		return printfBuiltin
	case "cd", "pushd":
		return cdBuiltin
	case "popd":
		return popdBuiltin
	case "eval":
		return evalBuiltin
	case "source", ".":
		return sourceBuiltin
	case "exec":
		return execBuiltin
	case "command":
		return commandBuiltin
	case "builtin":
		return builtinBuiltin
	case "trap":
		return trapBuiltin
	case "alias":
		return aliasBuiltin
	case "unalias":
		return unaliasBuiltin
	case "set":
		return setBuiltin
	case "shopt":
		return shoptBuiltin
	case "shift":
		return plainBuiltin
	case "read", "mapfile", "readarray", "getopts", "wait", "unset":
		return assigningBuiltin
	case "export", "declare", "typeset", "local", "readonly":
		return declareBuiltin
	case "let", "enable", "hash", "complete", "compgen", "compopt", "bind", "fc", "history":
		return obscureBuiltin
	}
	return nil
}

// touching are the builtins that may change variables, or how the text after them is read.
const touching = ` read mapfile readarray printf getopts unset let wait export declare typeset local readonly eval
 source . alias unalias enable trap set shift `

// builtin follows a command that the shell runs itself, and reports whether it is one.
func (a *analyser) builtin(c ctx, st *state, words []arg) bool {
	name := words[0]
	if !name.exact() || name.many || lookupBuiltin(name.text) == nil {
		return false
	}
	if name.soft {
		a.poison("which command " + name.src + " is can only be told when it runs")
	}
	if c.facts.computed[c.call] && listed(touching, name.text) {
		a.poison(name.text + " changes the shell, and its name is only known when it runs")
	}
	if slices.Contains(readingBuiltins, name.text) {
		a.readsOn(c, name.text)
	}
	defer a.giving(nil)() // it starts no program; those that do follow what they start
	lookupBuiltin(name.text)(a, c, st, words)
	return true
}

func plainBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	if words[0].is("jobs") && slices.ContainsFunc(words[1:], func(w arg) bool {
		return !w.exact() ||
			strings.Contains(w.text, "x")
	}) {
		a.poison("jobs -x runs its arguments")
	}
}

func cdBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	rest := words[1:]
	for len(rest) > 0 && rest[0].exact() && (rest[0].text == "-L" || rest[0].text == "--") {
		rest = rest[1:]
	}
	to := a.variable(c, st, "HOME", use{})
	if len(rest) > 0 {
		to = rest[0]
	}
	to.src = source(words[1:])
	if len(rest) > 1 || !to.exact() || to.many || strings.HasPrefix(to.text, "-") || strings.HasPrefix(to.text, "+") ||
		to.text == "" {
		st.dirs, st.moved = nil, nil
		a.unknown(tongs.EffectRead, "it goes to a directory that is only known when it runs")
		return
	}
	if to.text != "." && !strings.HasPrefix(to.text, "/") && !strings.HasPrefix(to.text, ".") && steered(a, "CDPATH") {
		st.dirs, st.moved = nil, nil
		a.unknown(tongs.EffectRead, "CDPATH decides where it goes to")
		return
	}
	a.workIn(st, to)
	st.chdir(to.text, a.isThere(st, to))
}

// steered reports whether the shell starts with a value for the variable.
func steered(a *analyser, name string) bool {
	if a.w.Var == nil {
		return false
	}
	v, ok := a.w.Var(name)
	return ok && v != ""
}

func popdBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	st.dirs, st.moved = nil, nil
	a.unknown(tongs.EffectRead, "it goes back to a directory that is not tracked")
}

func evalBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.wrapped("eval")
	rest := words[1:]
	if len(rest) > 0 && rest[0].is("--") {
		rest = rest[1:]
	}
	code, ok := joined(rest)
	if !ok {
		a.poison("what eval runs is only known then")
		return
	}
	c.facts = nothing
	a.nested(c, st, code, "eval", syntax.LangBash)
}

// joined returns the words as one text, false where one of them is not known.
func joined(words []arg) (string, bool) {
	parts := make([]string, 0, len(words))
	for _, w := range words {
		if !w.exact() || w.soft {
			return "", false
		}
		parts = append(parts, w.text)
	}
	return strings.Join(parts, " "), true
}

// nested follows a text that is run as a script, in the given state.
func (a *analyser) nested(c ctx, st *state, code, what string, lang syntax.LangVariant) {
	if strings.TrimSpace(code) == "" {
		return
	}
	if c.depth > maxDepth {
		a.poison("commands are nested too deep to be followed")
		return
	}
	sub := c.inside(what)
	if !c.nested {
		sub.nested, sub.outer = true, a.at
	}
	if err := a.script(sub, st, code, lang); err != nil {
		a.poison("the text given to " + what + " cannot be parsed")
	}
}

func sourceBuiltin(a *analyser, c ctx, st *state, words []arg) {
	if len(words) < 2 || !words[1].exact() || words[1].many {
		a.execute(words)
		a.poison("the file that is read as commands is only known when it runs")
		return
	}
	a.scriptFile(st, words, 1)
	if !strings.Contains(words[1].text, "/") {
		a.poison("a file named " + words[1].text + " on the PATH would be read instead; write ./" + words[1].text)
	}
}

// scriptFile adds the execute effect of a command that runs the file of its word at.
func (a *analyser) scriptFile(st *state, words []arg, at int) {
	a.writes = true
	w := words[at]
	if w.soft {
		a.poison("which file runs is only known then: " + w.src)
	}
	if w.exact() && len(st.dirs) == 1 && !device(tongs.EffectRead, w.text) {
		if p, err := a.resolve(tongs.EffectRead, join(st.dirs[0], w.text)); err == nil {
			a.executeFile(st, words, at, p)
			return
		}
	}
	a.execute(words)
	a.poison("it runs " + w.src + ", which is not a file inside the workspace")
}

func execBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.wrapped("exec")
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		switch {
		case rest[0].is("-c"), rest[0].is("-cl"):
			st.exports.set(clearing, "")
			rest = rest[1:]
		case rest[0].is("-l"), rest[0].is("--"):
			rest = rest[1:]
		case rest[0].is("-a") && len(rest) > 1 && !rest[1].many:
			rest = rest[2:]
		default:
			a.poison("an option of exec cannot be followed")
			return
		}
	}
	if len(rest) > 0 {
		a.run(c, st, rest, true)
	}
}

func commandBuiltin(a *analyser, c ctx, st *state, words []arg) {
	rest := words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		switch {
		case rest[0].is("-v"), rest[0].is("-V"):
			a.execute(words)
			return
		case rest[0].is("--"), rest[0].is("-p"):
			rest = rest[1:]
		default:
			a.poison("an option of command cannot be followed")
			return
		}
	}
	if len(rest) == 0 {
		return
	}
	a.wrapped("command")
	if !a.builtin(c, st, rest) {
		a.run(c, st, rest, true)
	}
}

func builtinBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.wrapped("builtin")
	rest := words[1:]
	if len(rest) > 0 && rest[0].is("--") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return
	}
	if !a.builtin(c, st, rest) {
		a.poison("which builtin runs can only be told when it does")
	}
}

// trapBuiltin follows the text of a trap, which runs at any time.
func trapBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	rest := words[1:]
	if len(rest) > 0 && rest[0].is("--") {
		rest = rest[1:]
	}
	switch {
	case len(rest) < 2 || rest[0].is("-") || rest[0].is("") || rest[0].is("-p") || rest[0].is("-l"):
		return
	case !rest[0].exact():
		a.poison("what the trap runs is only known then")
		return
	}
	atExit := !slices.ContainsFunc(rest[1:], func(w arg) bool { return !w.is("EXIT") && !w.is("0") })
	if !atExit && a.changesShell(st, rest[0].text) {
		a.poison("a trap changes the shell at any time")
	}
	c.repeated, c.facts = true, nothing
	follow := func(st *state) {
		later := st.child()
		later.dirs = nil
		if c.continued {
			later.exports.byThen()
		}
		a.nested(c, later, rest[0].text, "trap", syntax.LangBash)
	}
	follow(st)
	if !a.ending {
		a.traps = append(a.traps, follow)
	}
}

// changesShell reports whether a script may change the shell that runs it.
func (a *analyser) changesShell(st *state, code string) bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(code), "")
	if err != nil {
		return true
	}
	ch, f := scan(st, file.Stmts), gather(file)
	return len(f.names) > 0 || f.wild || len(f.computed) > 0 || ch.moves || len(ch.funcs) > 0
}

// aliasBuiltin takes up aliases of plain words. Others could change how the text after them is parsed.
func aliasBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	if len(words) > 1 && (c.repeated || c.continued) {
		a.poison("an alias that is made over and over, or for later commands, cannot be followed")
	}
	for _, w := range words[1:] {
		name, body, ok := strings.Cut(w.text, "=")
		switch {
		case !w.exact():
			a.poison("an alias is only known when it runs")
		case !ok:
		case !plainWords(name) || !plainWords(body) || strings.HasSuffix(body, " ") || strings.HasPrefix(body, " ") ||
			strings.Contains(name, " ") || body == "" || reserved(name) || reserved(strings.Fields(body)[0]) ||
			strings.Contains(strings.Fields(body)[0], "="):
			a.poison("the alias " + name + " changes how commands are read")
		default:
			st.setAlias(name, strings.Fields(body))
		}
	}
}

func plainWords(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:@%+- ") == ""
}

func reserved(word string) bool {
	return slices.Contains([]string{
		"if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in",
		"function", "time", "coproc", "declare", "export", "local", "readonly", "typeset", "nameref", "let", "eval",
	}, word)
}

func unaliasBuiltin(a *analyser, c ctx, st *state, words []arg) { a.execute(words) }

func setBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.is("--"):
			a.setArguments(c, words[i+1:])
			return
		case w.exact() && !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+"):
			a.setArguments(c, words[i:])
			return
		case !w.exact():
			a.poison("an option of set is only known when it runs")
			return
		case strings.HasSuffix(w.text, "o") && i+1 < len(words):
			i++
			name := words[i]
			if !name.exact() || !slices.Contains([]string{
				"pipefail", "errexit", "nounset", "xtrace", "noclobber", "noglob",
				"verbose", "errtrace", "functrace", "noexec",
			}, name.text) {
				a.poison("set -o " + name.src + " changes how commands are read")
			}
			if strings.Trim(w.text[1:], "euxvfCnETo") != "" {
				a.poison("set " + w.text + " changes how commands are read")
			}
		case len(w.text) < 2 || strings.Trim(w.text[1:], "euxvfCnETo") != "":
			a.poison("set " + w.text + " changes how commands are read")
		}
	}
}

// setArguments notes the positional parameters that a call of set gives.
func (a *analyser) setArguments(c ctx, words []arg) {
	if t := c.facts.places[c.call]; t != nil {
		t.value = &value{array: true, list: slices.Clone(words)}
		t.value.soften()
	}
}

func shoptBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	for _, w := range words[1:] {
		if !w.exact() || !slices.Contains([]string{
			"-s", "-u", "-q", "-p", "nullglob", "globstar", "dotglob", "failglob",
			"nocaseglob", "nocasematch", "extglob", "inherit_errexit", "expand_aliases",
		}, w.text) {
			a.poison("shopt " + w.src + " changes how commands are read")
		}
	}
}

func obscureBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	if len(words) == 2 && words[0].is("hash") && words[1].is("-r") || len(words) == 1 {
		return
	}
	a.poison(words[0].text + " changes which programs run, or runs commands of its own")
}
