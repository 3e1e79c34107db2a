package shellsyntax

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxSource is the longest text that is analysed, in bytes.
	maxSource = 64 << 10
	// maxDepth is how deep commands may be nested.
	maxDepth = 32
	// maxSteps is how many commands are followed, each iteration and call counted.
	maxSteps = 1000
	// maxWords is how many words, and parts of words, are expanded.
	maxWords = 30000
	// maxPaths is how many paths are resolved.
	maxPaths = 4000
	// maxEffects is how many different effects are told.
	maxEffects = 512
	// maxNested is how deep brackets and braces may be before the text is parsed at all.
	maxNested = 200
)

// World is what a command would meet, as functions that change nothing. A nil function knows nothing, which is never
// lenient.
type World struct {
	// Resolve turns a path, relative to the directory the command starts in or absolute on the host, into one inside
	// the roots, following links. An error means that it is not inside.
	Resolve func(spelling string) (tongs.Path, error)
	// ResolveEntry is Resolve, but does not follow a link that is the last element.
	ResolveEntry func(spelling string) (tongs.Path, error)
	// IsDir reports whether p is a directory now.
	IsDir func(p tongs.Path) bool
	// Hash returns the content hash of the file at p, tongs.Absent where there is none.
	Hash func(p tongs.Path) (tongs.Version, error)
	// Read returns the text of the file at p, for what else it runs: an error of code FILE_NOT_FOUND where there is none, and
	// any other where it is not to be followed, as one that is large.
	Read func(p tongs.Path) (string, error)
	// LookPath finds the program that a bare name runs, as a path on the host.
	LookPath func(name string) (string, bool)
	// Home is the home directory that the shell will have; empty means that it is not known.
	Home string
	// Var returns the value of a variable that the shell will start with, where it is sure.
	Var func(name string) (string, bool)
	// Inherits reports whether the shell starts with a variable in its environment, so that assigning to it changes what
	// the programs that it starts are given. Nil is a shell that may have started with any.
	Inherits func(name string) bool
	// Confined is set where the full sandbox runs the command to its end: whatever it reads, it reads there. Scratch and
	// Shown count only then.
	Confined bool
	// Scratch are host directories that are empty when the command starts and gone when it ended, such as a private
	// /tmp: effects there are confined ones, and none where the command changes nothing else.
	Scratch []string
	// Shown are host directories and files that the sandbox shows to every program: reading them is no effect.
	Shown []string
	// Relayed is set where git reaches remotes only through a relay that has each fetch and each push decided when it is made,
	// so that it is no effect of the plan.
	Relayed bool
	// Repository is what is known of the git repository of a directory, which is spelled as for Resolve. It only serves to tell
	// what git will do; nil knows nothing.
	Repository func(dir string) Repository
}

// Options say how the text will be run.
type Options struct {
	// POSIX is set where sh runs it rather than bash: it is then read both ways.
	POSIX bool
	// Continued is set for input to a shell that runs already: its directory and variables are not known.
	Continued bool
	// Input is the whole standard input of the command; nil is one that is not known.
	Input *string
	// Exported are the variables that earlier commands exported, as NAME=value; a value that is not known holds a NUL byte.
	Exported []string
}

// Analysis is what a command would do.
type Analysis struct {
	// Effects are never empty, and without repetitions.
	Effects []tongs.Effect
	// Commands are the simple commands in the order in which they were met.
	Commands []Simple
	// Notes are for a person: what the effects cannot say.
	Notes []string
	// Tells are what commands of git will do, in words, where that can be told from them. They decide nothing.
	Tells []string
	// ReadOnly is true where every command is known to only read, apart from private directories.
	ReadOnly bool
	// Records is true where git records something.
	Records bool
	// ReadsOn is true where a command may go on to read where the shell reads its commands from: what is written there
	// next may not reach the shell.
	ReadsOn bool
	// Exported are the variables that the shell gives to programs when it is through, beyond those that it started with.
	Exported []string
}

