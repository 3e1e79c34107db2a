package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/internal/gitdir"
	"github.com/tongs-ai/tongs/internal/gitrepo"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// gitDirOf returns the git directory that a path is below, and its name there.
func gitDirOf(p tongs.Path) (dir tongs.Path, name string, ok bool) {
	if p.Root == tongs.RepositoryRoot {
		return tongs.Path{Root: p.Root, Rel: "."}, p.Rel, p.Rel != "."
	}
	elems := strings.Split(p.Rel, "/")
	i := slices.Index(elems, ".git")
	if i < 0 || i == len(elems)-1 {
		return dir, "", false
	}
	return tongs.Path{Root: p.Root, Rel: strings.Join(elems[:i+1], "/")}, strings.Join(elems[i+1:], "/"), true
}

// configurations are those of the repositories of the roots, and what links worktrees in the roots with them. A program on a copy
// may change them: git writes there what a branch tracks, and removes worktrees. What it did is judged with the other changes.
func (c *Confiner) configurations() (files []string) {
	for _, root := range c.opt.Workspace.Present() {
		dir := root.Dir
		if root.Name != tongs.RepositoryRoot {
			dir = filepath.Join(dir, ".git")
		}
		at, err := os.Lstat(dir)
		if err != nil || !at.IsDir() {
			continue
		}
		file := filepath.Join(dir, "config")
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
		trees, _ := os.ReadDir(filepath.Join(dir, "worktrees")) // most have none
		for _, tree := range trees {
			files = append(files, c.worktreeLinks(filepath.Join(dir, "worktrees", tree.Name()))...)
		}
	}
	return files
}

// worktreeLinks are the files that link a worktree with its git directory, where both are in the roots and lead to each other.
func (c *Confiner) worktreeLinks(dir string) (files []string) {
	if !linkedWorktree(dir) {
		return nil
	}
	for _, top := range gitdir.Tops(dir) {
		file := filepath.Join(top, ".git")
		if at, ok := c.opt.Workspace.Place(file); !ok || at.Root == tongs.RepositoryRoot || filepath.Dir(file) == c.opt.Workspace.Host(tongs.Path{Root: at.Root, Rel: "."}) {
			return nil
		}
		files = append(files, file)
	}
	return append(files, filepath.Join(dir, "commondir"), filepath.Join(dir, "gitdir"))
}

// repositories makes one change of all that git recorded in a git directory. Where anything else changed there, its files are
// listed one by one, and the note says what was not merely a record.
func (o *outcome) repositories(changes []tongs.Change) (list []tongs.Change, notes []string, err error) {
	groups := map[tongs.Path][]*changeset.Change{}
	for i := range o.set.Changes() {
		c := &o.set.Changes()[i]
		if dir, _, ok := gitDirOf(c.Path); ok {
			groups[dir] = append(groups[dir], c)
		}
	}
	o.recorded = nil
	links := map[tongs.Path]map[tongs.Path]bool{} // files that lead to a worktree, by git directory
	for dir, group := range groups {
		links[dir] = map[tongs.Path]bool{}
		happened, err := o.compare(dir, group, links[dir])
		switch {
		case err != nil:
			return nil, nil, err
		case happened == nil:
		case happened.Strange != "":
			notes = append(notes, fmt.Sprintf("in %s more changed than what git records: %s", dir, happened.Strange))
			o.recorded = append(o.recorded, journal.Repository{Dir: dir, Listed: true, False: happened.False})
		case happened.Idle:
			for _, c := range group {
				changes = slices.DeleteFunc(changes, func(t tongs.Change) bool { return t.Path == c.Path })
			}
			o.set.Forget(dir)
		default:
			changes = fold(changes, dir, happened, links[dir])
			o.set.Fold(dir, happened.Does)
			o.recorded = append(o.recorded, journal.Repository{Dir: dir, Does: happened.Does, Slight: happened.Slight})
		}
	}
	slices.Sort(notes)
	return changes, notes, nil
}

