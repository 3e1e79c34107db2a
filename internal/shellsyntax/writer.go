package shellsyntax

import (
	"path"
	"strings"

	"github.com/tongs-ai/tongs"
)

// writer describes a program that changes its operands.
type writer struct {
	options options
	kind    tongs.EffectKind
	// skip is how many operands come before the paths, unless one of the options in unless is given.
	skip   int
	unless string
	// deep names the options that make it change what is below a directory, which cannot be told.
	deep string
}

var writers = map[string]writer{
	"tee": {options: "a i p append ignore-interrupts output-error?", kind: tongs.EffectWrite},
	"touch": {
		options: "a c m f h r:/read reference:/read d: date: t: time: no-create no-dereference",
		kind:    tongs.EffectWrite,
	},
	"mkdir":  {options: "p v m: mode: parents verbose Z", kind: tongs.EffectWrite},
	"mkfifo": {options: "m: mode:", kind: tongs.EffectWrite},
	"rmdir":  {options: "v p/deletes parents/deletes verbose ignore-fail-on-non-empty", kind: tongs.EffectDelete},
	"rm": {
		options: "r R f i I d v recursive force interactive? dir verbose one-file-system no-preserve-root preserve-root?",
		kind:    tongs.EffectDelete,
	},
	"unlink": {kind: tongs.EffectDelete},
	"chmod": {
		options: "c f v R recursive changes silent quiet verbose reference:/read", kind: tongs.EffectWrite, skip: 1,
		unless: "reference",
		deep:   "R recursive",
	},
	"chown": {
		options: `c f v h R H L P recursive changes silent quiet verbose no-dereference dereference from:
 reference:/read`,
		kind: tongs.EffectWrite, skip: 1, unless: "reference", deep: "R recursive",
	},
	"chgrp": {
		options: "c f v h R H L P recursive changes silent quiet verbose no-dereference dereference reference:/read",
		kind:    tongs.EffectWrite, skip: 1, unless: "reference", deep: "R recursive",
	},
	"truncate": {options: "s: c o r:/read size: reference:/read no-create io-blocks", kind: tongs.EffectWrite},
	"shred": {
		options: `f n: s: u/deletes v x z force iterations: size: remove?/deletes random-source:/read exact zero
 verbose`,
		kind: tongs.EffectWrite,
	},
}

func lookupWriter(name string) handler {
	if _, ok := writers[name]; ok {
		return writeProgram
	}
	switch name {
	case "cp", "mv", "ln", "install":
		return copyProgram
	case "dd":
		return ddProgram
	case "tar", "bsdtar", "gtar":
		return tarProgram
	case "unzip", "zip", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4", "7z", "split", "csplit",
		"patch", "cpio",
		"dos2unix", "unix2dos", "rename", "prename", "mktemp", "sponge", "ar":
		return changeProgram
	}
	return nil
}

// writeProgram follows a program that changes its operands.
func writeProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	name := baseName(words[0].text)
	w := writers[name]
	a.execute(words)
	args := words[1:]
	if name == "chmod" {
		args = chmodMode(args)
	}
	g := w.options.parse(args, false)
	a.follow(c, st, name, w.options, g, false)
	operands := g.operands
	if !g.has(strings.Fields(w.unless)...) {
		for range w.skip {
			if len(operands) > 0 && !operands[0].many {
				operands = operands[1:]
			}
		}
	}
	if w.deep != "" && g.has(strings.Fields(w.deep)...) {
		a.unknown(w.kind, name+" changes everything below "+source(operands))
	}
	for _, operand := range operands {
		if name == "tee" && operand.is("-") {
			continue
		}
		a.path(st, w.kind, operand)
	}
}

// chmodMode puts a mode that looks like an option, as in chmod -x, where an operand is.
func chmodMode(args []arg) []arg {
	for i, w := range args {
		if w.is("--") {
			break
		}
		if w.exact() && len(w.text) > 1 && w.text[0] == '-' && strings.Trim(w.text[1:], "rwxXst") == "" {
			out := append([]arg{}, args...)
			out[i] = exactly("a" + w.text)
			return out
		}
	}
	return args
}

