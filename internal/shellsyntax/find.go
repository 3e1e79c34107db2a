package shellsyntax

import (
	"strings"

	"github.com/tongs-ai/tongs"
)

// findWords says how many values each word of find takes. It has those that only select and print; the others are in
// findProgram.
const findWords = ` -name:1 -iname:1 -path:1 -ipath:1 -wholename:1 -iwholename:1 -regex:1 -iregex:1 -regextype:1
 -type:1 -xtype:1 -size:1 -empty:0 -mtime:1 -mmin:1 -atime:1 -amin:1 -ctime:1 -cmin:1 -used:1 -perm:1 -user:1
 -group:1 -uid:1 -gid:1 -nouser:0 -nogroup:0 -links:1 -inum:1 -lname:1 -ilname:1 -readable:0 -writable:0
 -executable:0 -true:0 -false:0 -fstype:1 -maxdepth:1 -mindepth:1 -depth:0 -d:0 -mount:0 -xdev:0 -daystart:0
 -follow:0 -noleaf:0 -ignore_readdir_race:0 -noignore_readdir_race:0 -warn:0 -nowarn:0 -print:0 -print0:0 -printf:1
 -ls:0 -prune:0 -quit:0 -and:0 -a:0 -or:0 -o:0 -not:0 !:0 (:0 ):0 ,:0 `

// findValues returns how many values a word of find takes, -1 where the word is not one that only selects or prints.
func findValues(word string) int {
	at := strings.Index(findWords, " "+word+":")
	if at < 0 || strings.ContainsAny(word, " :") {
		return -1
	}
	return int(findWords[at+len(word)+2] - '0')
}

// findProgram follows find: where it looks, and what its actions do.
func findProgram(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	i := 1
	for i < len(words) && words[i].exact() && (words[i].text == "-H" || words[i].text == "-L" || words[i].text == "-P" ||
		strings.HasPrefix(words[i].text, "-O")) {
		i++
	}
	var starts []arg
	for i < len(words) && !words[i].mayBeOption() && !words[i].is("(") && !words[i].is("!") && !words[i].is(")") &&
		!words[i].is(",") {
		starts = append(starts, words[i])
		i++
	}
	if len(starts) == 0 {
		starts = []arg{exactly(".")}
	}
	a.paths(st, tongs.EffectRead, starts)
	for _, w := range starts {
		if w.many && !w.glob {
			a.poison(w.src + " may turn out to be an action of find")
		}
	}
	for i < len(words) {
		i = a.findWord(c, st, words, i, starts)
	}
}

// findWord follows one word of the expression of find and returns where the next one is.
func (a *analyser) findWord(c ctx, st *state, words []arg, i int, starts []arg) int {
	w := words[i]
	if !w.exact() {
		a.poison(w.src + " may turn out to be an action of find")
		return i + 1
	}
	if n := findValues(w.text); n >= 0 {
		for _, v := range words[min(i+1, len(words)):min(i+1+n, len(words))] {
			if v.many {
				a.poison(v.src + " may turn out to be an action of find")
			}
		}
		return i + 1 + n
	}
	value := arg{form: formOpaque, src: "?"}
	if i+1 < len(words) {
		value = words[i+1]
	}
	switch w.text {
	case "-delete":
		a.unknown(tongs.EffectDelete, "find -delete deletes what it finds below "+source(starts))
		for _, w := range starts {
			if w.exact() && a.elsewhere(w.text) {
				a.path(st, tongs.EffectDelete, w)
			}
		}
		return i + 1
	case "-newer", "-anewer", "-cnewer", "-samefile", "-newermt", "-newerat", "-newerct", "-newermm":
		if strings.HasSuffix(w.text, "t") && len(w.text) == len("-newermt") {
			return i + 2
		}
		a.path(st, tongs.EffectRead, value)
		return i + 2
	case "-fprint", "-fprint0", "-fls":
		a.path(st, tongs.EffectWrite, value)
		return i + 2
	case "-fprintf":
		a.path(st, tongs.EffectWrite, value)
		return i + 3
	case "-files0-from":
		a.unknown(tongs.EffectRead, "find -files0-from looks where a file says")
		return i + 2
	case "-exec", "-execdir", "-ok", "-okdir":
		return a.findExec(c, st, words, i, starts)
	}
	a.poison("what find does with " + w.src + " is not known")
	return i + 1
}

