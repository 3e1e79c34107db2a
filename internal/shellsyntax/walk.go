package shellsyntax

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// maxUnrolled is how many words a for loop may have for each to be followed by itself.
const maxUnrolled = 16

func (a *analyser) stmts(c ctx, st *state, list []*syntax.Stmt) {
	for _, s := range list {
		a.stmt(c, st, s)
	}
}

// line follows the statements of one line of a text. An error in an expansion drops the rest of the line, so that what
// follows may find the shell as it was before.
func (a *analyser) line(c ctx, st *state, list []*syntax.Stmt) {
	before := st.clone()
	a.stmts(c, st, list)
	if slices.ContainsFunc(list, func(s *syntax.Stmt) bool { return !c.facts.steady(s) }) && !(len(list) == 1 && plainCd(before, list[0])) {
		st.merge(before)
	}
}

// stmt follows one statement. Its redirections hold for everything in it.
func (a *analyser) stmt(c ctx, st *state, s *syntax.Stmt) {
	if c.depth > maxDepth*4 {
		a.poison("commands are nested too deep to be followed")
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		st = st.clone()
	}
	call, simple := s.Cmd.(*syntax.CallExpr)
	if simple || len(s.Redirs) > 0 {
		from, to := s.Pos(), s.Pos()
		if simple {
			from, to = call.Pos(), call.End()
		}
		if n := len(s.Redirs); n > 0 {
			from = s.Pos()
			if end := s.Redirs[n-1].Word.End(); end.After(to) {
				to = end
			}
		}
		done := a.begin(c, from, to)
		c.wordsIn = c.in
		for _, r := range s.Redirs {
			c.in = a.redirect(c, st, r, c.in)
			c.wordsIn = c.wordsIn.shared()
		}
		if simple {
			defer done()
		} else {
			done()
		}
	}
	if s.Cmd == nil {
		st.moved = nil
		return
	}
	if b, ok := s.Cmd.(*syntax.BinaryCmd); !simple && !(ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll)) {
		c.in = c.in.shared()
	}
	a.command(c, st, s.Cmd)
	if s.Negated || s.Background {
		st.moved = nil
	}
}

func (a *analyser) command(c ctx, st *state, cmd syntax.Command) {
	if !a.step() {
		return
	}
	switch x := cmd.(type) {
	case *syntax.CallExpr:
		a.simple(c, st, x)
		return
	case *syntax.BinaryCmd:
		a.binary(c, st, x)
		return
	}
	c.depth++
	switch x := cmd.(type) {
	case *syntax.Block:
		a.stmts(c, st, x.Stmts)
	case *syntax.Subshell:
		a.stmts(c.inside("subshell"), st.clone(), x.Stmts)
	case *syntax.IfClause:
		a.branch(c, st, x)
	case *syntax.WhileClause:
		c.repeated = true
		a.loop(c, st, func() {
			a.stmts(c, st, x.Cond)
			a.stmts(c, st, x.Do)
		}, x.Cond, x.Do)
	case *syntax.ForClause:
		a.forLoop(c, st, x)
	case *syntax.CaseClause:
		a.choice(c, st, x)
	case *syntax.FuncDecl:
		a.declare(c, st, x)
	case *syntax.ArithmCmd:
		a.arith(c, st, x.X)
	case *syntax.LetClause:
		for _, e := range x.Exprs {
			a.arith(c, st, e)
		}
	case *syntax.TestClause:
		a.test(c, st, x.X)
	case *syntax.DeclClause:
		a.decl(c, st, x)
	case *syntax.TimeClause:
		if x.Stmt != nil {
			a.stmt(c, st, x.Stmt)
		}
	case *syntax.CoprocClause:
		// Whether its first word is a name or a command is not read the same way by every shell.
		a.poison("what a coprocess runs is not sure")
		a.stmt(c.inside("coprocess"), st.clone(), x.Stmt)
		if x.Name != nil {
			a.run(c, st.clone(), a.words(c, st, []*syntax.Word{x.Name}), false)
		}
	default:
		a.poison("a construct of the shell cannot be followed")
	}
	if _, ok := cmd.(*syntax.Block); !ok {
		st.moved = nil
	}
}

// substitution follows commands that run in a shell of their own.
func (a *analyser) substitution(c ctx, st *state, list []*syntax.Stmt, what string) {
	if c.depth >= maxDepth*4 {
		a.poison("commands are nested too deep to be followed")
		return
	}
	a.stmts(c.inside(what), st.clone(), list)
}