const copyOptions = options(`a b d f i l L n p P r R s t: T u v x H Z archive backup? force interactive link
 dereference no-clobber no-dereference preserve? no-preserve: parents recursive reflink? remove-destination sparse:
 strip-trailing-slashes symbolic-link suffix: S: target-directory: no-target-directory update? verbose
 one-file-system attributes-only copy-contents symbolic logical physical relative g: o: m: D d directory c C compare
 group: owner: mode: strip`)

// copyProgram follows cp, mv, ln and install: what they take, and where it goes.
func copyProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	name := baseName(words[0].text)
	a.execute(words)
	g := copyOptions.parse(words[1:], false)
	a.follow(c, st, name, copyOptions, g, false)
	if g.maybe != nil {
		a.unknown(tongs.EffectWrite, "where "+name+" writes is only known when it runs")
	}
	from, to := g.operands, arg{}
	inDir := false
	for _, o := range g.options {
		if o.name == "t" || o.name == "target-directory" {
			to, inDir = o.value(), true
		}
	}
	switch {
	case name == "install" && g.has("d", "directory"):
		a.paths(st, tongs.EffectWrite, g.operands)
		return
	case inDir:
	case len(from) == 0:
		return
	case len(from) == 1 && name == "ln":
		to, inDir = exactly("."), true
	case len(from) == 1:
		return
	default:
		to = from[len(from)-1]
		from = from[:len(from)-1]
		inDir = len(from) > 1
	}
	for _, w := range from {
		a.taken(st, name, w, g)
		a.placed(c, st, name, w, to, inDir, g)
	}
}

// taken adds what happens to a source.
func (a *analyser) taken(st *state, name string, w arg, g given) {
	switch {
	case name == "mv":
		a.path(st, tongs.EffectRead, w)
		a.path(st, tongs.EffectDelete, w)
	case name == "ln" && g.has("s", "symbolic"):
		if w.exact() && !path.IsAbs(w.text) && !hasDotDot(w.text) {
			return
		}
		a.path(st, tongs.EffectRead, w)
	default:
		a.path(st, tongs.EffectRead, w)
	}
}

// placed adds the writes at the destination of one source.
func (a *analyser) placed(c ctx, st *state, name string, from, to arg, inDir bool, g given) {
	deep := name == "mv" || g.has("r", "R", "a", "recursive", "archive")
	if deep && !(name == "mv" && from.exact() && !a.isDir(st, from) && a.knownFile(st, tongs.EffectDelete, from)) {
		a.unknown(tongs.EffectWrite, name+" may write a whole directory to "+to.src)
	}
	if g.has("parents") || !to.exact() {
		a.path(st, tongs.EffectWrite, arg{form: formOpaque, src: to.src})
		return
	}
	dir, whole := a.isDir(st, to), g.has("T", "no-target-directory") || name == "ln" && g.has("n", "no-dereference")
	switch {
	case inDir || strings.HasSuffix(to.text, "/"):
	case name != "cp" && (whole || !dir):
		a.replaced(st, to, whole)
	case !dir || whole:
		a.path(st, tongs.EffectWrite, to)
	}
	if g.has("T", "no-target-directory") {
		return
	}
	base := path.Base(from.text)
	if !from.exact() || base == "." || base == ".." || base == "/" {
		a.unknown(tongs.EffectWrite, name+" writes files that are only known when it runs to "+to.src)
		return
	}
	if !a.inTheWay(c, st, name, to) {
		a.path(st, tongs.EffectWrite, exactly(strings.TrimSuffix(to.text, "/")+"/"+base))
	}
}

// knownFile reports whether a word names something that exists now, as an effect of the kind would find it.
func (a *analyser) knownFile(st *state, kind tongs.EffectKind, w arg) bool {
	if a.w.Hash == nil || len(st.dirs) != 1 {
		return false
	}
	p, err := a.resolve(kind, join(st.dirs[0], w.text))
	if err != nil {
		return false
	}
	v, err := a.w.Hash(p)
	return err == nil && v != tongs.Absent
}

func ddProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w.text, "=")
		switch {
		case !ok || w.many:
			a.unknown(tongs.EffectWrite, "what dd writes is only known when it runs: "+w.src)
		case key == "of":
			a.path(st, tongs.EffectWrite, w.after(len(w.text)-len(value)))
		case key == "if":
			a.path(st, tongs.EffectRead, w.after(len(w.text)-len(value)))
		}
	}
}

