package gitrepo

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/internal/gitdir"
)

const (
	maxSubject = 72
	// maxCounted is how many files are counted, maxOthers how many other refs are looked at for commits that a branch lost.
	maxCounted, maxOthers = 10_000, 64
	// maxHashed is how much of the work tree is read to tell whether changes were discarded.
	maxHashed = 64 << 20
	// maxTold is how many refs are told of one by one.
	maxTold = 100
)

// clean makes text of a repository fit for one line that a person reads.
func clean(s string) string {
	s = cleantext.Line(s)
	if r := []rune(s); len(r) > 2*maxSubject {
		return string(r[:2*maxSubject]) + "…"
	}
	return s
}

func subject(s string) string {
	if r := []rune(s); len(r) > maxSubject {
		s = string(r[:maxSubject]) + "…"
	}
	return cleantext.Line(s)
}

func short(id string) string {
	if isID(id) {
		return id[:7]
	}
	return clean(strings.TrimPrefix(id, "ref: "))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// counted is plural for a number that may not be exact.
func counted(n int, exact bool, what string) string {
	if !exact {
		return "many " + what + "s"
	}
	return plural(n, what)
}

func (c *comparison) say(rank int, format string, args ...any) {
	c.lines = append(c.lines, said{rank, fmt.Sprintf(format, args...)})
}

// describe says what happened, in a few sentences.
func (c *comparison) describe(refs []RefChange) {
	if len(refs) > maxTold {
		c.many(refs)
	} else {
		for _, r := range c.renamed(refs) {
			if !inProgress(r.Name) {
				c.ref(r)
			}
		}
	}
	c.stash()
	trees := map[string]bool{}
	for _, s := range []*side{c.old, c.now} {
		for _, w := range s.worktrees() {
			trees[w] = true
		}
	}
	for _, w := range slices.Sorted(maps.Keys(trees)) {
		c.worktree(w)
	}
	c.discards()
	c.tracking()
	c.shallow()
}

// renamed says which branches got another name, and returns the other changes.
func (c *comparison) renamed(refs []RefChange) (rest []RefChange) {
	const heads = "refs/heads/"
	told := map[string]bool{}
	for _, gone := range refs {
		if gone.New != "" || !strings.HasPrefix(gone.Name, heads) {
			continue
		}
		for _, came := range refs {
			if came.Old == "" && came.New == gone.Old && strings.HasPrefix(came.Name, heads) && !told[came.Name] {
				told[gone.Name], told[came.Name] = true, true
				c.say(1, "rename branch %s to %s", clean(gone.Name[len(heads):]), clean(came.Name[len(heads):]))
				break
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(refs), func(r RefChange) bool { return told[r.Name] })
}

// first says that a branch began with a new commit, and reports whether it did.
func (c *comparison) first(name, id string) bool {
	commit, err := c.now.objects.commit(id)
	if err != nil || !c.fresh[id] || len(commit.parents) > 0 {
		return false
	}
	c.say(1, "commit %s to %s, its first commit: %s", c.files("", commit.tree), name, subject(commit.subject))
	return true
}

// inProgress reports whether the stash, or what is in progress, tells of a ref as a rule.
func inProgress(ref string) bool {
	return ref == stashRef || strings.HasPrefix(ref, "refs/bisect/") || strings.HasPrefix(ref, "refs/rewritten/")
}

// ref says what became of a ref.
func (c *comparison) ref(r RefChange) {
	what, name := "ref", r.Name
	for prefix, kind := range map[string]string{"refs/heads/": "branch", "refs/tags/": "tag", "refs/remotes/": "remote branch"} {
		if rest, ok := strings.CutPrefix(r.Name, prefix); ok {
			what, name = kind, rest
		}
	}
	name = clean(name)
	switch {
	case strings.HasPrefix(r.Name, "refs/notes/"):
		c.say(1, "change the notes %s", clean(strings.TrimPrefix(r.Name, "refs/notes/")))
	case r.Old == "" && what == "branch" && c.first(name, r.New):
	case r.Old == "":
		c.say(1, "create %s %s at %s", what, name, c.at(r.New))
	case r.New == "":
		lost := ""
		if what == "branch" {
			lost = c.lost(r.Old, "")
		}
		c.say(0, "delete %s %s (was %s%s)", what, name, short(r.Old), lost)
	case what == "branch":
		c.moved(name, r.Old, r.New)
	default:
		c.say(0, "move %s %s from %s to %s", what, name, short(r.Old), short(r.New))
	}
}

// at names a commit, with its subject.
func (c *comparison) at(id string) string {
	if commit, err := c.now.objects.commit(id); err == nil && c.fresh[id] {
		return fmt.Sprintf("%s (%s)", short(id), subject(commit.subject))
	}
	return short(id)
}

// others are values of the refs that are there now, but for one.
func (c *comparison) others() (ids []string) {
	if c.tips != nil {
		return slices.Clone(c.tips)
	}
	defer func() { c.tips = slices.Clone(ids) }()
	for _, name := range slices.Sorted(maps.Keys(c.now.refs)) {
		if id := c.now.refs[name]; isID(id) && name != "refs/stash" && len(ids) < maxOthers {
			if _, err := c.now.objects.commit(id); err == nil {
				ids = append(ids, id)
			}
		}
	}
	for _, w := range c.now.worktrees() {
		if branch, id := c.now.head(w); branch == "" && isID(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// lost says how many commits were on a ref and are on none now.
func (c *comparison) lost(old, now string) string {
	hide := c.others()
	if now != "" {
		hide = append(hide, now)
	}
	switch list, exact := c.now.objects.only(old, hide...); {
	case len(list) == 0:
		return ""
	default:
		return ", discards " + counted(len(list), exact, "commit")
	}
}

// moved says how a branch, or a detached HEAD, came from one commit to another.
func (c *comparison) moved(name, old, now string) {
	o := c.now.objects
	gained, exact := o.only(now, old)
	gone, sure := o.only(old, now)
	tip, err := o.commit(now)
	before, err2 := o.commit(old)
	if err != nil || err2 != nil || !exact || !sure {
		c.say(0, "move %s from %s to %s (by many commits)", name, short(old), short(now))
		return
	}
	made := !slices.ContainsFunc(gained, func(id string) bool { return !c.fresh[id] })
	title := subject(tip.subject)
	switch {
	case len(gone) == 0 && len(gained) == 1 && made && len(tip.parents) == 1:
		c.say(1, "commit %s to %s: %s", c.files(before.tree, tip.tree), name, title)
	case len(gone) == 0 && len(tip.parents) > 1 && c.fresh[now] && tip.parents[0] == old:
		c.say(1, "merge %s into %s: %s", plural(len(gained)-1, "commit"), name, title)
	case len(gone) == 0 && made:
		c.say(1, "add %s to %s, the last one: %s", plural(len(gained), "commit"), name, title)
	case len(gone) == 0:
		c.say(1, "move %s forward by %s, from %s to %s", name, plural(len(gained), "commit"), short(old), short(now))
	case len(gone) == 1 && len(gained) == 1 && made && slices.Equal(tip.parents, before.parents):
		c.say(0, "amend the last commit of %s (%s of it differ, was %s): %s", name, c.files(before.tree, tip.tree), short(old), title)
	case c.fresh[now]:
		fresh := 0
		for _, id := range gained {
			if c.fresh[id] {
				fresh++
			}
		}
		c.say(0, "rewrite %s from %s to %s (%s replaced by %s)", name, short(old), short(now), plural(len(gone), "commit"), plural(fresh, "new one"))
	default:
		lost := strings.TrimPrefix(c.lost(old, now), ", ")
		if lost == "" {
			lost = "takes " + plural(len(gone), "commit") + " off it, which other branches or tags have"
		}
		c.say(0, "move branch %s from %s to %s (%s)", name, short(old), short(now), lost)
	}
}

// files counts the files in which two trees differ.
func (c *comparison) files(a, b string) string {
	n, err := c.now.objects.differing(a, b, maxCounted)
	return counted(n, err == nil && n <= maxCounted, "file")
}

// stash says which stashes came and went.
func (c *comparison) stash() {
	old, now := stashes(c.old), stashes(c.now)
	if from, to := c.old.refs[stashRef], c.now.refs[stashRef]; from != to && slices.Equal(old, now) {
		c.say(0, "move the stash from %s to %s", cmp.Or(short(from), "nothing"), cmp.Or(short(to), "nothing"))
	}
	for _, s := range now {
		if slices.Contains(old, s) {
			continue
		}
		n, exact := 0, false
		if commit, err := c.now.objects.commit(s.id); err == nil && len(commit.parents) > 1 {
			if base, err := c.now.objects.commit(commit.parents[0]); err == nil {
				n, err = c.now.objects.differing(base.tree, commit.tree, maxCounted)
				exact = err == nil
			}
			if len(commit.parents) > 2 {
				if untracked, err := c.now.objects.commit(commit.parents[2]); err == nil {
					more, _ := c.now.objects.differing("", untracked.tree, maxCounted)
					n += more
				}
			}
		}
		c.say(1, "stash %s: %s", counted(n, exact, "file"), subject(s.message))
	}
	for _, s := range old {
		if !slices.Contains(now, s) {
			c.say(0, "drop the stash %s: %s", short(s.id), subject(s.message))
		}
	}
}

// stashRef is the newest stash. Its reflog has the others.
const stashRef = "refs/stash"

type stashed struct{ id, message string }

func stashes(s *side) (list []stashed) {
	text, _ := s.read("logs/refs/stash")
	for line := range strings.Lines(text) {
		head, message, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if words := strings.SplitN(head, " ", 3); len(words) == 3 {
			list = append(list, stashed{words[1], message})
		}
	}
	return list
}

// worktree says what a worktree has checked out, staged and in progress now.
func (c *comparison) worktree(w string) {
	in := ""
	if w != c.Worktree {
		in = "worktree " + clean(path.Base(w)) + ": "
		if w == "" {
			in = "main worktree: "
		}
	}
	was, is := c.old.exists(path.Join(w, "HEAD")), c.now.exists(path.Join(w, "HEAD"))
	branch0, id0 := c.old.head(w)
	branch1, id1 := c.now.head(w)
	switch {
	case !was && is && w != "":
		c.say(1, "add the worktree %s", clean(path.Base(w)))
		return
	case was && !is && w != "":
		c.say(0, "remove the worktree %s", clean(path.Base(w)))
		c.gone(w)
		return
	case branch0 != branch1 && branch1 != "":
		from := clean(strings.TrimPrefix(branch0, "refs/heads/"))
		if branch0 == "" {
			from = short(id0)
		}
		c.say(1, "%sswitch from %s to %s", in, from, clean(strings.TrimPrefix(branch1, "refs/heads/")))
	case branch0 != branch1:
		c.say(1, "%sswitch from %s to %s, on no branch", in, clean(strings.TrimPrefix(branch0, "refs/heads/")), c.at(id1))
	case branch1 == "" && id0 != id1:
		c.moved(in+"HEAD (on no branch)", id0, id1)
	}
	if slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Name == path.Join(w, "index") }) {
		c.index(in, w, id0 == id1, id1)
	}
	c.progress(in, w)
}

// gone tells of a worktree that was removed.
func (c *comparison) gone(w string) {
	at, err := c.old.read(path.Join(w, "gitdir"))
	list, failed := c.old.entries(w)
	if err != nil || failed != nil || c.Gone == nil {
		return
	}
	tracked := map[string]bool{}
	for _, e := range list {
		tracked[e.Name] = true
	}
	c.Gone(strings.TrimRight(at, "\n"), path.Base(w), tracked)
}

// index says what was staged. Same says that HEAD did not move.
func (c *comparison) index(in, w string, same bool, head string) {
	old, _ := c.old.entries(w) // none where git cannot read it either
	now, err := c.now.entries(w)
	if err != nil {
		return
	}
	type key struct {
		name  string
		stage int
	}
	was := map[key]gitdir.Entry{}
	for _, e := range old {
		was[key{e.Name, e.Stage}] = e
	}
	tree := ""
	if commit, err := c.now.objects.commit(head); err == nil {
		tree = commit.tree
	}
	staged, unstaged, conflicts, hidden := map[string]bool{}, map[string]bool{}, map[string]bool{}, 0
	judge := func(name string, e gitdir.Entry) {
		at, tracked := c.now.objects.lookup(tree, name)
		if tracked == (e.ID != "") && at.id == e.ID && (!tracked || at.mode == fmt.Sprintf("%o", e.Mode)) {
			unstaged[name] = true
		} else {
			staged[name] = true
		}
	}
	for _, e := range now {
		k := key{e.Name, e.Stage}
		before, had := was[k]
		delete(was, k)
		if e.Hidden && !before.Hidden {
			hidden++
		}
		if before.Hidden = e.Hidden; had && before == e {
			continue
		}
		if e.Stage > 0 {
			conflicts[e.Name] = true
		} else {
			judge(e.Name, e)
		}
	}
	for k := range was {
		if k.stage == 0 && !conflicts[k.name] && !staged[k.name] && !unstaged[k.name] {
			judge(k.name, gitdir.Entry{})
		}
	}
	if len(conflicts) > 0 {
		c.say(1, "%sleave conflicts in %s", in, plural(len(conflicts), "file"))
	}
	if len(staged) > 0 {
		c.say(2, "%sstage %s", in, plural(len(staged), "file"))
	}
	if same && len(unstaged) > 0 {
		c.say(2, "%sunstage %s", in, plural(len(unstaged), "file"))
	}
	if hidden > 0 {
		c.say(0, "%shide changes of %s from git (assume-unchanged or skip-worktree)", in, plural(hidden, "file"))
	}
}

// states are what may be in progress, by a file or directory that tells so.
var states = [][2]string{
	{"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"},
	{"rebase-merge", "rebase"},
	{"rebase-apply", "rebase or patch"},
	{"BISECT_LOG", "bisect"},
}

// progress says what is in progress, or is no longer.
func (c *comparison) progress(in, w string) {
	for _, s := range states {
		was, is := c.old.exists(path.Join(w, s[0])), c.now.exists(path.Join(w, s[0]))
		switch {
		case !was && is:
			c.say(1, "%sbegin a %s, which goes on", in, s[1])
		case was && !is:
			c.say(1, "%send the %s", in, s[1])
		}
	}
}

// discards says how many files of the work tree lost changes that are in no commit.
func (c *comparison) discards() {
	index0 := map[string]string{}
	old, err := c.old.entries(c.Worktree)
	if err != nil {
		return
	}
	for _, e := range old {
		index0[e.Name] = e.ID
	}
	index1 := map[string]string{}
	now, _ := c.now.entries(c.Worktree)
	for _, e := range now {
		index1[e.Name] = e.ID
	}
	left := int64(maxHashed)
	discarded, removed := 0, 0
	for _, f := range c.Files {
		id, tracked := index0[f.Name]
		if left -= f.BeforeSize + f.AfterSize; left < 0 {
			return
		}
		switch {
		case f.Kind == Deleted && !tracked && f.Before != nil:
			if !c.stored(f.Before, f.BeforeSize) {
				removed++
			}
		case f.Kind == Modified && tracked && f.Before != nil && f.After != nil:
			before, err1 := content(f.Before, f.BeforeSize, len(id))
			after, err2 := content(f.After, f.AfterSize, len(id))
			if err1 == nil && err2 == nil && before != id && after == index1[f.Name] && !c.now.objects.has(before) {
				discarded++
			}
		}
	}
	if discarded > 0 {
		c.say(0, "discard changes of %s", plural(discarded, "file"))
	}
	if removed > 0 {
		c.say(0, "remove %s that git does not track", plural(removed, "file"))
	}
}

// stored reports whether the repository has a content.
func (c *comparison) stored(open func() (io.ReadCloser, error), size int64) bool {
	for _, digits := range []int{40, 64} {
		if id, err := content(open, size, digits); err == nil && c.now.objects.has(id) {
			return true
		}
	}
	return false
}

func content(open func() (io.ReadCloser, error), size int64, digits int) (string, error) {
	f, err := open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	return blobID(f, size, digits)
}
