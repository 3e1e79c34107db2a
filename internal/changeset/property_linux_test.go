package changeset_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/workspace/journal"
)

// A program is a sequence of file operations that follows from a number alone. It works in a directory of its own, which
// was filled by the same number.

var (
	fileModes = []fs.FileMode{0o644, 0o600, 0o755, 0o444, 0o400, 0o640, 0o000}
	dirModes  = []fs.FileMode{0o755, 0o700, 0o750, 0o555, 0o500}
	words     = []string{"a", "b", "c", "d", "e", "sub/a", "sub/b", "sub/c", "sub/deep/a", "sub/deep/b", "x", "x/y", "x/y/z", "l"}
)

func body(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(200))
	for i := range b {
		b[i] = "abc\n"[r.IntN(4)]
	}
	return b
}

// plant fills the directory that a program starts with.
func plant(dir string, seed int) error {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for range r.IntN(12) {
		name := filepath.Join(dir, words[r.IntN(len(words))])
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		switch r.IntN(5) {
		case 0:
			_ = os.Mkdir(name, 0o755)
		case 1:
			_ = os.Symlink(words[r.IntN(len(words))], name)
		default:
			if os.WriteFile(name, body(r), 0o644) == nil {
				_ = os.Chmod(name, fileModes[r.IntN(len(fileModes))])
			}
		}
	}
	return nil
}

// unclose opens the files that may not be read.
func unclose(top string) {
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil && info.Mode()&0o400 == 0 {
				_ = os.Chmod(path, 0o600)
			}
		}
		return nil
	})
}

// runPrograms runs programs in directories named by their numbers, and returns an exit code.
func runPrograms(dir string, first, count int) int {
	unix.Umask(0o022)
	for seed := first; seed < first+count; seed++ {
		if err := program(filepath.Join(dir, "p"+strconv.Itoa(seed)), seed); err != nil {
			fmt.Fprintln(os.Stderr, seed, err)
			return 1
		}
	}
	return 0
}

func program(dir string, seed int) error {
	r := rand.New(rand.NewPCG(uint64(seed), 2))
	for range 1 + r.IntN(25) {
		a, b := filepath.Join(dir, words[r.IntN(len(words))]), filepath.Join(dir, words[r.IntN(len(words))])
		content, mode, dirMode, n := body(r), fileModes[r.IntN(len(fileModes))], dirModes[r.IntN(len(dirModes))], r.IntN(300)
		// An operation that fails does so either way: the same permissions hold.
		switch r.IntN(18) {
		case 0, 1:
			_ = os.WriteFile(a, content, mode|0o200)
		case 2:
			put(a, os.O_WRONLY|os.O_APPEND, content)
		case 3:
			put(a, os.O_WRONLY|os.O_CREATE|os.O_EXCL, content)
		case 4:
			if os.WriteFile(a+".tmp", content, 0o644) == nil && os.Rename(a+".tmp", a) != nil {
				_ = os.Remove(a + ".tmp")
			}
		case 5:
			_ = os.Truncate(a, int64(n))
		case 6:
			_ = os.Remove(a)
		case 7:
			_ = os.RemoveAll(a)
		case 8:
			_ = os.MkdirAll(a, dirMode|0o700)
		case 9, 10:
			move(a, b)
		case 11:
			_ = os.Symlink("../"+filepath.Base(b), a)
		case 12:
			// Not under one of several names: in an overlay the other ones may not notice.
			if info, err := os.Lstat(a); err == nil && info.Mode().IsRegular() && info.Sys().(*syscall.Stat_t).Nlink == 1 {
				_ = os.Chmod(a, mode)
			}
		case 13:
			if info, err := os.Lstat(a); err == nil && info.IsDir() {
				_ = os.Chmod(a, dirMode)
			}
		case 14:
			if info, err := os.Lstat(a); err == nil && info.Mode().IsRegular() {
				stamp := time.Unix(1_000_000_000+int64(n), 0)
				_ = os.Chtimes(a, stamp, stamp)
			}
		case 15:
			if info, err := os.Lstat(a); err == nil && info.Mode().IsRegular() {
				_ = os.Link(a, b)
			}
		case 16: // a directory that is removed and made again hides what is below it
			if info, err := os.Lstat(a); err == nil && info.IsDir() && os.RemoveAll(a) == nil && os.Mkdir(a, 0o755) == nil {
				_ = os.WriteFile(filepath.Join(a, "a"), content, 0o644)
			}
		case 17:
			put(a, os.O_RDWR, nil)
		}
	}
	return nil
}