const tarOptions = options(`c x t r u A d f: C:/dir z j J Z v p k m O h P W w l S B n o T:/list X:/read b: I:/run
 F:/run H: V: N: K: L: a s g:/write file: create extract get list append update delete/writes directory:/dir gzip
 gunzip bzip2 xz zstd lzma compress verbose exclude: exclude-from:/read files-from:/list strip-components: to-stdout
 overwrite keep-old-files no-same-owner no-same-permissions same-permissions preserve-permissions owner: group:
 mode: mtime: sort: format: transform: xform: wildcards anchored no-recursion dereference one-file-system
 exclude-vcs exclude-vcs-ignores totals to-command:/run checkpoint-action:/run checkpoint? use-compress-program:/run
 info-script:/run new-volume-script:/run rmt-command:/run rsh-command:/run remove-files/deletes
 recursive-unlink/deletes unlink-first absolute-names listed-incremental:/write index-file:/write volno-file:/write
 warning: auto-compress version help`)

// tarProgram follows tar. The first word may be options without a dash.
func tarProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	args := append([]arg{}, words[1:]...)
	if len(args) > 0 && args[0].exact() && args[0].text != "" && args[0].text[0] != '-' {
		args = tarBundle(args)
	}
	g := tarOptions.parse(args, false)
	a.follow(c, st, "tar", tarOptions, g, false)
	there := st
	for _, o := range g.options {
		switch o.name {
		case "C", "directory":
			there = a.workIn(there, o.value())
		case "transform", "xform":
			if !o.value().exact() || !strings.HasPrefix(o.value().text, "s") {
				a.poison("what tar --transform does is not known")
			}
		}
	}
	creates := g.has("c", "r", "u", "A", "create", "append", "update")
	for _, o := range g.options {
		if o.name != "f" && o.name != "file" {
			continue
		}
		switch v := o.value(); {
		case v.is("-"):
		case strings.Contains(v.text, ":"):
			a.network("", true, "tar talks to another machine: "+v.src)
			a.poison("tar runs a program to reach another machine")
		case creates:
			a.path(st, tongs.EffectWrite, v)
		default:
			a.path(st, tongs.EffectRead, v)
		}
	}
	switch {
	case creates:
		a.paths(there, tongs.EffectRead, g.operands)
	case g.has("t", "list", "O", "to-stdout", "d"):
	default:
		a.unknown(tongs.EffectWrite, "tar writes what the archive holds")
	}
}

// tarBundle rewrites options without a dash, as in tar xzf a.tgz, as those with one: their values follow in order.
func tarBundle(args []arg) []arg {
	letters, rest := args[0].text, args[1:]
	var out []arg
	for _, r := range letters {
		name := string(r)
		kind, _, ok := tarOptions.find(name)
		out = append(out, exactly("-"+name))
		if ok && kind == ":" && len(rest) > 0 {
			out = append(out, rest[0])
			rest = rest[1:]
		}
	}
	return append(out, rest...)
}

// changeProgram follows programs that write files which their arguments do not name.
func changeProgram(a *analyser, c ctx, st *state, words []arg) {
	a.writes = true
	a.execute(words)
	name := baseName(words[0].text)
	for _, w := range words[1:] {
		if w.exact() && len(w.text) > 0 && w.text[0] != '-' && (strings.HasPrefix(w.text, "/") || hasDotDot(w.text)) {
			a.path(st, tongs.EffectRead, w)
		}
	}
	shows := ""
	switch name {
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4":
		shows = " -c -dc -cd -l -t --stdout --to-stdout --list --test "
	case "unzip":
		shows = " -l -t -p -v -Z "
	case "zip", "rename", "prename", "patch":
		if len(words) > 1 {
			a.poison("what the options of " + name + " run cannot be told")
		}
	case "split":
		for _, w := range words[1:] {
			if !w.exact() || strings.HasPrefix(w.text, "--f") {
				a.poison("split --filter runs a command")
			}
		}
	}
	for _, w := range words[1:] {
		if shows != "" && w.exact() && strings.Contains(shows, " "+w.text+" ") {
			for _, o := range words[1:] {
				if !strings.HasPrefix(o.text, "-") {
					a.path(st, tongs.EffectRead, o)
				}
			}
			return
		}
	}
	a.unknown(tongs.EffectWrite, name+" writes files that are only known when it runs")
}
