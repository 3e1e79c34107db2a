package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// StagePrefix starts the name of the directories, in a root or at the top of a file system that is mounted in one, where
// a transaction holds what is new and what it took away. They exist while it is open only.
const StagePrefix = ".tongs-txn-"

// Txn is a change of many files that is made as a whole or not at all, whatever ends the process. What its methods are
// told is held back until Commit; they can be called in any order that makes sense for a tree, and see what earlier ones
// did. Paths are in the roots that Begin was given, and no link is followed on the way to them.
//
// Whoever uses it decides what may be changed and holds the locks of the paths: a Txn asks nobody. It is for one
// goroutine at a time. Close releases it in any case, and drops what was not committed.
//
//	t, err := j.Begin(ctx, journal.Entry{Call: call.ID, Tool: "shell", Roots: roots})
//	if err != nil { ... }
//	defer t.Close()
//	err = t.Expect(p, before)                         // refuse if p is no longer what it was
//	err = t.File(p, journal.State{Mode: 0o644}, r)    // streams r to a stage
//	err = t.Remove(q)
//	entry, err := t.Commit(ctx)                       // *ConflictError names what changed meanwhile
type Txn struct {
	j       *Journal
	head    Entry
	disk    *disk
	tree    *vtree
	stages  []*stage
	expects []expect
	last    func() error
	slots   int
	release func()
	// saw are states of the disk that were seen while the transaction was filled; conflicts are those that changed since.
	saw       map[tongs.Path]State
	conflicts []Conflict
	// lost is what was not kept, although head.Whole says so.
	lost *workspace.UnkeptError
	// steps and changes are made by Commit.
	steps   []step
	changes []Change
	over    bool
	// left says that something is in a stage that could be put nowhere.
	left bool
}

type expect struct {
	path  tongs.Path
	state State
}

// stage is a directory of a transaction, on the file system of the device.
type stage struct {
	path tongs.Path
	dev  string
}

// Conflict is a path that is not what it should be.
type Conflict struct {
	Path tongs.Path `json:"path"`
	// Why says how, in words: "it is gone".
	Why string `json:"why"`
}

// ConflictError is why a transaction was refused: nothing was changed.
type ConflictError struct{ Conflicts []Conflict }

// maxTold is how many conflicts an error names.
const maxTold = 5

// Error names the first few paths.
func (e *ConflictError) Error() string {
	var say []string
	for _, c := range e.Conflicts[:min(len(e.Conflicts), maxTold)] {
		say = append(say, fmt.Sprintf("%s: %s", c.Path, c.Why))
	}
	if left := len(e.Conflicts) - len(say); left > 0 {
		say = append(say, fmt.Sprintf("and %d more", left))
	}
	return "changed since: " + strings.Join(say, "; ")
}

// Begin starts a transaction. Of the entry, Roots must be set to the directories on this machine, absolute and with
// links resolved; ID, Time and Changes are set by the journal. What a dead process left is taken back first.
func (j *Journal) Begin(ctx context.Context, head Entry) (*Txn, error) {
	for name, dir := range head.Roots {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
			return nil, fmt.Errorf("journal: root %q is %q, want an absolute, clean path", name, dir)
		}
	}
	if err := j.recoverFor(head.Roots); err != nil {
		return nil, err
	}
	release, err := j.share(ctx)
	if err != nil {
		return nil, err
	}
	head.ID, head.Time = j.newID()
	head.Unasked = len(head.Whole) > 0
	d := newDisk(head.Roots)
	return &Txn{j: j, head: head, disk: d, tree: newTree(d), release: release, saw: map[tongs.Path]State{}}, nil
}

// Look returns the state of what is at p, as the transaction would leave it so far.
func (t *Txn) Look(p tongs.Path) (State, error) {
	s, err := t.tree.look(p)
	if err != nil {
		return s, fmt.Errorf("%s: %w", p, err)
	}
	return s, nil
}

