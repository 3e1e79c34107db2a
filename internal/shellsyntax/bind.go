package shellsyntax

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"mvdan.cc/sh/v3/syntax"
)

// maxBound is how many files a command may be bound to.
const maxBound = 100

// binding collects the workspace files that a command is known to run, with their content: the program itself, and what
// the text of a script, a makefile or a package plainly names as run or included. A file that is named and not there
// counts as absent, so that making it is a change. What a program imports, loads or computes is not found.
type binding struct {
	a        *analyser
	versions map[tongs.Path]tongs.Version
	// scripts are those of packages that were followed.
	scripts map[string]bool
	// names are the files that are there, in the order in which they were met.
	names []string
	// loose is set where something is run that is only known then; failed says why the content cannot be told.
	loose  bool
	failed string
}

// fileKind is how a file is run.
type fileKind uint8

const (
	asData fileKind = iota // by an interpreter whose language is not read here
	asProgram
	asShell
	asMakefile
)

func (a *analyser) newBinding() *binding {
	return &binding{a: a, versions: map[tongs.Path]tongs.Version{}, scripts: map[string]bool{}}
}

// file binds the file of that spelling, and what it runs when the program works in the directory at. It reports whether
// it is there.
func (b *binding) file(spelling, at string, kind fileKind) bool {
	p, err := b.a.resolve(tongs.EffectRead, spelling)
	if err != nil {
		b.loose = true
		return false
	}
	if v, met := b.versions[p]; met {
		return v != tongs.Absent
	}
	if len(b.versions) >= maxBound {
		b.failed = "it names more files than can be bound by their content"
		return false
	}
	text, v := b.read(p)
	if v == "" {
		b.failed = "what " + p.String() + " holds when it runs is not known"
	}
	b.versions[p] = v
	if v == tongs.Absent || v == "" {
		return false
	}
	b.names = append(b.names, p.String())
	if kind == asProgram && text != "" {
		kind = programKind(text)
	}
	switch kind {
	case asShell:
		b.shell(text, at, path.Dir(spelling))
	case asMakefile:
		b.makefile(text, at)
	}
	return true
}

// read returns the text of a file, empty where it is not one to be followed, and its version.
func (b *binding) read(p tongs.Path) (string, tongs.Version) {
	if b.a.w.Read != nil {
		text, err := b.a.w.Read(p)
		switch {
		case err == nil && strings.IndexByte(text, 0) < 0:
			sum := sha256.Sum256([]byte(text))
			return text, tongs.Version("sha256:" + hex.EncodeToString(sum[:]))
		case tongs.CodeOf(err) == tongs.CodeFileNotFound:
			return "", tongs.Absent
		}
	}
	if b.a.w.Hash == nil {
		return "", ""
	}
	v, err := b.a.w.Hash(p)
	if err != nil {
		return "", ""
	}
	return "", v
}

// programKind tells by its first line what runs a program.
func programKind(text string) fileKind {
	first, _, _ := strings.Cut(text, "\n")
	interpreter, ok := strings.CutPrefix(first, "#!")
	if !ok {
		return asShell // a shell runs what is no program itself
	}
	for _, word := range strings.Fields(interpreter) {
		if _, shell := shells[baseName(word)]; shell {
			return asShell
		}
		if baseName(word) == "make" {
			return asMakefile
		}
	}
	return asData
}

// finish ties an execute effect to the files. what says for a person what it runs.
func (b *binding) finish(e *tongs.Effect, what string) {
	switch {
	case b.failed != "":
		e.NoGrant, e.Why = true, b.failed
	case len(b.names) == 0:
		return
	default:
		e.Why = what + "; an approval is bound to the content of " + listing(b.names)
		if b.loose {
			e.Why += ", not to what else they run or load"
		} else {
			e.Why += ", not to what they load"
		}
	}
	e.Version = b.version()
	for p := range b.versions {
		if !slices.Contains(b.a.bound, p) {
			b.a.bound = append(b.a.bound, p)
		}
	}
}

