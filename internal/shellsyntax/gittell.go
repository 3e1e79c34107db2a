package shellsyntax

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Repository is what is known of the git repository that a command works in. The zero value knows nothing.
type Repository struct {
	// Branch is the one that is checked out, empty where that is not known.
	Branch string
	// Upstream is the remote that git push and fetch use where none is named.
	Upstream string
	// Hosts are those of the remotes, by their names. A remote whose host is not sure is absent.
	Hosts map[string]string
}

// gitTells tell what a subcommand of git does, by the options that it is given. The first that fits counts: one of its options is given (a
// word without a dash is the first operand), and there is something for each of its marks:
//
//	{branch}   the branch that is checked out
//	{words}    the operands, {first} and {rest} the first and the others
//	{value}    the value of the option
//	{message}  the message of the commit
var gitTells = map[string][]struct{ given, says string }{
	"add":   {{"-n --dry-run", ""}, {"", "stage {words}"}, {"", "stage changes"}},
	"stage": {{"-n --dry-run", ""}, {"", "stage {words}"}, {"", "stage changes"}},
	"commit": {
		{"--dry-run", ""},
		{"--amend", "replace the last commit of {branch}: {message}"},
		{"--amend", "replace the last commit of {branch}"},
		{"", "commit to {branch}: {message}"},
		{"", "commit to {branch}"},
	},
	"branch": {
		{"-d -D --delete", "delete branch {words}"},
		{"-m -M --move", "rename branch {first} to {rest}"},
		{"-m -M --move", "rename {branch} to {first}"},
		{"-c -C --copy", "copy branch {words}"},
		{"-l --list -a -r --all --remotes --contains --no-contains --merged --no-merged --show-current -v --verbose --points-at", ""},
		{"-u --set-upstream-to", "make {value} the upstream of a branch"},
		{"", "create branch {first}"},
	},
	"tag": {
		{"-d --delete", "delete tag {words}"},
		{"-l --list -n -v --verify --contains --merged --points-at", ""},
		{"-f --force", "move tag {first}"},
		{"", "create tag {first}"},
	},
	"switch": {
		{"-c --create", "create branch {value} and switch to it"},
		{"-C --force-create", "create or move branch {value} and switch to it"},
		{"-f --force --discard-changes", "discard changes of tracked files and switch to {first}"},
		{"", "switch to {first}"},
	},
	"checkout": {
		{"-b", "create branch {value} and switch to it"},
		{"-B", "create or move branch {value} and switch to it"},
		{"-f --force", "discard changes of tracked files and switch to {first}"},
		{"--", "discard changes of {words}"},
		{"", "take {rest} as it is in {first}"},
		{"", "switch to {first}, or discard changes of the file"},
	},
	"reset": {
		{"--hard", "discard changes of tracked files and move {branch} to {first}"},
		{"--hard", "discard changes of tracked files"},
		{"--soft", "move {branch} to {first}, and keep the files"},
		{"--keep --merge", "move {branch} to {first}"},
		{"", "unstage changes"},
	},
	"restore":     {{"-S --staged", "unstage {words}"}, {"", "discard changes of {words}"}},
	"clean":       {{"-n --dry-run", ""}, {"", "delete untracked files"}},
	"rm":          {{"-n --dry-run", ""}, {"--cached", "stop tracking {words}"}, {"", "delete {words}"}},
	"mv":          {{"-n --dry-run", ""}, {"", "move {words}"}},
	"merge":       {{"--abort", "give up the merge and discard what it changed"}, {"--continue", "finish the merge"}, {"", "merge {words} into {branch}"}},
	"rebase":      {{"--abort", "give up the rebase and discard what it changed"}, {"--continue --skip", "go on with the rebase"}, {"", "rewrite {branch} on top of {first}"}, {"", "rewrite {branch}"}},
	"cherry-pick": {{"--abort", "give up the cherry-pick and discard what it changed"}, {"--continue --skip", "go on with the cherry-pick"}, {"", "copy {words} to {branch}"}},
	"revert":      {{"--abort", "give up the revert and discard what it changed"}, {"--continue --skip", "go on with the revert"}, {"", "undo {words} on {branch}"}},
	"stash": {
		{"list show", ""},
		{"pop", "apply the newest stash and drop it"},
		{"apply", "apply a stash"},
		{"drop", "delete a stash"},
		{"clear", "delete all stashes"},
		{"", "stash changes"},
	},
}

const (
	gitFetches = `a append all p prune P prune-tags t tags n no-tags q quiet v verbose f force k keep depth: deepen: unshallow
 shallow-since: j: jobs: dry-run progress no-progress atomic recurse-submodules? no-recurse-submodules multiple set-upstream `
	gitGoesOn = "abort continue skip quit "
)