func put(path string, flags int, content []byte) {
	if f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW, 0o644); err == nil {
		_, _ = f.Write(content)
		_ = f.Close()
	}
}

// move is what mv does: where a directory cannot be renamed, as in an overlay, it is copied and removed. A directory whose
// tree cannot be read or emptied stays where it is, either way.
func move(a, b string) {
	info, err := os.Lstat(a)
	if err != nil {
		return
	}
	if info.IsDir() && (strings.HasPrefix(b+"/", a+"/") || !open(a)) {
		return
	}
	if to, err := os.Lstat(b); err == nil && to.IsDir() {
		return
	}
	if err := os.Rename(a, b); errors.Is(err, unix.EXDEV) {
		if info, err := os.Stat(filepath.Dir(b)); err != nil || info.Mode()&0o200 == 0 {
			return
		}
		if copyAll(a, b) == nil {
			_ = os.RemoveAll(a)
		}
	}
}

// open reports whether everything in a directory can be read and removed.
func open(dir string) bool {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && e.IsDir() && info.Mode()&0o700 != 0o700 || err == nil && info.Mode().IsRegular() && info.Mode()&0o400 == 0 {
			return fs.ErrPermission
		}
		return err
	})
	return err == nil
}

func copyAll(a, b string) error {
	return filepath.WalkDir(a, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := b + strings.TrimPrefix(path, a)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch e.Type() {
		case fs.ModeDir:
			return errors.Join(os.Mkdir(to, 0o700), os.Chmod(to, info.Mode().Perm()))
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(target, to))
		}
		src, err := os.Open(path)
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(dst, src)
		return errors.Join(err, dst.Close(), os.Chmod(to, info.Mode().Perm()), os.Chtimes(to, info.ModTime(), info.ModTime()))
	})
}

// object is what a tree has at a path.
type object struct {
	mode     fs.FileMode
	content  string // hash, or target
	modified int64
}

// closed is the content of a file that may not be read.
const closed = "closed"

func (o object) same(p object) bool {
	return o.mode == p.mode && (o.content == p.content || p.content == closed)
}

// photograph returns everything below a directory, by path. Pry says to open files that may not be read, which leaves a
// stamp of change.
func photograph(t testing.TB, top string, pry bool) map[string]object {
	t.Helper()
	all := map[string]object{}
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || path == top {
			return err
		}
		o := object{mode: info.Mode()}
		switch {
		case e.Type() == fs.ModeSymlink:
			o.mode = fs.ModeSymlink
			o.content, err = os.Readlink(path)
		case e.Type().IsRegular():
			o.modified = info.ModTime().UnixNano()
			o.content, err = hashOf(path, info, pry)
		}
		all[strings.TrimPrefix(path, top+"/")] = o
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func hashOf(path string, info fs.FileInfo, pry bool) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) && !pry {
		return closed, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		if err := os.Chmod(path, 0o600); err != nil {
			return "", err
		}
		b, err = os.ReadFile(path)
		err = errors.Join(err, os.Chmod(path, info.Mode()))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6]), err
}

// compare says how two trees differ. Times count where the program set them on something that it changed.
func compare(start, want, got map[string]object) (diffs []string) {
	for path, w := range want {
		g, ok := got[path]
		switch {
		case !ok:
			diffs = append(diffs, path+" is missing")
		case !w.same(g):
			diffs = append(diffs, fmt.Sprintf("%s is %v, want %v", path, g, w))
		case w.modified != g.modified && w.modified < 1_500_000_000e9 && w.modified > 0 && !start[path].same(w):
			diffs = append(diffs, fmt.Sprintf("%s has the time %d, want %d", path, g.modified, w.modified))
		}
	}
	for path, g := range got {
		if _, ok := want[path]; !ok {
			diffs = append(diffs, fmt.Sprintf("%s is there: %v", path, g))
		}
	}
	slices.Sort(diffs)
	return diffs
}

