package shellsyntax

import (
	"errors"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/tongs-ai/tongs"
)

// path adds the effect of a kind on what a word names, in each directory that the shell may be in.
func (a *analyser) path(st *state, kind tongs.EffectKind, word arg) {
	switch {
	case word.fd || word.exact() && (word.text == "" || device(kind, word.text)):
		return
	case word.exact():
		a.named(st, kind, word.text, word.text)
	case word.below && (kind == tongs.EffectRead || a.elsewhere(word.dir)):
		a.named(st, kind, word.dir, word.src)
	case a.elsewhere(path.Dir(word.text + "x")):
		a.named(st, kind, path.Dir(word.text+"x"), word.src)
	case word.glob:
		a.unknown(kind, "which files "+word.src+" names is only known when it runs")
	default:
		a.unknown(kind, "which file "+word.src+" names is only known when it runs")
	}
}

// named adds the effect on the path of that spelling. shown is what to tell a person.
func (a *analyser) named(st *state, kind tongs.EffectKind, spelling, shown string) {
	dirs := st.dirs
	if path.IsAbs(spelling) {
		dirs = []string{""}
	}
	if len(dirs) == 0 {
		a.unknown(kind, "where "+shown+" is depends on a directory that is only known when it runs")
		return
	}
	for _, dir := range dirs {
		a.located(kind, join(dir, spelling), slices.Contains(st.stays, dir))
	}
}

// located adds the effect on a path as seen from where the command starts. Unlikely is set where that is meant only if a cd
// failed whose target is there: such a path outside is nothing that must be asked about.
func (a *analyser) located(kind tongs.EffectKind, spelling string, unlikely bool) {
	if a.lookups++; a.lookups > maxPaths {
		a.unknown(kind, "the command names too many paths to be followed")
		return
	}
	if a.scratch(spelling) {
		a.effect(tongs.Effect{Kind: kind, Unknown: true, Confined: true, Why: kind.String() + "s " + spelling + ", which is private to the command"})
		return
	}
	p, err := a.resolve(kind, spelling)
	if lexical := path.Clean(spelling); tongs.CodeOf(err) == tongs.CodeFileNotFound && lexical != spelling {
		// A directory before .. is not there yet. Should it be made, .. leads back from it.
		a.located(kind, lexical, unlikely)
		if kind != tongs.EffectRead {
			a.unknown(kind, kind.String()+"s "+spelling+", which leads nowhere now")
		}
		return
	}
	if (errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)) && kind != tongs.EffectRead {
		a.unknown(kind, kind.String()+"s "+spelling+", which leads nowhere now")
		return
	}
	for up := spelling; errors.Is(err, syscall.ENOTDIR) && strings.Contains(up, "/"); { // there is nothing to be read below a file
		up = up[:strings.LastIndexByte(up, '/')]
		p, err = a.resolve(kind, up)
	}
	if err == nil {
		a.effect(tongs.Effect{Kind: kind, Path: p})
		return
	}
	e := tongs.Effect{Kind: kind, Unknown: true, Why: kind.String() + "s " + spelling + ", which is not inside the workspace"}
	switch {
	case kind != tongs.EffectRead:
		e.MustAsk = !unlikely
	case a.shown(spelling):
		return
	case path.Clean(spelling) == "/", inside(path.Clean(spelling), "/proc"):
		e.Confined = a.w.Confined // it holds, or leads to, what the sandbox shows, and nothing else
	}
	a.effect(e)
	a.markRisky(e.Why)
}

// elsewhere reports whether a directory is surely outside the roots, and not private either.
func (a *analyser) elsewhere(dir string) bool {
	if !path.IsAbs(dir) || a.w.Resolve == nil || a.scratch(dir) {
		return false
	}
	_, err := a.w.Resolve(dir)
	return err != nil
}

// shown reports whether a path is one that every program in the sandbox can read.
func (a *analyser) shown(spelling string) bool {
	return a.w.Confined && path.IsAbs(spelling) && !strings.Contains(spelling, "..") && slices.ContainsFunc(a.w.Shown, func(dir string) bool {
		return inside(path.Clean(spelling), dir)
	})
}

