package shellsyntax

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// programFiles are the files that make builders run something.
var programFiles = []string{
	"Makefile", "makefile", "GNUmakefile", "package.json", "build.rs", "justfile", "Rakefile",
	"Taskfile.yml",
}

// lookupBuilder returns the handler of a program that runs what the workspace holds.
func lookupBuilder(name string) handler {
	switch name {
	case "make", "gmake":
		return makeProgram
	case "npm", "yarn", "pnpm":
		return npmProgram
	case "go":
		return goProgram
	case "cargo", "rake", "just", "task", "mvn", "gradle", "ant", "tox", "pytest", "ninja", "cmake", "bazel", "dotnet",
		"mix",
		"bundle", "gem", "poetry", "uv", "pipenv", "docker", "podman", "deno", "bun", "npx", "bunx", "pnpx":
		return builderProgram
	}
	return nil
}

func (a *analyser) runsWorkspace(name string) {
	a.writes = true
	a.note(name + " runs code that is in the workspace or that the workspace names. An approval is bound to the files that the " +
		"effect names; what they import, and other code of the workspace, is not bound.")
}

// builderProgram follows builders whose arguments are the concern of rules, apart from code in them.
func builderProgram(a *analyser, c ctx, st *state, words []arg) {
	name := baseName(words[0].text)
	a.runsWorkspace(name)
	a.sends(words)
	if name == "just" || name == "task" || name == "rake" {
		given := st.clone()
		for _, w := range words[1:] {
			a.makeOperand(given, w)
		}
		a.env = given.exports.list()
	}
	a.execute(words)
	if len(words) > 1 && (name == "deno" || name == "bun") && (words[1].is("eval") || words[1].is("repl") ||
		words[1].is("-e") ||
		words[1].is("--eval") || words[1].is("-p") || words[1].is("x")) {
		a.poison("what " + name + " " + words[1].text + " runs cannot be told")
	}
	if name == "cargo" && slices.ContainsFunc(words[1:], func(w arg) bool {
		return strings.HasPrefix(w.text, "--config") || !w.exact() && w.text == ""
	}) {
		a.poison("cargo --config names programs to run")
	}
	if name == "uv" || name == "poetry" || name == "pipenv" || name == "bundle" {
		for i, w := range words {
			if (w.is("run") || w.is("exec")) && i+1 < len(words) && words[i+1].exact() && !strings.HasPrefix(words[i+1].text,
				"-") {
				a.run(c, st, words[i+1:], true)
				return
			}
		}
	}
}

// builds adds the execute effect of a builder, bound to what bind finds where it works.
func (a *analyser) builds(st *state, words []arg, bind func(b *binding, at string)) {
	e := tongs.Effect{Kind: tongs.EffectExecute, Argv: elements(words), Env: a.env}
	if a.at >= 0 && a.commands[a.at].Argv == nil {
		a.commands[a.at].Argv = e.Argv
	}
	switch {
	case a.w.Resolve == nil:
	case len(st.dirs) == 1:
		b := a.newBinding()
		bind(b, st.dirs[0])
		b.finish(&e, "runs what the workspace says")
	default:
		e.NoGrant, e.Why = true, "what it runs depends on a directory that is only known when it runs"
	}
	a.effect(e)
}

const makeOptions = options(`C:/dir directory:/dir f: file: makefile: j? jobs? l? k i n s B r R q t e/run w p d S b m
 L h v # I:/read include-dir:/read o: W: old-file: what-if: keep-going ignore-errors just-print dry-run recon silent
 quiet always-make no-builtin-rules no-builtin-variables question touch environment-overrides/run print-directory
 no-print-directory print-data-base load-average? output-sync? O? trace version help eval:/run E:/run
 warn-undefined-variables`)

func makeProgram(a *analyser, c ctx, st *state, words []arg) {
	a.runsWorkspace("make")
	g := makeOptions.parse(words[1:], false)
	there, files := st, makeNames
	for _, o := range g.options {
		switch o.name {
		case "C", "directory":
			there = a.workIn(there, o.value())
		case "f", "file", "makefile":
			a.path(there, tongs.EffectRead, o.value())
			files = nil
			if v := o.value(); v.exact() && v.text != "-" {
				files = []string{v.text}
			} else {
				a.poison("what make reads as its makefile is only known when it runs")
			}
		}
	}
	given := st.clone()
	for _, w := range g.operands {
		a.makeOperand(given, w)
	}
	a.env = given.exports.list()
	a.builds(there, words, func(b *binding, at string) { b.firstOf(files, at, asMakefile) })
	a.follow(c, st, "make", makeOptions, g, false)
}

// makeOperand follows a target or a variable. A variable is one that make is given, in its own way.
func (a *analyser) makeOperand(st *state, w arg) {
	name, value, assigns := strings.Cut(w.text, "=")
	switch {
	case w.exact() && (!assigns || plainValue(w.text) || strings.HasPrefix(w.text, "-")):
	case !w.exact() || !isName(name) || steers(name):
		a.poison("what it runs may be what its variables say: " + w.src)
	default:
		if was, ok := st.exports.values[name]; ok && was != value {
			value = notSure(name) // given twice: which of them counts is for make to say
		}
		st.exports.set(name, value)
	}
}

