package grep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// A tree made to trap a search: a FIFO, sockets aside; files of 10 GB that are mostly holes; loops of links; a name that
// is no text.
func TestTraps(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"real/f": "needle\n", "hole/all": "", "hole/tail": strings.Repeat("some text\n", 10000) + "needle\n", "name\xff": "needle\n",
	})
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	for _, name := range []string{"hole/all", "hole/tail"} {
		must(t, os.Truncate(filepath.Join(dir, name), 10<<30))
	}
	must(t, os.Symlink("..", filepath.Join(dir, "real/loop")))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	res := find(t, dir, Query{Matcher: compile(t, "needle", regex.Options{})})
	if got := show(res); got != "hole/tail:10001:needle\nname\xff:1:needle\nreal/f:1:needle\n" || res.Binary != 2 || res.Examined != 4 {
		t.Errorf("found\n%s%+v", got, res)
	}
}

// asNobody runs a test on a thread without privileges, which ends with it.
func asNobody(t *testing.T, test func()) {
	if os.Geteuid() != 0 {
		test()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			t.Errorf("cannot drop privileges: %v", errno)
			return
		}
		test()
	}()
	<-done
}

// What cannot be read is reported, and the rest is found. One worker does it all, on the thread without privileges.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	put(t, dir, map[string]string{"closed": "needle", "open": "needle"})
	must(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	asNobody(t, func() {
		s := newSearch(New(1), Query{Matcher: compile(t, "needle", regex.Options{}), Limit: 9})
		tr, err := walk.Open(tree(dir).Options)
		must(t, err)
		defer tr.Close()
		d, err := tr.Dir(".")
		must(t, err)
		s.units, s.found, s.searched = []unit{{dir: d, files: []string{"closed", "open"}}}, make([][]File, 1), []int{-1}
		s.work(t.Context(), tr)
		res := s.result()
		if show(res) != "open:1:needle\n" || res.SkippedCount != 1 || !errors.Is(res.Skipped[0].Err, fs.ErrPermission) {
			t.Errorf("found\n%s%+v", show(res), res)
		}
	})
}

// Files are deleted, truncated, swapped for links and for FIFOs while they are searched. Whatever happens, the files that
// stay are found, and nothing outside the tree is.
func TestChangesMeanwhile(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put(t, outside, map[string]string{"secret": "needle secret\n"})
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("stay/%d", i)] = "needle\n"
		files[fmt.Sprintf("move/%d", i)] = strings.Repeat("text\n", 1000*i) + "needle\n"
	}
	put(t, dir, files)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			name := filepath.Join(dir, "move", fmt.Sprint(i%40))
			_ = os.Remove(name)
			switch i % 4 {
			case 0:
				_ = os.Symlink(filepath.Join(outside, "secret"), name)
			case 1:
				_ = unix.Mkfifo(name, 0o666)
			case 2:
				_ = os.WriteFile(name, []byte(strings.Repeat("needle\n", 500)), 0o666)
			default:
				_ = os.Truncate(name, 3)
			}
		}
	}()
	e := New(0)
	for range 30 {
		res, err := e.Search(t.Context(), tree(dir), Query{Matcher: compile(t, "needle", regex.Options{})})
		must(t, err)
		stay := 0
		for _, f := range res.Files {
			if strings.HasPrefix(f.Path, "stay/") {
				stay++
			}
			for _, l := range f.Lines {
				if strings.Contains(l.Text, "secret") {
					t.Fatalf("%s leads outside", f.Path)
				}
			}
		}
		if stay != 40 {
			t.Fatalf("%d of 40 files found", stay)
		}
	}
	stop()
	<-done
}

// A directory of a million files, where TONGS_MILLION is set; else of 5,000.
func TestManyFiles(t *testing.T) {
	n := 5_000
	if os.Getenv("TONGS_MILLION") != "" {
		n = 1_000_000
	}
	dir := t.TempDir()
	for i := range n {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file-%07d", i)), []byte("x"), 0o644))
	}
	res := find(t, dir, Query{Matcher: compile(t, "x", regex.Options{}), Limit: 100})
	if res.Matches != 100 || !res.More || res.Files[99].Path != "file-0000099" || res.Examined+res.Unexamined != n {
		t.Errorf("%d matches, %d examined, %d not", res.Matches, res.Examined, res.Unexamined)
	}
	res = find(t, dir, Query{Matcher: compile(t, "y", regex.Options{}), Mode: Files})
	if res.Examined != n || len(res.Files) != 0 {
		t.Errorf("%d examined", res.Examined)
	}
}
