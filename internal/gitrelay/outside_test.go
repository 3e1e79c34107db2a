package gitrelay

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a process left that was killed goes with the first transfer of a later one; what may be in use stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"git-old": 25 * time.Hour, "git-new": time.Hour, "ssh-old": 25 * time.Hour} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	_, remove, err := New(Options{Dir: dir}).scratch()
	if err != nil {
		t.Fatal(err)
	}
	remove()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != "git-new" || entries[1].Name() != "ssh-old" {
		t.Errorf("%v, %v", entries, err)
	}
}