// TestProgramsDirectAndCommitted runs random programs directly on a copy of a tree, and held back and then committed on
// another: the trees must be the same. Then the commit is undone: the tree must be what it was. TONGS_OUTCOME_PROGRAMS
// is how many, TONGS_OUTCOME_FIRST the first one.
func TestProgramsDirectAndCommitted(t *testing.T) {
	count, batch := 60, 15
	if n, err := strconv.Atoi(os.Getenv("TONGS_OUTCOME_PROGRAMS")); err == nil {
		count, batch = n, 250
	}
	start, _ := strconv.Atoi(os.Getenv("TONGS_OUTCOME_FIRST")) // to look at a program again
	for first := start; first < start+count; first += batch {
		programs(t, first, min(batch, start+count-first), first/batch%4 == 3)
		if t.Failed() {
			return
		}
	}
	asUser(t, t.Name())
}

func programs(t *testing.T, first, count int, copied bool) {
	b := newBed(t)
	b.copies(copied)
	direct := filepath.Join(filepath.Dir(b.ws), "direct")
	for seed := first; seed < first+count; seed++ {
		for _, dir := range []string{b.ws, direct} {
			top := filepath.Join(dir, "p"+strconv.Itoa(seed))
			if err := plant(top, seed); err != nil {
				t.Fatal(err)
			}
			if copied {
				unclose(top) // what cannot be read is not copied
			}
		}
	}
	start := photograph(t, b.ws, true)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{self, "programs", strconv.Itoa(first), strconv.Itoa(count)}
	b.run(direct, false, argv...)
	res := b.run(b.ws, true, argv...)
	if d := compare(nil, start, photograph(t, b.ws, false)); len(d) > 0 {
		t.Fatalf("the tree changed before the commit: %v", d)
	}
	s := b.set(res)
	entry := b.commit(s)
	if d := compare(start, photograph(t, direct, true), photograph(t, b.ws, true)); len(d) > 0 {
		t.Fatalf("programs %d to %d: %d differences, first %v", first, first+count-1, len(d), d[:min(len(d), 10)])
	}
	for _, c := range s.Changes() {
		if c.Refused != "" {
			t.Errorf("%s was refused: %s", c.Path, c.Refused)
		}
	}
	left := photograph(t, b.ws, true)
	shut := map[string]bool{} // the programs with files that the journal cannot keep
	for path := range left {
		shut[programOf(path)] = shut[programOf(path)] || isClosed(left[path])
	}
	for path := range start {
		shut[programOf(path)] = shut[programOf(path)] || isClosed(start[path])
	}
	undo(t, b, entry, func(path string) bool { return shut[programOf(path)] })
	end := photograph(t, b.ws, true)
	for _, all := range []map[string]object{start, end} {
		maps.DeleteFunc(all, func(path string, _ object) bool { return shut[programOf(path)] })
	}
	if d := compare(nil, start, end); len(d) > 0 {
		for c, err := range b.journal.Changes(entry.ID) {
			t.Log(c, err)
		}
		t.Fatalf("programs %d to %d: after undo %d differences, first %v", first, first+count-1, len(d), d[:min(len(d), 10)])
	}
}

func programOf(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

// isClosed reports whether a user who is not root cannot read a file: then the journal cannot keep it.
func isClosed(o object) bool {
	return os.Geteuid() != 0 && o.mode.IsRegular() && o.content != "" && o.mode&0o400 == 0
}

// undo takes an entry back, except for the paths that may be left.
func undo(t testing.TB, b *bed, entry *journal.Entry, left func(path string) bool) {
	t.Helper()
	if entry.ID == "" {
		return
	}
	ctx := context.Background()
	u, err := b.journal.Undo(ctx, journal.Entry{Call: "u", Tool: "undo", Roots: map[string]string{"": b.ws}}, []journal.Entry{*entry}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for _, c := range u.Conflicts {
		if left == nil || !left(c.Path.Rel) {
			t.Errorf("undo: %v", c)
		}
	}
	if _, err := u.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}
