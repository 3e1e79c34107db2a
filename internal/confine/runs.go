package confine

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// runLog remembers the programs that run, so that what one planted whose host was killed is not taken for accepted.
// Each has a file that its host keeps locked; the lock of a dead host is free. The empty log remembers nothing.
type runLog struct{ dir string }

// record is what is remembered of a program.
type record struct {
	Call string   `json:"call"`
	Argv []string `json:"argv"`
	// Roots are the directories that it could write to.
	Roots []string `json:"roots"`
	// Had are the protected names that were there before it ran.
	Had []string `json:"had"`
}

// entry is a program that runs. Nil is one that is not remembered.
type entry struct {
	name string
	lock *flock.Flock
}

const runSuffix = ".json"

// begin remembers a program that is about to run.
func (j runLog) begin(r record) (*entry, error) {
	if j.dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, err
	}
	e := &entry{name: filepath.Join(j.dir, strings.ToLower(rand.Text()))}
	e.lock = flock.New(e.name)
	if ok, err := e.lock.TryLock(); err != nil || !ok {
		return nil, fmt.Errorf("%s cannot be locked: %w", e.name, err)
	}
	data, err := json.Marshal(r)
	if err == nil {
		// A file of its own, since some systems let nobody read a locked one. It appears whole or not at all. It is not
		// written by owned.Replace, whose sync would cost every program milliseconds: a record of a run is for after a kill.
		if err = os.WriteFile(e.name+".new", data, 0o600); err == nil {
			err = os.Rename(e.name+".new", e.name+runSuffix)
		}
	}
	if err != nil {
		e.end()
		return nil, err
	}
	return e, nil
}

// end forgets a program.
func (e *entry) end() {
	if e == nil {
		return
	}
	for _, suffix := range []string{runSuffix, ".new"} {
		_ = os.Remove(e.name + suffix)
	}
	_ = e.lock.Unlock()
	_ = os.Remove(e.name)
}

// unfinished is a program whose host was killed before what it planted was looked at.
type unfinished struct {
	*entry
	record
	// planted are the names that appeared since it began.
	planted []string
}

// unfinished takes the programs that were not finished out of the log. Names are the protected names that are there.
// A name that a program which still runs did not find when it began is left to that one.
func (j runLog) unfinished(names []string) (list []*unfinished) {
	entries, _ := os.ReadDir(j.dir)
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), runSuffix)
		if !ok {
			continue
		}
		u := &unfinished{entry: &entry{name: filepath.Join(j.dir, name)}}
		data, err := os.ReadFile(u.name + runSuffix)
		if err != nil || json.Unmarshal(data, &u.record) != nil {
			continue
		}
		u.lock = flock.New(u.name)
		locked, err := u.lock.TryLock()
		if err != nil || !locked {
			names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(u.Had, n) })
			continue
		}
		if _, err := os.Lstat(u.name + runSuffix); err != nil { // finished meanwhile
			u.end()
			continue
		}
		list = append(list, u)
	}
	for _, u := range list {
		for _, n := range names {
			if !slices.Contains(u.Had, n) && slices.ContainsFunc(u.Roots, func(root string) bool { return strings.HasPrefix(n, root+"/") }) {
				u.planted = append(u.planted, n)
			}
		}
	}
	return list
}
