package shellsyntax

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// A secret that is tracked is in the history, too, and git shows it from there: git show HEAD:.env is cat .env. What
// git shows of a path that its words name is a read of that path. Where no path limits what it shows, it is a read of
// .git in the directory that git runs in; the workspace knows whether the repository tracks a secret.

// gitQuiet are the options of log and its relatives with which no content of files comes out, unless another one adds it.
const gitQuiet = ` --oneline --graph --all --no-patch -s --stat --numstat --shortstat --name-only --name-status --summary
 --dirstat --raw --no-decorate --merges --no-merges --first-parent --reverse --no-color --topo-order --date-order
 --author-date-order --left-right --cherry --cherry-pick --cherry-mark --count --ancestry-path --relative-date --follow
 -i -E -F -P -z --regexp-ignore-case --children --parents --boundary --show-signature --source --use-mailmap --not
 --cached --staged --quiet -q -M -r -t --root --no-renames --exit-code --merge-base -w -b --compact-summary --no-ext-diff
 --no-textconv --no-index --full-history --simplify-merges --sparse --walk-reflogs -g --no-notes --decorate --branches
 --tags --remotes --abbrev-commit --color --date --abbrev --no-abbrev-commit --no-mailmap -h --help `

// gitQuietValues are those that have a value in the same word.
var gitQuietValues = strings.Fields(`--decorate= --format= --pretty= --abbrev= --stat= --since= --after= --until= --before=
 --author= --committer= --grep= --date= --max-count= --skip= --color= --diff-filter= --find-renames= --branches= --tags=
 --remotes= --exclude= --glob= --dirstat= --min-parents= --max-parents= -S -G`)

// gitSuppress are the options that keep a subcommand from showing content that it shows by itself.
const gitSuppress = ` --no-patch -s --stat --numstat --shortstat --name-only --name-status --summary --dirstat --raw --quiet
 --compact-summary `

// gitTakesNext are those of the options above whose value is the next word, whatever that looks like.
const gitTakesNext = ` -n -S -G --author --committer --grep --since --after --until --before --max-count --skip --date `

// gitReads adds what git reads from the history, or takes up into it.
func (a *analyser) gitReads(st *state, sub string, args []arg) {
	content := false
	switch sub {
	case "show":
		content = gitShows(args) || !gitHas(args, gitSuppress) || !gitCommits(args)
	case "diff":
		content = gitShows(args) || !gitHas(args, gitSuppress)
	case "log", "whatchanged", "diff-tree", "diff-index", "diff-files":
		content = gitShows(args)
	case "stash", "reflog":
		first := firstWord(args)
		if sub == "stash" && first != "show" && first != "list" || listed("expire delete exists", first) {
			return
		}
		// Any option of stash show takes the place of the summary that it shows without one.
		summary := sub != "stash" || first != "show" || len(gitOptions(args)) == 0 || gitHas(args, gitSuppress)
		content = gitShows(args) || !summary
		args = args[min(1, len(args)):]
	case "cat-file":
		content = len(args) != 2 || !gitHas(args[:1], " -t -s -e ")
	case "grep":
		a.gitGrep(st, args)
		return
	case "blame", "annotate", "archive", "range-diff", "format-patch", "bundle", "merge-tree", "checkout-index":
		content = true
	case "apply", "am", "read-tree": // what they bring in under another name is not told
		a.gitHistory(st)
	case "status", "fsck":
		if !gitSilent[sub].onlyKnownOptions(args) {
			a.gitHistory(st)
		}
	case "notes":
		for _, w := range gitOptions(args) {
			if gitMatches("-C", w.text) || gitMatches("-c", w.text) || gitMatches("--reuse-message", w.text) ||
				gitMatches("--reedit-message", w.text) {
				a.unknown(tongs.EffectRead, "git notes "+w.text+" takes up content that is only known when it runs")
				a.gitHistory(st)
			}
		}
	case "for-each-ref", "branch", "tag":
		if formatsContent(args) {
			a.gitHistory(st)
		}
	case "checkout", "restore", "mv", "add", "stage", "hash-object", "update-index", "commit", "reset":
		a.gitNamed(st, sub, args)
	}
	if content {
		a.gitContent(st, args)
	}
}

