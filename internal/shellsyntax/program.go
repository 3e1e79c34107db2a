package shellsyntax

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// lookupProgram returns the handler of a program that the tables know, nil where they do not.
func lookupProgram(name string) handler {
	if _, ok := readers[name]; ok {
		return readProgram
	}
	if _, ok := wrappers[name]; ok {
		return wrapProgram
	}
	if _, ok := shells[name]; ok {
		return shellProgram
	}
	if _, ok := interpreters[name]; ok {
		return interpreterProgram
	}
	switch name {
	case "env":
		return envProgram
	case "xargs":
		return xargsProgram
	case "find", "gfind":
		return findProgram
	case "fd", "fdfind":
		return fdProgram
	case "parallel":
		return parallelProgram
	case "script":
		return scriptProgram
	case "flock":
		return flockProgram
	case "busybox", "toybox":
		return busyboxProgram
	case "git":
		return gitProgram
	case "sed", "gsed":
		return sedProgram
	case "awk", "gawk", "mawk", "nawk", "original-awk":
		return awkProgram
	case "uniq", "xxd":
		return filterProgram
	case "man", "vi", "vim", "nvim", "view", "vimdiff", "ex", "ed", "emacs", "nano", "pico", "gdb", "lldb", "screen",
		"tmux",
		"expect", "at", "batch", "crontab", "ssh-keygen", "ssh-add", "sqlite3", "psql", "mysql", "tclsh", "wish",
		"osascript",
		"gnuplot", "bc", "dc", "m4", "debugfs", "mount", "umount", "insmod", "modprobe", "ld.so", "ldd", "run-parts",
		"start-stop-daemon", "dpkg", "rpm", "byobu", "gcore", "jshell":
		return obscureProgram
	}
	if h := lookupWriter(name); h != nil {
		return h
	}
	if h := lookupNetwork(name); h != nil {
		return h
	}
	return lookupBuilder(name)
}

// readProgram follows a program that reads its operands.
func readProgram(a *analyser, c ctx, st *state, words []arg) {
	name := baseName(words[0].text)
	r := readers[name]
	a.execute(words)
	g := r.options.parse(words[1:], false)
	if r.pure {
		g.strange = slices.DeleteFunc(g.strange, arg.exact)
	}
	a.follow(c, st, name, r.options, g, true)
	if r.response {
		a.responseFiles(name, words[1:])
	}
	operands := g.operands
	if name == "less" || name == "more" {
		for _, w := range operands {
			if strings.HasPrefix(w.text, "+") {
				a.poison("what " + name + " does with " + w.src + " is not known")
			}
		}
	}
	if r.names {
		return
	}
	none := r.none
	if (name == "grep" || name == "egrep" || name == "fgrep") && (g.has("r", "R", "recursive", "dereference-recursive") ||
		strangeHas(g, 'r', 'R')) {
		none = "."
	}
	if skip := r.skip; skip > 0 && !g.has(strings.Fields(r.unless)...) {
		if len(operands) > 0 && operands[0].many {
			skip = 0 // where the paths begin is not known
		}
		operands = operands[min(skip, len(operands)):]
	}
	a.reads(st, operands, none)
}

// responseFiles follows words that stand for the options in a file, as programs of the GNU toolchain have them.
func (a *analyser) responseFiles(name string, words []arg) {
	for _, w := range words {
		if strings.HasPrefix(w.text, "@") || !w.exact() && w.text == "" && !w.solid && !w.fd {
			a.poison("the options of " + name + " may be in the file that " + w.src + " names")
		}
	}
}

// strangeHas reports whether one of the letters is in a cluster of options that is not known in full.
func strangeHas(g given, letters ...rune) bool {
	for _, w := range g.strange {
		if !strings.HasPrefix(w.text, "--") && strings.ContainsAny(w.text, string(letters)) {
			return true
		}
	}
	return false
}

