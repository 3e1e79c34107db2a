package shellsyntax

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// What each subcommand of git does beside working on the repository itself:
//
//	look     nothing: it only shows
//	record   it writes to the repository only
//	tree     it writes to the working tree, protected names included
//	destroy  it can lose what is not committed
//	remote   it talks to another machine
//	run      it runs commands that the configuration or its arguments name
var gitCommands = map[string]string{
	"status": "look", "log": "look", "diff": "look", "show": "look", "rev-parse": "look", "rev-list": "look",
	"ls-files": "look",
	"ls-tree":  "look", "blame": "look", "annotate": "look", "describe": "look", "shortlog": "look", "cat-file": "look",
	"grep":         "look",
	"for-each-ref": "look", "show-ref": "look", "name-rev": "look", "merge-base": "look", "whatchanged": "look",
	"count-objects": "look",
	"version":       "look", "var": "look", "check-ignore": "look", "check-attr": "look", "diff-tree": "look",
	"diff-index": "look",
	"diff-files": "look", "verify-commit": "look", "verify-tag": "look", "cherry": "look", "range-diff": "look",
	"show-branch": "look",
	"help":        "look", "fsck": "look", "check-ref-format": "look", "stripspace": "look", "patch-id": "look",
	"merge-tree": "look",
	"add":        "record", "stage": "record", "commit": "record", "branch": "record", "tag": "record", "notes": "record",
	"reflog":     "tree",
	"write-tree": "record", "commit-tree": "record", "hash-object": "record", "update-index": "record",
	"read-tree":    "tree",
	"symbolic-ref": "record", "gc": "record", "repack": "record", "pack-refs": "record", "prune": "destroy",
	"update-ref":  "destroy",
	"maintenance": "run", "init": "tree", "format-patch": "tree", "archive": "tree", "bundle": "tree", "worktree": "tree",
	"checkout": "tree", "switch": "tree", "merge": "tree", "rebase": "tree", "cherry-pick": "tree", "revert": "tree",
	"apply": "tree",
	"am":    "tree", "stash": "tree", "mv": "tree", "sparse-checkout": "tree", "checkout-index": "tree",
	"reset": "destroy", "restore": "destroy", "clean": "destroy", "rm": "destroy",
	"fetch": "remote", "pull": "remote", "push": "remote", "clone": "remote", "ls-remote": "remote", "submodule": "remote",
	"remote": "record", "config": "run", "bisect": "run", "filter-branch": "run", "difftool": "run", "mergetool": "run",
	"daemon": "run", "instaweb": "run", "send-email": "run", "svn": "run", "p4": "run", "gui": "run", "citool": "run",
	"credential": "run", "fast-import": "destroy", "replace": "destroy", "lfs": "remote", "web--browse": "run",
}

const gitGlobal = options(`C:/dir c:/run config-env:/run exec-path?/run git-dir:/run work-tree:/run namespace: bare p
 P paginate no-pager no-replace-objects literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs
 no-optional-locks no-lazy-fetch attr-source: v version h help html-path man-path info-path super-prefix:`)

// gitProgram follows git. Options before the subcommand that only say where or how to show are taken off.
func gitProgram(a *analyser, c ctx, st *state, words []arg) {
	g := gitGlobal.parse(words[1:], true)
	a.follow(c, st, "git", gitGlobal, g, false)
	for _, o := range g.options {
		if o.name == "C" {
			st = a.workIn(st, o.value())
		}
		if o.role == "run" {
			a.gitConfig(c, st, o.value())
		}
	}
	if len(g.rest) == 0 {
		a.execute(words)
		return
	}
	sub := g.rest[0]
	words = append([]arg{words[0]}, g.rest...)
	a.execute(words)
	if !sub.exact() || sub.many {
		a.poison("which subcommand of git runs is only known then: " + sub.src)
		return
	}
	args := g.rest[1:]
	kind, ok := gitCommands[sub.text]
	if !ok {
		a.writes = true
		a.poison("git " + sub.text + " is not a subcommand that is known; it may be an alias for any command")
		return
	}
	a.writes = a.writes || kind != "look"
	a.records = a.records || listed("record tree destroy", kind)
	a.gitOutside(st, args)
	a.gitArguments(c, st, sub.text, args)
	a.gitReads(st, sub.text, args)
	a.gitTell(st, sub.text, args)
	if t, ok := gitKeeps[sub.text]; ok && kind == "record" && !t.onlyKnownOptions(args) {
		a.unknown(tongs.EffectDelete, "what git "+sub.text+" does with these options is not known; it may lose what is committed")
	}
	switch kind {
	case "record":
		a.gitRecord(sub.text, args)
	case "tree":
		a.gitTree(st, sub.text, args)
	case "destroy":
		a.gitDestroy(sub.text, args)
	case "remote":
		a.gitRemote(c, st, sub.text, args)
	case "run":
		a.gitRun(c, st, sub.text, args)
	}
}