// findExec follows the command of find -exec.
func (a *analyser) findExec(c ctx, st *state, words []arg, i int, starts []arg) int {
	end := i + 1
	for end < len(words) && !words[end].is(";") && !(words[end].is("+") && words[end-1].is("{}")) {
		end++
	}
	command := words[i+1 : end]
	if end == len(words) || len(command) == 0 {
		a.poison("the command of find " + words[i].text + " has no end")
		return len(words)
	}
	found := arg{form: formOpaque, src: "{}", below: true, dir: ".", many: words[end].is("+"), glob: true}
	if strings.HasSuffix(words[i].text, "dir") {
		// Which directory it runs in, and so what its words name, is only known then.
		there := st.clone()
		there.dirs = nil
		a.execdir(c, there, replaced(command, "{}", arg{
			form: formOpaque, text: "./", src: "{}", many: found.many,
			glob: true,
		}))
		return end + 1
	}
	// Reading where find starts is an effect already, so that any one of them stands for all.
	found.solid, found.dir = true, starts[0].text
	for _, w := range starts {
		if !w.exact() {
			found.below, found.glob, found.solid = false, false, false
		}
	}
	if len(starts) == 1 && found.below {
		found.text = starts[0].text
	}
	sub := c
	sub.in = input{kind: inputUnknown}
	a.run(sub, st, replaced(command, "{}", found), true)
	return end + 1
}

// execdir follows the command of find -execdir.
func (a *analyser) execdir(c ctx, st *state, words []arg) {
	if len(words) > 0 && strings.Contains(words[0].text, "/") && !strings.HasPrefix(words[0].text, "/") {
		a.poison("which program " + words[0].text + " is depends on where find is")
	}
	sub := c
	sub.in = input{kind: inputUnknown}
	a.run(sub, st, words, true)
}

// foundBelow returns the directory that everything find -print0 prints stays in, for the words of a find that does
// nothing else.
func foundBelow(words []string) (string, bool) {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || words[0] == "(" || words[0] == "!" {
		return "", false
	}
	dir, zero := words[0], false
	for i := 1; i < len(words); {
		n := findValues(words[i])
		if n < 0 || words[i] == "-print" || words[i] == "-printf" || words[i] == "-ls" || words[i] == "-follow" {
			return "", false
		}
		zero = zero || words[i] == "-print0"
		i += 1 + n
	}
	return dir, zero
}

// fdOptions are those of fd that matter.
const fdOptions = options(`x/run X/run exec/run exec-batch/run e: extension: t: type: d: max-depth: min-depth:
 exact-depth: E: exclude: S: size: c: color: j: threads: o: owner: changed-within: changed-before: search-path:/read
 base-directory:/dir C:/dir ignore-file:/read g glob H hidden I no-ignore u unrestricted s case-sensitive i
 ignore-case F fixed-strings a absolute-path l list-details L follow p full-path 0 print0 1 q quiet prune
 max-results: strip-cwd-prefix? no-ignore-vcs and: format: path-separator: h help V version`)

func fdProgram(a *analyser, c ctx, st *state, words []arg) {
	a.execute(words)
	for i, w := range words {
		switch {
		case w.is("-x"), w.is("-X"), w.is("--exec"), w.is("--exec-batch"):
			a.poison("fd " + w.text + " runs a command on what it finds")
			if i+1 < len(words) {
				more := arg{form: formOpaque, many: true, src: "(found by fd)"}
				a.run(c, st, append(append([]arg{}, words[i+1:]...), more), true)
			}
			return
		}
	}
	g := fdOptions.parse(words[1:], false)
	a.follow(c, st, "fd", fdOptions, g, false)
	operands := g.operands
	if len(operands) > 0 && !operands[0].many {
		operands = operands[1:]
	}
	a.reads(st, operands, ".")
}