// wrapProgram takes off a wrapper.
func wrapProgram(a *analyser, c ctx, st *state, words []arg) {
	st = st.clone() // what it gives its command is not given to others
	name := baseName(words[0].text)
	w := wrappers[name]
	g := w.options.parse(words[1:], true)
	if w.self {
		a.writes = true
		a.execute(words)
	}
	a.wrapped(name)
	a.follow(c, st, name, w.options, g, false)
	for _, o := range g.options {
		switch o.role {
		case "stop":
			a.execute(words)
			return
		case "script":
			a.shellText(c, st, o.value(), nil, name+" -c", shells["sh"])
		case "dir":
			st = a.workIn(st, o.value())
		}
	}
	rest := g.rest
	for range w.skip {
		if len(rest) > 0 {
			if rest[0].many {
				a.poison("where the command of " + name + " begins is only known when it runs")
			}
			rest = rest[1:]
		}
	}
	if w.assigns {
		rest = a.assignments(st, rest)
	}
	switch {
	case name == "su":
		if !g.has("c", "command") {
			a.poison("su starts a shell")
		}
	case len(rest) == 0:
		a.writes = true
		a.execute(words)
		if w.self {
			a.poison(name + " without a command starts a shell")
		}
	case w.shell && !g.has(strings.Fields(w.exec)...):
		code, ok := joined(rest)
		if !ok {
			a.poison("the command of " + name + " is only known when it runs")
			return
		}
		a.shellText(c, st, exactly(code), nil, name, shells["sh"])
	default:
		a.run(c, st, rest, true)
	}
}

// assignments takes assignments off the beginning of a command.
func (a *analyser) assignments(st *state, words []arg) []arg {
	for len(words) > 0 && (strings.Contains(words[0].text, "=") && !strings.HasPrefix(words[0].text, "=") ||
		!words[0].exact()) {
		if !strings.Contains(words[0].text, "=") || words[0].many {
			a.poison("what is assigned is only known when it runs: " + words[0].src)
		} else {
			a.giveWord(st, words[0])
		}
		words = words[1:]
	}
	return words
}

const envOptions = options(`i 0 v ignore-environment null debug u: unset: C:/dir chdir:/dir S: split-string:
 block-signal? default-signal? ignore-signal? list-signal-handling`)

func envProgram(a *analyser, c ctx, st *state, words []arg) {
	st = st.clone()
	g := envOptions.parse(words[1:], true)
	a.wrapped("env")
	a.follow(c, st, "env", envOptions, g, false)
	rest := g.rest
	for i, o := range g.options {
		switch o.name {
		case "S", "split-string":
			text := o.value()
			if i != len(g.options)-1 || !text.exact() || text.soft || strings.ContainsAny(text.text, `\$'"#`) {
				a.poison("the text that env -S splits cannot be followed")
				return
			}
			var split []arg
			for _, f := range strings.Fields(text.text) {
				split = append(split, exactly(f))
			}
			if len(split) > 0 && strings.HasPrefix(split[0].text, "-") {
				a.poison("the text that env -S splits cannot be followed")
				return
			}
			rest = append(split, rest...)
		case "C", "chdir":
			st = a.workIn(st, o.value())
		case "i", "ignore-environment":
			st.exports.set(clearing, "")
		case "u", "unset":
			st.exports.set(o.value().text, notSure(o.value().text))
		}
	}
	if len(rest) > 0 && rest[0].is("-") {
		st.exports.set(clearing, "")
		rest = rest[1:]
	}
	rest = a.assignments(st, rest)
	if len(rest) == 0 {
		a.execute(words)
		return
	}
	a.run(c, st, rest, true)
}

const xargsOptions = options(`0 null a:/read arg-file:/read d: delimiter: E: e? eof? I: i? replace? L: l? n: o
 open-tty p interactive P: r s: t x max-args: max-procs: max-lines? no-run-if-empty verbose exit max-chars:
 process-slot-var:/run show-limits`)

// xargsProgram follows the command that xargs runs, with arguments that are only known then.
func xargsProgram(a *analyser, c ctx, st *state, words []arg) {
	g := xargsOptions.parse(words[1:], true)
	a.wrapped("xargs")
	a.follow(c, st, "xargs", xargsOptions, g, false)
	more := arg{form: formOpaque, many: true, src: "(input of xargs)"}
	if c.in.kind == inputList && g.has("0", "null") && !g.has("a", "arg-file") {
		more.below, more.dir, more.glob = true, c.in.list, true
		more.text = listPrefix(c.in.list)
	}
	rest := g.rest
	if len(rest) == 0 {
		rest = []arg{exactly("echo")}
	}
	mark := ""
	for _, o := range g.options {
		switch o.name {
		case "I", "i", "replace":
			if mark = o.value().text; mark == "" {
				mark = "{}"
			}
			if !o.value().exact() {
				a.poison("what xargs replaces is only known when it runs")
			}
		}
	}
	more.many = mark == ""
	sub := c
	sub.in = input{kind: inputUnknown}
	if mark == "" {
		a.run(sub, st, append(append([]arg{}, rest...), more), true)
		return
	}
	a.run(sub, st, replaced(rest, mark, more), true)
}