// gitTold are the options of subcommands that are told about. With any other one nothing is told.
var gitTold = map[string]options{
	"add":   "A all u update n dry-run f force v verbose N intent-to-add ignore-errors renormalize",
	"stage": "A all u update n dry-run f force v verbose N intent-to-add ignore-errors renormalize",
	"commit": `m: message: F: file: C: c: author: date: a all amend no-edit e edit q quiet v verbose n no-verify s signoff no-signoff
 allow-empty allow-empty-message S? gpg-sign? no-gpg-sign reset-author dry-run o only i include cleanup: trailer:`,
	"branch": gitKeeps["branch"] + " d D delete M C f force",
	"tag":    gitKeeps["tag"] + " d delete f force",
	"switch": "c: C: create: force-create: d detach f force discard-changes m merge q quiet t? track? no-track guess no-guess progress no-progress",
	"checkout": `b: B: f force q quiet d detach t? track? no-track guess no-guess ours theirs m merge progress no-progress overlay
 no-overlay`,
	"reset":       gitKeeps["reset"] + " hard keep merge",
	"restore":     gitKeeps["restore"] + " W worktree ours theirs m merge",
	"clean":       gitKeeps["clean"] + " f force",
	"rm":          gitKeeps["rm"],
	"mv":          "f force k n dry-run v verbose",
	"merge":       gitGoesOn + "m: no-ff ff ff-only squash no-squash no-commit commit no-edit q quiet v verbose stat n no-stat autostash no-autostash no-verify signoff",
	"rebase":      gitGoesOn + "onto: autosquash no-autosquash autostash no-autostash q quiet v verbose m merge no-ff update-refs no-verify",
	"cherry-pick": gitGoesOn + "n no-commit x no-edit m: mainline: s signoff ff allow-empty",
	"revert":      gitGoesOn + "n no-commit no-edit m: mainline: s signoff",
	"stash":       "m: message: u include-untracked k keep-index no-keep-index a all q quiet S staged index",
	"push": `f force force-with-lease? force-if-includes d delete u set-upstream n dry-run q quiet v verbose all tags follow-tags mirror prune
 atomic no-verify o: push-option: progress no-progress thin no-thin porcelain`,
	"fetch": gitFetches,
	"pull":  gitFetches + "rebase? r? no-rebase ff ff-only no-ff no-edit autostash no-autostash",
	"clone": `q quiet v verbose n no-checkout bare depth: b: branch: single-branch no-single-branch o: origin: recurse-submodules? recursive j:
 jobs: filter: no-tags progress`,
	"ls-remote": "heads tags h t refs q quiet symref exit-code sort:",
}

// gitTell tells what a subcommand will do, as far as its words say so.
func (a *analyser) gitTell(st *state, sub string, args []arg) {
	table, known := gitTold[sub]
	if !known || len(a.tells) >= maxTells {
		return
	}
	g := table.parse(args, false)
	exact := len(g.strange) == 0 && g.maybe == nil && !slices.ContainsFunc(args, func(w arg) bool { return !w.exact() || w.many })
	t := teller{g: g, repo: a.repository(st), dashes: slices.ContainsFunc(args, func(w arg) bool { return w.is("--") })}
	if listed("switch checkout", sub) { // where later commands are
		a.head = "the branch of that moment"
		if v := t.value("-c -C -b -B --create --force-create"); exact && v != "" {
			a.head = v
		}
	}
	if !exact {
		return
	}
	said := ""
	switch sub {
	case "push":
		said = t.push()
	case "fetch", "ls-remote":
		said = "read from " + t.remote(0)
	case "pull":
		said = "fetch from " + t.remote(0) + " and bring " + t.branch() + " up to date"
	case "clone":
		said = "clone " + t.words(g.operands[:min(1, len(g.operands))])
	default:
		said = t.byTable(sub)
	}
	if said != "" && !slices.Contains(a.tells, said) {
		a.tells = append(a.tells, said)
	}
}

// maxTells is how many commands of git are told about.
const maxTells = 8

// repository is that of the directory that the command works in.
func (a *analyser) repository(st *state) (r Repository) {
	if a.w.Repository != nil && len(st.dirs) == 1 {
		r = a.w.Repository(st.dirs[0])
	}
	if a.head != "" {
		r.Branch, r.Upstream = a.head, ""
	}
	return r
}

// teller puts a command of git into words.
type teller struct {
	g      given
	repo   Repository
	dashes bool
}

