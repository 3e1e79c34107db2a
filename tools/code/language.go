package code

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// language is how programs of one language are run. The program is written to a file in the private temporary
// directory first, so that its own standard input is empty, messages name a file, and its length does not matter.
type language struct {
	// programs are the names of the interpreter, the usual one first; install says how to get one.
	programs []string
	install  string
	// file names the program's file.
	file func(code string) string
	// run is what follows the interpreter before the file.
	run string
	env []string
}

var languages = map[string]*language{
	"python": {
		programs: []string{"python3", "python"}, install: "install Python 3 (the package is usually called python3)",
		file: fixed("main.py"),
		// Unbuffered, so that a program which is killed shows how far it came.
		env: []string{"PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8", "MPLBACKEND=Agg"},
	},
	"bash": {programs: []string{"bash"}, install: "install bash", file: fixed("main.sh")},
	"javascript": {
		programs: []string{"node", "nodejs"}, install: "install Node.js (the package is usually called nodejs)", file: moduleFile,
	},
	"go": {
		programs: []string{"go"}, install: "install Go from go.dev/dl", file: fixed("main.go"), run: "run",
		env: []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off"},
	},
}

func fixed(name string) func(string) string { return func(string) string { return name } }

var (
	module  = regexp.MustCompile(`(?m)^[ \t]*(?:import\s*[\w{*"']|export\s)|^[ \t]*await\s`)
	require = regexp.MustCompile(`\brequire\s*\(|\bmodule\.exports\b`)
)

// moduleFile names a program by what its kind of modules is: older versions of Node.js go by the name alone.
func moduleFile(code string) string {
	if module.MatchString(code) && !require.MatchString(code) {
		return "main.mjs"
	}
	return "main.js"
}

// find returns the name of the interpreter that is installed.
func (t *tool) find(lang *language) (string, error) {
	for _, program := range lang.programs {
		if _, ok := t.opt.LookPath(program); ok {
			return program, nil
		}
	}
	var others []string
	for _, other := range slices.Sorted(maps.Keys(languages)) {
		for _, program := range languages[other].programs {
			if _, ok := t.opt.LookPath(program); ok {
				others = append(others, other)
				break
			}
		}
	}
	what := "none of the other languages is there either"
	if len(others) > 0 {
		what = "or use what is there: " + strings.Join(others, ", ")
	}
	return "", tongs.Errorf(tongs.CodeConfigError, "%s is not installed here; %s, %s", strings.Join(lang.programs, " or "), lang.install, what)
}

// script is what sh runs: it keeps the program, which is its standard input, and becomes the interpreter. Nothing of a
// call is part of its text.
func (l *language) script(program, code string) string {
	words := []string{program}
	if l.run != "" {
		words = append(words, l.run)
	}
	return `d=$(mktemp -d "${TMPDIR:-/tmp}/code.XXXXXX") && f=$d/` + l.file(code) + ` && cat >"$f" || exit 1
export MPLCONFIGDIR="${MPLCONFIGDIR:-$d}" NODE_PATH="${NODE_PATH:-$WORKSPACE/node_modules}"
exec ` + strings.Join(words, " ") + ` "$f" "$@" </dev/null`
}

// environ is the environment of the program beyond that of the sandbox; what the call gives comes last and counts.
func (l *language) environ(given map[string]string) []string {
	env := slices.Clone(l.env)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		env = append(env, key+"="+given[key])
	}
	return env
}
