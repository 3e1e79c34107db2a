package outcome_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/journal"
)

// Files that nobody may write to, or read, are kept as they are, also where everything is made durable at once.
func TestAttackClosedFilesAreKept(t *testing.T) {
	asUser(t, "TestAttackClosedFilesAreKept")
	b := newBed(t)
	var err error
	if b.journal, err = journal.Open(journal.Options{Dir: filepath.Join(t.TempDir(), "journal")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.journal.Close() })
	b.write(map[string]string{"old": "old"})
	e := b.commit(b.sh(`echo ro > ro; chmod 444 ro; echo none > none; chmod 0 none; mkdir shut; echo in > shut/in; chmod 500 shut; rm old; echo new > old; chmod 400 old`))
	if e.ID == "" {
		t.Fatal("nothing was committed")
	}
	for name, mode := range map[string]os.FileMode{"ro": 0o444, "none": 0, "shut/in": 0o644, "old": 0o400} {
		info, err := os.Lstat(filepath.Join(b.ws, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// A name cannot pass for another line of what a person is shown.
func TestAttackNamesInPreviews(t *testing.T) {
	b := newBed(t)
	b.write(map[string]string{"old": "old", "moved": "moved"})
	s := b.sh(`printf x > "$(printf 'a\nadded     harmless')"; ln -s "$(printf 'x\n+++ b/harmless')" link; mkdir "$(printf 'd\033[2J')"
mv moved "$(printf 'm\nadded     harmless')"; printf x > "$(printf 'u\342\200\256txt')"; printf x > tool; chmod 755 tool`)
	for _, limit := range []int{1 << 20, 100} {
		preview := s.Preview(limit)
		for line := range strings.Lines(preview) {
			if strings.HasPrefix(line, "added     harmless") || strings.HasPrefix(line, "+++ b/harmless") {
				t.Errorf("a name forged the line %q in\n%s", line, preview)
			}
		}
		if strings.ContainsAny(preview, "\x1b\u202e") {
			t.Errorf("what cannot be seen is in %q", preview)
		}
	}
	if preview := s.Preview(1 << 20); !strings.Contains(preview, "(tool is executable)") {
		t.Errorf("nothing says that the file is executable:\n%s", preview)
	}
}
