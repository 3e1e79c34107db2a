package shellsyntax

import (
	"strings"

	"github.com/tongs-ai/tongs"
	"mvdan.cc/sh/v3/syntax"
)

// shellProgram follows a shell: its -c text, its script file, or what it reads from its standard input.
func shellProgram(a *analyser, c ctx, st *state, words []arg) {
	name := baseName(words[0].text)
	kind := shells[name]
	i, text, stdin := 1, false, false
	for ; i < len(words); i++ {
		w := words[i]
		if w.is("--") {
			i++
			break
		}
		if !w.mayBeOption() && !strings.HasPrefix(w.text, "+") || w.is("-") {
			break
		}
		switch {
		case w.is("--version") || w.is("--help"):
			a.execute(words)
			return
		case w.is("--login"), w.is("--norc"), w.is("--noprofile"), w.is("--posix") && kind.posix:
		case !w.exact() || strings.HasPrefix(w.text, "--") || strings.Trim(w.text[1:], "celuxvnfhrsC") != "" ||
			w.text[0] == '+':
			if w.exact() && (w.text == "-o" || w.text == "+o" || w.text == "-eo" || w.text == "-euo" || w.text == "-uo") &&
				i+1 < len(words) && words[i+1].is("pipefail") {
				i++
				continue
			}
			a.poison("what " + name + " does with " + w.src + " is not known")
		default:
			text = text || strings.Contains(w.text, "c")
			stdin = stdin || strings.Contains(w.text, "s")
		}
	}
	rest := words[min(i, len(words)):]
	switch {
	case text && len(rest) == 0:
		a.execute(words)
		a.poison(name + " -c has no command")
	case text:
		a.wrapped(name + " -c")
		var args []arg
		if len(rest) > 1 {
			args = rest[2:]
			if rest[1].many {
				args = append([]arg{rest[1]}, args...)
			}
		}
		a.shellText(c, st, rest[0], args, name+" -c", kind)
	case stdin || len(rest) == 0 || rest[0].is("-"):
		a.shellInput(c, st, words, name, kind)
	default:
		a.scriptFile(st, words, i)
		if !strings.Contains(rest[0].text, "/") && !a.knownFile(st, tongs.EffectRead, rest[0]) {
			a.poison(name + " looks for " + rest[0].src + " on the PATH where it is not here")
		}
	}
}

// shellText follows a text that a shell runs.
func (a *analyser) shellText(c ctx, st *state, code arg, args []arg, what string, kind shellKind) {
	if !code.exact() || code.soft {
		a.poison("what " + what + " runs is only known then: " + code.src)
	}
	if !code.exact() {
		return
	}
	if !kind.sure {
		a.poison("the shell of " + what + " reads commands in a way of its own")
	}
	run := func(lang syntax.LangVariant) {
		sub := st.child()
		sub.args, sub.argsKnown = soft(args), true
		c.facts = nil
		a.nested(c, sub, code.text, what, lang)
	}
	run(syntax.LangBash)
	if kind.posix {
		run(syntax.LangPOSIX)
	}
}

// shellInput follows a shell that reads commands from its standard input.
func (a *analyser) shellInput(c ctx, st *state, words []arg, name string, kind shellKind) {
	switch c.in.kind {
	case inputText:
		a.wrapped(name)
		sub := c
		sub.fed = true
		a.shellText(sub, st, exactly(c.in.text), nil, name, kind)
	case inputFile:
		if c.in.file.exact() {
			a.scriptFile(st, append(append([]arg{}, words...), c.in.file), len(words))
			return
		}
		fallthrough
	default:
		a.execute(words)
		a.poison("what " + name + " reads as commands is only known when it runs")
	}
}

// output returns what is known of what a statement writes, as the input of the next one.
func (a *analyser) output(c ctx, st *state, s *syntax.Stmt) input {
	unknown := input{kind: inputUnknown}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || s.Negated || len(s.Redirs) > 0 {
		return unknown
	}
	name := call.Args[0].Lit()
	if st.funcs[name] != nil || st.aliases != nil {
		return unknown
	}
	var words []string
	for _, w := range call.Args[1:] {
		value, ok := constant(w)
		if !ok {
			return unknown
		}
		words = append(words, value)
	}
	switch name {
	case "echo":
		if len(words) > 0 && !strings.HasPrefix(words[0], "-") && !strings.Contains(strings.Join(words, ""), `\`) {
			return input{kind: inputText, text: strings.Join(words, " ") + "\n"}
		}
	case "find":
		if dir, ok := foundBelow(words); ok {
			return input{kind: inputList, list: dir}
		}
	}
	return unknown
}

// constant returns the value of a word without expansions.
func constant(w *syntax.Word) (string, bool) {
	e := expander{a: newAnalyser(World{}), c: ctx{facts: nothing}, st: &state{}, cur: newField()}
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if _, ok := q.(*syntax.Lit); !ok {
					return "", false
				}
			}
		default:
			return "", false
		}
	}
	if v, ok := braces(w); !ok || len(v) != 1 {
		return "", false
	}
	e.parts(w.Parts, false)
	got := e.cur.finish("")
	return got.text, got.exact()
}