// fold replaces the changes below a git directory, and those of the links to its worktrees, by one.
func fold(changes []tongs.Change, dir tongs.Path, happened *gitrepo.Outcome, links map[tongs.Path]bool) (list []tongs.Change) {
	one := tongs.Change{
		Path: dir, Kind: tongs.Modified, Type: tongs.FileDirectory, Was: tongs.FileDirectory, Repository: true, Does: happened.Does,
		Loses: happened.Grave,
	}
	for _, c := range changes {
		if at, _, ok := gitDirOf(c.Path); ok && at == dir || links[c.Path] {
			c.Protected = ""
			one.Parts = append(one.Parts, c)
			continue
		}
		list = append(list, c)
	}
	return append([]tongs.Change{one}, list...)
}

// compare tells what happened in a git directory, nil where it is none, or was none before.
func (o *outcome) compare(dir tongs.Path, group []*changeset.Change, links map[tongs.Path]bool) (*gitrepo.Outcome, error) {
	host := o.opt.Workspace.Host(dir)
	info, err := os.Lstat(host)
	if err != nil || !info.IsDir() || !gitdir.Is(func(name string) bool { _, err := os.Lstat(filepath.Join(host, name)); return err == nil }) {
		return nil, nil
	}
	if _, err := os.Lstat(filepath.Join(host, "commondir")); err == nil {
		return nil, nil // it leads elsewhere
	}
	r := gitrepo.Repository{}
	for _, c := range group {
		if c.Refused != "" || c.From != nil {
			return nil, nil
		}
		_, name, _ := gitDirOf(c.Path)
		r.Changes = append(r.Changes, gitChanges(name, c, info.Mode())...)
	}
	before, after, done, err := o.set.Sides(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	r.Before, r.After = before, after
	r.Linked = func(gitfile, worktree string) bool {
		at, ok := o.linked(gitfile, filepath.Join(host, "worktrees", worktree))
		if ok {
			links[at] = true
		}
		return ok
	}
	r.Gone = func(gitfile, worktree string, tracked map[string]bool) {
		if at, ok := o.removed(gitfile, filepath.Join(host, "worktrees", worktree), tracked); ok {
			links[at] = true
		}
	}
	top, prefix := dir.Dir(), ""
	if dir.Root == tongs.RepositoryRoot {
		top = tongs.Path{Rel: "."}
		r.Worktree, prefix = o.worktree(host)
	}
	for i := range o.set.Changes() {
		c := &o.set.Changes()[i]
		if _, _, inGit := gitDirOf(c.Path); inGit || c.Path.Root != top.Root || !top.Contains(c.Path) {
			continue
		}
		name := c.Path.Rel
		if top.Rel != "." {
			name = strings.TrimPrefix(name, top.Rel+"/")
		}
		r.Files = append(r.Files, o.workFile(path.Join(prefix, name), c))
	}
	return gitrepo.Compare(r), nil
}

// linked returns the new file .git at a host path, if it leads to the given git directory.
func (o *outcome) linked(gitfile, to string) (tongs.Path, bool) {
	at, ok := o.opt.Workspace.Place(gitfile)
	if !ok || path.Base(at.Rel) != ".git" {
		return at, false
	}
	for i := range o.set.Changes() {
		c := &o.set.Changes()[i]
		if c.Path != at || c.Kind != changeset.Added || c.After.Type != journal.File || c.After.Mode&0o111 != 0 || c.After.Size > maxGitFile {
			continue
		}
		f, err := o.set.Open(c)
		if err != nil {
			return at, false
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxGitFile))
		return at, err == nil && string(text) == "gitdir: "+to+"\n"
	}
	return at, false
}

// removed returns the work tree with the file .git at a host path, if it was removed as a whole and that file led to the given git
// directory. Nothing else may be protected in it than what the worktree had from the repository.
func (o *outcome) removed(gitfile, to string, tracked map[string]bool) (tongs.Path, bool) {
	at, ok := o.opt.Workspace.Place(gitfile)
	if !ok || path.Base(at.Rel) != ".git" || at.Dir().Rel == "." {
		return at, false
	}
	top := at.Dir()
	leads, ok := gitdir.Gitfile(gitfile)
	if !ok || leads != to || !slices.ContainsFunc(o.set.Changes(), func(c changeset.Change) bool {
		return c.Path == top && c.Kind == changeset.Deleted && c.Before.Type == journal.Dir
	}) {
		return top, false
	}
	host := o.opt.Workspace.Host(top)
	err := filepath.WalkDir(host, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(host, name)
		if rel = filepath.ToSlash(rel); err != nil || rel == "." || rel == ".git" || tracked[rel] {
			return err
		}
		if _, protected := o.opt.Workspace.Protected(top.Join(rel)); protected && !d.IsDir() {
			return fs.ErrExist
		}
		return nil
	})
	return top, err == nil
}

