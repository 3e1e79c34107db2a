package approval

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A preview is kept for its owner alone, while its question can be answered, and under no name but that of a question.
func TestPreviewsAreKeptAndGo(t *testing.T) {
	p := &Previews{Dir: filepath.Join(t.TempDir(), "previews")}
	id := NewID()
	size, err := p.Keep(id, func(w io.Writer) error { _, err := io.WriteString(w, strings.Repeat("x", 3<<20)); return err })
	if err != nil || size != 3<<20 {
		t.Fatalf("%d, %v", size, err)
	}
	info, err := os.Stat(filepath.Join(p.Dir, id))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if dir, err := os.Stat(p.Dir); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir.Mode(), err)
	}
	for _, name := range []string{"", "../" + id, "q../../x", "/etc/passwd", id + "/.."} {
		if _, err := p.Open(name); err == nil {
			t.Errorf("%q was opened", name)
		}
		if _, err := p.Keep(name, func(io.Writer) error { return nil }); err == nil {
			t.Errorf("%q was kept", name)
		}
	}
	failing := NewID()
	if _, err := p.Keep(failing, func(io.Writer) error { return errors.New("no") }); err == nil {
		t.Error("a preview that failed was kept")
	}
	if _, err := p.Open(failing); err == nil {
		t.Error("a part of a preview that failed was kept")
	}
	old := time.Now().Add(-2 * DefaultExpire)
	if err := os.Chtimes(filepath.Join(p.Dir, id), old, old); err != nil {
		t.Fatal(err)
	}
	next := NewID()
	if _, err := p.Keep(next, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(id); err == nil {
		t.Error("a preview outlived its question")
	}
	p.Drop(next)
	if _, err := p.Open(next); err == nil {
		t.Error("a preview outlived its answer")
	}
	var none *Previews
	none.Drop(id)
	if _, err := none.Keep(id, nil); err == nil {
		t.Error("nil keeps a preview")
	}
}