// byTable fills in the first row of the table that fits.
func (t *teller) byTable(sub string) string {
	for _, row := range gitTells[sub] {
		if !t.fits(row.given) {
			continue
		}
		pairs := []string{
			"{branch}", t.branch(), "{words}", t.words(t.g.operands), "{first}", t.words(t.g.operands[:min(1, len(t.g.operands))]),
			"{rest}", t.words(t.g.operands[min(1, len(t.g.operands)):]), "{value}", plainWord(t.value(row.given)), "{message}", t.message(),
		}
		complete := true
		for i := 0; i < len(pairs); i += 2 {
			complete = complete && (pairs[i+1] != "" || !strings.Contains(row.says, pairs[i]))
		}
		if complete {
			return strings.NewReplacer(pairs...).Replace(row.says)
		}
	}
	return ""
}

// fits reports whether one of the words of a row is given.
func (t *teller) fits(words string) bool {
	for word := range strings.FieldsSeq(words) {
		name := strings.TrimLeft(word, "-")
		switch {
		case word == "--":
			if t.dashes {
				return true
			}
		case name == word:
			if firstWord(t.g.operands) == word {
				return true
			}
		case t.g.has(name):
			return true
		}
	}
	return words == ""
}

func (t *teller) branch() string {
	if t.repo.Branch == "" {
		return "the current branch"
	}
	return plainWord(t.repo.Branch)
}

// value is that of one of the options.
func (t *teller) value(options string) string {
	for _, o := range t.g.options {
		for word := range strings.FieldsSeq(options) {
			if strings.TrimLeft(word, "-") == o.name {
				return o.value().text
			}
		}
	}
	return ""
}

// message is the first line of the message that is given.
func (t *teller) message() string {
	text, _, _ := strings.Cut(strings.TrimSpace(t.value("-m --message")), "\n")
	return cleantext.Line(cleantext.Cut(text, 100))
}

// words lists operands.
func (t *teller) words(operands []arg) string {
	var list []string
	for i, w := range operands {
		if i == 3 {
			list = append(list, fmt.Sprintf("%d more", len(operands)-i))
			break
		}
		list = append(list, plainWord(w.text))
	}
	return strings.Join(list, ", ")
}

// plainWord shows a word on one line. A password in an address is left out.
func plainWord(s string) string {
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		s = scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:] + "/" + path
	}
	return cleantext.Line(cleantext.Cut(s, 100))
}

// remote is the remote of an operand, or the one that git uses without.
func (t *teller) remote(at int) string {
	name := t.repo.Upstream
	if len(t.g.operands) > at {
		name = t.g.operands[at].text
	}
	if name == "" {
		return "the remote"
	}
	if host := t.repo.Hosts[name]; host != "" {
		return plainWord(name) + " (" + cleantext.Line(host) + ")"
	}
	return plainWord(name)
}

// push tells what is pushed where.
func (t *teller) push() string {
	if t.g.has("n", "dry-run") {
		return ""
	}
	var pushed, deleted []string
	forced := t.g.has("f", "force", "force-with-lease", "mirror", "prune")
	for _, w := range t.g.operands[min(1, len(t.g.operands)):] {
		spec, plus := strings.CutPrefix(w.text, "+")
		from, to, both := strings.Cut(spec, ":")
		forced = forced || plus
		switch {
		case both && from == "" || t.g.has("d", "delete"):
			deleted = append(deleted, refWord(strings.TrimPrefix(spec, ":")))
		case both:
			pushed = append(pushed, refWord(to))
		case spec == "HEAD" || spec == "@":
			pushed = append(pushed, t.branch())
		default:
			pushed = append(pushed, refWord(spec))
		}
	}
	switch {
	case t.g.has("all", "mirror"):
		pushed = []string{"all branches"}
	case len(t.g.operands) < 2 && !t.g.has("tags"):
		pushed = []string{t.branch()}
	}
	if t.g.has("tags") {
		pushed = append(pushed, "all tags")
	}
	var parts []string
	if len(pushed) > 0 {
		parts = append(parts, "push "+strings.Join(pushed, ", ")+" to "+t.remote(0))
	}
	if len(deleted) > 0 {
		parts = append(parts, "delete "+strings.Join(deleted, ", ")+" at "+t.remote(0))
	}
	said := strings.Join(parts, " and ")
	if forced {
		said += ", replacing what is there (a force push)"
	}
	if forced || len(deleted) > 0 {
		return said + "; you are asked about the push in any case"
	}
	return said + "; you are asked about the push, unless a rule about pushes covers it"
}

// refWord is a reference as people say it.
func refWord(ref string) string {
	if name, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
		return "tag " + plainWord(name)
	}
	return plainWord(strings.TrimPrefix(ref, "refs/heads/"))
}
