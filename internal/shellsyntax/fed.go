package shellsyntax

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A shell that reads its commands from its standard input reads them line by line, and what it runs has the same standard
// input. A command that reads takes the lines that follow away from the shell, so that the rest is not what stands there:
//
//	bash <<'X'
//	read y
//	: '
//	rm x
//	: '
//	X
//
// runs rm. So nothing may read that is followed by another line.

// readingBuiltins are builtins of the shell that read, or run a file that may.
var readingBuiltins = []string{"read", "mapfile", "readarray", "source", "."}

// unread are programs that never read their standard input; those that run others are followed, and so are not here.
var unread = strings.Fields(`ls date sleep which mkdir rmdir touch basename dirname uname whoami id hostname nproc stat du df chmod ln
 realpath readlink echo printf true false test [ pwd seq`)

// unreadGit are commands of git that do not, unless an option says so.
var unreadGit = strings.Fields(`status log diff show branch rev-parse ls-files remote tag describe`)

// onLine returns the context of a line of a text that the shell reads from its standard input.
func (c ctx) onLine(line []*syntax.Stmt) ctx {
	c.in = input{kind: inputScript}
	if end(line[len(line)-1]).Line() >= uint(strings.Count(strings.TrimRight(c.src, " \t\n"), "\n")+1) {
		c.in.kind = inputScriptEnd
	}
	return c
}

// end returns where a statement ends, with its here-documents.
func end(s *syntax.Stmt) syntax.Pos {
	at := s.End()
	syntax.Walk(s, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && r.Hdoc != nil && r.Hdoc.End().After(at) {
			at = r.Hdoc.End()
		}
		return true
	})
	return at
}

// readsOn tells that a command may read its standard input.
func (a *analyser) readsOn(c ctx, name string) {
	switch c.in.kind {
	case inputScript:
		a.poison(name + " may read the commands that follow it, which the shell then does not run as they stand")
	case inputScriptEnd:
		a.onward = true
	}
}

// leavesInput reports whether a program does not read its standard input, or is one that is followed to those that may.
func leavesInput(name string, words []arg) bool {
	if _, wraps := wrappers[name]; wraps || name == "env" || shells[name] != (shellKind{}) {
		return true
	}
	if slices.ContainsFunc(words[1:], func(w arg) bool {
		return !w.exact() || w.text == "-" || strings.HasSuffix(w.text, "=-") || strings.Contains(w.text, "stdin") ||
			strings.Contains(w.text, "from-file") || strings.HasPrefix(w.text, "/dev/") || strings.HasPrefix(w.text, "/proc/")
	}) {
		return false
	}
	if name == "git" {
		return len(words) > 1 && slices.Contains(unreadGit, words[1].text)
	}
	return slices.Contains(unread, name)
}
