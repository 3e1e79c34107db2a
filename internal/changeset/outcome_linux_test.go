package changeset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// lines returns the changes as "kind path", by path.
func lines(s *changeset.Set) (list []string) {
	for _, c := range s.Changes() {
		line := string(c.Kind) + " " + c.Path.String()
		if c.From != nil {
			line += " from " + c.From.String()
		}
		list = append(list, line)
	}
	return list
}

type readTest struct {
	name, script string
	want         []string
}

func TestReadTellsWhatWasDone(t *testing.T) {
	tests := []readTest{
		{"nothing", "true", nil},
		{"read only", "cat a dir/b > /dev/null; ls -R . > /dev/null", nil},
		{"opened and left", ": >> a; : >> dir/b", nil},
		{"same content again", "cp a a2; cat a2 > a; rm a2", nil},
		{"replaced by the same", "cp -p a a2; mv a2 a", nil},
		{"touched", "touch a", nil},
		{"added", "echo x > n; mkdir -p d/e; echo y > d/e/f", []string{"added d", "added d/e", "added d/e/f", "added n"}},
		{"modified", "echo x >> a; echo y > dir/b", []string{"modified a", "modified dir/b"}},
		{"deleted", "rm a; rm -r dir", []string{"deleted a", "deleted dir"}},
		{"renamed", "mv a z; mv dir/b dir/q", []string{"renamed dir/q from dir/b", "renamed z from a"}},
		{"renamed over another", "mv a dir/b", []string{"deleted a", "modified dir/b"}},
		{"moved directory", "mv dir moved", []string{"deleted dir", "added moved", "added moved/b", "added moved/c", "added moved/sub", "added moved/sub/d"}},
		{"mode", "chmod 755 a; chmod 700 dir", []string{"mode a", "mode dir"}},
		{"link", "ln -sf b dir/l; ln -s nowhere n", []string{"added dir/l", "added n"}},
		{"link changed", "ln -sfn dir/b link", []string{"modified link"}},
		{"link became a file", "rm link; echo x > link", []string{"modified link"}},
		{"file became a directory", "rm a; mkdir a; echo x > a/f", []string{"modified a", "added a/f"}},
		{"directory became a file", "rm -r dir; echo x > dir", []string{"modified dir"}},
		{"removed and made again", "rm -r dir; mkdir dir; echo new > dir/b", []string{"modified dir/b", "deleted dir/c", "deleted dir/sub"}},
		{"removed and made again, with one in it", "rm -r dir; mkdir -p dir/sub; echo new > dir/b", []string{"modified dir/b", "deleted dir/c", "deleted dir/sub/d"}},
		{"link became a directory", "rm link; mkdir link; echo x > link/b", []string{"modified link", "added link/b"}},
		{"link to a directory became one", "rm todir; mkdir todir; echo x > todir/b", []string{"modified todir", "added todir/b"}},
		{"made and removed", "echo x > n; rm n; mkdir m; rmdir m", nil},
		{"odd names", `echo x > "with space"; echo y > "$(printf 'new\nline')"; echo z > -dash`, []string{"added -dash", "added new\nline", "added with space"}},
	}
	for _, copied := range []bool{false, true} {
		t.Run(fmt.Sprintf("copied=%t", copied), func(t *testing.T) { testRead(t, copied, tests) })
	}
}

