package journal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs/internal/treestate"
)

// Report says what a collection removed and what is left.
type Report struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	// Left is how much the journal holds now.
	Left int64 `json:"left"`
}

// GC removes the entries that are older than MaxAge and, oldest first, as many as it takes to come below MaxBytes, but none of
// those that are younger than MinAge; then every content that no entry needs. It waits until nobody makes an entry.
func (j *Journal) GC(ctx context.Context) (Report, error) {
	var rep Report
	defer j.used.forget()
	_ = j.Recover() // what cannot be taken back stays, and what it needs with it
	release, err := j.lock(ctx, (*flock.Flock).TryLock)
	if err != nil {
		return rep, err
	}
	defer release()
	names, err := j.names()
	if err != nil {
		return rep, err
	}
	c := &collection{j: j, uses: map[string]int{}, rep: &rep}
	if names, err = c.count(ctx, names); err != nil {
		return rep, err
	}
	if err := c.sweep(); err != nil { // what nobody needed before
		return rep, err
	}
	now := time.Now()
	limit, young := now.Add(-j.opt.MaxAge), now.Add(-MinAge)
	for _, name := range names {
		r, err := openEntry(j.file("done", name))
		if err != nil {
			return rep, err
		}
		at := r.head.Time
		r.close()
		if !at.Before(limit) && (c.rep.Left <= j.opt.MaxBytes || !at.Before(young)) {
			break
		}
		if err := c.drop(name); err != nil {
			return rep, err
		}
	}
	return rep, c.tidy()
}

type collection struct {
	j    *Journal
	uses map[string]int
	rep  *Report
}

// hashes calls f with each content that an entry needs.
func (c *collection) hashes(name string, f func(hash string)) error {
	for change, err := range c.j.Changes(name) {
		if err != nil {
			return err
		}
		if change.Before.Hash != "" {
			f(change.Before.Hash)
		}
	}
	return nil
}

// count finds out what the entries need, and returns those that can be read; the others are removed. What is open and
// could not be taken back needs its contents, too.
func (c *collection) count(ctx context.Context, names []string) (whole []string, err error) {
	use := func(hash string) { c.uses[hash]++ }
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := c.hashes(name, use)
		if errors.Is(err, errDamaged) {
			c.rep.Entries++
			err = os.Remove(c.j.file("done", name))
		} else if err == nil {
			whole = append(whole, name)
		}
		if err != nil {
			return nil, err
		}
		if fi, err := os.Lstat(c.j.file("done", name)); err == nil {
			c.rep.Left += fi.Size()
		}
	}
	open, err := os.ReadDir(c.j.file("open"))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for _, e := range open {
		if _, changes, err := readEntry(c.j.file("open", e.Name())); err == nil {
			for _, change := range changes {
				use(change.Before.Hash)
			}
		}
	}
	return whole, errors.Join(c.countParked(use), c.countStates(use))
}

// countStates finds out what the states of directories need, and removes those that nobody looked at for too long.
func (c *collection) countStates(use func(hash string)) error {
	dirs, err := os.ReadDir(c.j.file(statesDir))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, d := range dirs {
		name := c.j.file(statesDir, d.Name(), indexName)
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		x, err := treestate.Decode(data)
		if err != nil || time.Since(time.Unix(0, x.Taken)) > c.j.opt.MaxAge {
			if err := os.RemoveAll(c.j.file(statesDir, d.Name())); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
			continue
		}
		c.rep.Left += int64(len(data))
		for i := range x.Folders {
			for k := range x.Folders[i].Entries {
				if e := &x.Folders[i].Entries[k]; e.Kept {
					use(hex.EncodeToString(e.Hash[:]))
				}
			}
		}
	}
	return nil
}

// countParked finds out what waits, and removes what expired.
func (c *collection) countParked(use func(hash string)) error {
	return c.j.eachParked(func(name string, p *Parked, err error) error {
		if err != nil || !time.Now().Before(p.Expires) {
			return os.Remove(c.j.file("parked", name))
		}
		for _, change := range p.List {
			use(change.After.Hash)
		}
		return nil
	})
}

// sweep removes the contents that no entry needs, and counts the others.
func (c *collection) sweep() error {
	return filepath.WalkDir(c.j.file("blobs"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		hash, _, _ := strings.Cut(e.Name(), ".")
		if c.uses[hash] > 0 {
			if linkCount(fi) < 2 { // a hard link takes no room
				c.rep.Left += fi.Size()
			}
			return nil
		}
		c.rep.Bytes += fi.Size()
		return os.Remove(name)
	})
}

// drop removes an entry and what only it needs.
func (c *collection) drop(name string) error {
	var free []string
	err := c.hashes(name, func(hash string) {
		if c.uses[hash]--; c.uses[hash] == 0 {
			free = append(free, hash)
		}
	})
	if err != nil {
		return err
	}
	files := []string{c.j.file("done", name)} // the entry first: a content without one is harmless
	for _, hash := range free {
		files = append(files, c.j.blobs.name(hash, ".z"), c.j.blobs.name(hash, ".r"))
	}
	for _, file := range files {
		fi, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.Remove(file)
		}
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		c.rep.Left -= fi.Size()
		c.rep.Bytes += fi.Size()
	}
	c.rep.Entries++
	return nil
}

// tidy removes what dead processes left: nobody is writing now.
func (c *collection) tidy() error {
	list, err := os.ReadDir(c.j.file("tmp"))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, e := range list {
		_ = os.Remove(c.j.file("tmp", e.Name()))
	}
	owners, err := os.ReadDir(c.j.file("owners"))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, e := range owners {
		if e.Name() == c.j.owner {
			continue
		}
		if err := c.j.recoverOwner(e.Name(), nil, nil); err != nil {
			return err
		}
	}
	return nil
}
