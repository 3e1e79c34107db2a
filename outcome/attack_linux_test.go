package outcome_test

import (
	"os"
	"path/filepath"
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