// gitSilent are the options of subcommands with which they show no content.
var gitSilent = map[string]options{
	"status": `s b u? z short branch show-stash porcelain? long untracked-files? ignore-submodules? ignored? column?
 no-column ahead-behind no-ahead-behind renames no-renames find-renames?`,
	"fsck": `full no-full unreachable dangling no-dangling root tags cache no-reflogs connectivity-only strict verbose
 progress no-progress name-objects`,
}

// formatsContent reports whether a format may show the content of what a reference names.
func formatsContent(args []arg) bool {
	for _, w := range args {
		if !w.exact() || strings.Contains(w.text, "raw") || strings.Contains(w.text, "contents") {
			return true
		}
	}
	return false
}

// gitOptions returns the options among the words before --, without the values that some take as the next word.
func gitOptions(args []arg) (list []arg) {
	for i := 0; i < len(args) && !args[i].is("--"); i++ {
		if w := args[i]; strings.HasPrefix(w.text, "-") {
			list = append(list, w)
			if w.exact() && listed(gitTakesNext, w.text) {
				i++
			}
		}
	}
	return list
}

// gitHas reports whether one of the options is in a list.
func gitHas(args []arg, list string) bool {
	return slices.ContainsFunc(gitOptions(args), func(w arg) bool {
		name, _, _ := strings.Cut(w.text, "=")
		return w.exact() && listed(list, name)
	})
}

// gitShows reports whether an option may make git show the content of files.
func gitShows(args []arg) bool {
	return slices.ContainsFunc(gitOptions(args), func(w arg) bool {
		switch {
		case w.exact() && strings.Trim(strings.TrimPrefix(w.text[1:], "n"), "0123456789") == "":
		case w.exact() && (listed(gitQuiet, w.text) || listed(gitTakesNext, w.text)):
		case hasAnyPrefix(w.text, gitQuietValues):
		default:
			return true
		}
		return false
	})
}

// gitCommits reports whether what the words before -- name are surely commits. Of a blob, git show shows the content
// whatever its options are.
func gitCommits(args []arg) bool {
	for _, w := range args {
		if w.is("--") {
			return true
		}
		named := !strings.HasPrefix(w.text, "-") && !(w.exact() && commitForm.MatchString(w.text))
		if named || hasAnyPrefix(w.text, []string{"--all", "--branches", "--tags", "--remotes", "--glob"}) {
			return false
		}
	}
	return true
}

var commitForm = regexp.MustCompile(`^(HEAD|@|stash@\{[0-9]+\})[~^0-9]*$`)

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// gitContent adds the reads of a subcommand that shows the content of what its words name.
func (a *analyser) gitContent(st *state, args []arg) {
	limited, paths := false, false
	for _, w := range args {
		switch {
		case w.is("--"):
			paths = true
		case paths:
			limited = a.gitPath(st, w) || limited
		case strings.HasPrefix(w.text, "-"):
			if _, file, ok := strings.Cut(w.text, ":"); ok && strings.HasPrefix(w.text, "-L") {
				limited = a.gitPath(st, exactly(file)) || limited
			}
		default:
			limited = a.gitWord(st, w) || limited
		}
	}
	if !limited {
		a.gitHistory(st)
	}
}

// gitWord adds the read of a word that is a revision, a path, or a path in a revision, and reports whether it names a path
// and so limits what is read.
func (a *analyser) gitWord(st *state, w arg) bool {
	if at := strings.LastIndexByte(w.text, ':'); at >= 0 && w.exact() && !strings.HasPrefix(w.text, ":(") {
		file := w.text[at+1:]
		if rest, ok := strings.CutPrefix(file, "./"); ok || strings.HasPrefix(file, "../") {
			file = rest
		} else if file != "" {
			a.located(tongs.EffectRead, file, false) // from the top of the repository
		}
		return file != "" && a.gitPath(st, exactly(file))
	}
	if w.exact() && revision(w.text) {
		return false
	}
	a.gitPath(st, w)
	return w.exact() && w.text != "" && a.knownFile(st, tongs.EffectRead, w) // otherwise it may be a revision
}

