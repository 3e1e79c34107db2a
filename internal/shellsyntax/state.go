package shellsyntax

import (
	"maps"
	"path"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// maxDirs is how many directories a command may be in before that counts as unknown.
const maxDirs = 4

// state is what is known of the shell at one point, whatever way led there.
type state struct {
	// funcs are the functions that may be defined.
	funcs map[string]*function
	// aliases are the words that may stand for others.
	aliases map[string][]string
	// dirs are the directories that the shell may be in, as spelled from the one it started in (""). Empty means
	// that it is not known.
	dirs []string
	// stays are those of dirs that the shell is in only if a cd failed whose target is there.
	stays []string
	// moved is the directory after the last command if that succeeded, where it is a cd or a list with one; nil otherwise.
	moved *string
	// args are the positional parameters that a function or a script was called with, where argsKnown.
	args      []arg
	argsKnown bool
	// exports are what programs are given.
	exports exports
}

// function is a name that may be a function.
type function struct {
	bodies []*syntax.FuncDecl
	// sure is true where the name is a function, and the only one in bodies.
	sure bool
}

func newState(opt Options) *state {
	st := &state{exports: newExports(opt.Exported)}
	if !opt.Continued {
		st.dirs = []string{""}
	}
	return st
}

func (st *state) clone() *state {
	c := *st
	c.funcs, c.aliases = maps.Clone(st.funcs), maps.Clone(st.aliases)
	c.dirs, c.stays, c.exports = slices.Clone(st.dirs), slices.Clone(st.stays), st.exports.clone()
	return &c
}

// merge makes st hold what is true in both states.
func (st *state) merge(o *state) {
	for name, f := range o.funcs {
		mine := st.funcs[name]
		switch {
		case mine == nil:
			st.setFunc(name, &function{bodies: f.bodies})
		case !slices.Equal(mine.bodies, f.bodies) || !f.sure:
			st.setFunc(name, &function{bodies: union(mine.bodies, f.bodies)})
		}
	}
	for name, f := range st.funcs {
		if o.funcs[name] == nil && f.sure {
			st.setFunc(name, &function{bodies: f.bodies})
		}
	}
	for name, words := range o.aliases {
		if mine, ok := st.aliases[name]; ok && !slices.Equal(mine, words) {
			words = nil
		}
		st.setAlias(name, words)
	}
	if len(st.dirs) == 0 || len(o.dirs) == 0 {
		st.setDirs(nil, nil)
	} else {
		st.setDirs(union(st.dirs, o.dirs), union(st.likely(), o.likely()))
	}
	st.exports.merge(o.exports)
	st.moved = nil
}

func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func (st *state) setFunc(name string, f *function) {
	if st.funcs == nil {
		st.funcs = map[string]*function{}
	}
	st.funcs[name] = f
}

func (st *state) setAlias(name string, words []string) {
	if st.aliases == nil {
		st.aliases = map[string][]string{}
	}
	st.aliases[name] = words
}

// setDirs sets the directories that the shell may be in. Where it is in another one than the likely ones, a cd failed whose
// target is there.
func (st *state) setDirs(dirs, likely []string) {
	if len(dirs) > maxDirs {
		dirs = nil
	}
	st.dirs, st.stays = dirs, nil
	for _, dir := range dirs {
		if !slices.Contains(likely, dir) {
			st.stays = append(st.stays, dir)
		}
	}
}

// likely are the directories that the shell may be in although no cd failed whose target is there.
func (st *state) likely() []string {
	return slices.DeleteFunc(slices.Clone(st.dirs), func(dir string) bool { return slices.Contains(st.stays, dir) })
}

// child returns the state of another shell that this one starts: its arguments are not known, and what functions it
// inherited is not sure.
func (st *state) child() *state {
	c := st.clone()
	c.args, c.argsKnown, c.aliases = nil, false, nil
	for name, f := range c.funcs {
		c.funcs[name] = &function{bodies: f.bodies}
	}
	return c
}

// join spells name as seen from dir.
func join(dir, name string) string {
	if dir == "" || path.IsAbs(name) {
		return name
	}
	return dir + "/" + name
}

// chdir changes the directory as cd does, which takes .. off the spelling. There is set where the target is a directory now.
func (st *state) chdir(name string, there bool) {
	st.moved = nil
	if len(st.dirs) == 0 && !path.IsAbs(name) {
		return
	}
	var likely []string
	if !there {
		likely = st.likely()
	}
	if path.IsAbs(name) {
		to := path.Clean(name)
		st.setDirs(union(st.dirs, []string{to}), append(likely, to))
		st.moved = &to
		return
	}
	var to []string
	for _, dir := range st.dirs {
		at := path.Clean(join(dir, name))
		if to = append(to, at); !slices.Contains(st.stays, dir) {
			likely = append(likely, at)
		}
	}
	if len(to) == 1 {
		st.moved = &to[0]
	}
	st.setDirs(union(st.dirs, to), likely)
}

// succeeded refines the state by the knowledge that the command before succeeded.
func (st *state) succeeded() {
	if st.moved != nil {
		st.dirs, st.stays = []string{*st.moved}, nil
	}
}

// changes is what a part of a script may change in the shell. What it does to the values of variables, facts know.
type changes struct {
	// moves is set where the directory may change, wild where variables may that it does not name.
	moves, wild bool
	funcs       []*syntax.FuncDecl
	// names are the variables that it may give a value, exports those that it exports.
	names, exports map[string]bool
}

// weaken makes unknown what the given parts may change, for those that run any number of times.
func (st *state) weaken(ch changes) {
	if ch.moves {
		st.dirs = nil
	}
	st.exports.weaken(&ch)
	for _, f := range ch.funcs {
		bodies := []*syntax.FuncDecl{f}
		if have := st.funcs[f.Name.Value]; have != nil {
			bodies = union(have.bodies, bodies)
		}
		st.setFunc(f.Name.Value, &function{bodies: bodies})
	}
	st.moved = nil
}