func testRead(t *testing.T, copied bool, tests []readTest) {
	b := newBed(t)
	b.copies(copied)
	b.write(map[string]string{"a": "content of a\n", "dir/b": "content of b\n", "dir/c": "c", "dir/sub/d": "d"})
	if err := errors.Join(os.Symlink("a", filepath.Join(b.ws, "link")), os.Symlink("dir", filepath.Join(b.ws, "todir"))); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := b.sh(test.script)
			if got := lines(s); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err := s.Drop(); err != nil {
				t.Error(err)
			}
		})
	}
	if left, _ := os.ReadDir(b.layers); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhatCannotBeKeptSaysSo(t *testing.T) {
	b := newBed(t)
	b.write(map[string]string{"a": "a\n", "two": "t\n", "f": "file\n"})
	if err := os.Link(filepath.Join(b.ws, "two"), filepath.Join(b.ws, "names")); err != nil {
		t.Fatal(err)
	}
	s := b.sh(`mkfifo p; rm f; mkfifo f; echo more >> two; ln a hard; echo x > closed; chmod 0 closed; mkdir shut; echo y > shut/in; chmod 0 shut
truncate -s 100M sparse; chmod 777 .`)
	find := func(path string) changeset.Change {
		for _, c := range s.Changes() {
			if c.Path.Rel == path {
				return c
			}
		}
		t.Fatalf("no change of %s in %q", path, lines(s))
		return changeset.Change{}
	}
	for path, want := range map[string]string{"p": "a FIFO", "f": "a FIFO", ".": "root of the tree"} {
		if c := find(path); !strings.Contains(c.Refused, want) {
			t.Errorf("%s: %+v", path, c)
		}
	}
	for path, want := range map[string]string{"two": "other names", "hard": "a hard link"} {
		if c := find(path); !strings.Contains(c.Note, want) || c.Refused != "" {
			t.Errorf("%s: %+v", path, c)
		}
	}
	if _, err := b.tryCommit(s, "p"); err == nil || !strings.Contains(err.Error(), "FIFO") {
		t.Errorf("keeping a FIFO: %v", err)
	}
	b.commit(s)
	if b.read("f") != "file\n" || b.read("two") != "t\nmore\n" || b.read("names") != "t\n" || b.read("hard") != "a\n" {
		t.Error("what was refused, or shared, was not left as it was")
	}
	for path, mode := range map[string]uint32{"closed": 0, "shut": 0} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(b.ws, path), &st); err != nil || st.Mode&0o777 != mode {
			t.Errorf("%s: %o %v", path, st.Mode, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(b.ws, "sparse"), &st); err != nil || st.Size != 100<<20 || st.Blocks > 1000 {
		t.Errorf("sparse: %d bytes, %d blocks, %v", st.Size, st.Blocks, err)
	}
	var buf [256]byte
	for _, path := range []string{"two", "sparse", "closed"} {
		if n, err := unix.Llistxattr(filepath.Join(b.ws, path), buf[:]); err == nil && strings.Contains(string(buf[:n]), "overlay") {
			t.Errorf("%s has marks of the overlay: %q", path, buf[:n])
		}
	}
	asUser(t, t.Name())
}

func TestKeepSome(t *testing.T) {
	const script = `echo 1 > a; echo 2 > new; mkdir -p d/e; echo 3 > d/e/f; echo 4 > d/g; rm gone; mv old moved; rm -r file; mkdir file; echo 5 > file/x`
	before := map[string]string{"a": "a", "gone": "g", "old": "something to be moved", "file": "f"}
	tests := []struct {
		keep []string
		want map[string]string // "" is absent
		fail string
	}{
		{nil, map[string]string{"a": "1\n", "new": "2\n", "d/e/f": "3\n", "d/g": "4\n", "gone": "", "moved": before["old"], "old": "", "file/x": "5\n"}, ""},
		{[]string{"new"}, map[string]string{"a": "a", "new": "2\n", "d": "", "gone": "g", "old": before["old"], "moved": "", "file": "f"}, ""},
		{[]string{"d/e/f"}, map[string]string{"d/e/f": "3\n", "d/g": "", "new": ""}, ""},
		{[]string{"d"}, map[string]string{"d/e/f": "3\n", "d/g": "4\n", "new": ""}, ""},
		{[]string{"gone", "moved"}, map[string]string{"gone": "", "moved": before["old"], "old": "", "a": "a"}, ""},
		{[]string{"file/x"}, map[string]string{"file/x": "5\n", "a": "a"}, ""},
		{[]string{}, map[string]string{"a": "a", "gone": "g", "new": ""}, ""},
		{[]string{"a", "nothing"}, map[string]string{"a": "a"}, `nothing at "nothing"`},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.keep), func(t *testing.T) {
			b := newBed(t)
			b.write(before)
			s := b.sh(script)
			_, err := s.Commit(context.Background(), b.journal, journal.Entry{Roots: map[string]string{"": b.ws}}, test.keep)
			if (err != nil) != (test.fail != "") || err != nil && !strings.Contains(err.Error(), test.fail) {
				t.Fatalf("error %v, want %q", err, test.fail)
			}
			for path, want := range test.want {
				data, err := os.ReadFile(filepath.Join(b.ws, path))
				if want == "" && err == nil || want != "" && string(data) != want {
					t.Errorf("%s is %q, %v, want %q", path, data, err, want)
				}
			}
		})
	}
}