// listPrefix returns how each path of a list that stays in dir begins.
func listPrefix(dir string) string {
	if dir == "" {
		return ""
	}
	return dir[:1]
}

// replaced puts what is not known in the place of a mark.
func replaced(words []arg, mark string, by arg) []arg {
	out := make([]arg, len(words))
	for i, w := range words {
		at := strings.Index(w.text, mark)
		switch {
		case at < 0:
			out[i] = w
		case w.is(mark):
			out[i] = by
			out[i].src = w.src
		default:
			out[i] = arg{form: formOpaque, text: w.text[:at], src: w.src}
		}
	}
	return out
}

func parallelProgram(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	a.poison("what parallel runs is put together when it runs")
	for i, w := range words[1:] {
		if w.exact() && !strings.HasPrefix(w.text, "-") {
			a.run(c, st, words[i+1:], true)
			return
		}
	}
}

const scriptOptions = options(`a c:/script e f q t? T:/write I:/write O:/write B:/write E: m: append command:/script
 return flush quiet`)

func scriptProgram(a *analyser, c ctx, st *state, words []arg) {
	g := scriptOptions.parse(words[1:], false)
	a.wrapped("script")
	a.follow(c, st, "script", scriptOptions, g, false)
	file := exactly("typescript")
	if len(g.operands) > 0 {
		file = g.operands[0]
	}
	a.path(st, tongs.EffectWrite, file)
	code := exactly("")
	for _, o := range g.options {
		if o.role == "script" {
			code = o.value()
		}
	}
	if code.is("") || len(g.operands) > 1 {
		a.poison("script starts a shell")
		return
	}
	a.shellText(c, st, code, nil, "script -c", shells["sh"])
}

const flockOptions = options(`c:/script command:/script E: conflict-exit-code: e x s n u w: F o shared exclusive
 nonblock unlock wait: no-fork close verbose`)

func flockProgram(a *analyser, c ctx, st *state, words []arg) {
	g := flockOptions.parse(words[1:], true)
	a.wrapped("flock")
	a.follow(c, st, "flock", flockOptions, g, false)
	if len(g.rest) == 0 {
		a.execute(words)
		return
	}
	if file := g.rest[0]; !file.number() {
		a.path(st, tongs.EffectWrite, file)
	}
	rest := g.rest[1:]
	switch {
	case len(rest) == 0:
		a.execute(words)
	case rest[0].is("-c") || rest[0].is("--command"):
		if len(rest) != 2 {
			a.poison("the command of flock cannot be followed")
			return
		}
		a.shellText(c, st, rest[1], nil, "flock -c", shells["sh"])
	case rest[0].mayBeOption():
		a.poison("an option of flock cannot be followed")
	default:
		a.run(c, st, rest, true)
	}
}

func busyboxProgram(a *analyser, c ctx, st *state, words []arg) {
	if len(words) == 1 {
		a.execute(words)
		return
	}
	a.wrapped(baseName(words[0].text))
	if words[1].mayBeOption() {
		a.execute(words)
		a.poison("an option of busybox cannot be followed")
		return
	}
	if words[1].is("[[") {
		a.execute(words)
		return
	}
	a.run(c, st, words[1:], true)
}

// filterProgram follows programs with an input and an output operand.
func filterProgram(a *analyser, c ctx, st *state, words []arg) {
	name := baseName(words[0].text)
	t := options(`f: s: w: c d D i u z skip-fields: skip-chars: check-chars: count repeated all-repeated? unique
 ignore-case group? zero-terminated`)
	if name == "xxd" {
		t = "a b c: C d e E g: h i l: n: o: p r R: s: u v"
	}
	a.execute(words)
	g := t.parse(words[1:], false)
	a.follow(c, st, name, t, g, false)
	for i, w := range g.operands {
		kind := tongs.EffectRead
		if i > 0 || w.many {
			kind = tongs.EffectWrite
		}
		if !w.is("-") {
			a.path(st, kind, w)
		}
	}
}

// obscureProgram follows programs that can do anything, by what is typed into them or by their options.
func obscureProgram(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	a.writes = true
	if len(words) == 2 && (words[1].is("--version") || words[1].is("--help")) {
		return
	}
	if words[0].is("man") && allPlain(words[1:]) {
		return
	}
	a.poison(words[0].text + " can run commands of its own")
}

// allPlain reports whether every word is known and none is an option.
func allPlain(words []arg) bool {
	for _, w := range words {
		if !w.exact() || strings.HasPrefix(w.text, "-") || strings.Contains(w.text, "/") {
			return false
		}
	}
	return len(words) > 0
}
