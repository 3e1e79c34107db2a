package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs"
)

// Recover takes back, or finishes, what processes that died left. It is done by Open and before each entry. The error is
// about what could not be; the rest was.
func (j *Journal) Recover() error { return j.recoverFor(nil) }

// recoverFor is Recover; its error is only about what concerns the roots, nil meaning any.
func (j *Journal) recoverFor(roots map[string]string) error {
	list, err := os.ReadDir(j.file("open"))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	owners := map[string][]string{} // by owner the IDs of what is open
	for _, e := range list {
		id, owner, _ := strings.Cut(e.Name(), ".")
		owner, _, _ = strings.Cut(owner, ".")
		if owner == "" || owner == j.owner {
			continue
		}
		if known := owners[owner]; len(known) == 0 || known[len(known)-1] != id {
			owners[owner] = append(known, id)
		}
	}
	for owner, ids := range owners {
		if err := j.recoverOwner(owner, ids, roots); err != nil {
			return fmt.Errorf("journal: what a process left half done could not be taken back: %w", err)
		}
	}
	return nil
}

func (j *Journal) recoverOwner(owner string, ids []string, roots map[string]string) error {
	dead := flock.New(j.file("owners", owner), flock.SetPermissions(0o600))
	if ok, err := dead.TryLock(); err != nil || !ok {
		_ = dead.Close()
		return err // it lives, or another process does this
	}
	defer func() {
		_ = os.Remove(dead.Path())
		_ = dead.Unlock()
	}()
	var errs error
	for i := len(ids) - 1; i >= 0; i-- { // the newest first
		concerned, err := j.recoverOne(ids[i], owner)
		if err != nil && (roots == nil || overlap(roots, concerned)) {
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// overlap reports whether two sets of roots have a directory in common, or one in another.
func overlap(a, b map[string]string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || strings.HasPrefix(x, y+string(filepath.Separator)) || strings.HasPrefix(y, x+string(filepath.Separator)) {
				return true
			}
		}
	}
	return false
}

// moveAway puts away what cannot be read, as a power failure may leave it: it tells nothing and must not be in the way.
func (j *Journal) moveAway(name string) error {
	dir := j.file("broken")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Rename(name, filepath.Join(dir, filepath.Base(name)))
}

// recoverOne takes back or finishes one change, and returns the roots that it concerns.
func (j *Journal) recoverOne(id, owner string) (map[string]string, error) {
	name := j.file("open", id+"."+owner)
	stages, err := readStages(name + stagesSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return j.settle(name)
	}
	if err != nil { // it was written before anything was staged, and again before anything was changed
		return nil, j.moveAway(name + stagesSuffix)
	}
	return stages.Roots, j.rollBack(name, stages)
}

func (j *Journal) rollBack(name string, stages stagesFile) error {
	d := newDisk(stages.Roots)
	defer d.close()
	if _, err := os.Lstat(name); err == nil { // prepared and not committed
		steps, err := readSteps(name + stepsSuffix)
		if err == nil {
			err = stages.hold(steps)
		}
		if err != nil {
			return err
		}
		release, err := j.alone(context.Background()) // whoever takes steps is done soon
		if err != nil {
			return err
		}
		// What somebody changed since the crash stays; what was there is beside it.
		left, stuck := j.revert(d, steps)
		if release(); left {
			return stuck
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	_ = j.point("recover")
	for _, p := range stages.Stages {
		if err := removeStage(d, p); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(name + stepsSuffix)
	_ = j.point("recovered")
	return os.Remove(name + stagesSuffix)
}

// hold refuses steps that no transaction with these stages has: each is between a path and a place in a stage.
func (f *stagesFile) hold(steps []step) error {
	for _, s := range steps {
		switch s.Op {
		case opMode:
			if fs.ValidPath(s.Path.Rel) {
				continue
			}
		case opOut, opIn, opSwap:
			staged := slices.ContainsFunc(f.Stages, func(p tongs.Path) bool {
				return strings.HasPrefix(path.Base(p.Rel), StagePrefix) && p.Contains(s.Slot) && p != s.Slot
			})
			if staged && fs.ValidPath(s.Slot.Rel) && fs.ValidPath(s.Path.Rel) {
				continue
			}
		}
		return fmt.Errorf("the steps of a change are damaged: %q of %s is none", s.Op, s.Path)
	}
	return nil
}

// settle finishes the entry of a change that a workspace made, or was about to make: what is still as it was before goes
// out of it.
func (j *Journal) settle(name string) (map[string]string, error) {
	head, changes, err := readEntry(name)
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(name + stepsSuffix)
		return nil, nil
	}
	if err != nil {
		return nil, j.moveAway(name)
	}
	kept, err := happened(head.Roots, changes)
	if err != nil {
		return head.Roots, err
	}
	return head.Roots, j.conclude(name, head, changes, kept)
}

func readEntry(name string) (head Entry, changes []Change, err error) {
	r, err := openEntry(name)
	if err != nil {
		return head, nil, err
	}
	defer r.close()
	for c, err := range r.changes {
		if err != nil {
			return head, nil, err
		}
		changes = append(changes, c)
	}
	return r.head, changes, nil
}

// conclude makes an entry of an open one, with the changes that were really made.
func (j *Journal) conclude(name string, head Entry, all, kept []Change) error {
	if len(kept) == 0 {
		return os.Remove(name)
	}
	if len(kept) != len(all) {
		var entry bytes.Buffer
		if err := encode(&entry, &head, kept); err != nil {
			return err
		}
		if err := j.writeFile(name, entry.Bytes(), false); err != nil {
			return err
		}
	}
	return os.Rename(name, j.file("done", head.ID))
}

// happened returns the changes whose path is no longer as it was before them.
func happened(roots map[string]string, changes []Change) (kept []Change, err error) {
	d := newDisk(roots)
	defer d.close()
	for _, c := range changes {
		if c.From != nil {
			fi, err := d.lstat(*c.From)
			if err != nil || fi != nil {
				continue
			}
		}
		now, err := d.look(c.Path)
		if errors.Is(err, errLink) || err == nil && !c.Before.Same(now) {
			kept = append(kept, c)
		} else if err != nil {
			return nil, err
		}
	}
	for _, c := range kept {
		if c.Before.Type != Absent || c.After.Type != Dir || c.From != nil {
			return kept, nil
		}
	}
	return nil, nil // directories alone are made for something, and go when that does not come
}

func readJSON[T any](name string) (v T, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(data, &v)
}

func readStages(name string) (f stagesFile, err error) {
	if f, err = readJSON[stagesFile](name); err != nil {
		return f, err
	}
	for root, dir := range f.Roots {
		if f.Roots[root], err = unquote(dir); err != nil {
			return f, err
		}
	}
	for i, p := range f.Stages {
		if f.Stages[i].Rel, err = unquote(p.Rel); err != nil {
			return f, err
		}
	}
	return f, nil
}

func readSteps(name string) ([]step, error) {
	steps, err := readJSON[[]step](name)
	for i := range steps {
		var bad [2]error
		steps[i].Path.Rel, bad[0] = unquote(steps[i].Path.Rel)
		steps[i].Slot.Rel, bad[1] = unquote(steps[i].Slot.Rel)
		err = errors.Join(err, bad[0], bad[1])
	}
	return steps, err
}

// quote writes any bytes as text that JSON keeps as it is; unquote reads it.
func quote(s string) string {
	q := strconv.QuoteToASCII(s)
	return q[1 : len(q)-1]
}

func quotePath(p tongs.Path) tongs.Path { return tongs.Path{Root: p.Root, Rel: quote(p.Rel)} }

func unquote(s string) (string, error) { return strconv.Unquote(`"` + s + `"`) }