// plainValue reports whether a variable for make has a value that cannot be a program.
func plainValue(assignment string) bool {
	name, value, _ := strings.Cut(assignment, "=")
	if !isName(name) || steers(name) {
		return false
	}
	switch value {
	case "y", "n", "yes", "no", "true", "false", "on", "off", "debug", "release":
		return true
	}
	for part := range strings.SplitSeq(value, ".") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return true
}

func npmProgram(a *analyser, c ctx, st *state, words []arg) {
	name := baseName(words[0].text)
	a.runsWorkspace(name)
	a.sends(words)
	a.builds(st, words, func(b *binding, at string) { b.packages(elements(words[1:]), at) })
	for i, w := range words[1:] {
		rest := words[i+2:]
		switch {
		case w.is("--"):
			return
		case !w.exact() && !(w.text != "" && w.text[0] != '-'):
			a.poison(w.src + " may turn out to be an option of " + name)
		case w.is("exec"), w.is("x"), w.is("dlx"):
			a.poison(name + " " + w.text + " runs a program of its own")
			for len(rest) > 0 && (rest[0].is("--") || strings.HasPrefix(rest[0].text, "-")) {
				rest = rest[1:]
			}
			if len(rest) > 0 {
				a.run(c, st, rest, true)
			}
			return
		case w.is("config"), w.is("c"), w.is("set"), w.is("publish"), w.is("login"), w.is("adduser"), w.is("token"),
			w.is("explore"):
			a.poison(name + " " + w.text + " changes what runs later, or sends data")
		case strings.HasPrefix(w.text, "--script-shell"), strings.HasPrefix(w.text, "--shell"), strings.HasPrefix(w.text,
			"--node-options"),
			strings.HasPrefix(w.text, "--userconfig"), strings.HasPrefix(w.text, "--globalconfig"), strings.HasPrefix(w.text,
				"--prefix"),
			strings.HasPrefix(w.text, "--registry"), strings.HasPrefix(w.text, "--git"), strings.HasPrefix(w.text, "--call"),
			strings.HasPrefix(w.text, "--editor"), strings.HasPrefix(w.text, "--cwd"), strings.HasPrefix(w.text, "--dir"),
			w.is("-C"), w.is("-c"), w.is("-g"), w.is("--global"), strings.HasPrefix(w.text, "--onload-script"):
			a.poison("what " + name + " does with " + w.src + " is not known")
		}
	}
}

// goProgram follows the go command: the options by which it runs other programs or writes elsewhere.
func goProgram(a *analyser, c ctx, st *state, words []arg) {
	a.runsWorkspace("go")
	a.execute(words)
	sub := ""
	for i := 1; i < len(words); i++ {
		w := words[i]
		name := strings.TrimLeft(w.text, "-")
		name, attached, has := strings.Cut(name, "=")
		value := exactly(attached)
		if has {
			value = w.after(len(w.text) - len(attached))
		} else if i+1 < len(words) {
			value = words[i+1]
		}
		switch {
		case !w.exact() && w.mayBeOption() && !has || w.many && !w.glob:
			a.poison(w.src + " may turn out to be an option of go")
		case !strings.HasPrefix(w.text, "-"):
			if sub == "" {
				sub = w.text
			}
			if w.is("--") || sub == "run" && w.text != "run" {
				return
			}
		case name == "exec" || name == "toolexec" || name == "vettool":
			a.poison("go -" + name + " runs a program of its own")
			a.runText(c, st, value)
		case name == "C":
			a.workIn(st, value)
		case name == "o" || name == "cpuprofile" || name == "memprofile" || name == "coverprofile" ||
			name == "blockprofile" ||
			name == "mutexprofile" || name == "trace" || name == "outputdir" || name == "test.outputdir":
			a.path(st, tongs.EffectWrite, value)
		case name == "modfile" || name == "overlay" || name == "pgo":
			a.path(st, tongs.EffectRead, value)
		case name == "ldflags" || name == "gcflags" || name == "asmflags" || name == "gccgoflags":
			if !value.exact() || strings.Contains(value.text, "extld") || strings.Contains(value.text, "toolexec") ||
				strings.Contains(value.text, "linkmode") {
				a.poison("go -" + name + " names programs to run")
			}
		case sub == "env" && (name == "w" || name == "u"):
			a.poison("go env -" + name + " changes what runs later")
		}
	}
	if sub == "install" {
		a.unknown(tongs.EffectWrite, "go install puts programs where others find them")
	}
}

// runText follows a command that is given as one word, for what it would block.
func (a *analyser) runText(c ctx, st *state, w arg) {
	if !w.exact() {
		return
	}
	var words []arg
	for _, f := range strings.Fields(w.text) {
		words = append(words, exactly(f))
	}
	if len(words) > 0 {
		a.run(c, st, append(words, arg{form: formOpaque, many: true, src: "(by go)"}), true)
	}
}
