package files

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// nobody has tests go by no git configuration but their own.
func nobody(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "none"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

func TestListRecursively(t *testing.T) {
	nobody(t)
	b := newBench(t, setup{nope: true})
	for _, f := range []string{"src/a.go", "src/deep/b.go", "out/gen.go", ".github/ci.yml", "z.go", "server.key", "src/.env"} {
		b.Put(f, "12345")
	}
	b.Put(".gitignore", "out/\n*.log\n")
	b.Put("src/x.log", "")
	b.Must(os.Symlink("/etc", filepath.Join(b.Dir, "src", "etc")))
	b.Must(os.Symlink("..", filepath.Join(b.Dir, "src", "up")))

	res := b.OK("list_directory", args{"recursive": true})
	b.Equal("tree", res.Content, strings.Join([]string{
		"src/", "  deep/", "    b.go (5 bytes)", "  a.go (5 bytes)", "  etc → /etc", "  up → ..", "z.go (5 bytes)",
		"[3 hidden; includeHidden shows them]", "[2 ignored by .gitignore and such; noIgnore shows them]",
		"[left out: 1 file, as secrets or what a rule covers; name one to ask for it]",
	}, "\n"))
	v := value[ListOutput](b, res)
	if v.Hidden != 3 || v.Ignored != 2 || v.Left != 0 || v.Entries[3].Size != 5 || v.Entries[3].Modified.IsZero() || v.Entries[4].Target != "/etc" {
		t.Errorf("%+v", v)
	}
	b.Contains("flat", b.OK("list_directory", args{"recursive": true, "format": "flat"}).Content, "src/\nsrc/deep/\nsrc/deep/b.go (5 bytes)\nsrc/a.go")
	all := b.OK("list_directory", args{"recursive": true, "includeHidden": true, "noIgnore": true})
	b.Equal("all", names(value[ListOutput](b, all)), ".github .github/ci.yml out out/gen.go src src/deep src/deep/b.go src/a.go src/etc src/up src/x.log .gitignore z.go")
	b.Contains("all", all.Content, "[left out: 2 files, as secrets")
	b.Equal("in an ignored directory", names(value[ListOutput](b, b.OK("list_directory", args{"recursive": true, "path": "out"}))), "gen.go")
	// One directory by itself shows every name.
	b.Equal("plain", names(value[ListOutput](b, b.OK("list_directory", args{"includeHidden": true}))), ".github out src .gitignore server.key z.go")
	b.fails(tongs.CodeInvalidArgs, "format", "list_directory", args{"format": "json"})
}

func TestListRecursivelyHidesWhatRulesNameAndCountsIt(t *testing.T) {
	nobody(t)
	read := tongs.Kinds(tongs.EffectRead)
	b := newBench(t, setup{nope: true, rules: []tongs.Rule{
		{Layer: tongs.LayerUser, Effects: read, Pattern: "private/**", Decision: tongs.Blocked},
		{Layer: tongs.LayerUser, Effects: read, Pattern: "**/*.lock", Decision: tongs.Blocked},
	}})
	for _, f := range []string{"private/a", "public/a", "public/x.lock", "public/deep/y.lock"} {
		b.Put(f, "x")
	}
	if runtime.GOOS == "linux" {
		b.Put("public/bad\xff.lock", "x")
	}
	res := b.OK("list_directory", args{"recursive": true})
	if strings.Contains(res.Content, "lock") || strings.Contains(res.Content, "private") || strings.Contains(string(res.Value), "lock") {
		t.Errorf("%s\n%s", res.Content, res.Value)
	}
	b.Equal("names", names(value[ListOutput](b, res)), "public public/deep public/a")
	b.Contains("content", res.Content, "1 directory, as secrets or what a rule covers")
}

// What is nearest to the directory is listed, and parents always with it, however much there is deeper down.
func TestListRecursivelyIsCutByLevel(t *testing.T) {
	nobody(t)
	b := newBench(t, setup{nope: true})
	for i := range 300 {
		b.Put(fmt.Sprintf("a/b/f%03d", i), "")
	}
	b.Put("z", "")
	v := value[ListOutput](b, b.OK("list_directory", args{"recursive": true, "limit": 5}))
	b.Equal("names", names(v), "a a/b a/b/f000 a/b/f001 z")
	b.Equal("left", v.Left, 303-5)
}

// A walk that is ended early still lists the directory itself.
func TestListRecursivelyStopsCounting(t *testing.T) {
	nobody(t)
	dir := t.TempDir()
	for i := range 50 {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("d%02d/x/y", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.Open(workspace.Options{Dir: dir, LockDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for range 20 {
		open, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		r := &recursion{
			listing: &listing{root: tongs.Path{Rel: "."}, in: ListInput{Recursive: true}, limit: 50},
			tree:    &tongs.Tree{Host: dir, Top: dir, Dir: open, Skip: func(string, bool) bool { return false }}, most: 20,
		}
		if err := r.walk(context.Background(), 0); err != nil || !r.partial {
			t.Fatal(err, r.partial)
		}
		if err := r.walk(context.Background(), 1); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, part := range r.best {
			for _, e := range part {
				seen[e.Name] = true
			}
		}
		for i := range 50 {
			if name := fmt.Sprintf("d%02d", i); !seen[name] {
				t.Fatalf("%s is not listed", name)
			}
		}
		open.Close()
	}
}

// TONGS_DEEP=1 makes it 10,000 levels.
func TestListRecursivelyDeepTree(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such a depth cannot exist on Windows")
	}
	nobody(t)
	b := newBench(t, setup{nope: true})
	depth := 2500 // beyond what a path can spell
	if os.Getenv("TONGS_DEEP") != "" {
		depth = 10_000
	}
	root, err := os.OpenRoot(b.Dir)
	b.Must(err)
	for range depth {
		b.Must(root.Mkdir("d", 0o755))
		below, err := root.OpenRoot("d")
		b.Must(err)
		root.Close()
		root = below
	}
	root.Close()
	res := b.OK("list_directory", args{"recursive": true, "limit": 40})
	v := value[ListOutput](b, res)
	if len(v.Entries) != 40 || v.Left+len(v.Entries) > depth || v.Left == 0 {
		t.Errorf("%d entries, %d left", len(v.Entries), v.Left)
	}
	if v.Left+len(v.Entries) < depth { // what could not be reached is said
		b.Contains("content", res.Content[max(0, len(res.Content)-4000):], "could not be read")
	}
	b.Must(removeDeep(b.Dir))
}

// removeDeep removes a chain of directories that is too deep for a path.
func removeDeep(dir string) error {
	for {
		// Take the upper part off, by renaming what is below it to the top.
		deep := filepath.Join(dir, strings.Repeat("d/", 1000))
		if _, err := os.Stat(deep); err != nil {
			return os.RemoveAll(filepath.Join(dir, "d"))
		}
		next := filepath.Join(dir, "next")
		if err := os.Rename(deep, next); err != nil {
			return err
		}
		if err := os.RemoveAll(filepath.Join(dir, "d")); err != nil {
			return err
		}
		if err := os.Rename(next, filepath.Join(dir, "d")); err != nil {
			return err
		}
	}
}

func TestListRecursivelyCancelled(t *testing.T) {
	nobody(t)
	b := newBench(t, setup{nope: true})
	b.Put("a/b", "")
	open, err := os.Open(b.Dir)
	b.Must(err)
	defer open.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := &recursion{
		listing: &listing{root: tongs.Path{Rel: "."}, limit: 10}, most: maxWalked,
		tree: &tongs.Tree{Host: b.Dir, Top: b.Dir, Dir: open, Skip: func(string, bool) bool { return false }},
	}
	if err := r.walk(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// BenchmarkListRecursively lists Go's own source.
func BenchmarkListRecursively(b *testing.B) {
	dir := build.Default.GOROOT
	open, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer open.Close()
	n := 0
	for b.Loop() {
		r := &recursion{
			listing: &listing{root: tongs.Path{Rel: "."}, limit: 500}, most: maxWalked,
			tree: &tongs.Tree{Host: dir, Top: dir, Dir: open, Skip: func(string, bool) bool { return false }},
		}
		if err := r.walk(context.Background(), 0); err != nil {
			b.Fatal(err)
		}
		n = r.walked
	}
	b.ReportMetric(float64(n), "entries")
}
