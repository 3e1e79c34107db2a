package changeset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/sandbox"
)

// What a program may not see does not get into what it leaves, whatever it does to the directories around it.
func TestAttackHiddenNamesInLayers(t *testing.T) {
	for _, copied := range []bool{false, true} {
		for _, script := range []string{
			"cat sub/.env > out; cp sub/.env out2", "mv sub moved", "mv sub/.env out", "ln sub/.env out", "mkdir x; mv sub x/", "rm -rf sub", "mv deep moved; cat moved/er/.env > out",
			"cp -a sub other", "python3 -c 'import os; os.rename(\"sub\", \"moved\")'", "python3 -c 'import os; os.rename(\"deep/er\", \"moved\")'", "echo x > sub/.env", "chmod 777 sub/.env",
		} {
			name := script
			if copied {
				name += " (copied)"
			}
			t.Run(name, func(t *testing.T) {
				b := newBed(t)
				b.copies(copied)
				b.write(map[string]string{"sub/.env": "SECRET", "deep/er/.env": "SECRET", "a": "a", "sub/.envrc": "PROTECTED"})
				b.policy = func(p *sandbox.Policy) { p.HiddenNames, p.ProtectedNames = []string{".env"}, []string{".envrc"} }
				res := b.run(b.ws, true, "sh", "-c", "("+script+") 2>/dev/null; true")
				s, err := b.trySet(res)
				if err != nil {
					t.Logf("refused: %v", err)
					_ = res.Overlay.Close()
					return
				}
				if preview := s.Preview(1 << 20); strings.Contains(preview, "SECRET") {
					t.Errorf("the preview tells:\n%s", preview)
				}
				for _, c := range s.Changes() {
					if c.Kind != changeset.Deleted && strings.Contains(s.Diff(c.Path), "SECRET") {
						t.Errorf("%s holds it", c.Path)
					}
				}
				_, _ = b.tryCommit(s)
				if got := b.read("sub/.env"); got != "SECRET" {
					t.Errorf("it is %q now", got)
				}
				if got := b.read("sub/.envrc"); got != "PROTECTED" {
					t.Errorf("what is protected is %q now", got)
				}
			})
		}
	}
}

// Somebody changes a file while the program runs and makes its times look as if nobody had: the change stays.
func TestAttackTimesThatLie(t *testing.T) {
	for _, layers := range []string{"", "/dev/shm"} {
		for name, change := range map[string]func(at string) error{
			"written, with the old time": func(at string) error { return os.WriteFile(at, []byte("XX"), 0o644) },
			"replaced by an older file": func(at string) error {
				if err := os.WriteFile(at+".new", []byte("XX"), 0o644); err != nil {
					return err
				}
				return os.Rename(at+".new", at)
			},
			"a link to an older file": func(at string) error {
				if err := os.WriteFile(at+".new", []byte("XX"), 0o644); err != nil {
					return err
				}
				if err := os.Remove(at); err != nil {
					return err
				}
				return os.Link(at+".new", at)
			},
			"its mode": func(at string) error { return os.Chmod(at, 0o600) },
		} {
			t.Run(name+layers, func(t *testing.T) {
				b := newBed(t)
				if layers != "" {
					dir, err := os.MkdirTemp(layers, "tongs-layers-test-")
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { os.RemoveAll(dir) })
					b.layers = dir
				}
				b.write(map[string]string{"a": "aa", "b": "bb", "dir/c": "cc"})
				at := filepath.Join(b.ws, "a")
				old := time.Now().Add(-time.Hour)
				if err := os.Chtimes(at, old, old); err != nil {
					t.Fatal(err)
				}
				s := b.sh("echo new > a; echo new > b; echo new > dir/new")
				if err := change(at); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(at, old, old); err != nil {
					t.Fatal(err)
				}
				if _, err := b.tryCommit(s); err == nil || b.read("a") == "new\n" || b.read("b") != "bb" {
					t.Errorf("committed: %v, a is %q, b is %q", err, b.read("a"), b.read("b"))
				}
				b.commit(s, "b", "dir/new")
				if b.read("b") != "new\n" || b.read("dir/new") != "new\n" {
					t.Error("what nobody else changed was not kept")
				}
			})
		}
	}
}
