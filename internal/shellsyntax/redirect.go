package shellsyntax

import (
	"strings"

	"github.com/tongs-ai/tongs"
	"mvdan.cc/sh/v3/syntax"
)

// redirect follows a redirection and returns the standard input after it.
func (a *analyser) redirect(c ctx, st *state, r *syntax.Redirect, in input) input {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		a.assignName(st, strings.Trim(r.N.Value, "{}"), nil)
	}
	stdin := r.N == nil || r.N.Value == "0"
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		body := a.hereDocument(c, st, r)
		if !stdin {
			return in
		}
		return body
	case syntax.WordHdoc:
		got := a.one(c, st, r.Word)
		if !stdin {
			return in
		}
		if !got.exact() || got.soft {
			return input{kind: inputUnknown}
		}
		return input{kind: inputText, text: got.text + "\n"}
	case syntax.DplIn, syntax.DplOut:
		return a.duplicate(c, st, r, in)
	}
	target := a.target(c, st, r.Word)
	switch r.Op {
	case syntax.RdrIn:
		if !a.socket(target) {
			a.path(st, tongs.EffectRead, target)
		}
		if stdin {
			return input{kind: inputFile, file: target}
		}
	case syntax.RdrInOut:
		if !a.socket(target) {
			a.path(st, tongs.EffectRead, target)
		}
		a.writesTo(st, target)
		if stdin {
			return input{kind: inputUnknown}
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		a.writesTo(st, target)
		if r.N != nil && r.N.Value == "0" {
			return input{kind: inputUnknown}
		}
	default:
		a.poison("a redirection cannot be followed")
		return input{kind: inputUnknown}
	}
	return in
}

// writesTo adds the effects of a redirection that writes.
func (a *analyser) writesTo(st *state, target arg) {
	if a.socket(target) {
		return
	}
	a.path(st, tongs.EffectWrite, target)
	if target.soft && target.exact() {
		a.unknown(tongs.EffectWrite, "which file "+target.src+" names is only known when it runs")
	}
}

// target expands the word of a redirection: one word, or an error when it runs.
func (a *analyser) target(c ctx, st *state, w *syntax.Word) arg {
	words := a.expand(c, st, w, nil)
	if len(words) != 1 {
		return arg{form: formOpaque, src: text(c.src, w.Pos(), w.End())}
	}
	words[0].many = false
	return words[0]
}

// duplicate follows <& and >&, which are about descriptors, unless the word is a file.
func (a *analyser) duplicate(c ctx, st *state, r *syntax.Redirect, in input) input {
	target := a.target(c, st, r.Word)
	if src := text(c.src, r.Word.Pos(), r.Word.End()); strings.HasPrefix(src, "-") && src != "-" {
		a.poison("where the redirection " + r.Op.String() + src + " ends is not read the same way by every shell")
	}
	number := target.exact() && target.text != "" && strings.Trim(target.text, "0123456789") == "" ||
		target.is("-") || target.exact() && strings.Trim(target.text, "0123456789-") == "" && target.text != ""
	switch {
	case number && r.Op == syntax.DplOut:
		return in
	case number:
		if r.N == nil || r.N.Value == "0" {
			return input{kind: inputUnknown}
		}
		return in
	case target.num:
		return input{kind: inputUnknown}
	case r.Op == syntax.DplOut:
		// Bash expands the word of >& once more where it is no descriptor.
		if !target.exact() || strings.ContainsAny(target.text, "$`\\'\"~*?[]{}()<> \t\n") {
			a.poison("the shell expands " + target.src + " twice, and may run commands hidden in it")
		}
		a.writesTo(st, target)
		return in
	}
	// A descriptor that the script opened before, of which the redirection that did tells.
	return input{kind: inputUnknown}
}

// hereDocument follows what is in a here-document.
func (a *analyser) hereDocument(c ctx, st *state, r *syntax.Redirect) input {
	if r.Hdoc == nil {
		return input{kind: inputText}
	}
	if quotedWord(r.Word) {
		var b strings.Builder
		for _, part := range r.Hdoc.Parts {
			lit, ok := part.(*syntax.Lit)
			if !ok {
				a.poison("a here-document cannot be followed")
				return input{kind: inputUnknown}
			}
			b.WriteString(lit.Value)
		}
		return input{kind: inputText, text: untab(b.String(), r.Op)}
	}
	if body := text(c.src, r.Hdoc.Pos(), r.Hdoc.End()); strings.Contains(body, "\\\n") && strings.ContainsAny(body, "$`") {
		a.poison("a line continuation in a here-document goes also where it is quoted, and may change what is expanded")
	}
	e := expander{a: a, c: c, st: st, whole: true, here: true, cur: newField()}
	e.parts(r.Hdoc.Parts, true)
	got := e.cur.finish("")
	if !got.exact() || got.soft {
		return input{kind: inputUnknown}
	}
	return input{kind: inputText, text: untab(got.text, r.Op)}
}

// untab takes the tabs off the lines, as <<- does.
func untab(s string, op syntax.RedirOperator) string {
	if op != syntax.DashHdoc {
		return s
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

// quotedWord reports whether a part of a word is quoted.
func quotedWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.IndexByte(lit.Value, '\\') >= 0 {
			return true
		}
	}
	return false
}

// socket follows the names by which bash opens connections.
func (a *analyser) socket(target arg) bool {
	rest, ok := strings.CutPrefix(target.text, "/dev/tcp/")
	if !ok {
		rest, ok = strings.CutPrefix(target.text, "/dev/udp/")
	}
	if !ok {
		return false
	}
	host, port, _ := strings.Cut(rest, "/")
	e := tongs.Effect{Kind: tongs.EffectNetwork, Sends: true, Why: "a connection that the shell opens"}
	if target.exact() && validHost(host) && port != "" && strings.Trim(port, "0123456789") == "" {
		e.Host = strings.ToLower(host) + ":" + port
	} else {
		e.Unknown = true
	}
	a.effect(e)
	a.markRisky(e.Why)
	return true
}

// validHost reports whether s can be a host as effects name it.
func validHost(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-')
	}) < 0
}
