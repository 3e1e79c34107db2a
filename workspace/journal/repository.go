package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrepo"
)

// Below returns the name of a path below the git directory.
func (r *Repository) Below(p tongs.Path) (name string, ok bool) {
	if r.Dir.Root != p.Root || r.Dir == p || !r.Dir.Contains(p) {
		return "", false
	}
	if r.Dir.Rel == "." {
		return p.Rel, true
	}
	return strings.TrimPrefix(p.Rel, r.Dir.Rel+"/"), true
}

// Recorded reports whether a path is one of a git directory whose changes the entry tells in sentences.
func (e *Entry) Recorded(p tongs.Path) bool {
	return slices.ContainsFunc(e.Repositories, func(r Repository) bool {
		_, ok := r.Below(p)
		return ok && !r.Listed
	})
}

// Does are the sentences about all its git directories.
func (e *Entry) Does() (list []string) {
	for _, r := range e.Repositories {
		list = append(list, r.Does...)
	}
	return list
}

// Repositories are the git directories in which the transaction only changes what git records.
func (t *Txn) Repositories() []Repository { return t.head.Repositories }

// open opens the content of a node, nil where it is no file.
func (t *Txn) open(n *node) (io.ReadCloser, error) {
	at := n.content.staged
	switch {
	case n.kind == gone || n.kind == made && n.state.Type != File:
		return nil, nil
	case n.kind == there:
		at = &n.at
	case at == nil && n.content.disk != nil:
		at = n.content.disk
	case at == nil:
		return t.j.Content(n.content.hash)
	}
	d := newDisk(t.disk.tops)
	defer d.close()
	fi, err := d.lstat(*at)
	if err != nil || fi == nil || !fi.Mode().IsRegular() {
		return nil, err
	}
	dir, name, err := d.parent(*at)
	if err != nil {
		return nil, err
	}
	return openFile(dir, name, fi)
}

// maxRecord is how large a ref or the file of packed refs may be.
const maxRecord = 256 << 20

// read returns the content of a file as the transaction would leave it, nil where there is none.
func (t *Txn) read(p tongs.Path) ([]byte, error) {
	n := t.tree.at(p)
	f, err := t.open(&n)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	return readRecord(p.Rel, f)
}

// readRecord reads all of a record; one that is too large is an error, since what is written back must be whole.
func readRecord(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = tongs.Errorf(tongs.CodeTooLarge, "%s has more than %d MiB", name, maxRecord>>20)
	}
	return data, err
}

// digest notes at the index of a repository what it lists.
func (t *Txn) digest(p tongs.Path, n *node) {
	name := p.Rel
	if p.Root != tongs.RepositoryRoot {
		_, below, ok := strings.Cut("/"+p.Rel, "/.git/")
		if !ok {
			return
		}
		name = below
	}
	if gitrepo.IsIndex(name) {
		n.state.Index = t.indexDigest(n)
	}
}

// indexDigest is empty where there is no index that can be read: then its bytes count.
func (t *Txn) indexDigest(n *node) string {
	f, err := t.open(n)
	if err != nil || f == nil {
		return ""
	}
	defer f.Close()
	digest, _ := gitrepo.IndexDigest(f)
	return digest
}

// elsewhere notes a conflict where a worktree that an entry changed has something else checked out than the entry left.
func (u *Undo) elsewhere(r *Repository) (found bool) {
	for _, tree := range slices.Sorted(maps.Keys(r.Heads)) {
		p := record(r.Dir, path.Join(tree, "HEAD"))
		now, err := u.read(p)
		if err != nil {
			u.conflict(p, err.Error())
		} else if string(now) != r.Heads[tree] {
			u.conflict(p, fmt.Sprintf("it is %s now, and was left as %s", headWords(string(now)), headWords(r.Heads[tree])))
		} else {
			continue
		}
		found = true
	}
	return found
}

func headWords(head string) string {
	return valueWords(strings.TrimPrefix(strings.TrimSpace(head), "ref: refs/heads/"))
}

// repository returns which of the changes of an entry are taken back file by file, of those below a git directory. The refs are
// taken back when that is done.
func (u *Undo) repository(r *Repository, changes []Change) (rest []Change) {
	u.note(r)
	left := map[tongs.Path]State{} // what went may have made room for something else
	for _, c := range changes {
		left[c.Path] = c.After
	}
	var skipped []tongs.Path
	for _, c := range changes {
		name, ok := r.Below(c.Path)
		switch how := gitrepo.Restore(name); {
		case !ok, how == gitrepo.Exact, how == gitrepo.Grown && (r.False || c.Before.Type != Absent):
			rest = append(rest, c)
		case how != gitrepo.Optional:
		case u.differs(c.Path, left[c.Path]):
			skipped = append(skipped, c.Path)
		default:
			rest = append(rest, c)
		}
	}
	return slices.DeleteFunc(rest, func(c Change) bool {
		return slices.ContainsFunc(skipped, func(p tongs.Path) bool { return p.Contains(c.Path) })
	})
}