// Expect makes Commit refuse the transaction where p is not in the given state on disk.
func (t *Txn) Expect(p tongs.Path, s State) { t.expects = append(t.expects, expect{p, s}) }

// Verify makes Commit call f when everything that goes was looked at and kept, and before anything is changed. Whatever
// changes from then on is noticed; what changed before is for f to find. Its error refuses the transaction.
func (t *Txn) Verify(f func() error) { t.last = f }

// File gives p a new file with the content of r and the mode, owner and modification time of s; a zero time is now.
// What was at p goes, except where that is a directory: remove it first.
func (t *Txn) File(p tongs.Path, s State, r io.Reader) error {
	if err := t.mayCover(p); err != nil {
		return err
	}
	slot, at, name, err := t.slot(p)
	if err != nil {
		return err
	}
	if err := t.j.point("stage file"); err != nil {
		return err
	}
	f, err := at.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), r)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return t.put(p, s, n, sum, &slot)
}

// Take is File with the content of the regular file at host, an absolute path on this machine: it is linked to the stage
// where it is on the same file system, so that nothing is copied, and copied otherwise. Nobody may change that file
// until Commit; its mode and times become those of s.
func (t *Txn) Take(p tongs.Path, s State, host string) error {
	if err := t.mayCover(p); err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(host))
	if err != nil {
		return err
	}
	defer dir.Close()
	fi, err := dir.Lstat(filepath.Base(host))
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", host)
	}
	f, err := openFile(dir, filepath.Base(host), fi)
	if err != nil {
		return err
	}
	defer f.Close()
	slot, at, name, err := t.slot(p)
	if err != nil {
		return err
	}
	if err := t.j.point("stage link"); err != nil {
		return err
	}
	if linkAt(dir, filepath.Base(host), at, name) != nil {
		return t.File(p, s, f)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	return t.put(p, s, n, sum, &slot)
}

// put makes p a staged file.
func (t *Txn) put(p tongs.Path, s State, size int64, sum hash.Hash, slot *tongs.Path) error {
	s.Type, s.Size, s.Hash, s.Target, s.Lost = File, size, hex.EncodeToString(sum.Sum(nil)), "", ""
	if s.Modified == 0 {
		s.Modified = time.Now().UnixNano()
	}
	n := &node{kind: made, state: s, content: content{staged: slot}}
	t.digest(p, n)
	return t.tree.put(p, n)
}

// Restore gives p a file with a content that the journal keeps: that of s.Hash.
func (t *Txn) Restore(p tongs.Path, s State) error {
	if s.Lost != "" || s.Hash == "" || !t.j.blobs.has(s.Hash) {
		why := s.Lost
		if why == "" {
			why = "it is no longer in the journal"
		}
		return fmt.Errorf("%s: its content was not kept: %s", p, why)
	}
	if err := t.mayCover(p); err != nil {
		return err
	}
	n := &node{kind: made, state: s, content: content{hash: s.Hash}}
	t.digest(p, n)
	return t.tree.put(p, n)
}

// Dir makes p a directory with the mode and owner of s, or gives the directory that is there the mode. What is in it
// stays.
func (t *Txn) Dir(p tongs.Path, s State) error {
	now, err := t.tree.look(p)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	switch now.Type {
	case Absent:
		return t.tree.put(p, &node{kind: made, state: State{Type: Dir, Mode: s.Mode & modeBits, Owner: s.Owner}})
	case Dir:
	default:
		return fmt.Errorf("%s is a %s; remove it first", p, now.Type)
	}
	n := t.tree.at(p)
	mode := s.Mode & modeBits
	n.mode, n.state.Mode = &mode, mode
	return t.tree.put(p, &n)
}

// Link makes p a symbolic link to the target, which is not looked at.
func (t *Txn) Link(p tongs.Path, s State) error {
	if err := t.mayCover(p); err != nil {
		return err
	}
	return t.tree.put(p, &node{kind: made, state: State{Type: Link, Target: s.Target, Owner: s.Owner}})
}

