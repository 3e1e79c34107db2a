package workspace

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/tongs-ai/tongs"
)

// stripes is how many lock files there are. Paths that share one wait for each other, which is harmless.
const stripes = 256

// locker locks host paths across goroutines and processes. A stripe is a file lock, taken by one goroutine of this
// process at a time.
type locker struct {
	dir  string
	held [stripes]chan struct{}
}

func newLocker(dir string) (*locker, error) {
	l := &locker{dir: dir}
	for i := range l.held {
		l.held[i] = make(chan struct{}, 1)
	}
	return l, nil
}

// lockDirectory makes the directory of the locks and checks that nobody else can write there.
func lockDirectory(dir string) (string, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", config("no directory for locks: %w; set one explicitly", err)
		}
		dir = filepath.Join(cache, "tongs", "locks")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", config("directory for locks %s: %w", dir, plain(err))
	}
	dir, err := realPath(dir)
	if err != nil {
		return "", config("directory for locks: %w", err)
	}
	return dir, ours(dir)
}

// ours fails where somebody else owns a directory or may write to it.
func ours(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return config("directory for locks %s: %w", dir, plain(err))
	}
	if !fi.IsDir() {
		return config("directory for locks %s is not a directory; remove it", dir)
	}
	if !ownedByUs(fi) {
		return config("directory for locks %s belongs to another user; use one of your own", dir)
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm()&0o022 != 0 {
		return config("directory for locks %s can be written by others (%s); run chmod 700 on it", dir, fi.Mode().Perm())
	}
	return nil
}

// Lock locks a path against every other holder, in this process and in others, until unlock is called or the process
// ends. The path need not exist. It is not re-entrant: Files takes the same locks.
func (w *Workspace) Lock(ctx context.Context, p tongs.Path) (unlock func(), err error) {
	return w.lock(ctx, p)
}

func (w *Workspace) lock(ctx context.Context, paths ...tongs.Path) (func(), error) {
	hosts := make([]string, len(paths))
	for i, p := range paths {
		if err := w.canonical(p); err != nil {
			return nil, err
		}
		hosts[i] = w.Host(p)
	}
	unlock, err := w.locks.lock(ctx, hosts...)
	if err != nil {
		return nil, fail("lock", paths[0], err)
	}
	return unlock, nil
}

// LockDirOr returns the directory of locks in the user's cache, which all processes of a user share, or, where nothing can be
// written there, one in fallback.
func LockDirOr(fallback string) string {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "tongs", "locks")
		if err = os.MkdirAll(dir, 0o700); err == nil {
			_, err = umaskIn(dir) // makes a file
		}
	}
	if err != nil {
		return filepath.Join(fallback, "locks")
	}
	return dir
}

// LockHosts is [Workspace.LockAll] for whoever has no workspace: it locks absolute paths of this machine. LockDir is as in
// [Options].
func LockHosts(ctx context.Context, lockDir string, hosts ...string) (unlock func(), err error) {
	dir, err := lockDirectory(lockDir)
	if err != nil {
		return nil, err
	}
	l, err := newLocker(dir)
	if err != nil {
		return nil, err
	}
	return l.lock(ctx, hosts...)
}

// lock takes the stripes of all paths in ascending order, so that no two holders wait for each other.
func (l *locker) lock(ctx context.Context, hosts ...string) (unlock func(), err error) {
	var list []int
	for _, host := range hosts {
		list = append(list, stripe(host))
	}
	slices.Sort(list)
	var undo []func()
	unlock = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
		undo = nil
	}
	for _, i := range slices.Compact(list) {
		free, err := l.take(ctx, i)
		if err != nil {
			unlock()
			return nil, err
		}
		undo = append(undo, free)
	}
	return unlock, nil
}

// stripe ignores case, so that two spellings of a name that does not exist yet meet.
func stripe(host string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(host)))
	return int(h.Sum32() % stripes)
}

func (l *locker) take(ctx context.Context, i int) (func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case l.held[i] <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f, err := lockFile(ctx, filepath.Join(l.dir, fmt.Sprintf("%02x.lock", i)))
	if err != nil {
		<-l.held[i]
		return nil, err
	}
	return func() {
		_ = f.Unlock()
		<-l.held[i]
	}, nil
}

// lockFile locks a file, polling until ctx ends. The file it returns is the one that has the name: a lock on a file
// that was removed meanwhile keeps nobody out.
func lockFile(ctx context.Context, name string) (*flock.Flock, error) {
	wait := 500 * time.Microsecond
	for {
		f := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
		ok, err := f.TryLock()
		if err != nil {
			return nil, err
		}
		if ok {
			if named(f, name) {
				return f, nil
			}
			_ = f.Unlock()
			continue
		}
		_ = f.Close()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		wait = min(wait*3/2, 10*time.Millisecond)
	}
}

func named(f *flock.Flock, name string) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	fi, err := os.Lstat(name)
	return err == nil && os.SameFile(locked, fi)
}

// umaskIn finds out the umask without changing it: by making a file.
func umaskIn(dir string) (fs.FileMode, error) {
	name := filepath.Join(dir, ".umask-"+randomName())
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return 0, config("directory for locks %s: %w", dir, plain(err))
	}
	fi, err := f.Stat()
	err = errors.Join(err, f.Close(), os.Remove(name))
	if err != nil {
		return 0, config("directory for locks %s: %w", dir, err)
	}
	return 0o666 &^ fi.Mode().Perm(), nil
}