func (a *analyser) binary(c ctx, st *state, x *syntax.BinaryCmd) {
	switch x.Op {
	case syntax.AndStmt, syntax.OrStmt:
		a.stmt(c, st, x.X)
		after := st.clone()
		if x.Op == syntax.AndStmt {
			after.succeeded()
		}
		after.moved = nil
		a.stmt(c, after, x.Y)
		moved := after.moved
		if moved == nil && len(after.dirs) == 1 { // where both succeed it is still where the first one led
			moved = &after.dirs[0]
		}
		st.merge(after)
		if x.Op == syntax.AndStmt {
			st.moved = moved
		}
	case syntax.Pipe, syntax.PipeAll:
		a.pipeline(c, st, x)
	default:
		a.poison("an operator of the shell cannot be followed")
	}
}

// pipeline follows the commands of a pipeline, each in a shell of its own, where the next one reads what it writes.
func (a *analyser) pipeline(c ctx, st *state, x *syntax.BinaryCmd) {
	stages := []*syntax.Stmt{x.Y}
	for {
		left := x.X
		b, ok := left.Cmd.(*syntax.BinaryCmd)
		if ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) && len(left.Redirs) == 0 && !left.Negated {
			stages = append(stages, b.Y)
			x = b
			continue
		}
		stages = append(stages, left)
		break
	}
	slices.Reverse(stages)
	for i, s := range stages {
		sub := c
		if i > 0 {
			sub.in = a.output(c, st, stages[i-1])
		}
		a.stmt(sub, st.clone(), s)
	}
	// The last command may run in this very shell.
	st.weaken(scan(st, stages[len(stages)-1:]))
}

// branch follows both ways of an if.
func (a *analyser) branch(c ctx, st *state, x *syntax.IfClause) {
	if c.depth++; c.depth > maxDepth*4 {
		a.poison("commands are nested too deep to be followed")
		return
	}
	a.stmts(c, st, x.Cond)
	other := st.clone()
	a.stmts(c, st, x.Then)
	if x.Else != nil {
		a.branch(c, other, x.Else)
	}
	st.merge(other)
}

func (a *analyser) choice(c ctx, st *state, x *syntax.CaseClause) {
	a.one(c, st, x.Word)
	falls := false
	for _, item := range x.Items {
		for _, p := range item.Patterns {
			a.one(c, st, p)
		}
		falls = falls || item.Op != syntax.Break
	}
	if falls {
		st.weaken(scan(st, caseBodies(x)...))
	}
	merged := st.clone()
	for _, item := range x.Items {
		way := st.clone()
		a.stmts(c, way, item.Stmts)
		merged.merge(way)
	}
	*st = *merged
}

func caseBodies(x *syntax.CaseClause) [][]*syntax.Stmt {
	lists := make([][]*syntax.Stmt, 0, len(x.Items))
	for _, item := range x.Items {
		lists = append(lists, item.Stmts)
	}
	return lists
}

// loop follows a body that runs any number of times.
func (a *analyser) loop(c ctx, st *state, body func(), lists ...[]*syntax.Stmt) {
	st.weaken(scan(st, lists...))
	before := st.clone()
	body()
	st.merge(before)
}

func (a *analyser) forLoop(c ctx, st *state, x *syntax.ForClause) {
	c.repeated = true
	if l, ok := x.Loop.(*syntax.CStyleLoop); ok {
		a.arith(c, st, l.Init)
		a.loop(c, st, func() {
			a.arith(c, st, l.Cond)
			a.stmts(c, st, x.Do)
			a.arith(c, st, l.Post)
		}, x.Do)
		return
	}
	it, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		a.poison("a loop cannot be followed")
		return
	}
	items, known := a.words(c, st, it.Items), true
	if !it.InPos.IsValid() {
		items, known = a.arguments(c, st, c.at(x))
	}
	numbers := known && !x.Select && len(items) > 0
	known = numbers && len(items) <= maxUnrolled
	for _, item := range items {
		known = known && (!item.many || item.below)
		numbers = numbers && item.number()
	}
	if x.Select {
		a.readsOn(c, "select")
	}
	a.assignName(st, it.Name.Value, nil)
	t := c.facts.places[x]
	if t == nil {
		t = &touch{}
	}
	if numbers && !known {
		t.value = &value{arg: arg{form: formOpaque, num: true}}
	}
	if !known {
		a.loop(c, st, func() { a.stmts(c, st, x.Do) }, x.Do)
		return
	}
	a.loop(c, st, func() {
		for _, item := range items {
			item.many, item.soft = false, true
			t.value = &value{arg: item}
			a.stmts(c, st, x.Do)
			st.weaken(scan(st, x.Do))
		}
	}, x.Do)
	t.value = nil
}
