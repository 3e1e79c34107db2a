package workspace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitdir"
)

// gitParts are the names in a git directory that decide what git does.
var gitParts = []string{
	"head", "objects", "refs", "config", "config.worktree", "commondir", "gitdir", "hooks", "info", "modules",
	"worktrees", "packed-refs", "index", "logs", "branches", "remotes", "description", "shallow", "fetch_head", "orig_head",
	"rebase-merge", "rebase-apply", "sequencer",
}

const lookalike = "protected: git would take this directory for a repository and run what its configuration names"

// repository reports whether p is a part of a directory that git takes for a repository whatever its name is, or
// would with p in it: one that has HEAD, objects and refs, or HEAD and commondir.
func (w *Workspace) repository(p tongs.Path) (why string, ok bool) {
	elems := strings.Split(p.Rel, "/")
	for i, e := range elems {
		part := fold(e)
		if !slices.Contains(gitParts, part) {
			continue
		}
		dir := tongs.Path{Root: p.Root, Rel: "."}
		if i > 0 {
			dir.Rel = strings.Join(elems[:i], "/")
		}
		h, err := w.directory(dir)
		if missing(err) {
			continue
		}
		if err != nil {
			return "protected: it cannot be told whether it belongs to a repository", true
		}
		found := isRepository(h, part)
		h.close()
		if found {
			return lookalike, true
		}
	}
	return "", false
}

// isRepository reports whether git would take the directory for a repository once it has an entry named with.
func isRepository(h handle, with string) bool {
	has := func(name string) bool {
		if strings.EqualFold(name, with) {
			return true
		}
		_, err := h.lstat(name)
		return !missing(err)
	}
	return gitdir.Is(has)
}

// scanLimit is how many entries of a directory are looked at for protected names before a person is asked instead.
const scanLimit = 20_000

var errScanned = errors.New("scan is over")

// scan looks for a protected name anywhere below the directory p, and says what it found. Finding too much to look
// at, or something that cannot be read, counts as a find.
func (w *Workspace) scan(p tongs.Path) (why string, found bool) {
	h, err := w.directory(p)
	if err != nil {
		if missing(err) {
			return "", false
		}
		return "it cannot be looked into for protected names", true
	}
	defer h.close()
	if why, found = w.configuredBelow(p); found {
		return why, true
	}
	left := w.scanLimit
	why, err = scanDir(h, p, formsOf(p.Rel), &left)
	switch {
	case err == nil:
		return "", false
	case errors.Is(err, errScanned):
		return why, true
	default:
		return "it cannot be looked into for protected names", true
	}
}

func scanDir(h handle, p tongs.Path, above []form, left *int) (why string, err error) {
	if isRepository(h, "") {
		return fmt.Sprintf("contains %s, which git takes for a repository", p), errScanned
	}
	list, err := entries(h, *left+1)
	if err != nil {
		return "", err
	}
	for _, name := range list {
		if *left--; *left < 0 {
			return "has too many entries to look for protected names among them", errScanned
		}
		q := p.Join(name)
		forms := append(above[:len(above):len(above)], formOf(name))
		if n := nameList().last(forms); n != nil && n.Kind != KindInstructions {
			return fmt.Sprintf("contains %s (%s)", display(q), n.Why), errScanned
		}
		st, err := h.lstat(name)
		if missing(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		if st.typ != tongs.FileDirectory {
			continue
		}
		sub, err := h.walk(name)
		if missing(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		why, err = scanDir(sub, q, forms, left)
		sub.close()
		if err != nil {
			return why, err
		}
	}
	return "", nil
}