// version identifies the content of all files.
func (b *binding) version() tongs.Version {
	if len(b.versions) == 1 {
		for _, v := range b.versions {
			return v
		}
	}
	order := func(x, y tongs.Path) int { return strings.Compare(x.Root+"\x00"+x.Rel, y.Root+"\x00"+y.Rel) }
	sum := sha256.New()
	for _, p := range slices.SortedFunc(maps.Keys(b.versions), order) {
		fmt.Fprintf(sum, "%q %q %q\n", p.Root, p.Rel, b.versions[p])
	}
	return tongs.Version("sha256:" + hex.EncodeToString(sum.Sum(nil)))
}

// listing names the first few of a list.
func listing(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more files", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// shell follows the text of a script: at is where it runs, dir where it stands.
func (b *binding) shell(text, at, dir string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || unreadable(text) != "" {
		b.loose = true
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			b.call(call.Args, at, dir)
		}
		return true
	})
}

// call binds what a command in a script runs, where that is plainly a file.
func (b *binding) call(words []*syntax.Word, at, dir string) {
	words = unwrapped(words)
	if len(words) == 0 {
		return
	}
	name, tail, ok := plainName(words[0])
	base := baseName(name)
	_, shell := shells[base]
	_, interpreter := interpreters[base]
	switch {
	case !ok && makes(words[0]), base == "make", base == "gmake":
		b.make(words[1:], at)
	case !ok, name == "eval":
		b.loose = true
	case name == "." || name == "source":
		b.first(words[1:], at, dir, asShell)
	case shell:
		b.first(words[1:], at, dir, asShell)
	case interpreter || strings.HasPrefix(base, "python"):
		b.first(words[1:], at, dir, asData)
	case base == "npm" || base == "yarn" || base == "pnpm":
		b.packages(constants(words[1:]), at)
	case tail || strings.Contains(name, "/"):
		b.named(name, tail, at, dir, asProgram)
	}
}

// unwrapped takes wrappers off a command, as far as that is simple.
func unwrapped(words []*syntax.Word) []*syntax.Word {
	for len(words) > 1 {
		name, ok := constant(words[0])
		if _, wraps := wrappers[name]; !ok || !wraps && !listed("exec command builtin env xargs time", name) {
			return words
		}
		for words = words[1:]; len(words) > 0; words = words[1:] {
			if text, ok := constant(words[0]); ok && text != "" && text[0] != '-' && !strings.Contains(text, "=") &&
				strings.Trim(text, "0123456789.smhd") != "" {
				break
			}
		}
	}
	return words
}

// first binds the script that is the first operand of an interpreter, and the text after -c.
func (b *binding) first(words []*syntax.Word, at, dir string, kind fileKind) {
	for i, w := range words {
		name, tail, ok := plainName(w)
		switch {
		case !ok:
			b.loose = true
			return
		case kind == asShell && !tail && strings.HasPrefix(name, "-") && strings.HasSuffix(name, "c") && i+1 < len(words):
			if text, ok := constant(words[i+1]); ok {
				b.shell(text, at, dir)
				return
			}
		case !tail && strings.HasPrefix(name, "-"):
		default:
			b.named(name, tail, at, dir, kind)
			return
		}
	}
}

// named binds what a name in a script stands for: seen from where it runs, and from where the script stands, since many
// go there first. A name with something computed before it is meant below one of the two.
func (b *binding) named(name string, tail bool, at, dir string, kind fileKind) {
	if strings.HasPrefix(path.Base(name), ".") {
		b.loose = true // it may be a secret, and reading it would be a question of its own
		return
	}
	if path.IsAbs(name) && !tail {
		if !slices.Contains(systemDirs, path.Dir(name)) {
			b.file(name, at, kind)
		}
		return
	}
	name = strings.TrimPrefix(name, "/")
	b.file(join(at, name), at, kind)
	if path.Clean(join(dir, name)) != path.Clean(join(at, name)) {
		b.file(join(dir, name), at, kind)
	}
}

// plainName returns the literal that a word is, or that it ends with behind something computed, which tail tells.
func plainName(w *syntax.Word) (name string, tail, ok bool) {
	if name, ok = constant(w); ok {
		return name, false, true
	}
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	for i, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok && i > 0 && i == len(parts)-1 && strings.HasPrefix(lit.Value, "/") &&
			!strings.ContainsAny(lit.Value, `\*?[{`) {
			return lit.Value, true, true
		}
	}
	return "", false, false
}

