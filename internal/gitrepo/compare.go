package gitrepo

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// Kind is what became of a file.
type Kind uint8

// The kinds.
const (
	Added Kind = iota + 1
	Modified
	Deleted
)

// Change is what became of a file or directory below a git directory.
type Change struct {
	// Name is its path below the git directory, with slashes.
	Name string
	Kind Kind
	// Dir says that a directory came, went or got other permissions. What is in one that went has no change of its own.
	Dir bool
	// Odd says why it is not one of git's in any case: it is, or was, something other than a plain file or directory, or has
	// permissions that git does not give.
	Odd string
}

// File is what became of a file of the work tree.
type File struct {
	// Name is its path below the top of the work tree, with slashes.
	Name string
	Kind Kind
	// Before and After open its content, where it was or is a plain file of that size.
	Before, After         func() (io.ReadCloser, error)
	BeforeSize, AfterSize int64
}

// Repository are two states of a git directory. The objects of the first are in the second as well.
type Repository struct {
	Before, After fs.FS
	Changes       []Change
	// Files are what became of the work tree of Worktree, "" for the repository's own.
	Files    []File
	Worktree string
	// Linked reports whether the .git of a work tree, an absolute path, names the given worktree of this repository. Gone is told of
	// worktrees that were removed, with what was linked and which files they had.
	Linked func(gitfile, worktree string) bool
	Gone   func(gitfile, worktree string, tracked map[string]bool)
}

// Outcome is what happened to a repository.
type Outcome struct {
	// Strange says what is not merely git's own record, "" where everything is: then Does tells all of it.
	Strange string
	// Does are sentences, the gravest first: "commit 2 files to main: a message". Grave says that the first is about
	// something that was lost.
	Does  []string
	Grave bool
	// Slight says that nothing has another meaning than before, Idle that nothing but the index was written at all.
	Slight, Idle bool
	// False says that objects came that are not what their names say, or may not be.
	False bool
}