// meant reports whether the undo is about a git directory as a whole.
func (u *Undo) meant(e *Entry, r *Repository) bool {
	if len(u.paths) > 0 && !slices.ContainsFunc(u.paths, func(p tongs.Path) bool { return p.Contains(r.Dir) }) {
		return false
	}
	return e.Roots[r.Dir.Root] == u.head.Roots[r.Dir.Root] // if not, each change says so
}

// restoreRefs takes back what an entry did to the refs of a git directory.
func (u *Undo) restoreRefs(r *Repository, changes []Change) error {
	files, err := u.view(r.Dir)
	if err != nil {
		u.conflict(r.Dir, err.Error())
		return nil
	}
	defer files.close()
	if lock := gitrepo.Locked(files.disk()); lock != "" {
		u.conflict(r.Dir.Join(lock), "git is changing the repository, or was killed while it did")
		return nil
	}
	held, err := u.checkedOut(r, changes, files)
	if err != nil {
		return err
	}
	return u.refs(r, files, held)
}

// checkedOut are the refs that worktrees have checked out to which the entry did nothing: whoever checked one out since would
// have a work tree that does not fit its branch.
func (u *Undo) checkedOut(r *Repository, changes []Change, files fs.FS) (refs map[string]bool, err error) {
	refs = map[string]bool{}
	touched := map[string]bool{}
	for _, c := range changes {
		if name, ok := r.Below(c.Path); ok {
			touched[name] = true
		}
	}
	for _, tree := range worktrees(files) {
		if touched[path.Join(tree, "HEAD")] || touched[path.Join(tree, "index")] || touched[path.Join(tree, "logs/HEAD")] {
			continue
		}
		head, err := u.read(record(r.Dir, path.Join(tree, "HEAD")))
		if err != nil {
			return nil, err
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
			refs[name] = true
		}
	}
	return refs, nil
}

// differs reports whether what is at a path is not what was left there.
func (u *Undo) differs(p tongs.Path, left State) bool {
	now, err := u.tree.look(p)
	return err != nil || left.differs(now) != ""
}

// note adds to the entry of the undo what it does to a repository.
func (u *Undo) note(r *Repository) {
	i := slices.IndexFunc(u.head.Repositories, func(o Repository) bool { return o.Dir == r.Dir })
	if i < 0 {
		u.head.Repositories = append(u.head.Repositories, Repository{Dir: r.Dir})
		i = len(u.head.Repositories) - 1
	}
	to := &u.head.Repositories[i]
	to.Listed, to.False = to.Listed || r.Listed, to.False || r.False
	for _, line := range r.Does {
		if back, undone := strings.CutPrefix(line, takeBack); undone {
			line = back
		} else {
			line = takeBack + line
		}
		to.Does = append(to.Does, line)
	}
}

// netRefs notes at the git directories of the transaction which refs get other values. Where the refs of one whose files were
// listed cannot be read, its files are all there is to take back.
func (t *Txn) netRefs() error {
	var list []Repository
	for _, r := range t.head.Repositories {
		err := t.valuesOf(&r)
		if err != nil && r.Listed {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Dir, err)
		}
		list = append(list, r)
	}
	t.head.Repositories = list
	return nil
}

// valuesOf finds out which refs of a git directory get other values, and what is checked out in the worktrees that change.
func (t *Txn) valuesOf(r *Repository) error {
	v, err := t.view(r.Dir)
	if err != nil {
		return err
	}
	defer v.close()
	old, err := gitrepo.Refs(v.disk())
	if err != nil {
		return err
	}
	now, err := gitrepo.Refs(v)
	if err != nil {
		return err
	}
	r.Refs, r.Heads = gitrepo.Differing(old, now), nil
	for _, tree := range worktrees(v) {
		if !slices.ContainsFunc([]string{"index", "HEAD"}, func(name string) bool { _, _, same := v.at(path.Join(tree, name)); return !same }) {
			continue
		}
		head, err := t.read(record(r.Dir, path.Join(tree, "HEAD")))
		if err != nil {
			return err
		}
		if r.Heads == nil {
			r.Heads = map[string]string{}
		}
		r.Heads[tree] = string(head)
	}
	return nil
}

// worktrees are the places of a repository's worktrees below its git directory, "." for its own.
func worktrees(files fs.FS) []string {
	list := []string{"."}
	dirs, _ := fs.ReadDir(files, "worktrees") // most have none
	for _, d := range dirs {
		list = append(list, path.Join("worktrees", d.Name()))
	}
	return list
}

const takeBack = "take back: "