// constants returns the words that are literals.
func constants(words []*syntax.Word) (list []string) {
	for _, w := range words {
		if text, ok := constant(w); ok {
			list = append(list, text)
		}
	}
	return list
}

// makes reports whether a word is the variable by which a makefile runs make again.
func makes(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	p, ok := w.Parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && p.Param.Value == "MAKE"
}

// makeNames are the makefiles that make looks for, in its order.
var makeNames = []string{"GNUmakefile", "makefile", "Makefile"}

// make binds the makefile of a call of make.
func (b *binding) make(words []*syntax.Word, at string) {
	names := makeNames
	args := constants(words)
	for i, text := range args {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case text == "-C":
			at = join(at, value)
		case strings.HasPrefix(text, "-C"):
			at = join(at, text[2:])
		case text == "-f":
			names = []string{value}
		}
	}
	b.loose = b.loose || len(args) != len(words)
	b.firstOf(names, at, asMakefile)
}

// firstOf binds the first of the files that is there, and that those before it are not.
func (b *binding) firstOf(names []string, at string, kind fileKind) {
	for _, name := range names {
		if b.file(join(at, name), at, kind) {
			return
		}
	}
}

// makefile follows a makefile: what it includes, and what its recipes run.
func (b *binding) makefile(text, at string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.SplitSeq(text, "\n") {
		recipe, isRecipe := strings.CutPrefix(line, "\t")
		fields := strings.Fields(line)
		switch {
		case isRecipe:
			b.recipe(recipe, at)
		case len(fields) > 1 && listed("include -include sinclude", fields[0]):
			for _, name := range fields[1:] {
				if strings.HasPrefix(name, "#") {
					break
				}
				if strings.ContainsAny(name, "$*?[%~") || strings.HasPrefix(path.Base(name), ".") {
					b.loose = true
					continue
				}
				b.file(join(at, name), at, asMakefile)
			}
		default:
			if before, after, ok := strings.Cut(line, ";"); ok && strings.Contains(before, ":") {
				b.recipe(after, at)
			}
		}
		if _, rest, ok := strings.Cut(line, "$(shell "); ok {
			if end := strings.LastIndexByte(rest, ')'); end >= 0 {
				b.recipe(rest[:end], at)
			}
		}
	}
}

// recipe follows a line that make gives to a shell. References of make become ones of the shell: what they stand for is
// not known in either.
func (b *binding) recipe(line, at string) {
	line = strings.TrimLeft(line, "@+- \t")
	var out strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] != '$' || i+1 == len(line):
			out.WriteByte(line[i])
		case line[i+1] == '$':
			out.WriteByte('$')
			i++
		default:
			end := i + 1
			if c := strings.IndexByte("({", line[i+1]); c >= 0 {
				if n := strings.IndexByte(line[i:], ")}"[c]); n > 0 {
					end = i + n
				}
			}
			if strings.Trim(line[i+1:end+1], "(){}") == "MAKE" {
				out.WriteString("${MAKE}")
			} else {
				out.WriteString("${_}")
			}
			i = end
		}
	}
	b.shell(out.String(), at, at)
}

// packages binds the package of a call of npm and the like, and what the scripts run that it names.
func (b *binding) packages(words []string, at string) {
	p, err := b.a.resolve(tongs.EffectRead, join(at, "package.json"))
	if err != nil {
		b.loose = true
		return
	}
	if !b.file(join(at, "package.json"), at, asData) {
		return
	}
	text, _ := b.read(p)
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal([]byte(text), &pkg); err != nil {
		b.loose = true
		return
	}
	for _, word := range words {
		for _, name := range []string{"pre" + word, word, "post" + word} {
			// A script that names itself would be followed for ever.
			if script, ok := pkg.Scripts[name]; ok && !b.followed(p.String()+" "+name) {
				b.shell(script, at, at)
			}
		}
	}
}

// followed reports whether something was followed before, and notes that it is now.
func (b *binding) followed(what string) bool {
	met := b.scripts[what]
	b.scripts[what] = true
	return met
}
