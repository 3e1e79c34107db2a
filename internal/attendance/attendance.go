// Package attendance tells which questions a call still waits for, and which sessions are still there, across processes. Whoever is
// there holds a lock, which ends with its process however that ends.
package attendance

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Room is where it is written down who waits. The zero value knows of nobody. It is safe for concurrent use, also by several processes.
type Room struct {
	// Dir is a directory of the user's own. It is made when the first call waits.
	Dir string
}

// keep is how long the mark of a question stays: longer than a question can be answered.
const keep = 48 * time.Hour

func (r Room) path(id string) string {
	if r.Dir == "" || id == "" || strings.ContainsAny(id, `/\.`) {
		return ""
	}
	return filepath.Join(r.Dir, id)
}

// Attend marks that a call waits for the answer to a question, until leave is called or the process ends. Where that cannot be
// written down nobody is told: the question can be answered all the same.
func (r Room) Attend(id string) (leave func()) {
	at := r.path(id)
	if at == "" || os.MkdirAll(r.Dir, 0o700) != nil {
		return func() {}
	}
	r.prune()
	lock := flock.New(at, flock.SetPermissions(0o600))
	if held, err := lock.TryRLock(); err != nil || !held {
		return func() {}
	}
	now := time.Now()
	_ = os.Chtimes(at, now, now) // it is old from now on
	return func() { _ = lock.Close() }
}

// Attended reports whether a call waits for the answer.
func (r Room) Attended(id string) bool {
	known, left := r.look(id)
	return known && !left
}

// Left reports whether somebody attended, and nobody does any more. It is false where that is not known.
func (r Room) Left(id string) bool {
	known, left := r.look(id)
	return known && left
}

// look tries whether anybody holds the lock.
func (r Room) look(id string) (known, left bool) {
	at := r.path(id)
	if _, err := os.Stat(at); at == "" || err != nil {
		return false, false
	}
	lock := flock.New(at)
	free, err := lock.TryLock()
	_ = lock.Close()
	return err == nil, free
}

func (r Room) prune() {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > keep {
			_ = os.Remove(filepath.Join(r.Dir, e.Name()))
		}
	}
}