// mayCover refuses to put something over a directory.
func (t *Txn) mayCover(p tongs.Path) error {
	n := t.tree.at(p)
	isDir := n.kind == made && n.state.Type == Dir
	if n.kind == there {
		fi, err := t.disk.lstat(n.at)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		isDir = fi != nil && fi.IsDir()
	}
	if isDir {
		return fmt.Errorf("%s is a directory; remove it first", p)
	}
	return nil
}

// Remove takes away what is at p, with all that is in it.
func (t *Txn) Remove(p tongs.Path) error {
	_, err := t.tree.take(p)
	return err
}

// Move gives what is at from, with all that is in it, the name to, where nothing may be.
func (t *Txn) Move(from, to tongs.Path) error {
	now, err := t.tree.look(to)
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	if now.Type != Absent {
		return fmt.Errorf("%s exists; remove it first", to)
	}
	n, err := t.tree.take(from)
	if err != nil {
		return err
	}
	return t.tree.put(to, n)
}

// Close releases the transaction and, where it was not committed, everything it staged.
func (t *Txn) Close() {
	if !t.over {
		t.discard()
		t.finish()
	}
}

// finish releases what every transaction holds.
func (t *Txn) finish() {
	t.over = true
	t.disk.close()
	t.release()
}

// slot returns a new place in the stage for p, in its open directory.
func (t *Txn) slot(p tongs.Path) (tongs.Path, *os.Root, string, error) {
	return t.slotNear(t.nearest(p))
}

// slotNear returns a new place on the file system of a directory of the disk.
func (t *Txn) slotNear(dir tongs.Path) (tongs.Path, *os.Root, string, error) {
	st, err := t.stageFor(dir)
	if err != nil {
		return tongs.Path{}, nil, "", err
	}
	t.slots++
	name := fmt.Sprintf("%d", t.slots)
	at, err := t.disk.dir(st.path)
	return st.path.Join(name), at, name, err
}

// nearest returns the directory of the disk that p would be in, or that its missing directories would be made in.
func (t *Txn) nearest(p tongs.Path) tongs.Path {
	for dir := p.Dir(); ; dir = dir.Dir() {
		n := t.tree.at(dir)
		if n.kind == there {
			if fi, err := t.disk.lstat(n.at); err == nil && fi != nil && fi.IsDir() {
				return n.at
			}
		}
		if dir.Rel == "." {
			return dir
		}
	}
}

// stageFor returns the stage on the file system of a directory. It is made at the top of that file system, or as near to
// it as this process may write.
func (t *Txn) stageFor(dir tongs.Path) (*stage, error) {
	fi, err := t.disk.lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if fi == nil || !fi.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	dev := device(fi)
	for _, st := range t.stages {
		if st.dev == dev && st.path.Root == dir.Root {
			return st, nil
		}
	}
	var bases []tongs.Path // the outermost last
	for base := dir; ; base = base.Dir() {
		if fi, err := t.disk.lstat(base); err != nil || fi == nil || device(fi) != dev {
			break
		}
		bases = append(bases, base)
		if base.Rel == "." {
			break
		}
	}
	for i := len(bases) - 1; ; i-- {
		st, err := t.makeStage(bases[i], dev)
		if err == nil || i == 0 || !errors.Is(err, fs.ErrPermission) {
			return st, err
		}
	}
}

func (t *Txn) makeStage(base tongs.Path, dev string) (*stage, error) {
	st := &stage{path: base.Join(StagePrefix + t.head.ID), dev: dev}
	t.stages = append(t.stages, st)
	err := t.writeStages(false) // first the word about it, so that it is found after a crash
	if err == nil {
		err = t.j.point("stage")
	}
	var at *os.Root
	if err == nil {
		at, err = t.disk.dir(base)
	}
	if err == nil {
		err = at.Mkdir(StagePrefix+t.head.ID, 0o700)
	}
	if err != nil {
		t.stages = t.stages[:len(t.stages)-1]
		return nil, err
	}
	return st, nil
}
