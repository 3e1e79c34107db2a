package owned_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs/internal/owned"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// alone fails where a directory has other entries than those, such as files that were left behind.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s has %q, want %q", dir, got, names)
	}
}

func holds(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	info, err := os.Lstat(path)
	must(t, err)
	if string(data) != text {
		t.Errorf("%s holds %q, want %q", path, data, text)
	}
	if runtime.GOOS != "windows" && info.Mode() != mode {
		t.Errorf("%s has the mode %v, want %v", path, info.Mode(), mode)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, owned.Replace(file, []byte("one"), 0o600))
	holds(t, file, "one", 0o600)
	must(t, owned.Replace(file, []byte("two"), 0o640))
	holds(t, file, "two", 0o640)
	alone(t, dir, "file")
}

// A file that a link leads to is not changed, and the link goes.
func TestReplaceFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	other, file := filepath.Join(t.TempDir(), "other"), filepath.Join(dir, "file")
	must(t, os.WriteFile(other, []byte("theirs"), 0o600))
	must(t, os.Symlink(other, file))
	must(t, owned.Replace(file, []byte("ours"), 0o600))
	holds(t, other, "theirs", 0o600)
	holds(t, file, "ours", 0o600)
}

// Another name of the old file keeps the old content.
func TestReplaceMakesANewFile(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	must(t, os.WriteFile(other, []byte("old"), 0o600))
	must(t, os.Link(other, file))
	must(t, owned.Replace(file, []byte("new"), 0o600))
	holds(t, other, "old", 0o600)
	holds(t, file, "new", 0o600)
}

func TestWhatCannotBeReplacedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "file", "below"), 0o700))
	if err := owned.Replace(filepath.Join(dir, "file"), []byte("x"), 0o600); err == nil {
		t.Error("a directory was replaced by a file")
	}
	alone(t, dir, "file")
	if err := owned.Replace(filepath.Join(dir, "missing", "file"), []byte("x"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is missing: %v", err)
	}
}

// Readers get one content or the other, never part of one.
func TestReplaceIsAllOrNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	contents := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)}
	must(t, owned.Replace(file, contents[0], 0o600))
	ended := make(chan error)
	go func() {
		var err error
		for i := 0; i < 100 && err == nil; i++ {
			err = owned.Replace(file, contents[i%2], 0o600)
		}
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			must(t, err)
			return
		default:
		}
		data, err := os.ReadFile(file)
		if runtime.GOOS == "windows" && err != nil {
			continue // it is being replaced
		}
		must(t, err)
		if !bytes.Equal(data, contents[0]) && !bytes.Equal(data, contents[1]) {
			t.Fatalf("read %d bytes that begin with %.10q", len(data), data)
		}
	}
}

func TestTheFirstCreates(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	var wins []string
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 100)
			err := owned.Create(file, []byte(text), 0o600)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				wins = append(wins, text)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(wins) != 1 {
		t.Fatalf("%d created it", len(wins))
	}
	holds(t, file, wins[0], 0o600)
	alone(t, dir, "file")
}

// A link that leads nowhere is a file that exists: what it names is not made.
func TestCreateFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.Symlink(filepath.Join(dir, "nowhere"), file))
	if err := owned.Create(file, []byte("x"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	alone(t, dir, "file")
}

func TestRewriteKeepsLinkAndMode(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "deep", "file"), filepath.Join(dir, "link")
	must(t, owned.Rewrite(file, []byte("one"), 0o644))
	holds(t, file, "one", 0o644)
	must(t, os.Chmod(file, 0o640))
	must(t, os.Symlink(file, link))
	must(t, owned.Rewrite(link, []byte("two"), 0o600))
	holds(t, file, "two", 0o640)
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link: %v, %v", info, err)
	}
}
