package shellsyntax

import (
	"mvdan.cc/sh/v3/syntax"
)

// scan returns what the statements may change in a shell, without following anything.
func scan(st *state, lists ...[]*syntax.Stmt) changes {
	ch := changes{names: map[string]bool{}, exports: map[string]bool{}}
	for _, list := range lists {
		ch.variables(st, list, map[*syntax.FuncDecl]bool{})
		for _, stmt := range list {
			syntax.Walk(stmt, func(n syntax.Node) bool { return ch.visit(st, n) })
		}
	}
	return ch
}

func (ch *changes) visit(st *state, n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return false // another shell, whose changes stay in it
	case *syntax.FuncDecl:
		if n.Name != nil {
			ch.funcs = append(ch.funcs, n)
		}
	case *syntax.CallExpr:
		if len(n.Args) == 0 {
			return true
		}
		name := n.Args[0].Lit()
		if listed("cd pushd popd eval source . builtin command trap alias", name) || name == "" || st.funcs[name] != nil ||
			st.aliases != nil {
			ch.moves = true
		}
	}
	return true
}
