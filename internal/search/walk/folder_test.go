package walk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

func TestFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{filepath.Join(dir, "a", "f"), filepath.Join(outside, "f")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := walk.Open(walk.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	d, err := tree.Dir("a")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := tree.Folder(d)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	h, err := folder.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	buf := make([]byte, 1000)
	if n, err := h.Read(buf); err != nil || string(buf[:n]) != filepath.Join(dir, "a", "f") {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	if info, err := folder.Stat("f"); err != nil || info.Type != walk.File {
		t.Errorf("stat: %+v, %v", info, err)
	}
	// The directory became a link that leads out.
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if f, err := tree.Folder(d); err == nil {
		f.Close()
		t.Error("a link was followed")
	}
}