// gitChanges is a change in the words of gitrepo. Where a directory makes room for a file, or a file for a directory, one went and
// the other came. Shared are the permissions of the git directory.
func gitChanges(name string, c *changeset.Change, shared fs.FileMode) []gitrepo.Change {
	came := func(kind gitrepo.Kind) gitrepo.Change {
		return gitrepo.Change{Name: name, Kind: kind, Dir: c.After.Type == journal.Dir, Odd: odd(c, shared)}
	}
	gone := gitrepo.Change{Name: name, Kind: gitrepo.Deleted, Dir: c.Before.Type == journal.Dir}
	if !plain(c.Before) {
		gone.Odd = gitrepo.NotPlain
	}
	switch {
	case c.Kind == changeset.Added:
		return []gitrepo.Change{came(gitrepo.Added)}
	case c.Kind == changeset.Deleted:
		return []gitrepo.Change{gone}
	case c.Before.Type != c.After.Type:
		return []gitrepo.Change{gone, came(gitrepo.Added)}
	default:
		return []gitrepo.Change{came(gitrepo.Modified)}
	}
}

func plain(s journal.State) bool { return s.Type == journal.Dir || s.Type == journal.File }

// odd says why git does not leave a file or directory of its own so. It gives others no more permissions to write than they have
// for the git directory, and changes those of nothing that it leaves alone.
func odd(c *changeset.Change, shared fs.FileMode) string {
	const others = 0o022
	switch mode := c.After.Mode; {
	case !plain(c.After):
		return gitrepo.NotPlain
	case c.Kind == changeset.Mode:
		return "its permissions changed"
	case c.After.Type == journal.File && mode&0o111 != 0:
		return "it can be executed"
	case mode&^fs.ModePerm&^fs.ModeSetgid != 0, c.After.Type == journal.File && mode&fs.ModeSetgid != 0:
		return "it has special permissions"
	case mode&others&^shared&^c.Before.Mode != 0:
		return "others can write to it"
	}
	return ""
}

// worktree returns which worktree of the repository at host the workspace is in, and where in its work tree.
func (o *outcome) worktree(host string) (worktree, prefix string) {
	at := o.opt.Workspace.Dir()
	above := gitdir.Above(at)
	if len(above) == 0 {
		return "", ""
	}
	if rel, err := filepath.Rel(above[0].Top, at); err == nil && filepath.IsLocal(rel) && rel != "." {
		prefix = filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(host, above[0].Dir); err == nil && filepath.IsLocal(rel) && rel != "." {
		worktree = filepath.ToSlash(rel)
	}
	return worktree, prefix
}

// workFile is a file of the work tree in the words of gitrepo.
func (o *outcome) workFile(name string, c *changeset.Change) gitrepo.File {
	f := gitrepo.File{Name: name, Kind: gitrepo.Modified, BeforeSize: c.Before.Size, AfterSize: c.After.Size}
	switch c.Kind {
	case changeset.Added:
		f.Kind = gitrepo.Added
	case changeset.Deleted:
		f.Kind = gitrepo.Deleted
	}
	if c.Before.Type == journal.File {
		f.Before = func() (io.ReadCloser, error) { return o.set.OpenBefore(c) }
	}
	if c.After.Type == journal.File {
		f.After = func() (io.ReadCloser, error) { return o.set.Open(c) }
	}
	return f
}

// versionOf identifies what a program did to a git directory.
func versionOf(c *tongs.Change, versions map[tongs.Path]tongs.Version) tongs.Version {
	h := sha256.New()
	for _, part := range c.Parts {
		fmt.Fprintf(h, "%q %s\n", part.Path.String(), versions[part.Path])
	}
	return tongs.Version("outcome:" + hex.EncodeToString(h.Sum(nil)))
}
