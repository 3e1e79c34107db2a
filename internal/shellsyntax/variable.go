package shellsyntax

import (
	"strings"
)

// The builtins that look at variables or give them values.

// testBuiltin follows test and [. Their -v and -R evaluate a subscript, which can contain a command.
func testBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	args := words[1:]
	if n := len(args); words[0].is("[") && n > 0 && args[n-1].is("]") {
		args = args[:n-1]
	}
	for i, w := range args {
		before, after := exactly(""), exactly("")
		if i > 0 {
			before = args[i-1]
		}
		if i+1 < len(args) {
			after = args[i+1]
		}
		switch {
		case w.many && !w.glob:
			a.poison("what " + words[0].text + " tests is only known when it runs: " + w.src)
		case (w.is("-v") || w.is("-R")) && i+1 < len(args) && !(after.exact() && isName(after.text)):
			a.poison("a test of a subscript may run commands hidden in it")
		case !w.exact() && w.text == "" && i+1 < len(args) && !testOperator(after) && !testOperator(before):
			a.poison("what " + words[0].text + " tests is only known when it runs: " + w.src)
		}
	}
}

// testOperator reports whether a word is an operator of test, and no other than those that take a value as it is.
func testOperator(w arg) bool {
	if !w.exact() {
		return false
	}
	switch w.text {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-n", "-z", "-e", "-f",
		"-d", "-r", "-w", "-x",
		"-s", "-L", "-h":
		return true
	}
	return false
}

// printfBuiltin follows printf, which assigns with -v, and with %n in its format.
func printfBuiltin(a *analyser, c ctx, st *state, words []arg) {
	rest := words[1:]
	if len(rest) > 1 && rest[0].is("-v") {
		name := rest[1]
		if !name.exact() || !isName(name.text) {
			a.poison("which variable printf changes is not plain: " + name.src)
		} else {
			a.assignName(st, name.text, nil)
		}
		rest = rest[2:]
	}
	if len(rest) > 0 && rest[0].is("--") {
		rest = rest[1:]
	}
	a.execute(words)
	switch {
	case len(rest) == 0:
	case strings.HasPrefix(rest[0].text, "-"):
		a.poison("an option of printf is not known: " + rest[0].src)
	case len(rest) > 1 && (!rest[0].exact() || assignsFormat(rest[0].text)) || rest[0].many:
		a.poison("a format of printf may assign to variables: " + rest[0].src)
	}
}

// assignsFormat reports whether a format for printf may have %n in it.
func assignsFormat(format string) bool {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		for i < len(format) && strings.IndexByte("0123456789.*-+ #'hlqjzt", format[i]) >= 0 {
			i++
		}
		if i < len(format) && format[i] == 'n' {
			return true
		}
	}
	return false
}

// assigningBuiltin follows builtins that give variables values from elsewhere.
func assigningBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	name := words[0].text
	rest := words[1:]
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		switch {
		case !w.exact():
			a.poison("which variable " + name + " changes is only known when it runs: " + w.src)
		case strings.HasPrefix(w.text, "-"):
			i += a.assigningOption(name, w.text)
		case name == "getopts" && i == 0, name == "wait" && !isName(w.text):
		case !isName(w.text):
			a.poison("which variable " + name + " changes is not plain: " + w.src)
		default:
			if name == "unset" && st.funcs[w.text] != nil {
				st.setFunc(w.text, &function{bodies: st.funcs[w.text].bodies})
			}
			a.assignName(st, w.text, nil)
		}
	}
	for _, name := range []string{"REPLY", "MAPFILE", "OPTARG", "OPTIND"} {
		a.gets(st, name, nil)
	}
}

// assigningOption looks at an option of an assigning builtin and returns how many words after it are its value.
func (a *analyser) assigningOption(name, option string) int {
	flags, values := "", ""
	switch name {
	case "read":
		flags, values = "rse", "adinNptu"
	case "mapfile", "readarray":
		flags, values = "t", "dnOsu"
	case "unset":
		flags = "fv"
	case "wait":
		flags = "fn"
	}
	letters := option[1:]
	for i, r := range letters {
		switch {
		case name == "read" && r == 'a':
			if i < len(letters)-1 {
				a.poison("read " + option + " is not plain")
			}
			return 0
		case strings.ContainsRune(values, r):
			if i < len(letters)-1 {
				return 0
			}
			return 1
		case !strings.ContainsRune(flags, r):
			a.poison(name + " " + option + " may run commands, or changes a variable that is not plain")
			return 0
		}
	}
	return 0
}

// declareBuiltin follows export and the like where they are not recognised by the parser: under a wrapper, or with a
// computed name.
func declareBuiltin(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	a.poison(words[0].text + " assigns what is only known when it runs")
}
