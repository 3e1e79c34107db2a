package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name string, mib int) {
	t.Helper()
	check(t, os.WriteFile(filepath.Join(dir, name), make([]byte, mib<<20), 0o600))
}

func never() bool { return false }

// due has the trees walked at the next look, as after a pause.
func (d *diskWatch) due() *diskWatch {
	d.regular = time.Time{}
	return d
}

// Growth counts when it is in the watched trees. Others who fill the same disk are not mistaken for it, and others who free
// it do not hide it.
func TestWatchingTheDisk(t *testing.T) {
	mine, other := t.TempDir(), t.TempDir()
	d := newDiskWatch(&Watch{Disk: 8 << 20, Files: 20, Paths: []string{mine}})
	expect := func(when, limit string) {
		t.Helper()
		if got := d.due().exceeded(never); got != limit {
			t.Errorf("%s: %q, not %q", when, got, limit)
		}
	}
	write(t, other, "large", 24)
	expect("somebody else's growth", "")
	write(t, mine, "a", 6)
	expect("some of our own", "")
	check(t, os.Remove(filepath.Join(other, "large")))
	write(t, mine, "b", 6)
	expect("our own growth, while somebody else frees more than we took", LimitDisk)
	check(t, os.Remove(filepath.Join(mine, "b")))
	expect("what is gone again", "")

	for i := range 30 {
		write(t, other, itoa(i), 0)
	}
	d.disks[0].update(mine)
	for i := range 30 {
		check(t, os.Remove(filepath.Join(other, itoa(i))))
		write(t, mine, itoa(i), 0)
	}
	expect("many files, while somebody else removes as many", LimitFiles)
}

// The free space only says when to look sooner.
func TestHints(t *testing.T) {
	mine := t.TempDir()
	d := newDiskWatch(&Watch{Files: 20, Paths: []string{mine}})
	far := time.Now().Add(time.Hour)
	for i := range 30 {
		write(t, mine, itoa(i), 0)
	}
	d.disks[0].files, d.regular = 0, far
	d.disks[0].last.Ffree = 0
	if got := d.exceeded(never); got != "" {
		t.Errorf("nothing hints at it, and it is not time yet: %q", got)
	}
	d.disks[0].files = 21
	if got := d.exceeded(never); got != LimitFiles {
		t.Errorf("there is a hint: %q", got)
	}
	d.hinted, d.regular, d.disks[0].files = far, far, 21
	if got := d.exceeded(never); got != "" {
		t.Errorf("it was looked at a moment ago: %q", got)
	}
	if got := d.due().exceeded(func() bool { return true }); got != "" {
		t.Errorf("it was to be stopped: %q", got)
	}
}

// counted takes a census of a directory, of what changed since a time.
func counted(dir string, since time.Time, changes bool) *census {
	c := &census{w: &Watch{Paths: []string{dir}}, since: since.Unix(), changes: changes, stop: never}
	c.take([]string{dir})
	return c
}

func TestCensus(t *testing.T) {
	dir := t.TempDir()
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	write(t, dir, "file", 4)
	check(t, os.Link(filepath.Join(dir, "file"), filepath.Join(dir, "the same file")))
	check(t, os.Symlink("/usr", filepath.Join(dir, "elsewhere")))
	check(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	write(t, filepath.Join(dir, "sub"), "file", 2)
	if c := counted(dir, past, false); c.files != 4 || c.fresh < 6<<20 || c.fresh > 7<<20 || c.changed != 0 || c.hidden {
		t.Errorf("all of it is new: %d files, %d bytes, %d changed", c.files, c.fresh, c.changed)
	}
	if c := counted(dir, future, true); c.files != 0 || c.fresh != 0 || c.changed != 0 {
		t.Errorf("none of it is: %d files, %d bytes, %d changed", c.files, c.fresh, c.changed)
	}

	open, err := os.Create(filepath.Join(dir, "nameless"))
	check(t, err)
	defer open.Close()
	check(t, os.Remove(open.Name()))
	_, err = open.Write(make([]byte, 3<<20))
	check(t, err)
	c := &census{w: &Watch{Paths: []string{dir}}, since: past.Unix(), stop: never}
	for range 2 { // as held by two processes
		c.nameless(os.Getpid())
	}
	if c.files != 1 || c.fresh < 3<<20 || c.fresh > 4<<20 {
		t.Errorf("a file without a name: %d files, %d bytes", c.files, c.fresh)
	}
	c = &census{w: &Watch{Paths: []string{dir + "/sub"}}, since: past.Unix(), stop: never}
	if c.nameless(os.Getpid()); c.files != 0 {
		t.Errorf("it is somewhere else")
	}
}

// A path that is too long to be opened is no place to hide.
func TestCensusOfADeepTree(t *testing.T) {
	dir := t.TempDir()
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	check(t, err)
	name := strings.Repeat("d", 200)
	for range 40 { // 8,000 bytes
		check(t, unix.Mkdirat(at, name, 0o700))
		next, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		check(t, err)
		check(t, unix.Close(at))
		at = next
	}
	fd, err := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	check(t, err)
	_, err = unix.Write(fd, make([]byte, 1<<20))
	check(t, err)
	check(t, unix.Close(fd))
	check(t, unix.Close(at))
	if c := counted(dir, time.Now().Add(-time.Hour), false); c.files != 41 || c.fresh < 1<<20 || c.hidden {
		t.Errorf("%d files, %d bytes, hidden: %v", c.files, c.fresh, c.hidden)
	}
}

func TestOutermost(t *testing.T) {
	got := outermost([]string{"/b/c", "/a", "/b", "/a", "/bc", "/a/x/y"})
	if strings.Join(got, " ") != "/a /b /bc" {
		t.Error(got)
	}
	if got := outermost([]string{"/x", "/"}); strings.Join(got, " ") != "/" {
		t.Error(got)
	}
}

// What cannot be read is believed to be what the disk lost.
func TestVerdict(t *testing.T) {
	w := &Watch{Disk: 100, Files: 10}
	for _, c := range []struct {
		name string
		c    census
		gone room
		want string
	}{
		{"nothing", census{}, room{missing: 500, missingFiles: 500}, ""},
		{"new bytes", census{fresh: 101}, room{}, LimitDisk},
		{"new files", census{files: 11}, room{}, LimitFiles},
		{"at the limits", census{fresh: 100, files: 10, hidden: true}, room{missing: 100, missingFiles: 10}, ""},
		{"old files that grew", census{fresh: 50, changed: 60}, room{missing: 101}, LimitDisk},
		{"old files that cannot have grown", census{fresh: 50, changed: 60}, room{missing: 100}, ""},
		{"hidden bytes", census{hidden: true}, room{missing: 101}, LimitDisk},
		{"hidden files", census{hidden: true}, room{missingFiles: 11}, LimitFiles},
	} {
		c.c.w = w
		if got := c.c.verdict(c.gone); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// BenchmarkCensus looks at a tree of 10,000 files in 400 directories that did not change, and at one that is new.
func BenchmarkCensus(b *testing.B) {
	dir := b.TempDir()
	for i := range 400 {
		sub := filepath.Join(dir, itoa(i))
		if err := os.Mkdir(sub, 0o700); err != nil {
			b.Fatal(err)
		}
		for j := range 25 {
			if err := os.WriteFile(filepath.Join(sub, itoa(j)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, since := range map[string]time.Time{"old": time.Now().Add(time.Hour), "new": time.Now().Add(-time.Hour)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				counted(dir, since, false)
			}
		})
	}
}
