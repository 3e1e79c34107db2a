package shellsyntax

import (
	"math"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unit returns where the part of the text ends that is surely behind an assignment in a statement of it. The shell reads
// whole lines, and drops the rest of a line after an error in an expansion: the next line then runs without what the
// dropped part would have assigned. So only what cannot fail may stand before the assignment on its line.
func (f *facts) unit(s *syntax.Stmt, after uint) uint {
	for _, line := range lines(f.file.Stmts) {
		last := line[len(line)-1]
		if s.Pos().After(last.Pos()) {
			continue
		}
		for _, t := range line {
			if t == s && f.constant(t, after) {
				return math.MaxUint32
			}
			if t == s || !f.steady(t) {
				break
			}
		}
		return end(last).Offset() + 1
	}
	return after
}

// lines returns the statements by the lines in which the shell reads them.
func lines(list []*syntax.Stmt) [][]*syntax.Stmt {
	var out [][]*syntax.Stmt
	for i, s := range list {
		if i > 0 && s.Pos().Line() <= end(list[i-1]).Line() {
			out[len(out)-1] = append(out[len(out)-1], s)
		} else {
			out = append(out, []*syntax.Stmt{s})
		}
	}
	return out
}

// steady reports whether a statement cannot have the rest of its line dropped: it assigns literals, or makes a function.
func (f *facts) steady(s *syntax.Stmt) bool {
	if len(s.Redirs) > 0 || s.Background || s.Coprocess {
		return false
	}
	if _, ok := s.Cmd.(*syntax.FuncDecl); ok {
		return true
	}
	return f.constant(s, math.MaxUint32)
}

// constant reports whether a statement does nothing up to a position but assign literals to variables that cannot be
// read-only.
func (f *facts) constant(s *syntax.Stmt, upTo uint) bool {
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if b.OpPos.Offset() < upTo {
			return false
		}
		s = b.X
	}
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		for _, as := range x.Assigns {
			if as.End().Offset() <= upTo && (as.Index != nil || as.Name == nil || f.frozen(as.Name.Value) || !literal(as)) {
				return false
			}
		}
		return len(x.Args) == 0
	case *syntax.DeclClause:
		for _, as := range x.Args {
			if as.Index != nil || as.Array != nil || !literal(as) {
				return false
			}
		}
		return true
	}
	return false
}

// frozen reports whether a variable may be read-only.
func (f *facts) frozen(name string) bool {
	return f.wild || special(name) || slices.ContainsFunc(f.names[name], func(t *touch) bool { return t.freezes })
}

// literal reports whether an assignment gives literals only.
func literal(as *syntax.Assign) bool {
	if as.Array == nil {
		return as.Value == nil || literalWord(as.Value)
	}
	for _, el := range as.Array.Elems {
		if el.Index != nil || el.Value == nil || !literalWord(el.Value) {
			return false
		}
	}
	return true
}

func literalWord(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if p.Dollar || !literalWord(&syntax.Word{Parts: p.Parts}) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// plainCd reports whether a statement is nothing but the builtin cd with literal words, which the shell drops for no reason.
func plainCd(st *state, s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 0 || s.Background || s.Coprocess || len(call.Assigns) > 0 || len(call.Args) == 0 ||
		call.Args[0].Lit() != "cd" || st.funcs["cd"] != nil {
		return false
	}
	if _, alias := st.aliases["cd"]; alias {
		return false
	}
	return !slices.ContainsFunc(call.Args, func(w *syntax.Word) bool {
		return w.Lit() == "" || strings.ContainsAny(w.Lit(), "*?[{~\\")
	})
}