// inside reports whether a clean path is dir or below it.
func inside(name, dir string) bool {
	return dir != "" && (name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/"))
}

func (a *analyser) resolve(kind tongs.EffectKind, spelling string) (tongs.Path, error) {
	if len(spelling) > 1 && strings.HasPrefix(spelling, "~") {
		spelling = "./" + spelling // the shell expanded it already, so that it is a name
	}
	resolve := a.w.Resolve
	if kind == tongs.EffectDelete {
		resolve = a.w.ResolveEntry
	}
	if resolve == nil {
		return tongs.Path{}, tongs.Errorf(tongs.CodeInvalidPath, "path %q cannot be resolved here", spelling)
	}
	return resolve(spelling)
}

// scratch reports whether a path is in a directory that is private to the command. The home that programs have is too, but
// whoever names it means that of the user.
func (a *analyser) scratch(spelling string) bool {
	if !a.w.Confined || !path.IsAbs(spelling) || strings.Contains(spelling, "..") {
		return false
	}
	clean := path.Clean(spelling)
	if inside(clean, a.w.Home) || !slices.ContainsFunc(a.w.Scratch, func(dir string) bool { return inside(clean, dir) }) {
		return false
	}
	// A root that lies in such a directory is no less a root.
	if a.w.Resolve == nil {
		return true
	}
	_, err := a.w.Resolve(spelling)
	return err != nil
}

// device reports whether a path is a device that is no file: what is read from or written to it is kept nowhere.
func device(kind tongs.EffectKind, name string) bool {
	if kind == tongs.EffectDelete {
		return false
	}
	switch name {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	case "/dev/zero", "/dev/random", "/dev/urandom":
		return kind == tongs.EffectRead
	}
	digits, ok := strings.CutPrefix(name, "/dev/fd/")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// paths adds the effect on each word.
func (a *analyser) paths(st *state, kind tongs.EffectKind, words []arg) {
	for _, w := range words {
		a.path(st, kind, w)
	}
}

// reads adds read effects for operands, where - is the standard input and none at all means the given default.
func (a *analyser) reads(st *state, words []arg, none string) {
	if len(words) == 0 && none != "" {
		a.path(st, tongs.EffectRead, exactly(none))
	}
	for _, w := range words {
		if !w.is("-") {
			a.path(st, tongs.EffectRead, w)
		}
	}
}

// isThere reports whether a word names a directory that is there now, wherever the shell is likely to be, and that nothing
// before is known to change.
func (a *analyser) isThere(st *state, word arg) bool {
	likely := st.clone()
	likely.dirs = st.likely()
	if !a.isDir(likely, word) {
		return false
	}
	for _, dir := range likely.dirs {
		p, err := a.w.Resolve(join(dir, word.text))
		if err != nil || slices.ContainsFunc(a.effects, func(e tongs.Effect) bool { return changesPath(e, p) }) {
			return false
		}
	}
	return true
}

// isDir reports whether a word surely names a directory, in every directory that the shell may be in.
func (a *analyser) isDir(st *state, word arg) bool {
	if !word.exact() || a.w.IsDir == nil || a.w.Resolve == nil || len(st.dirs) == 0 {
		return false
	}
	for _, dir := range st.dirs {
		p, err := a.w.Resolve(join(dir, word.text))
		if err != nil || !a.w.IsDir(p) {
			return false
		}
	}
	return true
}

// workIn adds what it means that a program works in the directory that a word names: one that is not inside the roots
// can contain anything that steers the program.
func (a *analyser) workIn(st *state, word arg) *state {
	there := st.clone()
	there.stays = nil
	if !word.exact() {
		there.dirs = nil
		a.unknown(tongs.EffectRead, "it works in a directory that is only known when it runs: "+word.src)
		return there
	}
	dirs := st.dirs
	if path.IsAbs(word.text) {
		dirs = []string{""}
	}
	there.dirs = nil
	for _, dir := range dirs {
		there.dirs = append(there.dirs, join(dir, word.text))
		a.located(tongs.EffectRead, join(dir, word.text), false)
	}
	if len(dirs) == 0 {
		a.unknown(tongs.EffectRead, "it works in a directory that is only known when it runs: "+word.src)
	}
	return there
}

// program returns the name by which the tables know the program that a word runs, "" where they do not, and the
// workspace file that it is, if it is one.
func (a *analyser) program(st *state, word arg) (name string, file *tongs.Path, unsure bool) {
	if !strings.Contains(word.text, "/") {
		if a.w.LookPath == nil || a.w.Resolve == nil {
			return word.text, nil, false
		}
		host, ok := a.w.LookPath(word.text)
		if !ok || !path.IsAbs(host) {
			return word.text, nil, false
		}
		if p, err := a.w.Resolve(host); err == nil {
			return "", &p, false
		}
		return word.text, nil, false
	}
	if path.IsAbs(word.text) {
		if p, err := a.resolve(tongs.EffectRead, word.text); err == nil {
			return "", &p, false
		}
		if slices.Contains(systemDirs, path.Dir(path.Clean(word.text))) {
			return path.Base(word.text), nil, false
		}
		return "", nil, false
	}
	if len(st.dirs) != 1 {
		return "", nil, true
	}
	p, err := a.resolve(tongs.EffectRead, join(st.dirs[0], word.text))
	if err != nil {
		return "", nil, true
	}
	return "", &p, false
}

// systemDirs are where programs are what their name says.
var systemDirs = []string{
	"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin",
	"/opt/homebrew/bin",
}

// baseName returns the name of a program given by a path.
func baseName(program string) string { return program[strings.LastIndexAny(program, `/\`)+1:] }
