// Package environ knows the variables that are harmless: those that change how a program looks, counts or speaks, and
// nothing that it runs.
//
// It is a list of what is known. A variable that is not in it, or has a value that is not of the kind it usually has,
// may be what a makefile or a script runs.
package environ

import (
	"regexp"
	"strings"
	"sync"
)

// Harmless reports whether an assignment, as NAME=value, is known to change nothing that a program runs.
func Harmless(assignment string) bool {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok || !IsName(name) {
		return false
	}
	for _, h := range harmless {
		for word := range strings.FieldsSeq(h.names) {
			if word == name {
				return h.value().MatchString(value)
			}
		}
	}
	return false
}

// IsName reports whether s can be the name of a variable.
func IsName(s string) bool { return nameForm().MatchString(s) }

// form is a pattern that is compiled when it is first needed: together they take milliseconds, which every start would pay.
func form(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	nameForm = form(`^[A-Za-z_][A-Za-z0-9_]*$`)

	flag   = form(`^(|[0-9]{1,4}|true|false|yes|no|on|off)$`)
	number = form(`^[0-9]{1,12}$`)
	text   = form(`^[\pL\pN][\pL\pN ._@+-]{0,99}$`)
	date   = form(`^@?[0-9][0-9A-Za-z :+-]{0,39}$`)
)

// harmless are the variables, what their values look like, and why they run nothing. A value with a slash is none of them
// but a zone: libraries take it for a file to load.
var harmless = []struct {
	names  string
	value  func() *regexp.Regexp
	reason string
}{
	{"LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME", form(`^[A-Za-z0-9_.@:-]{0,60}$`), "the language of messages, and how text is sorted"},
	{"TZ", form(`^[A-Za-z0-9_+-]{1,30}(/[A-Za-z0-9_+-]{1,30}){0,2}$`), "the time zone, by its name"},
	{"TERM COLORTERM", form(`^[A-Za-z0-9][A-Za-z0-9+_.-]{0,40}$`), "what the terminal can show"},
	{"COLUMNS LINES", number, "the size of the terminal"},
	{"NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE", flag, "whether there are colours"},
	{"CARGO_TERM_COLOR", form(`^(auto|always|never)$`), "whether there are colours"},
	{"CI", flag, "no questions, and plainer output"},
	{"DEBIAN_FRONTEND", form(`^noninteractive$`), "no questions"},
	{"GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS", form(`^[01]$`), "no questions, and no locks for what only reads"},
	{"NODE_ENV", form(`^(development|production|test)$`), "the three usual kinds of a run"},
	{"GOOS GOARCH GOARM GOARM64 GOAMD64 GO386", form(`^[a-z0-9.]{1,12}$`), "what Go compiles for"},
	{"CGO_ENABLED", form(`^[01]$`), "whether Go compiles C"},
	{"GO111MODULE", form(`^(on|off|auto)$`), "whether Go knows modules"},
	{"GOMAXPROCS SOURCE_DATE_EPOCH", number, "how much at once; the time that is built in"},
	{"GOGC", form(`^([0-9]{1,6}|off)$`), "when Go collects garbage"},
	{"GOMEMLIMIT", form(`^([0-9]{1,15}([KMGT]i)?B?|off)$`), "how much memory Go uses"},
	{"RUST_BACKTRACE", form(`^(0|1|full)$`), "how much an error says"},
	{"RUST_LOG", form(`^[A-Za-z0-9_:=,-]{1,200}$`), "how much is logged"},
	{"PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONUTF8 PYTHONFAULTHANDLER", flag, "how Python writes"},
	{"PYTHONHASHSEED", form(`^([0-9]{1,10}|random)$`), "the order of Python's sets"},
	{"PYTHONIOENCODING", form(`^(utf-?8|ascii|latin-?1)(:(strict|ignore|replace|backslashreplace))?$`), "how Python writes"},
	{"GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL", text, "whose a commit is"},
	{"GIT_AUTHOR_DATE GIT_COMMITTER_DATE", date, "when a commit was made"},
}
