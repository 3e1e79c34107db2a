package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs"
)

// Recover takes back, or finishes, what processes that died left. It is called by Open and before each entry.
func (j *Journal) Recover() error {
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
		if err := j.recoverOwner(owner, ids); err != nil {
			return fmt.Errorf("journal: what a process left half done could not be taken back: %w", err)
		}
	}
	return nil
}

func (j *Journal) recoverOwner(owner string, ids []string) error {
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
		errs = errors.Join(errs, j.recoverOne(ids[i], owner))
	}
	return errs
}

func (j *Journal) recoverOne(id, owner string) error {
	name := j.file("open", id+"."+owner)
	stages, err := readStages(name + stagesSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return j.settle(name, id)
	}
	if err != nil {
		return err
	}
	d := newDisk(stages.Roots)
	defer d.close()
	if _, err := os.Lstat(name); err == nil { // prepared and not committed
		steps, err := readSteps(name + stepsSuffix)
		if err != nil {
			return err
		}
		if stuck := j.revert(d, steps); stuck != nil {
			err = os.Rename(name, j.file("done", id))
		} else {
			err = os.Remove(name)
		}
		if err != nil {
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

// settle finishes the entry of a change that a workspace made, or was about to make: what is still as it was before goes
// out of it.
func (j *Journal) settle(name, id string) error {
	r, err := openEntry(name)
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(name + stepsSuffix)
		return nil
	}
	if err != nil {
		return err
	}
	head := r.head
	var changes []Change
	for c, err := range r.changes {
		if err != nil {
			r.close()
			return err
		}
		changes = append(changes, c)
	}
	r.close()
	kept, err := happened(head.Roots, changes)
	if err != nil {
		return err
	}
	return j.conclude(name, head, changes, kept)
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
