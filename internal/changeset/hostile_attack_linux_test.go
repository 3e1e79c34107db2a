package changeset_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
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

// deep makes directories in each other, so deep that no path of the machine reaches the innermost.
const deep = `import os
os.chdir('.')
for i in range(450):
    os.mkdir('d' * 10)
    os.chdir('d' * 10)
open('bottom', 'w').close()
os.chmod('.', 0)
`

// What a program leaves cannot keep the reader waiting or make it follow something out of the layer, and goes with it.
func TestAttackHostileLayers(t *testing.T) {
	asUser(t, "TestAttackHostileLayers")
	for _, c := range []struct {
		name, script string
		kept, lost   []string
	}{
		{name: "pipes and sockets", script: `mkfifo f; mkdir d; mkfifo d/f; echo x > ok
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'`, kept: []string{"ok", "d"}, lost: []string{"f", "d/f", "s"}},
		{name: "a pipe for a file", script: `rm old; mkfifo old; echo x > ok`, kept: []string{"ok", "old"}},
		{name: "a pipe with the name of a directory", script: `rm -r sub; mkfifo sub; echo x > ok`, kept: []string{"ok", "sub/in"}},
		{name: "closed directories", script: `mkdir -p a/b/c; echo x > a/b/c/x; chmod 0 a/b/c a/b a; echo x > ok`, kept: []string{"ok", "a"}},
		{name: "too deep", script: `echo x > ok; cat > /tmp/deep.py <<'EOF'
` + deep + `EOF
python3 /tmp/deep.py`, kept: []string{"ok", strings.Repeat("dddddddddd/", 100)}},
		{name: "long names", script: `echo x > $(printf 'n%.0s' $(seq 255)); echo x > ok`, kept: []string{"ok", strings.Repeat("n", 255)}},
		{name: "holes", script: `truncate -s 64M hole; echo x > ok`, kept: []string{"ok", "hole"}},
		{name: "names like ours", script: `echo x > ..x; echo x > ...; echo x > -rf; echo x > ok`, kept: []string{"ok", "..x", "...", "-rf"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			b.write(map[string]string{"old": "old", "sub/in": "in"})
			res := b.run(b.ws, true, "sh", "-c", "set -e\n"+c.script)
			s := b.set(res)
			s.Preview(1 << 16)
			e := b.commit(s)
			if err := s.Drop(); err != nil {
				t.Errorf("dropped: %v", err)
			}
			for _, name := range c.kept {
				if _, err := os.Lstat(filepath.Join(b.ws, name)); err != nil {
					t.Error(err)
				}
			}
			for _, name := range c.lost {
				if _, err := os.Lstat(filepath.Join(b.ws, name)); err == nil {
					t.Errorf("%s is there", name)
				}
			}
			// Closed directories are closed to whoever undoes them, too.
			undo(t, b, e, func(path string) bool { return os.Geteuid() != 0 && (path == "a" || strings.HasPrefix(path, "a/")) })
			if _, err := os.Lstat(filepath.Join(b.ws, "ok")); err == nil {
				t.Error("ok is there after undo")
			}
			if left, _ := os.ReadDir(b.layers); len(left) != 0 {
				t.Errorf("left in the layers: %v", left)
			}
		})
	}
}

func (b *bed) trySet(res *sandbox.Result) (*changeset.Set, error) {
	opt := changeset.Options{Drop: res.Overlay.Close}
	for _, l := range res.Overlay.List {
		opt.Layers = append(opt.Layers, changeset.Layer{Layer: l, At: tongs.Path{Rel: "."}})
	}
	return changeset.Read(context.Background(), opt)
}

// Somebody puts a link in the place of a directory while the program runs, or between the question and the commit:
// nothing is written through it, and nothing is removed there.
func TestAttackParentsBecomeLinks(t *testing.T) {
	for _, script := range []string{"echo new > dir/a", "echo x > dir/new", "rm dir/a", "rm -r dir/sub", "mkdir dir/made; echo x > dir/made/x", "chmod 700 dir/sub", "mv dir/a dir/b"} {
		t.Run(script, func(t *testing.T) {
			b := newBed(t)
			b.write(map[string]string{"dir/a": "a", "dir/sub/in": "in"})
			outside := t.TempDir()
			for name, content := range map[string]string{"a": "outside", "sub/in": "outside"} {
				at := filepath.Join(outside, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			s := b.sh(script)
			if err := errors.Join(os.Rename(filepath.Join(b.ws, "dir"), filepath.Join(b.ws, "moved")), os.Symlink(outside, filepath.Join(b.ws, "dir"))); err != nil {
				t.Fatal(err)
			}
			if _, err := b.tryCommit(s); err == nil {
				t.Error("committed")
			}
			for _, dir := range []string{outside, filepath.Join(b.ws, "moved")} {
				var names []string
				_ = filepath.WalkDir(dir, func(p string, _ fs.DirEntry, _ error) error {
					rel, _ := filepath.Rel(dir, p)
					names = append(names, rel)
					return nil
				})
				if got := strings.Join(names, " "); got != ". a sub sub/in" {
					t.Errorf("%s holds %s", dir, got)
				}
			}
			if data, _ := os.ReadFile(filepath.Join(outside, "a")); string(data) != "outside" {
				t.Errorf("outside is %q", data)
			}
		})
	}
}

// Several processes commit to the same files at once: one of them wins, whole, and the others are told.
func TestAttackCommitsAtOnce(t *testing.T) {
	b := newBed(t)
	b.write(map[string]string{"a": "0\n", "dir/gone": "0\n", "b": "0\n"})
	var sets []*changeset.Set
	var journals []*journal.Journal
	for i := range 4 {
		j, err := journal.Open(journal.Options{Dir: b.journal.Dir(), NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		journals = append(journals, j)
		sets = append(sets, b.sh(fmt.Sprintf("echo %d > a; echo %d > b; rm -r dir; mkdir new; echo %d > new/x", i, i, i)))
	}
	start, won := make(chan struct{}), make(chan int, len(sets))
	var wg sync.WaitGroup
	for i, s := range sets {
		wg.Go(func() {
			<-start
			if _, err := s.Commit(context.Background(), journals[i], journal.Entry{Call: fmt.Sprint(i), Roots: map[string]string{"": b.ws}}, nil); err == nil {
				won <- i
			}
		})
	}
	close(start)
	wg.Wait()
	close(won)
	var winners []int
	for i := range won {
		winners = append(winners, i)
	}
	if len(winners) > 1 {
		t.Fatalf("%v all won", winners)
	}
	want := "0\n"
	if len(winners) == 1 {
		want = fmt.Sprintf("%d\n", winners[0])
		if b.read("new/x") != want {
			t.Errorf("new/x is %q", b.read("new/x"))
		}
	}
	if b.read("a") != want || b.read("b") != want {
		t.Errorf("a is %q and b %q, want %q", b.read("a"), b.read("b"), want)
	}
	entries, err := os.ReadDir(b.ws)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), journal.StagePrefix) || strings.Contains(e.Name(), ".before-") {
			t.Errorf("%s was left", e.Name())
		}
	}
}
