package gitrelay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// Pushes that wait at the same time share one bound, whichever process they wait in.
func TestCommonBound(t *testing.T) {
	dir := t.TempDir()
	s := New(Options{Dir: dir, MaxPack: 100, MaxPacks: 150}).Session(Call{})
	other := New(Options{Dir: dir, MaxPack: 100, MaxPacks: 150}).Session(Call{})
	receive := func(s *Session, size int) (dir string, err error) {
		t.Helper()
		dir, _, err = s.scratch()
		if err != nil {
			t.Fatal(err)
		}
		p := &push{dir: dir, commands: []command{{new: strings.Repeat("1", 40)}}}
		return dir, s.receive(p, bytes.NewReader(make([]byte, size)))
	}
	first, err := receive(s, 90)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := receive(s, 101); tongs.CodeOf(err) != tongs.CodeTooLarge || !strings.Contains(err.Error(), "in one push") {
		t.Errorf("more than one push may have: %v", err)
	}
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	for _, old := range glob(t, dir) {
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
	}
	if first, err = receive(s, 90); err != nil {
		t.Fatal(err)
	}
	second, err := receive(other, 90)
	if tongs.CodeOf(err) != tongs.CodeTooLarge || !strings.Contains(err.Error(), "under way") {
		t.Errorf("more than all pushes may have: %v", err)
	}
	for _, done := range []string{first, second} {
		if err := os.RemoveAll(done); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := receive(other, 90); err != nil {
		t.Errorf("once the others were answered: %v", err)
	}
}

func glob(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, scratchPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
