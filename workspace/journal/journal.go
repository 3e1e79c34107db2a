// Package journal keeps what is needed to take changes of files back: for every change what was there before, by
// content, and what was left. It also makes changes of many files at once, all or nothing, across a crash.
//
// An entry is one change that was made: the call it was made for, and for each path its state before and after.
// Contents are kept once each, compressed, under their hash. [Journal.Keep] makes entries of the changes that a
// workspace makes by itself; [Journal.Begin] starts a [Txn], which makes the changes, too. [Journal.Undo] fills a Txn
// with the inverse of entries.
//
// A directory holds one journal, which any number of processes share:
//
//	blobs/ab/HASH.z    a content, compressed with zstd (HASH.r: a clone of the file, as it was)
//	done/ID            an entry, one JSON object a line: its head, then its changes
//	open/ID.OWNER      the same, of a change that is being made; .stages and .steps say how to take it back
//	parked/ID          a transaction in waiting, with what it replaces; its contents are in blobs
//	states/ID/index    what a watched directory had in it when it was last looked at, by hash
//	owners/OWNER       locked by a process as long as it lives
//	broken/            what a power failure left that cannot be read
//	lock               shared by whoever makes an entry, alone for whoever collects garbage
//	parking, applying  locked by whoever parks a transaction, and whoever makes one that waited
//
// What was begun by a process that died is taken back, or finished where it was done, by the next one that opens the
// journal or makes an entry. After a power failure the newest entries of single files may be missing.
package journal

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Options describe a journal. Zero values of the bounds mean the defaults that stand beside them.
type Options struct {
	// Dir is the directory of the journal, made where it is missing. No tool may reach it.
	Dir string
	// MaxFile is the size up to which the content of a file is kept: 256 MiB. Larger ones are kept only where the file
	// system can clone them.
	MaxFile int64
	// MaxChange is how much one entry keeps at most: 4 GiB.
	MaxChange int64
	// MaxBytes and MaxAge are what GC keeps: 4 GiB and 30 days. What is younger than MinAge stays beyond MaxBytes.
	MaxBytes int64
	MaxAge   time.Duration
	// CallFiles and CallBytes are how much one call may replace and still be undoable: 100 files, 64 MiB. HourFiles is how many
	// files all calls may that nobody was asked about, in one workspace and hour: 1,000.
	CallFiles, HourFiles int
	CallBytes            int64
	// NoSync leaves out what matters only when the power fails.
	NoSync bool
}

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	opt   Options
	owner string
	alive *flock.Flock
	blobs *blobs

	mu   sync.Mutex
	last int64 // the time in the newest ID

	used   usage
	recent recentChanges

	// point is called before each thing that can fail or be cut short. Tests make it do so.
	point func(step string) error
}

var encoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Open opens the journal and takes back what a process that died left half done.
func Open(opt Options) (*Journal, error) { return openWith(opt, func(string) error { return nil }) }

func openWith(opt Options, point func(string) error) (*Journal, error) {
	setDefault(&opt.MaxFile, 256<<20)
	setDefault(&opt.MaxChange, 4<<30)
	setDefault(&opt.MaxBytes, 4<<30)
	setDefault(&opt.MaxAge, 30*24*time.Hour)
	setDefault(&opt.CallFiles, 100)
	setDefault(&opt.CallBytes, 64<<20)
	setDefault(&opt.HourFiles, 1000)
	if !filepath.IsAbs(opt.Dir) {
		return nil, fmt.Errorf("journal: directory %q is not an absolute path", opt.Dir)
	}
	for _, dir := range []string{"", "blobs", "done", "open", "owners", "parked", statesDir, "tmp"} {
		if err := os.MkdirAll(filepath.Join(opt.Dir, dir), 0o700); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
	}
	j := &Journal{opt: opt, point: point}
	j.blobs = newBlobs(j)
	if err := j.live(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	_ = j.Recover() // what it cannot do is for those who change something there
	return j, nil
}

// live takes the lock that tells others that this process lives. Another one may take the file for that of a dead process
// in the moment before it is locked, and remove it; then there is a new one.
func (j *Journal) live() error {
	for {
		j.owner = strings.ToLower(rand.Text())
		j.alive = flock.New(j.file("owners", j.owner), flock.SetPermissions(0o600))
		ok, err := j.alive.TryLock()
		if err != nil {
			return err
		}
		if !ok {
			_ = j.alive.Close()
			continue
		}
		locked, err := j.alive.Stat()
		if err != nil {
			return err
		}
		if named, err := os.Lstat(j.alive.Path()); err == nil && os.SameFile(locked, named) {
			return nil
		}
		_ = j.alive.Unlock()
	}
}

func setDefault[N int | int64 | time.Duration](v *N, def N) {
	if *v <= 0 {
		*v = def
	}
}

// Close releases the journal. Whatever was begun and not committed must have been closed before.
func (j *Journal) Close() error {
	_ = os.Remove(j.alive.Path())
	return j.alive.Unlock()
}

// Dir returns the directory of the journal.
func (j *Journal) Dir() string { return j.opt.Dir }

func (j *Journal) file(names ...string) string {
	return filepath.Join(append([]string{j.opt.Dir}, names...)...)
}

// newID returns an identifier that sorts after every earlier one of this process, and by time among processes.
func (j *Journal) newID() (string, time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	j.last = max(j.last+1, now.UnixNano())
	var b [10]byte
	binary.BigEndian.PutUint64(b[:], uint64(j.last))
	rand.Read(b[8:]) // never fails
	return "e_" + encoding.EncodeToString(b[:]), now
}

// share keeps garbage collection away until release is called.
func (j *Journal) share(ctx context.Context) (release func(), err error) {
	return j.lock(ctx, (*flock.Flock).TryRLock)
}

// alone keeps other transactions from changing files until release is called.
func (j *Journal) alone(ctx context.Context) (release func(), err error) {
	return lockPath(ctx, j.file("taking"), (*flock.Flock).TryLock)
}

func (j *Journal) lock(ctx context.Context, try func(*flock.Flock) (bool, error)) (release func(), err error) {
	return lockPath(ctx, j.file("lock"), try)
}

// lockPath locks a file that is never removed.
func lockPath(ctx context.Context, name string, try func(*flock.Flock) (bool, error)) (release func(), err error) {
	f := flock.New(name, flock.SetPermissions(0o600))
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		ok, err := try(f)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		if ok {
			return func() { _ = f.Unlock() }, nil
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// syncDir makes the entries of a directory durable, where the system can.
func (j *Journal) syncDir(dir string) {
	if j.opt.NoSync {
		return
	}
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// writeFile puts a file in its place, whole or not at all. It is not owned.Replace: a transaction syncs once for many
// files, and recovery removes what a crash left in the directory for unfinished ones.
func (j *Journal) writeFile(name string, data []byte, durable bool) error {
	temp := j.file("tmp", strings.ToLower(rand.Text()))
	err := os.WriteFile(temp, data, 0o600)
	if err == nil && durable && !j.opt.NoSync {
		err = syncFile(temp)
	}
	if err == nil {
		err = j.point("write " + filepath.Base(filepath.Dir(name)))
	}
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