// revision reports whether a word is plainly a revision rather than a path.
func revision(s string) bool {
	if strings.HasPrefix(s, "HEAD") || strings.HasPrefix(s, "@") || strings.HasPrefix(s, "stash@") ||
		strings.Contains(s, "..") && !strings.Contains(s, "../") && !strings.HasPrefix(s, "..") {
		return true
	}
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// gitPath adds the read of what a path pattern names, and reports whether it surely names one file: a directory holds
// others, and a pattern matches them.
func (a *analyser) gitPath(st *state, w arg) bool {
	if !w.exact() || strings.ContainsAny(w.text, `*?[\:`) {
		a.gitHistory(st)
		return true
	}
	a.path(st, tongs.EffectRead, w)
	if w.text == "." || strings.HasSuffix(w.text, "/") || a.isDir(st, w) {
		a.gitHistory(st)
	}
	return true
}

// gitHistory adds the read of everything that is tracked. The sandbox hides none of it, so that it is not confined where the
// repository is not known.
func (a *analyser) gitHistory(st *state) {
	if len(st.dirs) > 0 {
		a.named(st, tongs.EffectRead, ".git", ".git")
		return
	}
	e := tongs.Effect{Kind: tongs.EffectRead, Unknown: true, Why: "what git shows is in a directory that is only known when it runs, and may be a secret that is tracked there"}
	a.effect(e)
	a.markRisky(e.Why)
}

// gitGrep follows git grep. Without a revision it searches the files themselves, as grep does.
func (a *analyser) gitGrep(st *state, args []arg) {
	if gitHas(args, " --cached ") {
		a.gitContent(st, args)
		return
	}
	t := options(`e: f: A: B: C: m: v i w a I r E G F P n h H l L z o c p W q # column full-name count quiet
 files-with-matches files-without-match name-only line-number ignore-case word-regexp fixed-strings extended-regexp
 perl-regexp heading break color? no-color context: after-context: before-context: max-depth: max-count: threads:
 untracked no-index text and or not all-match show-function function-context invert-match no-recursive recursive
 exclude-standard no-exclude-standard`)
	g := t.parse(args, false)
	operands := g.operands
	if !g.has("e", "f") && len(operands) > 0 {
		operands = operands[1:]
	}
	if len(operands) > 0 || len(g.strange) > 0 {
		a.gitContent(st, operands)
	}
}

// gitNamed adds the reads of files that git takes up into the repository, moves, or brings back from it.
func (a *analyser) gitNamed(st *state, sub string, args []arg) {
	paths := sub != "checkout" && sub != "reset" && sub != "commit"
	for i, w := range args {
		switch {
		case w.is("--"):
			paths = true
		case strings.HasPrefix(w.text, "-"):
			a.gitTakes(st, sub, w)
		case !w.exact() && w.glob, sub == "commit" && i > 0 && strings.HasPrefix(args[i-1].text, "-"):
		case paths:
			a.path(st, tongs.EffectRead, w)
		case sub == "checkout":
			a.gitWord(st, w)
		}
	}
}

// gitTakes follows an option of a subcommand that takes up files or brings them back, for the content that it shows.
func (a *analyser) gitTakes(st *state, sub string, w arg) {
	has := func(letters string, names ...string) bool {
		if !strings.HasPrefix(w.text, "--") {
			return strings.ContainsAny(w.text, letters)
		}
		name, _, _ := strings.Cut(w.text, "=")
		for _, n := range names {
			if len(name) > 2 && strings.HasPrefix(n, name) {
				return true
			}
		}
		return false
	}
	switch {
	case (sub == "add" || sub == "stage") && has("f", "--force"):
		a.unknown(tongs.EffectRead, "git add --force takes up files that are ignored")
	case sub == "update-index" && has("", "--cacheinfo", "--index-info", "--stdin"),
		sub == "commit" && has("v", "--verbose"),
		sub != "hash-object" && sub != "mv" && has("pie", "--patch", "--interactive", "--edit"):
		a.gitHistory(st)
	}
}

// gitConfigFile is the file that git config changes.
func (a *analyser) gitConfigFile(args []arg) arg {
	file := exactly(".git/config")
	for i, w := range args {
		name, value, attached := strings.Cut(w.text, "=")
		switch {
		case w.is("--global") && a.w.Home != "":
			file = exactly(path.Join(a.w.Home, ".gitconfig"))
		case w.is("--system"):
			file = exactly("/etc/gitconfig")
		case name == "--file" && attached:
			file = w.after(len(w.text) - len(value))
		case (w.is("--file") || w.is("-f")) && i+1 < len(args):
			file = args[i+1]
		}
	}
	return file
}