// gitConfig follows a setting that names a command, for what it would block.
func (a *analyser) gitConfig(c ctx, st *state, setting arg) {
	_, value, _ := strings.Cut(setting.text, "=")
	value, shell := strings.CutPrefix(value, "!")
	if setting.exact() && (shell || strings.Contains(value, " ")) {
		a.shellText(c, st, exactly(value), nil, "git -c", shells["sh"])
	}
}

// gitDanger are options by which git runs a program, reads or writes a file, or loses something. No subcommand means all.
var gitDanger = []struct{ subs, options, role string }{
	{"", "--upload-pack --receive-pack --upload-archive", "run"},
	{"push fetch pull archive clone ls-remote", "--exec", "run"},
	{"fetch clone", "-u", "run"},
	{"clone init", "--template", "run"},
	{"clone", "-c", "run"},
	{"clone submodule", "--config", "run"},
	{"grep", "-O --open-files-in-pager --ext-grep", "run"},
	{"diff log show whatchanged range-diff stash reflog diff-tree diff-index diff-files format-patch", "--ext-diff", "run"},
	{"rebase", "-x --exec -i --interactive --edit-todo", "run"},
	{"rebase merge cherry-pick revert pull am", "--strategy", "run"},
	{"rebase merge cherry-pick revert pull", "-s", "run"},
	{"branch config", "--edit-description", "run"},
	{"archive", "--remote", "remote"},
	{"help", "-w --web -i --info", "run"},
	{"stash", "--exec", "run"},
	{"", "--output", "write"},
	{"format-patch archive", "-o", "write"},
	{"format-patch", "--output-directory", "write"},
	{"archive", "--add-file", "read"},
	{"commit notes tag merge commit-tree", "-F --file", "read"},
	{"commit", "-t --template", "read"},
	{"blame", "--contents --ignore-revs-file -S", "read"},
	{"ls-files", "--exclude-from -X", "read"},
	{"", "--pathspec-from-file", "read"},
	{"grep", "-f", "read"},
	{"log diff show", "-O", "read"},
	{"format-patch", "--signature-file", "read"},
	{"branch tag", "-d --delete -f --force", "delete"},
	{"branch", "-D -M -C", "delete"},
	{"notes", "-f --force", "delete"},
	{"checkout switch", "-f --force --discard-changes -B", "delete"},
	{"switch", "-C --force-create", "delete"},
	{"worktree", "-f --force -B", "delete"},
	{"checkout-index", "-f --force", "delete"},
	{"read-tree", "--reset", "delete"},
	{"merge rebase cherry-pick revert am", "--abort --skip --quit", "delete"},
	{"gc", "--prune", "delete"},
	{"fetch pull", "-p --prune -P --prune-tags", "delete"},
	{"fetch", "-f --force", "delete"},
	{"push", "-f --force --force-with-lease -d --delete --mirror --prune", "delete"},
	{"symbolic-ref", "-d --delete", "delete"},
	{"repack", "-a -A -d", "delete"},
}

