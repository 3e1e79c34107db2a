package walk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/search/ignore"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, opt Options) []string {
	t.Helper()
	var mu sync.Mutex
	var list []string
	opt.Ignore = &ignore.Reader{}
	must(t, Walk(t.Context(), opt, func(e *Entry) error {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, e.Type.String()+":"+e.Rel)
		return nil
	}))
	slices.Sort(list)
	return list
}

func TestSpecialFilesAreNamedNotOpened(t *testing.T) {
	dir := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	must(t, unix.Mkfifo(filepath.Join(dir, ".gitignore"), 0o666)) // would block whoever opens it to read
	must(t, os.MkdirAll(filepath.Join(dir, "sub/.git/info"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "sub/.git/HEAD"), nil, 0o666))
	must(t, unix.Mkfifo(filepath.Join(dir, "sub/.git/info/exclude"), 0o666))
	must(t, unix.Mkfifo(filepath.Join(dir, "sub/.git/config"), 0o666))
	must(t, os.Mkdir(filepath.Join(dir, "sub/.ignore"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "sub/f"), nil, 0o666))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	must(t, err)
	defer l.Close()
	want := []string{"file:sub/f", "other:fifo", "other:socket"}
	if got := names(t, Options{Root: dir}); !slices.Equal(got, want) {
		t.Errorf("visited %v", got)
	}
	must(t, Walk(t.Context(), Options{Root: dir, Sorted: true}, func(e *Entry) error {
		if e.Name() == "fifo" {
			if _, err := e.Open(); !errors.Is(err, errNotFile) {
				t.Errorf("opened: %v", err)
			}
		}
		// A file that became a FIFO since it was listed does not block either.
		if e.Name() == "f" {
			must(t, os.Remove(filepath.Join(dir, "sub/f")))
			must(t, unix.Mkfifo(filepath.Join(dir, "sub/f"), 0o666))
			f, err := e.Open()
			must(t, err)
			defer f.Close()
			if n, err := f.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("read %d, %v", n, err)
			}
		}
		return nil
	}))
}

// While it is walked, a directory is swapped for a link to the outside and back, again and again.
func TestSwappedDirectoryLeadsNowhere(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(outside, "a/b"), 0o777))
	must(t, os.WriteFile(filepath.Join(outside, "a/b/stolen"), nil, 0o666))
	must(t, os.WriteFile(filepath.Join(outside, "a/stolen"), nil, 0o666))
	must(t, os.MkdirAll(filepath.Join(dir, "x/a/b"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "x/a/b/own"), nil, 0o666))
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	var stop atomic.Bool
	done := make(chan error)
	go func() {
		for !stop.Load() {
			if err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, "link"), unix.AT_FDCWD, filepath.Join(dir, "x"), unix.RENAME_EXCHANGE); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for _, steps := range []bool{false, true} {
		tr, err := Open(Options{Root: dir, Ignore: &ignore.Reader{}})
		must(t, err)
		tr.root.steps.Store(steps)
		for range 1000 {
			must(t, tr.Walk(t.Context(), func(e *Entry) error {
				if strings.Contains(e.Rel, "stolen") {
					t.Errorf("visited %s", e.Rel)
				}
				return nil
			}))
		}
		must(t, tr.Close())
	}
	stop.Store(true)
	must(t, <-done)
}

func TestDeeperThanAPathCanBeLong(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	must(t, err)
	const depth, name = 600, "deep-directory-name"
	for range depth {
		must(t, unix.Mkdirat(fd, name, 0o777))
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
		f, err := unix.Openat(fd, "z", unix.O_CREAT|unix.O_WRONLY, 0o666)
		must(t, err)
		must(t, unix.Close(f))
	}
	must(t, unix.Close(fd))
	for _, sorted := range []bool{false, true} {
		if got := names(t, Options{Root: dir, Sorted: sorted}); len(got) != depth {
			t.Errorf("sorted %v: visited %d, want %d", sorted, len(got), depth)
		}
	}
}

