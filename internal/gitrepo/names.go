package gitrepo

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// part is what a file of a git directory is for.
type part uint8

const (
	// unknown is everything that is not on the list, and what git runs or obeys.
	unknown part = iota
	object
	// packfile is a pack, its index, or its reverse index.
	packfile
	// ref is a file below refs; packed is the file that has many of them.
	ref
	packed
	// head says which branch is checked out.
	head
	// id is a file with the ID of a commit.
	id
	reflog
	index
	// message is text that git shows or offers to edit.
	message
	// progress is a file in which git notes how to go on with something that stopped.
	progress
	config
	// shallow says where history is cut off.
	shallow
	// link connects a work tree with its git directory.
	link
)

var fixed = map[string]part{
	"packed-refs": packed, "HEAD": head, "index": index, "config": config, "shallow": shallow,
	"ORIG_HEAD": id, "REBASE_HEAD": id, "CHERRY_PICK_HEAD": id, "REVERT_HEAD": id, "AUTO_MERGE": id, "BISECT_HEAD": id,
	"BISECT_EXPECTED_REV": id, "MERGE_HEAD": id,
	"COMMIT_EDITMSG": message, "MERGE_MSG": message, "MERGE_MODE": message, "MERGE_RR": message, "SQUASH_MSG": message,
	"TAG_EDITMSG": message, "NOTES_EDITMSG": message, "FETCH_HEAD": message,
	"BISECT_LOG": progress, "BISECT_START": progress, "BISECT_TERMS": progress, "BISECT_NAMES": progress,
	"BISECT_ANCESTORS_OK": progress, "BISECT_FIRST_PARENT": progress,
}

// steps are the files of the directories in which git notes how to go on.
var steps = map[string]string{
	"rebase-merge": `head-name onto orig-head git-rebase-todo git-rebase-todo.backup done msgnum end message author-script patch stopped-sha
		rewritten-list rewritten-pending quiet verbose interactive amend strategy strategy_opts no-reschedule-failed-exec
		reschedule-failed-exec allow_rerere_autoupdate drop_redundant_commits keep_redundant_commits cdate_is_adate ignore_date signoff
		squash-onto refs-to-delete update-refs autostash current-fixups message-fixup message-squash force-rebase`,
	"rebase-apply": `head-name onto orig-head next last final-commit author-script info msg patch sign keep scissors threeway utf8 quiet
		rebasing applying abort-safety original-commit rewritten messageid dirtyindex apply-opt quoted-cr no-inbody-headers autostash
		rerere-autoupdate message-id patch-merge-index`,
	"sequencer": "todo opts head abort-safety",
}

var patterns = sync.OnceValue(func() (p struct{ loose, pair, pack, worktree, patch, quoted *regexp.Regexp }) {
	p.loose = regexp.MustCompile(`^objects/[0-9a-f]{2}/([0-9a-f]{38}|[0-9a-f]{62})$`)
	p.pair = regexp.MustCompile(`^objects/[0-9a-f]{2}$`)
	p.pack = regexp.MustCompile(`^objects/pack/(pack-(?:[0-9a-f]{40}|[0-9a-f]{64}))\.(pack|idx|rev)$`)
	p.worktree = regexp.MustCompile(`^worktrees/[A-Za-z0-9_][A-Za-z0-9._-]*/`)
	p.patch = regexp.MustCompile(`^[0-9]{1,9}$`)
	p.quoted = regexp.MustCompile(`^( '[A-Za-z0-9_./^~@{}+:,= -]*')*\s*$`)
	return p
})

// partOf returns what the file of that name below a git directory is for, and the name below the git directory of its worktree.
func partOf(name string) (part, string) {
	p := patterns()
	linked := p.worktree.FindString(name)
	name = name[len(linked):]
	switch {
	case linked != "" && slices.Contains([]string{"commondir", "gitdir", "locked"}, name):
		return link, name
	case linked != "" && (fixed[name] == packed || fixed[name] == config || fixed[name] == shallow):
		return unknown, name
	case linked == "" && p.loose.MatchString(name):
		return object, name
	case linked == "" && p.pack.MatchString(name):
		return packfile, name
	case strings.HasPrefix(name, "refs/") && ValidRef(name):
		return ref, name
	case strings.HasPrefix(name, "logs/") && (name == "logs/HEAD" || ValidRef(name[len("logs/"):])):
		return reflog, name
	}
	dir, file := path.Split(name)
	list, ok := steps[strings.TrimSuffix(dir, "/")]
	if ok && (slices.Contains(strings.Fields(list), file) || dir == "rebase-apply/" && p.patch.MatchString(file)) {
		return progress, name
	}
	return fixed[name], name
}

// directory reports whether a directory of that name may come and go: one of parts that are on the list.
func directory(name string) bool {
	p := patterns()
	linked := p.worktree.FindString(name + "/")
	switch rest := (name + "/")[len(linked):]; {
	case linked != "" && rest == "", name == "worktrees":
		return true
	case linked == "" && p.pair.MatchString(name):
		return true
	default:
		rest = strings.TrimSuffix(rest, "/")
		_, progress := steps[rest]
		return progress || rest == "refs" || rest == "logs" || rest == "logs/refs" || namespace(rest+"/x") || namespace(strings.TrimPrefix(rest+"/x", "logs/"))
	}
}

// Record reports whether a file of that name below a git directory is one in which git records its work: refs, reflogs, the
// index, what is in progress, the upstreams of branches. What git runs is not, nor are objects.
func Record(name string) bool {
	kind, _ := partOf(name)
	return kind != unknown && kind != object && kind != packfile || directory(name)
}

// Restoring is how a file of a git directory is taken back.
type Restoring uint8

// The ways. Refs are left, since they are restored by value, and so are objects that came: nothing but Grown tells these from
// objects that went or changed. What is optional is only restored where nobody wrote to it since: it tells of the past, and
// nothing depends on it.
const (
	Exact Restoring = iota
	Left
	Grown
	Optional
)

// Restore returns how the file or directory of that name below a git directory is taken back.
func Restore(name string) Restoring {
	kind, own := partOf(name)
	switch {
	case kind == object, kind == packfile, patterns().pair.MatchString(name):
		return Grown
	case kind == packed, strings.HasPrefix(name, "refs/"):
		return Left
	case kind == reflog && name != "logs/refs/stash", kind == message && !strings.HasPrefix(own, "MERGE_"), own == "ORIG_HEAD", own == "AUTO_MERGE":
		return Optional
	}
	return Exact
}

// IsIndex reports whether the file of that name below a git directory is an index.
func IsIndex(name string) bool {
	kind, _ := partOf(name)
	return kind == index
}

var namespaces = []string{"refs/heads/", "refs/tags/", "refs/remotes/", "refs/notes/", "refs/bisect/", "refs/rewritten/", "refs/worktree/"}

func namespace(name string) bool {
	return name == "refs/stash" || slices.ContainsFunc(namespaces, func(n string) bool { return strings.HasPrefix(name, n) })
}

// ValidRef reports whether git may have a ref of that name, and uses it for branches, tags, stashes and the like. It refuses what
// git refuses, and names that read like something else.
func ValidRef(name string) bool {
	if !namespace(name) || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") ||
		strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?*[\\", r) }) {
		return false
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == "" || element[0] == '.' || element[0] == '-' || strings.HasSuffix(element, ".lock") {
			return false
		}
	}
	short := strings.TrimPrefix(name, "refs/heads/")
	return short != "HEAD" && short != "@" && !isID(short)
}