// RefChange is a ref with another value. An empty one is that of a ref that is not there.
type RefChange struct {
	Name string `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// comparison compares two states.
type comparison struct {
	Repository
	old, now *side
	// fresh are the objects that were added.
	fresh map[string]bool
	lines []said
	// unchecked is how much of new objects may still be compared with their names.
	unchecked int64
	// tips are the values of the refs that are there now, once they were looked for.
	tips []string
}

// said is a sentence, with its rank: 0 for what was lost, then what was done, then the rest.
type said struct {
	rank int
	text string
}

// Compare tells what happened.
func Compare(r Repository) *Outcome {
	c := &comparison{Repository: r, old: newSide(r.Before), now: newSide(r.After), fresh: map[string]bool{}, unchecked: maxChecked}
	defer c.old.objects.close()
	defer c.now.objects.close()
	out := &Outcome{}
	for _, s := range []*side{c.old, c.now} {
		if s.err != nil {
			out.Strange = "its refs cannot be read: " + s.err.Error()
			return out
		}
	}
	refs := Differing(c.old.refs, c.now.refs)
	if c.why(refs, out); out.Strange != "" {
		return out
	}
	c.describe(refs)
	out.Slight = c.slight(refs)
	if len(c.lines) == 0 {
		for _, ref := range refs {
			c.ref(ref)
		}
	}
	slices.SortStableFunc(c.lines, func(a, b said) int { return a.rank - b.rank })
	for i, line := range c.lines {
		out.Does, out.Grave = append(out.Does, line.text), out.Grave || i == 0 && line.rank == 0
	}
	out.Idle = out.Slight && !slices.ContainsFunc(r.Changes, func(ch Change) bool {
		kind, _ := partOf(ch.Name)
		return kind != index
	})
	if len(out.Does) == 0 {
		out.Does = []string{"update git's records (no branch, tag or staged file changed)"}
	}
	return out
}

// slight reports whether nothing changed that git goes by: all refs have their values, and of the files only those did that tell of the
// past, or that git writes anew whenever it looks.
func (c *comparison) slight(refs []RefChange) bool {
	return len(c.lines)+len(refs) == 0 && !slices.ContainsFunc(c.Changes, func(ch Change) bool {
		if ch.Dir {
			_, own := partOf(ch.Name)
			_, progress := steps[own]
			return progress && ch.Kind == Deleted
		}
		return Restore(ch.Name) == Exact && !IsIndex(ch.Name)
	})
}

// why finds out what is not merely git's own record. Objects are looked at in any case: whoever takes back the rest leaves those
// that are what their names say.
func (c *comparison) why(refs []RefChange, out *Outcome) {
	for _, ch := range c.Changes {
		grown := ch.Kind == Added && Restore(ch.Name) == Grown
		if out.Strange != "" && (out.False || !grown) {
			continue
		}
		if why := c.strange(ch); why != "" {
			out.False = out.False || grown
			if out.Strange == "" {
				out.Strange = fmt.Sprintf("%s: %s", clean(ch.Name), why)
			}
		}
	}
	for _, ref := range refs {
		if out.Strange != "" {
			return
		}
		if why := c.strangeRef(ref); why != "" {
			out.Strange = fmt.Sprintf("%s: %s", clean(ref.Name), why)
		}
	}
}

// Differing are the refs that have another value, by name.
func Differing(old, now map[string]string) (list []RefChange) {
	names := maps.Clone(old)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was, is := old[name], now[name]; was != is {
			list = append(list, RefChange{name, was, is})
		}
	}
	return list
}

// strangeRef says why a ref that changed is not one that git itself would make.
func (c *comparison) strangeRef(r RefChange) string {
	to, symbolic := strings.CutPrefix(r.New, "ref: ")
	switch {
	case !ValidRef(r.Name):
		return "it is not a branch, tag or stash"
	case symbolic && !(strings.HasPrefix(r.Name, "refs/remotes/") && path.Base(r.Name) == "HEAD" && strings.HasPrefix(to, "refs/remotes/")):
		return "it points to another name"
	case r.New != "" && !symbolic && !c.now.objects.has(r.New):
		return "it points to an object that is not there"
	case strings.HasPrefix(r.Name, "refs/heads/") && r.New != "":
		if _, err := c.now.objects.commit(r.New); err != nil {
			return "it points to something that is not a commit"
		}
	}
	return ""
}

// NotPlain is why a link or device is not git's own record.
const NotPlain = "it is, or was, not a plain file"

const (
	whyUnknown = "git may run or obey it"
	whyContent = "its content is not what git writes there"
)

// strange says why a change is not one of git's own records.
func (c *comparison) strange(ch Change) string {
	if ch.Odd != "" {
		return ch.Odd
	}
	if ch.Dir {
		return c.strangeDir(ch)
	}
	kind, name := partOf(ch.Name)
	if kind == unknown {
		return whyUnknown
	}
	switch kind {
	case object:
		return c.strangeObject(ch)
	case packfile:
		return c.strangePack(ch)
	}
	if ch.Kind == Deleted {
		return c.strangeDeletion(ch, kind, name)
	}
	if kind == index {
		return c.strangeIndex(ch)
	}
	limit := int64(maxFile)
	if kind == packed || kind == reflog {
		limit = maxIndex
	}
	data, err := readFile(c.After, ch.Name, limit)
	if err != nil {
		return err.Error()
	}
	text := string(data)
	switch kind {
	case head:
		return c.strangeHead(text)
	case id:
		for line := range strings.Lines(text) {
			if value := strings.TrimRight(line, "\n"); !isID(value) || !c.now.objects.has(value) {
				return whyContent
			}
		}
	case ref:
		return c.strangeValue(ch.Name, name, text)
	case packed:
		return c.strangePeeled(text)
	case message:
		if name == "MERGE_RR" && !plainRerere(text) {
			return whyContent
		}
	case shallow:
		if strings.Trim(text, "0123456789abcdef\n") != "" {
			return whyContent
		}
	case reflog:
		return c.strangeLog(ch, text)
	case progress:
		return c.strangeProgress(name, text)
	case config:
		before, err := c.old.read(ch.Name)
		if err != nil || !upstreamsOnly(before, text) {
			return "it changes more than the upstreams of branches"
		}
	case link:
		return c.strangeLink(ch, name, text)
	}
	return ""
}

// strangeDir is strange for a directory.
func (c *comparison) strangeDir(ch Change) string {
	if !directory(ch.Name) {
		return whyUnknown
	}
	if ch.Kind != Deleted {
		return ""
	}
	why := ""
	err := fs.WalkDir(c.Before, ch.Name, func(name string, d fs.DirEntry, err error) error {
		if err == nil && name != ch.Name {
			gone := Change{Name: name, Kind: Deleted, Dir: d.IsDir()}
			if !d.IsDir() && !d.Type().IsRegular() {
				gone.Odd = NotPlain
			}
			if why = c.strange(gone); why != "" {
				return fs.SkipAll
			}
			if d.IsDir() {
				return fs.SkipDir
			}
		}
		return err
	})
	if err != nil {
		return err.Error()
	}
	return why
}

func (c *comparison) strangeObject(ch Change) string {
	if ch.Kind != Added {
		return "objects are never changed or removed in ordinary work"
	}
	f, err := c.After.Open(ch.Name)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	id := path.Base(path.Dir(ch.Name)) + path.Base(ch.Name)
	if !genuine(f, id, &c.unchecked) {
		return "its content is not that of the object that its name says"
	}
	c.fresh[id] = true
	return ""
}

// strangeDeletion says why a file that went is not one that git removes in ordinary work.
func (c *comparison) strangeDeletion(ch Change, kind part, name string) string {
	switch {
	case kind == reflog:
		return c.strangeLog(ch, "")
	case kind == link && !c.now.exists(path.Dir(ch.Name)):
		return "" // the worktree is gone as a whole
	case kind == head && !c.now.exists(path.Dir(ch.Name)):
		return ""
	case kind == head, kind == config, kind == link:
		return whyUnknown
	}
	return ""
}

func (c *comparison) strangeHead(text string) string {
	value := strings.TrimSuffix(text, "\n")
	name, symbolic := strings.CutPrefix(value, "ref: ")
	switch {
	case symbolic && strings.HasPrefix(name, "refs/heads/") && ValidRef(name):
		return ""
	case !symbolic && isID(value):
		if _, err := c.now.objects.commit(value); err == nil {
			return ""
		}
	}
	return "it names neither a branch nor a commit"
}

// strangeIndex says why an index is not one that git makes.
func (c *comparison) strangeIndex(ch Change) string {
	list, err := c.now.entries(strings.TrimSuffix(strings.TrimSuffix(ch.Name, "index"), "/"))
	if err != nil {
		return err.Error()
	}
	for _, e := range list {
		if !plainPath(e.Name) {
			return "it lists " + clean(e.Name)
		}
	}
	now, err := readFile(c.After, ch.Name, maxIndex)
	if err != nil {
		return err.Error()
	}
	before, _ := readFile(c.Before, ch.Name, maxIndex) // nil where there was none
	if !gitdir.Consistent(now, before) {
		return "what it remembers of its files is not what it lists"
	}
	return ""
}

// plainPath reports whether a path of the work tree is one that git checks out.
func plainPath(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		switch folded := strings.ToLower(strings.TrimRight(element, ". ")); {
		case element == "", element == ".", element == "..", folded == ".git", folded == "git~1", strings.ContainsAny(element, "\x00\\"):
			return false
		}
	}
	return true
}

// strangeProgress says why a file may make git run something when it goes on.
func (c *comparison) strangeProgress(name, text string) string {
	dir, file := path.Split(name)
	fine := true
	switch {
	case gitdir.Changes("/" + name):
		fine = gitdir.PlainState(name, text)
	case file == "git-rebase-todo.backup" || file == "done":
		fine = gitdir.PlainState("rebase-merge/git-rebase-todo", text)
	case dir == "sequencer/" && file == "todo":
		fine = gitdir.PlainState("rebase-merge/git-rebase-todo", text)
	case file == "author-script":
		fine = plainAuthor(text)
	case file == "strategy_opts":
		fine = !strings.ContainsAny(text, "`$;|&<>\\")
	case file == "BISECT_NAMES":
		fine = patterns().quoted.MatchString(text) // older versions of git evaluate it
	case strings.HasPrefix(file, "BISECT_") && file != "BISECT_LOG":
		fine = !strings.HasPrefix(text, "-") && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || strings.ContainsRune("`$;|&<>\\'\"", r) })
	}
	if !fine {
		return "git may run something when it goes on"
	}
	return ""
}

// plainAuthor reports whether a script is one that only sets the author, as git writes it. Older versions of git run it.
func plainAuthor(text string) bool {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "=")
		if !ok || !slices.Contains([]string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"}, name) {
			return false
		}
		value = strings.NewReplacer(`'\''`, "", `'\!'`, "").Replace(value)
		if len(value) < 2 || value[0] != '\'' || value[len(value)-1] != '\'' || strings.Contains(value[1:len(value)-1], "'") {
			return false
		}
	}
	return true
}

// strangeLink says why a worktree is not connected as git does it.
func (c *comparison) strangeLink(ch Change, name, text string) string {
	value := strings.TrimRight(text, "\n")
	switch {
	case name == "locked":
		return ""
	case ch.Kind != Added:
		return "it leads elsewhere than before"
	case name == "commondir" && value == "../..":
		return ""
	case name == "gitdir" && c.Linked != nil && c.Linked(value, path.Base(path.Dir(ch.Name))):
		return ""
	}
	return "it does not lead to a work tree of this workspace"
}
