package shellsyntax

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"mvdan.cc/sh/v3/syntax"
)

// analyser collects what one command would do.
type analyser struct {
	w        World
	effects  []tongs.Effect
	commands []Simple
	notes    []string
	// tells are what git will do, in words; head is the branch that the commands before have led to, empty where none did.
	tells []string
	head  string
	// at is the index of the command that effects belong to, -1 before the first.
	at int
	// env is what the program that is being followed is given.
	env []string
	// bound are the files whose content effects are bound to.
	bound []tongs.Path
	// steps counts the commands followed so far, expanded the parts of their words, lookups the paths resolved.
	steps, expanded, lookups int
	// writes is true once something was met that is not known to only read.
	writes bool
	// records is true once git was met with a subcommand that records something.
	records bool
	// onward is true once a command was met that may read on where the shell reads its commands.
	onward bool
	// full is true once there were too many effects to tell.
	full bool
	// obstacles are the files that keep commands from writing below their names.
	obstacles []obstacle
	// traps follow the traps met once more, in the state that the shell has by the end.
	traps []func(*state)
	// ending is set while they are.
	ending bool
	// declared are the functions met.
	declared map[*syntax.FuncDecl]*declaration
}

// declaration is a function that was met, and the text it stands in.
type declaration struct {
	src    string
	facts  *facts
	called bool
}

func newAnalyser(w World) *analyser { return &analyser{w: w, at: -1} }

// ctx is where in the text a command stands. It is passed by value.
type ctx struct {
	// src is the text that positions are in.
	src string
	// facts are those of the text; call is the simple command at hand.
	facts *facts
	call  *syntax.CallExpr
	// outer is the index of the command that holds the text, where it is a nested one.
	outer  int
	nested bool
	depth  int
	within string
	// in is the standard input, wordsIn that of substitutions in the words of a simple command: they run before its
	// redirections.
	in, wordsIn input
	// fed is set for a text that the shell reads from its standard input.
	fed bool
	// calls are the functions that are being called.
	calls []*syntax.FuncDecl
	// posix is set where the text is read as sh does; repeated where it may run again; continued where the shell has
	// run other commands before.
	posix, repeated, continued bool
}

// inside returns the context of what a construct holds.
func (c ctx) inside(what string) ctx {
	c.depth++
	c.within = what
	return c
}

// input is what is known of a standard input.
type input struct {
	kind inputKind
	// text is the whole content, for inputText.
	text string
	// file is the word of the redirection, for inputFile.
	file arg
	// list is the directory that a list of paths separated by NUL bytes stays in, for inputList.
	list string
}

type inputKind uint8

const (
	inputInherited inputKind = iota
	inputUnknown
	inputText
	inputFile
	inputList
	// inputScript is the text that the shell itself is reading, of which more follows; inputScriptEnd is the end of it.
	inputScript
	inputScriptEnd
)

// shared returns the input of a command that may not be the first to read it: any part of it may be gone.
func (in input) shared() input {
	switch in.kind {
	case inputInherited, inputScript, inputScriptEnd:
		return in
	}
	return input{kind: inputUnknown}
}

// result finishes the analysis.
func (a *analyser) result() *Analysis {
	a.changedPrograms()
	a.dropPrivate()
	if len(a.effects) == 0 {
		a.effect(tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{":"}})
	}
	return &Analysis{Effects: a.effects, Commands: distinct(a.commands), Notes: a.notes, Tells: a.tells, ReadOnly: !a.writes, Records: a.records, ReadsOn: a.onward}
}

// dropPrivate leaves out what a command changes in private directories, where it changes nothing else: then every root is
// read-only for it, and no link can lead there.
func (a *analyser) dropPrivate() {
	if a.writes {
		return
	}
	kept, index := a.effects[:0], make(map[int]int, len(a.effects))
	for i, e := range a.effects {
		if e.Confined && e.Kind != tongs.EffectRead {
			continue
		}
		index[i] = len(kept)
		kept = append(kept, e)
	}
	a.effects = kept
	for i := range a.commands {
		var own []int
		for _, was := range a.commands[i].Effects {
			if now, ok := index[was]; ok {
				own = append(own, now)
			}
		}
		a.commands[i].Effects = own
	}
}

// distinct leaves out commands that were met before in the same place with the same effects: text that was read both as
// bash and as POSIX, which mean the same mostly.
func distinct(list []Simple) []Simple {
	type place struct {
		start, end, depth  int
		within, text, does string
	}
	met := make(map[place]bool, len(list))
	return slices.DeleteFunc(list, func(s Simple) bool {
		does := make([]byte, 0, 2*len(s.Effects))
		for _, i := range s.Effects {
			does = append(does, byte(i>>8), byte(i))
		}
		at := place{s.Start, s.End, s.Depth, s.Within, s.Text, string(does)}
		before := met[at]
		met[at] = true
		return before
	})
}

