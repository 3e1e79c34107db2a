package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

const (
	// maxSlots is how many programs of a session can run on copies at once.
	maxSlots = 256
	// maxCacheBytes and maxCacheFiles are how large what a slot keeps may be: a larger one is emptied.
	maxCacheBytes, maxCacheFiles = 8 << 30, 1 << 20
)

// slot is the part of a copy's cache that one run has for itself: an overlay can be mounted only once at a time. Programs
// that run one after another get the same one.
type slot struct {
	Layer
	dir  string
	lock *os.File
	once sync.Once
}

// release lets others use the slot. Nothing of the run may be left. It can be called more than once.
func (s *slot) release() {
	if s != nil {
		s.once.Do(func() {
			_ = removeLayers(s.work()) // the kernel left it unreadable
			_ = s.lock.Close()
		})
	}
}

// mounted reports whether the slot is a layer of an overlay, which must be gone before there is another one of it.
func (s *slot) mounted() bool { return s != nil && !s.Copied }

func (s *slot) work() string { return filepath.Join(s.dir, "work") }

// keys names the file systems of the overlay.
func (s *slot) keys() []string {
	if s == nil || s.Copied {
		return nil
	}
	return []string{deviceKey(s.dir, s.Root)}
}

// takeSlot returns a free part of a copy's cache, with the direct one below it; nil for the caches of others, which are what
// they are seen as. With copies, where the kernel makes no overlay of these file systems, and where there is nothing to see,
// nothing shows through: it is then as fast as any directory.
func (r *Runner) takeSlot(c Cache, res *resolved, copies bool) (*slot, error) {
	if c.owner != CacheCopy {
		return nil, nil
	}
	if r.over.once(filepath.Dir(c.dir)) {
		r.caches.tidy(filepath.Dir(c.dir))
	}
	for n := range maxSlots {
		s := &slot{Layer: Layer{Root: res.cache}, dir: filepath.Join(c.dir, strconv.Itoa(n))}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, unavailable("making a build cache", err)
		}
		lock, err := lockDir(s.dir)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue // somebody uses it, or removed it
		}
		if err != nil {
			return nil, unavailable("locking a build cache", err)
		}
		if s.lock = lock; !sameDir(lock, s.dir) {
			_ = lock.Close()
			continue
		}
		s.Upper = filepath.Join(s.dir, "upper")
		s.Below = c.base
		s.Copied = copies || r.opt.NoOverlay || r.over.refusal(deviceKey(s.dir, s.Root)) != "" || nothingIn(s.Root) && s.Below == ""
		r.caches.bound(s.Upper)
		if err := s.prepare(); err != nil {
			s.release()
			return nil, err
		}
		return s, nil
	}
	return nil, tongs.Errorf(tongs.CodeSandboxUnavailable, "%d programs of this session run on copies already; wait for one of them", maxSlots)
}

// prepare makes what an overlay needs. Its work directory is a new one each time: the kernel marks a used one.
func (s *slot) prepare() error {
	var st unix.Stat_t
	if err := unix.Lstat(s.Root, &st); err != nil {
		return unavailable("looking at the build cache", err)
	}
	work := s.work()
	if err := removeLayers(work); err != nil {
		return unavailable("tidying the build cache", err)
	}
	dirs := []string{s.Upper}
	if s.Copied {
		for _, e := range readDir(s.Root) { // what the tools expect to be there
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(s.Upper, e.Name()))
			}
		}
	} else {
		dirs = append(dirs, work)
	}
	if err := giveTo(s.dir, &st); err != nil {
		return unavailable("making a build cache", err)
	}
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = giveTo(dir, &st)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return unavailable("making a build cache", err)
		}
	}
	now := time.Now()
	_ = os.Chtimes(s.dir, now, now) // it is in use
	return nil
}

// nothingIn reports whether a cache has directories for tools at most, with nothing in them.
func nothingIn(dir string) bool {
	for _, e := range readDir(dir) {
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return false
		}
		names, _ := f.Readdirnames(1)
		_ = f.Close()
		if len(names) > 0 {
			return false
		}
	}
	return true
}

// pruneSession removes the slots of a session that nobody uses and that were last used before a time, zero for all.
func pruneSession(dir string, before time.Time) error {
	for _, e := range readDir(dir) {
		at := filepath.Join(dir, e.Name())
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() || !before.IsZero() && !info.ModTime().Before(before) {
			continue
		}
		lock, err := lockDir(at)
		if err != nil {
			continue
		}
		err = removeLayers(at)
		_ = lock.Close()
		if err != nil {
			return err
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	return nil
}

// sizes is what a Runner remembers of the sizes of caches.
type sizes struct {
	mu   sync.Mutex
	next map[string]time.Time
}

// tidy removes what sessions left in a workspace's caches that did not say that they are over. What is older than the start of
// the machine may not have reached the disk as a whole.
func (z *sizes) tidy(dir string) {
	before := time.Now().Add(-UnusedCache)
	var boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) == nil {
		if started := time.Now().Add(-time.Duration(boot.Nano())); started.After(before) {
			before = started
		}
	}
	for _, e := range readDir(dir) {
		_ = pruneSession(filepath.Join(dir, e.Name()), before)
	}
}

// bound empties a cache that is too large. Looking takes a while, so that it is done once in a minute at most, and again only
// after a thousand times as long.
func (z *sizes) bound(dir string) {
	z.mu.Lock()
	began := time.Now()
	due := began.After(z.next[dir])
	z.mu.Unlock()
	if !due {
		return
	}
	if tooLarge(dir) {
		_ = removeLayers(dir)
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.next == nil {
		z.next = map[string]time.Time{}
	}
	z.next[dir] = time.Now().Add(max(time.Minute, 1000*time.Since(began)))
}

// tooLarge reports whether a cache is larger than it may be. One that cannot be read counts as such.
func tooLarge(dir string) bool {
	var bytes, files int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += st.Blocks * 512
		}
		if files++; bytes > maxCacheBytes || files > maxCacheFiles {
			return fs.ErrInvalid
		}
		return nil
	})
	return err != nil
}