// Simple is one simple command, for display.
type Simple struct {
	// Text is its source. Start and End are its place in the whole text, in bytes; for a command in a nested string,
	// such as that of sh -c, they are the place of the command that holds the string.
	Text     string   `json:"text"`
	Start    int      `json:"start"`
	End      int      `json:"end"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Depth    int      `json:"depth,omitempty"`
	Within   string   `json:"within,omitempty"`
	Wrappers []string `json:"wrappers,omitempty"`
	Argv     []string `json:"argv,omitempty"`
	// Risk says what is special about it, empty where nothing is.
	Risk string `json:"risk,omitempty"`
	// Effects are indexes into the effects of the analysis.
	Effects []int `json:"effects,omitempty"`
}

// Analyse returns what the shell command src would do. The error is an INVALID_ARGS with the position where src cannot
// be parsed: such a command must not run, since what the shell would make of it is not known.
func Analyse(src string, w World, opt Options) (*Analysis, error) {
	if strings.TrimSpace(src) == "" {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the command is empty; give the command to run")
	}
	if at := strings.IndexByte(src, 0); at >= 0 {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs,
			"the command holds a NUL byte at offset %d, which no shell takes; remove it", at)
	}
	a := newAnalyser(w)
	if why := unreadable(src); why != "" {
		a.poison(why)
		return a.result(), nil
	}
	c := ctx{continued: opt.Continued, fed: opt.Continued}
	if opt.Input != nil {
		c.in = input{kind: inputText, text: *opt.Input}
	}
	st := newState(opt)
	if err := a.script(c, st, src, syntax.LangBash); err != nil {
		return nil, err
	}
	a.overcome(0)
	if opt.POSIX {
		other, first := newState(opt), len(a.commands)
		if err := a.script(c, other, src, syntax.LangPOSIX); err != nil {
			return nil, err
		}
		a.overcome(first)
		st.merge(other)
	}
	an := a.result()
	an.Exported = st.exports.list()
	return an, nil
}

// AnalyseStdin returns what writing input to the standard input of a running interpreter would do. For a shell the input
// is read as a command; it must be everything since the last complete one, and end with a newline. For any other
// interpreter, and where the shell was started so that it reads no commands, it is unknown what it would do.
func AnalyseStdin(interpreter []string, input string, w World, opt Options) (*Analysis, error) {
	if len(interpreter) == 0 {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "no interpreter; name the program that the input is for")
	}
	a := newAnalyser(w)
	name := baseName(interpreter[0])
	lang, shell := shells[name]
	switch {
	case !shell || !lang.sure || strings.IndexByte(input, 0) >= 0:
		a.effect(tongs.Effect{Kind: tongs.EffectExecute, Argv: interpreter})
		a.poison("what " + name + " makes of its input cannot be told")
		return a.result(), nil
	case !strings.HasSuffix(input, "\n"):
		a.effect(tongs.Effect{Kind: tongs.EffectExecute, Argv: interpreter})
		a.poison("the input ends in the middle of a line, so that the command is not complete")
		return a.result(), nil
	case strings.TrimSpace(input) == "":
		a.effect(tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{":"}})
		an := a.result()
		an.Exported = opt.Exported
		return an, nil
	}
	opt.Continued, opt.POSIX = true, opt.POSIX || lang.posix
	return Analyse(input, w, opt)
}

// Defaults returns the rules that hold where no explicit word does: reading inside the roots is free, and so are the
// builtins of the shell that do nothing but steer it. They are lenient defaults of the user's layer, so that any rule
// and the default of any other layer beat them.
func Defaults(toolset string) []tongs.Rule {
	rule := func(kind tongs.EffectKind, pattern string) tongs.Rule {
		return tongs.Rule{
			Layer: tongs.LayerUser, Origin: "built in", Toolset: toolset, Effects: tongs.Kinds(kind),
			Pattern: pattern, Decision: tongs.PreApproved, Fallback: true,
		}
	}
	rules := []tongs.Rule{rule(tongs.EffectRead, "**"), rule(tongs.EffectRead, "/**")}
	for _, name := range steering {
		rules = append(rules, rule(tongs.EffectExecute, name))
	}
	return rules
}

// steering are builtins that neither run, nor read, nor write anything beyond the shell itself. What is special about
// their arguments is an effect of its own.
var steering = []string{
	":", "[", "alias", "break", "cd", "continue", "declare", "dirs", "exit", "export", "false", "getopts", "let", "local",
	"popd", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "shopt", "test", "trap", "true", "type",
	"typeset", "umask", "unalias", "unset", "wait", "command -v", "command -V",
}

// unreadable returns why a text is not even parsed.
func unreadable(src string) string {
	if len(src) > maxSource {
		return "the command is too long to be analysed"
	}
	if !utf8.ValidString(src) {
		return "the command is not valid UTF-8, so that shells differ in how they read it"
	}
	if strings.HasSuffix(src, `\`) {
		return "the command ends with a backslash, and shells differ in what they make of it"
	}
	if strings.Contains(src, "`") && strings.Contains(src, "\\\n") {
		return "a line continuation in backquotes goes also where it is quoted, and the command has both"
	}
	open, sharp := 0, false
	for i := range len(src) {
		switch c := src[i]; {
		case c < ' ' && c != '\t' && c != '\n', c == 0x7f:
			return "the command holds a control character, and shells differ in what they make of it"
		case c == '#':
			sharp = true
		case c == '\n':
			// A comment ends with its line for a shell, whatever its last character is; for the parser it may go on.
			if sharp && src[i-1] == '\\' {
				return "a line with a # in it ends with a backslash, and it is not sure where the comment ends"
			}
			// A line continuation after a dollar sign is nothing for a shell, which then reads an expansion.
			if strings.HasSuffix(strings.TrimRight(src[:i], `\`), "$") && src[i-1] == '\\' {
				return "a line ends with a dollar sign and a backslash, and it is not sure what is expanded"
			}
			sharp = false
		case c == '(' || c == '{' || c == '[':
			if open++; open > maxNested {
				return "the command has too many open brackets to be analysed"
			}
		case c == ')' || c == '}' || c == ']':
			open = max(open-1, 0)
		}
	}
	return ""
}

// script parses and walks a text in the given state.
func (a *analyser) script(c ctx, st *state, src string, lang syntax.LangVariant) error {
	if why := unreadable(src); why != "" {
		a.poison(why)
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(src), "")
	if err != nil {
		return parseError(err)
	}
	c.src, c.posix = src, lang == syntax.LangPOSIX
	switch {
	case c.continued:
		c.facts = nothing
	case c.facts == nil:
		c.facts = gather(file)
	}
	if len(file.Stmts) > 1 {
		c.in = c.in.shared()
	}
	if c.depth++; c.depth > maxDepth {
		a.poison("commands are nested too deep to be followed")
		return nil
	}
	fed := c.fed
	c.fed = false
	for _, line := range lines(file.Stmts) {
		if fed {
			c = c.onLine(line)
		}
		a.line(c, st, line)
	}
	if fed {
		c.in.kind = inputScript
	}
	a.atEnd(st)
	a.uncalled(c, st)
	return nil
}

// atEnd follows the traps in the state at the end of a text: what was exported by then, they give to what they run.
func (a *analyser) atEnd(st *state) {
	if a.ending {
		return
	}
	a.ending = true
	for _, follow := range a.traps {
		follow(st)
	}
	a.ending = false
}

func parseError(err error) error {
	text := err.Error()
	e := tongs.Errorf(tongs.CodeInvalidArgs,
		"the command cannot be parsed: %s; correct it, or put it in a script file", text)
	var at syntax.Pos
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		at = pe.Pos
	} else if le, ok := errors.AsType[syntax.LangError](err); ok {
		at = le.Pos
	} else {
		return e
	}
	return e.With("line", int(at.Line())).With("column", int(at.Col()))
}