// A person changes the tree while a command works on it: what they did survives, and is named.
func TestConflicts(t *testing.T) {
	tests := []struct {
		name, script string
		meanwhile    func(ws string) error
		want         []string // paths in conflict
	}{
		{"nothing", "echo x > a", func(string) error { return nil }, nil},
		{"another file", "echo x > a", func(ws string) error { return os.WriteFile(ws+"/b", []byte("person"), 0o644) }, nil},
		{"a new file beside it", "echo x > dir/c", func(ws string) error { return os.WriteFile(ws+"/dir/person", nil, 0o644) }, nil},
		{"edited in place", "echo x > a", func(ws string) error { return os.WriteFile(ws+"/a", []byte("person"), 0o644) }, []string{"a"}},
		{"saved by a new file", "echo x > a", func(ws string) error {
			return errors.Join(os.WriteFile(ws+"/tmp", []byte("person"), 0o644), os.Rename(ws+"/tmp", ws+"/a"))
		}, []string{"a"}},
		{"an old file moved over it", "echo x > a", func(ws string) error { return os.Rename(ws+"/b", ws+"/a") }, []string{"a"}},
		{"removed", "echo x > a", func(ws string) error { return os.Remove(ws + "/a") }, []string{"a"}},
		{"other permissions", "echo x > a", func(ws string) error { return os.Chmod(ws+"/a", 0o600) }, []string{"a"}},
		{"both made it", "echo x > n", func(ws string) error { return os.WriteFile(ws+"/n", []byte("person"), 0o644) }, []string{"n"}},
		{"both removed it", "rm a", func(ws string) error { return os.Remove(ws + "/a") }, nil},
		{"removed what was edited", "rm a", func(ws string) error { return os.WriteFile(ws+"/a", []byte("person"), 0o644) }, []string{"a"}},
		{"removed a directory with something edited", "rm -r dir", func(ws string) error { return os.WriteFile(ws+"/dir/sub/d", []byte("person"), 0o644) }, []string{"dir"}},
		{"removed a directory with something new", "rm -r dir", func(ws string) error { return os.WriteFile(ws+"/dir/sub/new", []byte("person"), 0o644) }, []string{"dir"}},
		{"moved what was edited", "mv a z", func(ws string) error { return os.WriteFile(ws+"/a", []byte("content of A\n"), 0o644) }, []string{"a"}},
		{"directory exchanged for an old one", "echo x > dir/c", func(ws string) error {
			return errors.Join(os.Rename(ws+"/dir", ws+"/was"), os.Rename(ws+"/twin", ws+"/dir"))
		}, []string{"dir/c"}},
		{"directory exchanged above", "echo x > dir/sub/d", func(ws string) error {
			return errors.Join(os.Rename(ws+"/dir", ws+"/was"), os.Rename(ws+"/twin", ws+"/dir"))
		}, []string{"dir/sub/d"}},
		{"directory exchanged where inodes are not known", "echo x > node_modules/p/c", func(ws string) error {
			return errors.Join(os.Rename(ws+"/node_modules/p", ws+"/was"), os.Rename(ws+"/node_modules/q", ws+"/node_modules/p"))
		}, []string{"node_modules/p/c"}},
		{"a new file where inodes are not known", "echo x > node_modules/p/c", func(ws string) error {
			return os.WriteFile(ws+"/node_modules/p/person", nil, 0o644)
		}, nil},
		{"directory removed", "echo x > dir/c", func(ws string) error { return os.RemoveAll(ws + "/dir") }, []string{"dir/c"}},
		{"directory became a link", "echo x > dir/c", func(ws string) error {
			return errors.Join(os.Rename(ws+"/dir", ws+"/was"), os.Symlink("twin", ws+"/dir"))
		}, []string{"dir", "dir/c"}},
	}
	for _, copied := range []bool{false, true} {
		for _, test := range tests {
			t.Run(fmt.Sprintf("%s copied=%t", test.name, copied), func(t *testing.T) {
				b := newBed(t)
				b.copies(copied)
				b.write(map[string]string{"a": "content of a\n", "b": "b", "dir/c": "c", "dir/sub/d": "d", "twin/c": "twin", "twin/sub/d": "twin", "node_modules/p/c": "p", "node_modules/q/c": "q"})
				s, photo := b.meanwhile(t, test.script, test.meanwhile)
				found, err := s.Conflicts(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, c := range found {
					got = append(got, c.Path.String())
				}
				want := test.want
				if copied && len(want) == 2 {
					want = want[1:] // a copy knows that the directory was not the program's
				}
				if !slices.Equal(got, want) {
					t.Errorf("conflicts %v, want %v (changes %q)", found, test.want, lines(s))
				}
				_, err = b.tryCommit(s)
				var refused *journal.ConflictError
				if errors.As(err, &refused) != (len(test.want) > 0) {
					t.Errorf("commit: %v", err)
				}
				if len(test.want) > 0 {
					if d := compare(nil, photo, photograph(t, b.ws, false)); len(d) > 0 {
						t.Errorf("the tree changed: %v", d)
					}
				}
			})
		}
	}
}

// meanwhile runs a script held back, changes the tree while it runs, and returns the set and what the tree is by then.
func (b *bed) meanwhile(t *testing.T, script string, change func(ws string) error) (*changeset.Set, map[string]object) {
	t.Helper()
	pol := sandbox.Policy{
		Readable: []string{"/usr", "/bin", "/lib", "/lib64"}, Writable: []sandbox.Mount{sandbox.Layered(b.ws)}, Dir: b.ws, Env: []string{"PATH=/usr/bin:/bin"},
		Overlay: &sandbox.Overlay{Dir: b.layers},
	}
	pol.Readable = slices.DeleteFunc(pol.Readable, func(p string) bool { _, err := os.Stat(p); return err != nil })
	started, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	p, err := b.runner.Start(context.Background(), &sandbox.Cmd{Argv: []string{"sh", "-c", script + "\necho done\nread line"}, Policy: pol, Stdout: w, StdinPipe: true})
	if err != nil {
		t.Fatal(err)
	}
	var word [5]byte
	if _, err := started.Read(word[:]); err != nil {
		t.Fatal(err)
	}
	if err := change(b.ws); err != nil {
		t.Fatal(err)
	}
	_ = p.Stdin().Close()
	res, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return b.set(res), photograph(t, b.ws, false)
}

func TestDropAndDiff(t *testing.T) {
	b := newBed(t)
	b.write(map[string]string{"a": "one\ntwo\n", "bin": "\x00\x01\x02", ".envrc": "x\n"})
	res := b.run(b.ws, true, "sh", "-c", "echo three >> a; printf '\\0\\1' > bin; echo y > .envrc; for i in $(seq 200); do echo $i > f$i; done; rm a; echo ONE > a")
	l := res.Overlay.List[0]
	s, err := changeset.Read(context.Background(), changeset.Options{
		Layers: []changeset.Layer{{Layer: l, At: tongs.Path{Rel: "."}}},
		First:  func(p tongs.Path) bool { return strings.HasSuffix(p.Rel, ".envrc") }, Drop: res.Overlay.Close,
	})
	if err != nil {
		t.Fatal(err)
	}
	if first := s.Changes()[0]; first.Path.Rel != ".envrc" || !first.First {
		t.Errorf("first is %+v", first)
	}
	if d := s.Diff(tongs.Path{Rel: "a"}); !strings.Contains(d, "-one") || !strings.Contains(d, "+ONE") {
		t.Errorf("diff of a:\n%s", d)
	}
	if d := s.Diff(tongs.Path{Rel: "bin"}); !strings.Contains(d, "3 bytes becomes 2 bytes") {
		t.Errorf("diff of bin:\n%s", d)
	}
	p := s.Preview(2000)
	if len(p) > 2100 || !strings.HasPrefix(p, "200 added, 3 modified\n") || !strings.Contains(p, "more\n") || strings.Index(p, ".envrc") > strings.Index(p, "b/a") {
		t.Errorf("preview:\n%s", p)
	}
	if err := s.Drop(); err != nil {
		t.Error(err)
	}
	if _, err := b.tryCommit(s); !errors.Is(err, changeset.ErrDropped) {
		t.Errorf("commit of what was dropped: %v", err)
	}
	if b.read("a") != "one\ntwo\n" {
		t.Error("dropping changed the tree")
	}
}