// refs gives refs the values that they had, if they have those that the entry gave them: wherever git keeps them by now.
func (u *Undo) refs(r *Repository, files fs.FS, held map[string]bool) error {
	has, done := gitrepo.Has(files)
	defer done()
	at := record(r.Dir, "packed-refs")
	packed, err := u.read(at)
	if err != nil {
		return err
	}
	all, err := gitrepo.ParsePacked(packed)
	if err != nil {
		u.conflict(at, err.Error())
		return nil
	}
	var back []gitrepo.RefChange
	for _, ref := range r.Refs {
		p := record(r.Dir, ref.Name)
		now, err := u.value(p, all[ref.Name])
		switch {
		case err != nil:
			u.conflict(p, err.Error())
		case now != ref.New:
			u.conflict(p, fmt.Sprintf("it is %s now, and was left as %s", valueWords(now), valueWords(ref.New)))
		case held[ref.Name]:
			u.conflict(p, "it is checked out by now")
		case ref.Old != "" && !strings.HasPrefix(ref.Old, "ref: ") && !has(ref.Old):
			u.conflict(p, fmt.Sprintf("%s is no longer in the repository", valueWords(ref.Old)))
		default:
			back = append(back, ref)
		}
	}
	rest := packed
	for _, ref := range back { // what goes makes room for what comes
		if ref.Old != "" {
			continue
		}
		if err := u.dropRef(record(r.Dir, ref.Name)); err != nil {
			return err
		}
		if _, ok := all[ref.Name]; ok {
			rest = gitrepo.Unpacked(rest, ref.Name)
		}
	}
	if !bytes.Equal(rest, packed) {
		now, err := u.tree.look(at)
		if err == nil {
			u.sawFile(at, now)
			err = u.File(at, State{Mode: now.Mode, Owner: now.Owner}, bytes.NewReader(rest))
		}
		if err != nil {
			return err
		}
	}
	for _, ref := range back {
		if ref.Old == "" {
			continue
		}
		err := u.setRef(r.Dir, ref)
		if errors.Is(err, errNotEmpty) {
			u.conflict(record(r.Dir, ref.Name), err.Error())
		} else if err != nil {
			return err
		}
	}
	return nil
}

// record is the path of a file of a git directory.
func record(dir tongs.Path, name string) tongs.Path {
	return tongs.Path{Root: dir.Root, Rel: path.Join(dir.Rel, name)}
}

func valueWords(value string) string {
	if value == "" {
		return "not there"
	}
	return value
}

// value is that of a ref, of which the packed refs have the given one.
func (u *Undo) value(p tongs.Path, packed string) (string, error) {
	data, err := u.read(p)
	if err != nil {
		return "", err
	}
	if data == nil {
		return packed, nil
	}
	return gitrepo.ParseRef(data)
}

// sawFile has Commit refuse the transaction where a file of the disk is not as it was looked at.
func (u *Undo) sawFile(p tongs.Path, s State) {
	if n := u.tree.at(p); n.kind == there {
		u.saw[n.at] = s
	}
}

// dropRef takes away the file of a ref, and directories that had nothing else.
func (u *Undo) dropRef(p tongs.Path) error {
	now, err := u.tree.look(p)
	if err != nil {
		return err
	}
	u.sawFile(p, now)
	if now.Type != File {
		return nil
	}
	return u.tree.put(p, &node{})
}

// setRef gives a ref a value, in a file of its own.
func (u *Undo) setRef(dir tongs.Path, ref gitrepo.RefChange) error {
	head, err := u.tree.look(record(dir, "HEAD"))
	if err != nil {
		return err
	}
	p := record(dir, ref.Name)
	now, err := u.tree.look(p)
	if err != nil {
		return err
	}
	if now.Type == Dir { // of refs that went
		if err := u.clearDirs(p); err != nil {
			return err
		}
		now = State{}
	} else {
		u.sawFile(p, now)
	}
	for _, up := range above(dir, p) {
		at, err := u.tree.look(up)
		switch {
		case err != nil:
		case at.Type == Absent:
			err = u.Dir(up, State{Mode: 0o755})
		case at.Type != Dir:
			err = errNotEmpty
		}
		if err != nil {
			return err
		}
	}
	mode := now.Mode
	if now.Type != File {
		mode = head.Mode
	}
	return u.File(p, State{Mode: mode}, strings.NewReader(ref.Old+"\n"))
}

// above are the directories between a directory and a path below it, the outermost first.
func above(dir, p tongs.Path) (list []tongs.Path) {
	for up := p.Dir(); up != dir && up.Rel != "."; up = up.Dir() {
		list = append([]tongs.Path{up}, list...)
	}
	return list
}

var errNotEmpty = errors.New("there are refs below or above its name now")

// clearDirs takes away a directory that has only directories in it.
func (u *Undo) clearDirs(p tongs.Path) error {
	n := u.tree.at(p)
	names := n.sorted()
	if n.kind == there {
		dir, err := u.disk.dir(n.at)
		if err != nil {
			return err
		}
		more, err := entriesOf(dir)
		if err != nil {
			return err
		}
		names = append(names, more...)
	}
	for _, name := range names {
		switch now, err := u.tree.look(p.Join(name)); {
		case err != nil:
			return err
		case now.Type == Dir:
			if err := u.clearDirs(p.Join(name)); err != nil {
				return err
			}
		case now.Type != Absent:
			return errNotEmpty
		}
	}
	return u.tree.put(p, &node{})
}