func TestWithoutOpenat2(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "a/b/c/f"), nil, 0o666))
	must(t, os.Symlink("a", filepath.Join(dir, "l")))
	tr, err := Open(Options{Root: dir, Ignore: &ignore.Reader{}})
	must(t, err)
	defer tr.Close()
	tr.root.steps.Store(true)
	n := 0
	must(t, tr.Walk(t.Context(), func(e *Entry) error {
		if e.Type == File {
			n++
		}
		return nil
	}))
	if n != 1 {
		t.Errorf("%d visits", n)
	}
	for _, steps := range []bool{false, true} {
		tr.root.steps.Store(steps)
		for _, rel := range []string{"l/b", "l", "a/b/c/f", "../a"} {
			if d, err := tr.root.dir(rel); err == nil {
				d.close()
				t.Errorf("steps %v: %s was opened", steps, rel)
			}
		}
	}
}

// asNobody runs a test on a thread without privileges, which ends with it. Without root we are nobody already.
func asNobody(t *testing.T, test func()) {
	if os.Geteuid() != 0 {
		test()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			t.Errorf("cannot drop privileges: %v", errno)
			return
		}
		test()
	}()
	<-done
}

func TestUnreadableDirectoriesAreReported(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	for _, d := range []string{"a", "closed/x", "unlisted/x", "z"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o777))
		must(t, os.WriteFile(filepath.Join(dir, d, "f"), nil, 0o666))
	}
	must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("a\n"), 0)) // unreadable too, so it does not count
	must(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	must(t, os.Chmod(filepath.Join(dir, "unlisted"), 0o311))
	defer os.Chmod(filepath.Join(dir, "closed"), 0o777)
	defer os.Chmod(filepath.Join(dir, "unlisted"), 0o777)
	asNobody(t, func() {
		var visited, skipped []string
		err := Walk(t.Context(), Options{
			Root: dir, Sorted: true, Ignore: &ignore.Reader{},
			Skipped: func(rel string, err error) {
				if !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: %v", rel, err)
				}
				skipped = append(skipped, rel)
			},
		}, func(e *Entry) error {
			visited = append(visited, e.Rel)
			return nil
		})
		if got := fmt.Sprint(visited, skipped, err); got != "[a/f z/f] [closed unlisted] <nil>" {
			t.Errorf("got %s", got)
		}
		if err := Walk(t.Context(), Options{Root: filepath.Join(dir, "closed"), Sorted: true}, func(*Entry) error { return nil }); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("the root: %v", err)
		}
	})
}

// Not every file system says what an entry is: then it is looked at.
func TestTypesThatAreNotTold(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o666))
	must(t, os.Symlink("d", filepath.Join(dir, "l")))
	must(t, unix.Mkfifo(filepath.Join(dir, "p"), 0o666))
	root, err := openRoot(dir, nil)
	must(t, err)
	defer root.close()
	d, err := root.dir("")
	must(t, err)
	defer d.close()
	var c chunk
	c.reset("", "", false)
	for _, name := range []string{"d", "f", "l", "p", "gone"} {
		d.entry(&c, unix.DT_UNKNOWN, []byte(name+"\x00\x00"))
	}
	var types []Type
	for _, r := range c.refs {
		types = append(types, r.typ)
	}
	if want := []Type{Directory, File, Symlink, Other}; !slices.Equal(types, want) {
		t.Errorf("types are %v", types)
	}
}

func TestLoop(t *testing.T) {
	top := &Dir{dev: 1, ino: 2}
	mid := &Dir{parent: top, dev: 1, ino: 3, rel: "a"}
	for _, c := range []struct {
		dev, ino uint64
		want     bool
	}{{1, 2, true}, {1, 3, true}, {2, 2, false}, {1, 4, false}, {0, 0, false}} {
		if got := (&Dir{parent: mid, dev: c.dev, ino: c.ino}).loops(); got != c.want {
			t.Errorf("%d:%d: %v", c.dev, c.ino, got)
		}
	}
}

// No descriptor is left open, however a walk ends.
func TestDescriptorsAreClosed(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		must(t, os.MkdirAll(filepath.Join(dir, fmt.Sprint(i%10), fmt.Sprint(i)), 0o777))
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i%10), fmt.Sprint(i), "f"), nil, 0o666))
	}
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return len(entries)
	}
	before := count()
	for i := range 50 {
		var n atomic.Int32
		_ = Walk(t.Context(), Options{Root: dir, Sorted: i%2 == 0, Workers: 4}, func(e *Entry) error {
			if n.Add(1) > int32(i) {
				return fs.SkipAll
			}
			return nil
		})
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}