// gitArguments follows the options of a subcommand. Git takes any unique beginning of a long option.
func (a *analyser) gitArguments(c ctx, st *state, sub string, args []arg) {
	for i, w := range args {
		if w.is("--") {
			return
		}
		if !w.exact() && w.text == "" && !w.fd || w.many && !w.glob {
			if !w.here() || !listed("add stage status ls-files check-ignore", sub) {
				a.poison(w.src + " may turn out to be an option of git " + sub)
			}
			continue
		}
		if !strings.HasPrefix(w.text, "-") {
			continue
		}
		name, attached, has := strings.Cut(w.text, "=")
		if !w.exact() && !has {
			a.poison(w.src + " may turn out to be an option of git " + sub)
			continue
		}
		for _, d := range gitDanger {
			if d.subs != "" && !listed(d.subs, sub) {
				continue
			}
			for option := range strings.FieldsSeq(d.options) {
				if !gitMatches(option, name) {
					continue
				}
				value := arg{form: formOpaque, src: w.src}
				switch {
				case has:
					value = w.after(len(w.text) - len(attached))
				case len(option) == 2 && strings.HasPrefix(name, option) && len(name) > 2:
					value = w.after(2)
				case i+1 < len(args):
					value = args[i+1]
				}
				a.gitDangerous(c, st, "git "+sub+" "+option, d.role, value)
			}
		}
	}
}

// gitMatches reports whether a given option is, or may be short for, the one in the table.
func gitMatches(option, given string) bool {
	if len(option) == 2 {
		return strings.HasPrefix(given, option) || !strings.HasPrefix(given, "--") && strings.Contains(given, option[1:])
	}
	return len(given) > 2 && strings.HasPrefix(option, given)
}

func (a *analyser) gitDangerous(c ctx, st *state, name, role string, value arg) {
	switch role {
	case "run":
		a.poison(name + " runs a program of its own")
		if value.exact() && value.text != "" && !strings.HasPrefix(value.text, "-") {
			a.shellText(c, st, value, nil, name, shells["sh"])
		}
	case "remote":
		a.network("", true, name+" talks to another machine")
		a.poison(name + " may run a program of its own")
	case "write":
		a.path(st, tongs.EffectWrite, value)
	case "read":
		if !value.is("-") {
			a.path(st, tongs.EffectRead, value)
		}
	case "delete":
		a.unknown(tongs.EffectDelete, name+" can lose what is committed or changed")
	}
}

// gitOutside adds reads for words that are paths outside, as git diff --no-index takes them.
func (a *analyser) gitOutside(st *state, args []arg) {
	for _, w := range args {
		text := w.text
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if strings.HasPrefix(text, "/") || text == ".." || strings.HasPrefix(text, "../") || strings.Contains(text, "/../") {
			w.text = text
			a.path(st, tongs.EffectRead, w)
		}
	}
}

// gitKeeps are the options under which a subcommand that can lose something loses nothing. An option that is not here,
// such as one of a bundle or an abbreviation, may be any other.
var gitKeeps = map[string]options{
	"branch": `a r v l i q t? u: m c all remotes verbose list ignore-case quiet track? set-upstream-to: unset-upstream
 move copy show-current contains? no-contains? merged? no-merged? points-at: sort: format: color? no-color column?
 no-column abbrev? no-abbrev create-reflog no-track omit-empty`,
	"tag": `l n? v a m: F: e s u: i list verify annotate message: file: edit sign cleanup: local-user: create-reflog
 column? no-column contains? no-contains? merged? no-merged? sort: points-at: format: color? no-color ignore-case
 no-sign omit-empty`,
	"symbolic-ref": "q quiet short m: recurse no-recurse",
	"gc":           "q quiet auto aggressive no-prune keep-largest-pack",
	"repack":       "q quiet l local f F n m b window: depth: threads: window-memory: write-bitmap-index write-midx",
	"reset":        "q quiet mixed soft N intent-to-add refresh no-refresh pathspec-from-file: pathspec-file-nul",
	"restore": `S staged s: source: q quiet progress no-progress ignore-unmerged pathspec-from-file: pathspec-file-nul
 overlay no-overlay`,
	"rm":    "cached r q quiet n dry-run f force ignore-unmatch sparse pathspec-from-file: pathspec-file-nul",
	"clean": "n dry-run d x X q quiet e: exclude:",
}

// onlyKnownOptions reports whether all options among the words are in the table.
func (t options) onlyKnownOptions(words []arg) bool {
	g := t.parse(words, false)
	return len(g.strange) == 0 && g.maybe == nil
}

