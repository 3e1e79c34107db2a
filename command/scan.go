package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scan returns what the statements may change in a shell, without following anything.
func scan(st *state, lists ...[]*syntax.Stmt) *assigned {
	s := &scanner{assigned: &assigned{names: map[string]bool{}}, st: st}
	for _, list := range lists {
		for _, stmt := range list {
			syntax.Walk(stmt, s.visit)
		}
	}
	return s.assigned
}

type scanner struct {
	*assigned
	st *state
}

func (s *scanner) name(name string, numeric bool) {
	if before, ok := s.names[name]; ok && !before {
		numeric = false
	}
	s.names[name] = numeric
}

func (s *scanner) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return false // another shell, whose changes stay in it
	case *syntax.Assign:
		if n.Name != nil {
			s.name(n.Name.Value, calculated(n))
		}
	case *syntax.ForClause:
		if it, ok := n.Loop.(*syntax.WordIter); ok {
			s.name(it.Name.Value, false)
		}
	case *syntax.BinaryArithm:
		if assigns(n.Op) {
			s.arith(n.X)
		}
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			s.arith(n.X)
		}
	case *syntax.ParamExp:
		if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			s.name(n.Param.Value, false)
		}
	case *syntax.Redirect:
		if n.N != nil {
			s.name(strings.Trim(n.N.Value, "{}"), false)
		}
	case *syntax.CoprocClause:
		s.all = true
	case *syntax.FuncDecl:
		if n.Name != nil {
			s.funcs = append(s.funcs, n)
		}
		s.all = true
	case *syntax.CallExpr:
		s.call(n)
	}
	return true
}

func (s *scanner) arith(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok {
		s.name(arithName(w), true)
	}
}

// call takes up what a builtin may assign.
func (s *scanner) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	name := n.Args[0].Lit()
	switch name {
	case "cd", "pushd", "popd":
		s.moves = true
	case "", "eval", "source", ".", "builtin", "command", "trap", "set", "shift", "alias":
		s.all, s.moves = true, true
	case "read", "mapfile", "readarray", "printf", "getopts", "unset", "let", "wait", "export", "declare", "typeset",
		"local", "readonly":
		for _, w := range n.Args[1:] {
			if lit := w.Lit(); lit != "" {
				s.name(strings.TrimSuffix(lit, "="), false)
			} else {
				s.all = true
			}
		}
		switch name {
		case "read":
			s.name("REPLY", false)
		case "getopts":
			s.name("OPTARG", false)
			s.name("OPTIND", false)
		case "mapfile", "readarray":
			s.name("MAPFILE", false)
		}
	}
	if s.st.funcs[name] != nil || s.st.aliases != nil {
		s.all, s.moves = true, true
	}
}

// calculated reports whether an assignment gives the result of arithmetic.
func calculated(as *syntax.Assign) bool {
	if as.Append || as.Index != nil || as.Value == nil || len(as.Value.Parts) != 1 {
		return false
	}
	_, ok := as.Value.Parts[0].(*syntax.ArithmExp)
	return ok
}