// changedPrograms finds programs that the command itself may change before it runs them: their hash says nothing.
func (a *analyser) changedPrograms() {
	for i := range a.effects {
		if a.effects[i].Kind != tongs.EffectExecute || a.effects[i].Version == "" || len(a.effects[i].Argv) == 0 {
			continue
		}
		for _, w := range a.effects {
			if w.Kind != tongs.EffectWrite && w.Kind != tongs.EffectDelete {
				continue
			}
			if w.Unknown || a.runsFile(a.effects[i], w.Path) {
				a.poison("it may change " + a.effects[i].Argv[0] + " before running it")
				return
			}
		}
	}
}

// runsFile reports whether an execute effect runs what is at p or below it.
func (a *analyser) runsFile(e tongs.Effect, p tongs.Path) bool {
	if a.w.Resolve == nil {
		return true
	}
	for _, word := range e.Argv {
		if q, err := a.w.Resolve(word); err == nil && p.Contains(q) {
			return true
		}
	}
	return slices.ContainsFunc(a.bound, p.Contains) || slices.Contains(programFiles, p.Rel[strings.LastIndexByte(p.Rel, '/')+1:])
}

// effect adds an effect, unless there is the same one already, and returns its index.
func (a *analyser) effect(e tongs.Effect) int {
	if e.MustAsk || e.Unknown && !e.Confined || e.Kind != tongs.EffectExecute && e.Kind != tongs.EffectRead && !e.Confined {
		a.writes = true
	}
	for i := range a.effects {
		if a.effects[i].Same(e) && a.effects[i].Why == e.Why {
			return a.own(i)
		}
	}
	if len(a.effects) >= maxEffects {
		if !a.full {
			a.full, a.writes = true, true
			a.effects = append(a.effects, tongs.Effect{
				Kind: tongs.EffectExecute, Unknown: true, Why: "the command has too many effects to be told",
			})
		}
		return a.own(len(a.effects) - 1)
	}
	a.effects = append(a.effects, e)
	return a.own(len(a.effects) - 1)
}

// own notes that the current command has the effect.
func (a *analyser) own(i int) int {
	if a.at >= 0 {
		if s := &a.commands[a.at]; !slices.Contains(s.Effects, i) {
			s.Effects = append(s.Effects, i)
		}
	}
	return i
}

// poison adds an unknown execute effect: from here on, anything may run.
func (a *analyser) poison(why string) { a.unknown(tongs.EffectExecute, why) }

// unknown adds an effect whose target cannot be told.
func (a *analyser) unknown(kind tongs.EffectKind, why string) {
	e := tongs.Effect{Kind: kind, Unknown: true, Confined: a.w.Confined && kind == tongs.EffectRead, Why: why}
	a.effect(e)
	if !e.Confined {
		a.markRisky(why)
	}
}

// markRisky marks the current command.
func (a *analyser) markRisky(why string) {
	if a.at >= 0 && a.commands[a.at].Risk == "" {
		a.commands[a.at].Risk = why
	}
}

func (a *analyser) note(text string) {
	if !slices.Contains(a.notes, text) {
		a.notes = append(a.notes, text)
	}
}

// step counts one more command and reports whether it may be followed.
func (a *analyser) step() bool {
	if a.steps++; a.steps <= maxSteps {
		return true
	}
	if a.steps == maxSteps+1 {
		a.poison("the command has too many parts to be followed")
	}
	return false
}

// begin records a simple command and makes it the current one; the returned function goes back.
func (a *analyser) begin(c ctx, from, to syntax.Pos) func() {
	before := a.at
	s := Simple{Depth: c.depth - 1, Within: c.within}
	s.Text = text(c.src, from, to)
	if c.nested && c.outer >= 0 && c.outer < len(a.commands) {
		o := a.commands[c.outer]
		s.Start, s.End, s.Line, s.Column = o.Start, o.End, o.Line, o.Column
	} else {
		s.Start, s.End = int(from.Offset()), int(to.Offset())
		s.Line, s.Column = int(from.Line()), int(from.Col())
	}
	a.commands = append(a.commands, s)
	a.at = len(a.commands) - 1
	return func() { a.at = before }
}

// text returns the source between two positions.
func text(src string, from, to syntax.Pos) string {
	i, j := int(from.Offset()), int(to.Offset())
	if i < 0 || j < i || j > len(src) {
		return ""
	}
	return src[i:j]
}