// gitRecord follows what is special about subcommands that mostly write to the repository only.
func (a *analyser) gitRecord(sub string, args []arg) {
	first := firstWord(args)
	switch {
	case sub == "notes" && listed("remove prune merge copy", first):
		a.unknown(tongs.EffectDelete, "git notes "+first+" can lose notes")
	case sub != "remote" || first == "" || first == "get-url" && len(args) < 3 ||
		listed("-v --verbose", first) && len(args) == 1:
	case first == "add" && remoteAdd.onlyKnownOptions(args[1:]):
		a.gitURLs(sub, args)
	case first == "show" || first == "update" || first == "prune":
		if a.markRisky("git remote " + first + " talks to a remote"); !a.w.Relayed {
			a.network("", false, "git remote "+first+" talks to a remote")
		}
		if first != "show" {
			a.unknown(tongs.EffectDelete, "git remote "+first+" can lose what was fetched")
		}
	default:
		a.gitURLs(sub, args)
		a.unknown(tongs.EffectDelete, "git remote "+first+" changes where others are fetched from and pushed to")
	}
}

const remoteAdd = options("t: m: tags no-tags mirror?")

// firstWord returns what is known of the first word.
func firstWord(args []arg) string {
	if len(args) == 0 {
		return ""
	}
	return args[0].text
}

func (a *analyser) gitTree(st *state, sub string, args []arg) {
	first := firstWord(args)
	switch {
	case (sub == "stash" || sub == "worktree" || sub == "sparse-checkout") && (first == "list" || first == "show"),
		sub == "reflog" && (first == "" || first == "show" || first == "HEAD" || first == "exists" ||
			strings.HasPrefix(first, "-")):
		return
	case sub == "stash" && (first == "drop" || first == "clear"):
		a.unknown(tongs.EffectDelete, "git stash "+first+" loses what was stashed")
		return
	case sub == "reflog":
		a.unknown(tongs.EffectDelete, "git reflog "+first+" can lose commits")
		return
	case sub == "worktree" && (first == "remove" || first == "prune"):
		a.unknown(tongs.EffectDelete, "git worktree "+first+" deletes files")
		return
	case sub == "format-patch" && printsPatches(args):
		return
	case sub == "checkout" && first == "-b" && len(args) <= 2, sub == "switch" && first == "-c" && len(args) <= 2:
		return // a new branch where one is: no file changes
	}
	if sub == "checkout" && a.checksOutFiles(st, args) {
		a.unknown(tongs.EffectDelete, "git checkout of files loses changes that are not committed")
	}
	a.unknown(tongs.EffectWrite, "git "+sub+" writes files that are only known when it runs")
}

// printsPatches reports whether git format-patch surely writes no files. A --stdout behind another option may be its value.
func printsPatches(args []arg) bool {
	for i, w := range args {
		switch {
		case w.is("--"):
			return false
		case w.is("--stdout"):
			return i == 0 || !strings.HasPrefix(args[i-1].text, "-") || strings.Trim(args[i-1].text, "-0123456789") == ""
		}
	}
	return false
}

// checksOutFiles reports whether git checkout may take files from elsewhere, rather than go to a branch.
func (a *analyser) checksOutFiles(st *state, args []arg) bool {
	operands := 0
	for _, w := range args {
		switch {
		case w.is("--") || !w.exact() || a.isDir(st, w) || w.text != "" && a.knownFile(st, tongs.EffectRead, w):
			return true
		case !strings.HasPrefix(w.text, "-"):
			operands++
		}
	}
	return operands > 1
}

func (a *analyser) gitDestroy(sub string, args []arg) {
	g := gitKeeps[sub].parse(args, false)
	keeps := gitKeeps[sub] != "" && gitKeeps[sub].onlyKnownOptions(args)
	switch {
	case sub == "reset" && keeps,
		sub == "restore" && keeps && g.has("S", "staged"),
		sub == "rm" && keeps && g.has("cached"),
		sub == "clean" && keeps && g.has("n", "dry-run"):
		return
	}
	a.unknown(tongs.EffectDelete, "git "+sub+" loses what is not committed")
	if sub == "restore" || sub == "reset" {
		a.unknown(tongs.EffectWrite, "git "+sub+" writes files that are only known when it runs")
	}
}

