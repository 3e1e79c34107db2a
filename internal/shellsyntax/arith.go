package shellsyntax

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The shell evaluates the value of a variable in arithmetic as an expression, and a subscript in it can contain a command
// substitution: x='a[$(rm f)]'; echo $((x)). So everything in arithmetic must be known to be a number.

const notNumber = "arithmetic on a value that is not known to be a number may run commands hidden in it"

// assigns reports whether the operator assigns to its left side.
func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn, syntax.AndBoolAssgn,
		syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn:
		return true
	}
	return false
}

// arith follows an arithmetic expression; nil is none.
func (a *analyser) arith(c ctx, st *state, x syntax.ArithmExpr) {
	if c.depth++; c.depth > maxDepth*4 {
		a.poison("an expression is nested too deep to be followed")
		return
	}
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		if !assigns(x.Op) {
			a.arith(c, st, x.X)
			a.arith(c, st, x.Y)
			return
		}
		a.arith(c, st, x.Y)
		if x.Op != syntax.Assgn {
			a.arith(c, st, x.X)
		}
		a.arithAssign(c, st, x.X)
	case *syntax.UnaryArithm:
		a.arith(c, st, x.X)
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			a.arithAssign(c, st, x.X)
		}
	case *syntax.ParenArithm:
		a.arith(c, st, x.X)
	case *syntax.Word:
		a.number(c, st, x)
	default:
		a.poison("an expression cannot be followed")
	}
}

// arithName returns the variable that a word in arithmetic names, or "".
func arithName(w *syntax.Word) string {
	if len(w.Parts) != 1 {
		return ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.ParamExp:
		if p.Param != nil && p.Index != nil {
			return p.Param.Value
		}
	}
	return ""
}

// arithAssign gives the variable on the left side a number.
func (a *analyser) arithAssign(c ctx, st *state, x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	name := ""
	if ok {
		name = arithName(w)
	}
	if !isName(name) {
		a.poison("arithmetic assigns to a variable that is only known when it runs")
		return
	}
	if p, ok := w.Parts[0].(*syntax.ParamExp); ok {
		a.subscript(c, st, p.Param, p.Index)
	}
	a.assignName(st, name, &value{arg: arg{form: formOpaque, num: true}})
}

// number follows a word of an arithmetic expression.
func (a *analyser) number(c ctx, st *state, w *syntax.Word) {
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if !a.numeral(c, st, p) {
				a.poison(notNumber)
			}
		case *syntax.ParamExp:
			if p.Param != nil && p.Index != nil && plain(p) {
				a.subscript(c, st, p.Param, p.Index)
				a.poison(notNumber)
				continue
			}
			a.numberWord(c, st, w)
			return
		case *syntax.DblQuoted:
			a.number(c, st, &syntax.Word{Parts: p.Parts})
		default:
			a.numberWord(c, st, w)
			return
		}
	}
}

// numberWord follows a word that must expand to a number.
func (a *analyser) numberWord(c ctx, st *state, w *syntax.Word) {
	if got := a.one(c, st, w); !got.number() {
		a.poison(notNumber)
	}
}

// numeral reports whether a literal in arithmetic is a number or a variable that holds one.
func (a *analyser) numeral(c ctx, st *state, p *syntax.Lit) bool {
	s := strings.TrimSpace(p.Value)
	if s == "" {
		return true
	}
	if isName(s) {
		return a.variable(c, st, s, c.at(p)).number()
	}
	for _, r := range s {
		if r >= 0x80 || !strings.ContainsRune("0123456789abcdefABCDEFxX#", r) {
			return false
		}
	}
	return s[0] >= '0' && s[0] <= '9'
}

// subscript follows the index of an array.
func (a *analyser) subscript(c ctx, st *state, name *syntax.Lit, index syntax.ArithmExpr) {
	w, ok := index.(*syntax.Word)
	if ok && (w.Lit() == "@" || w.Lit() == "*") {
		return
	}
	if ok && name != nil && c.facts.keyed(name.Value, c.at(name)) {
		a.one(c, st, w)
		return
	}
	a.arith(c, st, index)
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// test follows [[ ... ]].
func (a *analyser) test(c ctx, st *state, x syntax.TestExpr) {
	if c.depth++; c.depth > maxDepth*4 {
		a.poison("an expression is nested too deep to be followed")
		return
	}
	switch x := x.(type) {
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					a.number(c, st, w)
				} else {
					a.poison(notNumber)
				}
			}
			return
		}
		a.test(c, st, x.X)
		a.test(c, st, x.Y)
	case *syntax.UnaryTest:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
			if got := a.one(c, st, w); !got.exact() || !isName(got.text) {
				a.poison("a test of a subscript may run commands hidden in it")
			}
			return
		}
		a.test(c, st, x.X)
	case *syntax.ParenTest:
		a.test(c, st, x.X)
	case *syntax.Word:
		a.one(c, st, x)
	default:
		a.poison("a test cannot be followed")
	}
}