// gitRemote follows what talks to another machine.
func (a *analyser) gitRemote(c ctx, st *state, sub string, args []arg) {
	if sub == "submodule" {
		first := firstWord(args)
		if first == "status" || first == "summary" || len(args) == 0 {
			return
		}
		if first == "foreach" {
			a.poison("git submodule foreach runs a command in each")
			if code, ok := joined(args[1:]); ok {
				a.shellText(c, st, exactly(code), nil, "git submodule foreach", shells["sh"])
			}
			return
		}
		a.poison("git submodule " + first + " runs what the submodules say")
	}
	e := tongs.Effect{
		Kind: tongs.EffectNetwork, Unknown: true, Sends: sub == "push" || sub == "lfs",
		Why: "git " + sub + " talks to a remote",
	}
	a.gitURLs(sub, args)
	if a.markRisky(e.Why); a.w.Relayed && sub != "lfs" {
		if sub == "pull" || sub == "clone" {
			a.unknown(tongs.EffectWrite, "git "+sub+" writes files that are only known when it runs")
		}
		return
	}
	for _, w := range args {
		if u, err := url.Parse(w.text); err == nil && w.exact() && u.Scheme == "https" && validHost(u.Hostname()) {
			e.Unknown, e.Host = false, urlHost(u)
			e.Sends = e.Sends || u.User != nil
		}
	}
	a.effect(e)
	if sub == "pull" || sub == "clone" {
		a.unknown(tongs.EffectWrite, "git "+sub+" writes files that are only known when it runs")
	}
}

// gitURLs looks for addresses by which git runs a program. Git runs git-remote-NAME for NAME::ADDRESS, and for
// NAME://ADDRESS where it does not know NAME.
func (a *analyser) gitURLs(sub string, args []arg) {
	for _, w := range args {
		scheme, rest, found := strings.Cut(w.text, ":")
		switch {
		case !w.exact() && !w.here(), strings.Contains(w.text, "::"),
			found && strings.HasPrefix(rest, "//") && !listed("https http ssh git file", scheme):
			a.poison("git " + sub + " may run the helper that " + w.src + " names")
		}
	}
}

// gitRun follows subcommands that run commands, or change which ones run.
func (a *analyser) gitRun(c ctx, st *state, sub string, args []arg) {
	if sub == "config" && gitConfigReads(args) {
		return
	}
	switch sub {
	case "config":
		a.path(st, tongs.EffectWrite, a.gitConfigFile(args))
		a.unknown(tongs.EffectWrite, "git config changes settings that name programs to run")
		a.poison("git config changes settings that name programs to run")
	case "bisect":
		if len(args) > 0 && args[0].is("run") {
			a.run(c, st, append(slices.Clone(args[1:]), arg{form: formOpaque, many: true, src: "(bisect)"}), true)
		}
		a.unknown(tongs.EffectWrite, "git bisect writes files that are only known when it runs")
		a.poison("git bisect can run a command for each step")
	case "send-email":
		a.network("", true, "git send-email sends data")
		a.poison("git send-email runs commands that its arguments or the configuration name")
	default:
		a.poison("git " + sub + " runs commands that its arguments or the configuration name")
	}
	for i, w := range args {
		if (w.is("-x") || w.is("--extcmd") || strings.HasSuffix(w.text, "-filter")) && i+1 < len(args) {
			a.shellText(c, st, args[i+1], nil, "git "+sub, shells["sh"])
		}
	}
}

// gitConfigReads reports whether git config only shows something.
func gitConfigReads(args []arg) bool {
	reads := false
	for i, w := range args {
		switch {
		case !w.exact():
			return false
		case i == 0 && (w.text == "get" || w.text == "list"), w.text == "--get", w.text == "--get-all",
			w.text == "--get-regexp", w.text == "-l",
			w.text == "--list", w.text == "--get-urlmatch":
			reads = true
		case w.text == "--local", w.text == "--show-origin", w.text == "--show-scope", w.text == "-z", w.text == "--null",
			w.text == "--name-only",
			w.text == "--bool", w.text == "--int", w.text == "--type=bool", w.text == "--global", w.text == "--system",
			w.text == "--worktree":
		case strings.HasPrefix(w.text, "-"):
			return false
		}
	}
	return reads || len(args) == 1 && args[0].exact() && strings.Contains(args[0].text, ".") &&
		!strings.HasPrefix(args[0].text, "-")
}
