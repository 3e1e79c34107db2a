package walk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// tree makes files, and directories where the name ends in a slash.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, dir, name, content)
	}
	return dir
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	host := filepath.Join(dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(host), 0o777)
	if err == nil && strings.HasSuffix(name, "/") {
		err = os.MkdirAll(host, 0o777)
	} else if err == nil {
		err = os.WriteFile(host, []byte(content), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// visited returns what a walk visits: sorted paths, those of directories ending in a slash.
func visited(t testing.TB, opt walk.Options) []string {
	t.Helper()
	var mu sync.Mutex
	var list []string
	if opt.Ignore == nil {
		opt.Ignore = &ignore.Reader{}
	}
	err := walk.Walk(t.Context(), opt, func(e *walk.Entry) error {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, named(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func named(e *walk.Entry) string {
	if e.Type == walk.Directory {
		return e.Rel + "/"
	}
	return e.Rel
}

// expect compares what the walk visits, in parallel and in order, with a list separated by spaces.
func expect(t *testing.T, opt walk.Options, want string) {
	t.Helper()
	for _, opt.Sorted = range []bool{false, true} {
		if got := strings.Join(visited(t, opt), " "); got != want {
			t.Errorf("sorted %v: visited %s\nwant %s", opt.Sorted, got, want)
		}
	}
}

func TestWhatIsVisited(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.go": "", "b.log": "", ".hidden": "", "src/x.go": "", "src/x.log": "", "src/keep.log": "", "src/.h/f": "", "out/x": "", "empty/": "",
		".gitignore": "*.log\nout/\n", "src/.gitignore": "!keep.log\n", ".git/HEAD": "ref: x\n", ".git/config": "",
	})
	expect(t, walk.Options{Root: dir}, "a.go src/keep.log src/x.go")
	expect(t, walk.Options{Root: dir, Dirs: true}, "a.go empty/ src/ src/keep.log src/x.go")
	expect(t, walk.Options{Root: dir, Hidden: true}, ".gitignore .hidden a.go src/.gitignore src/.h/f src/keep.log src/x.go")
	expect(t, walk.Options{Root: dir, NoIgnore: true}, "a.go b.log out/x src/keep.log src/x.go src/x.log")
	expect(t, walk.Options{Root: dir, NoIgnore: true, Hidden: true},
		".git/HEAD .git/config .gitignore .hidden a.go b.log out/x src/.gitignore src/.h/f src/keep.log src/x.go src/x.log")
	expect(t, walk.Options{Root: dir, MaxDepth: 1, Dirs: true}, "a.go empty/ src/")
	expect(t, walk.Options{Root: dir, MaxDepth: 2}, "a.go src/keep.log src/x.go")
	expect(t, walk.Options{Root: filepath.Join(dir, "src")}, "keep.log x.go")
	expect(t, walk.Options{Root: filepath.Join(dir, "out")}, "x")
	skip := func(rel string, dir bool) bool { return rel == "src" && dir || rel == "a.go" && !dir }
	expect(t, walk.Options{Root: dir, NoIgnore: true, Skip: skip}, "b.log out/x")
}

func TestPrecedenceOfIgnoreFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		".gitignore": "g1\ng2\ng3\n", ".ignore": "!g2\ni1\ni2\n!g3\n", ".tongsignore": "!i2\nt1\ng3\n",
		"sub/.gitignore": "!i1\n!t1\n", "sub/.ignore": "!t1\n!g1\n",
		"g1": "", "g2": "", "g3": "", "i1": "", "i2": "", "t1": "", "x": "",
		"sub/g1": "", "sub/g2": "", "sub/g3": "", "sub/i1": "", "sub/i2": "", "sub/t1": "",
	})
	expect(t, walk.Options{Root: dir}, "g2 i2 sub/g1 sub/g2 sub/i2 x")
	// Below a top, the files above the root count too.
	expect(t, walk.Options{Root: filepath.Join(dir, "sub"), Top: dir}, "g1 g2 i2")
	expect(t, walk.Options{Root: filepath.Join(dir, "sub")}, "g1 g2 g3 i1 i2 t1")
	// A top that is not above the root says nothing.
	expect(t, walk.Options{Root: filepath.Join(dir, "sub"), Top: t.TempDir()}, "g1 g2 g3 i1 i2 t1")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	expect(t, walk.Options{Root: filepath.Join(link, "sub"), Top: link}, "g1 g2 i2")
}

func TestRepositoriesInRepositories(t *testing.T) {
	dir := tree(t, map[string]string{
		".gitignore": "*.o\n/sub/anchored\n", ".git/HEAD": "", ".git/info/exclude": "excluded\n", ".ignore": "never\n",
		"sub/.git/HEAD": "", "sub/.git/info/exclude": "*.x\n", "sub/.gitignore": "*.y\n",
		"a.o": "", "excluded": "", "sub/a.o": "", "sub/a.x": "", "sub/a.y": "", "sub/excluded": "", "sub/anchored": "", "sub/never": "", "sub/deep/a.x": "",
		"fake/.git/x": "", "fake/a.o": "",
	})
	// What the outer repository ignores does not hold in the inner one, except by .ignore. A .git without HEAD is none.
	expect(t, walk.Options{Root: dir}, "sub/a.o sub/anchored sub/excluded")
	expect(t, walk.Options{Root: filepath.Join(dir, "sub/deep")}, "")
	expect(t, walk.Options{Root: filepath.Join(dir, "fake")}, "")
}

func TestWorkingTreesAndSubmodules(t *testing.T) {
	dir := tree(t, map[string]string{
		"main/.git/HEAD": "", "main/.git/info/exclude": "*.x\n",
		"main/.git/worktrees/w/HEAD": "", "main/.git/worktrees/w/commondir": "../..\n",
		"main/.git/modules/m/HEAD": "", "main/.git/modules/m/info/exclude": "*.y\n",
		"w/a.x": "", "w/a.y": "", "main/m/.git": "gitdir: ../.git/modules/m\n", "main/m/a.x": "", "main/m/a.y": "", "main/a.x": "",
		"bad/.git": "nonsense", "bad/a.x": "", "lost/.git": "gitdir: ../nowhere\n", "lost/a.x": "",
	})
	write(t, dir, "w/.git", "gitdir: "+filepath.Join(dir, "main/.git/worktrees/w")+"\n")
	expect(t, walk.Options{Root: filepath.Join(dir, "w")}, "a.y")
	expect(t, walk.Options{Root: dir}, "bad/a.x lost/a.x main/m/a.x w/a.y")
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := tree(t, map[string]string{"secret": "", "dir/f": ""})
	dir := tree(t, map[string]string{"real/f": "", ".gitignore": "to-dir/\n"})
	for name, target := range map[string]string{
		"to-dir": "real", "to-file": "real/f", "out": outside, "loop": ".", "dangling": "nowhere", "real/up": "..",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, walk.Options{Root: dir}, "dangling loop out real/f real/up to-dir to-file")
	err := walk.Walk(t.Context(), walk.Options{Root: dir}, func(e *walk.Entry) error {
		if e.Type != walk.Symlink {
			return nil
		}
		if f, err := e.Open(); err == nil {
			f.Close()
			t.Errorf("%s was opened", e.Rel)
		}
		if info, err := e.Stat(); err != nil || info.Type != walk.Symlink {
			t.Errorf("%s: %v, %v", e.Rel, info.Type, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// The root itself may be a link.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got := visited(t, walk.Options{Root: link}); len(got) != 7 {
		t.Errorf("visited %v", got)
	}
}

func TestStrangeNames(t *testing.T) {
	dir := tree(t, map[string]string{"a\nb": "", "\xff\xfe": "", " ": "", "é/ü": "", "-rf": "", "a\\b": "", "..x/..y": "", "*": ""})
	want := []string{" ", "*", "-rf", "..x/..y", "a\nb", "a\\b", "é/ü", "\xff\xfe"}
	slices.Sort(want)
	if got := visited(t, walk.Options{Root: dir, Hidden: true}); !slices.Equal(got, want) {
		t.Errorf("visited %q", got)
	}
}

// reference lists a tree as filepath.WalkDir does.
func reference(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != dir {
			rel, _ := filepath.Rel(dir, p)
			if rel = filepath.ToSlash(rel); d.IsDir() {
				rel += "/"
			}
			list = append(list, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func TestEveryEntryOnce(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 3))
	dirs := []string{""}
	dir := t.TempDir()
	for range 150 {
		d := dirs[g.IntN(len(dirs))] + fmt.Sprintf("d%d/", g.IntN(40))
		dirs = append(dirs, d)
		write(t, dir, d, "")
		for range g.IntN(8) {
			write(t, dir, d+fmt.Sprintf("f%d-%s", g.IntN(100), strings.Repeat("x", g.IntN(20))), "")
		}
	}
	want := reference(t, dir)
	for _, workers := range []int{0, 1, 2, 7, 64} {
		got := visited(t, walk.Options{Root: dir, Dirs: true, Workers: workers})
		if !slices.Equal(got, want) {
			t.Errorf("%d workers visited %d entries, want %d", workers, len(got), len(want))
		}
	}
}

func TestSortedIsTheOrderOfBytes(t *testing.T) {
	dir := tree(t, map[string]string{"a/x": "", "a-b": "", "a.c/y": "", "a0": "", "ab/c/d": "", "ab.x": "", "b": "", "A": "", "é": "", "ab/c.x": ""})
	var got []string
	err := walk.Walk(t.Context(), walk.Options{Root: dir, Sorted: true, Dirs: true}, func(e *walk.Entry) error {
		got = append(got, named(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(got) || len(got) != 14 {
		t.Errorf("order is %q", got)
	}
}

// A directory that is read in several parts is visited like any other, and its ignore files hold from the first entry on.
func TestLargeDirectory(t *testing.T) {
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "walk"); err == nil {
		dir = shm
		t.Cleanup(func() { _ = os.RemoveAll(shm) })
	}
	const files, dirs = 10_000, 300
	var want []string
	for i := range files {
		name := fmt.Sprintf("%05d.%s", i, []string{"go", "log"}[i%2])
		write(t, dir, name, "")
		if i%2 == 0 {
			want = append(want, name)
		}
	}
	for i := range dirs {
		name := fmt.Sprintf("%03d-dir/f", i)
		write(t, dir, name, "")
		want = append(want, name)
	}
	write(t, dir, ".gitignore", "*.log\n")
	slices.Sort(want)
	for _, opt := range []walk.Options{{Workers: 1}, {Workers: 8}, {Sorted: true}} {
		opt.Root = dir
		if got := visited(t, opt); !slices.Equal(got, want) {
			t.Errorf("visited %d entries, want %d", len(got), len(want))
		}
	}
}

func TestEnding(t *testing.T) {
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("d%d/f%d", i%20, i)] = ""
	}
	dir := tree(t, files)
	own := errors.New("own")
	for _, sorted := range []bool{false, true} {
		opt := walk.Options{Root: dir, Sorted: sorted, Dirs: true, Workers: 4}
		if err := walk.Walk(t.Context(), opt, func(*walk.Entry) error { return own }); !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
		if err := walk.Walk(t.Context(), opt, func(*walk.Entry) error { return fs.SkipAll }); err != nil {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		err := walk.Walk(ctx, opt, func(e *walk.Entry) error {
			cancel(own)
			<-ctx.Done()
			return nil
		})
		if !errors.Is(err, own) {
			t.Errorf("got %v", err)
		}
		if err := walk.Walk(ctx, opt, func(*walk.Entry) error { return nil }); !errors.Is(err, own) {
			t.Errorf("a walk that was cancelled before: %v", err)
		}
		var mu sync.Mutex
		var got []string
		err = walk.Walk(t.Context(), opt, func(e *walk.Entry) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, named(e))
			if e.Type == walk.Directory {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil || len(got) != 20 {
			t.Errorf("visited %d, %v", len(got), err)
		}
	}
	for _, root := range []string{filepath.Join(dir, "nowhere"), filepath.Join(dir, "d1/f1")} {
		if err := walk.Walk(t.Context(), walk.Options{Root: root}, func(*walk.Entry) error { return nil }); err == nil {
			t.Errorf("%s was walked", root)
		}
	}
}

func TestPanicsAreThoseOfTheCaller(t *testing.T) {
	dir := tree(t, map[string]string{"a/f": "", "b/f": "", "c/f": ""})
	for _, sorted := range []bool{false, true} {
		func() {
			defer func() {
				if p := recover(); p != "visit" {
					t.Errorf("recovered %v", p)
				}
			}()
			_ = walk.Walk(t.Context(), walk.Options{Root: dir, Sorted: sorted, Workers: 4}, func(*walk.Entry) error { panic("visit") })
			t.Error("no panic")
		}()
	}
}

func TestReadingFiles(t *testing.T) {
	dir := tree(t, map[string]string{"a": "hello", "d/b": "world", "empty": ""})
	contents := map[string]string{}
	err := walk.Walk(t.Context(), walk.Options{Root: dir, Sorted: true}, func(e *walk.Entry) error {
		info, err := e.Stat()
		if err != nil {
			return err
		}
		f, err := e.Open()
		if err != nil {
			return err
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		contents[e.Rel] = string(b)
		fi, statErr := os.Stat(filepath.Join(dir, e.Rel))
		if err != nil || statErr != nil {
			return errors.Join(err, statErr)
		}
		if info.Size != fi.Size() || !info.ModTime().Equal(fi.ModTime()) || info.Type != walk.File {
			t.Errorf("%s: %+v", e.Rel, info)
		}
		if open, err := f.Stat(); err != nil || open != info {
			t.Errorf("%s: %+v, %v", e.Rel, open, err)
		}
		if len(b) > 1 {
			part := make([]byte, 2)
			if n, err := f.ReadAt(part, 1); err != nil || string(part[:n]) != string(b[1:3]) {
				t.Errorf("%s: read %q, %v", e.Rel, part[:n], err)
			}
		}
		if n, err := f.ReadAt(make([]byte, 1), 5); err != io.EOF || n != 0 {
			t.Errorf("%s: read %d, %v", e.Rel, n, err)
		}
		if e.Name() != filepath.Base(e.Rel) || e.Dir().Rel() != filepath.Dir(e.Rel) {
			t.Errorf("%s: %s in %s", e.Rel, e.Name(), e.Dir().Rel())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if contents["a"] != "hello" || contents["d/b"] != "world" || len(contents) != 3 {
		t.Errorf("read %q", contents)
	}
}

// What is deleted during the walk is not reported, and the walk goes on.
func TestDeletedMeanwhile(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("d%02d/sub/f", i)] = ""
	}
	dir := tree(t, files)
	for _, sorted := range []bool{true, false} {
		n := 0
		var mu sync.Mutex
		err := walk.Walk(t.Context(), walk.Options{
			Root: dir, Sorted: sorted, Dirs: true,
			Skipped: func(rel string, err error) { t.Errorf("%s: %v", rel, err) },
		}, func(e *walk.Entry) error {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == 3 {
				return os.RemoveAll(dir)
			}
			return nil
		})
		if err != nil || n > 60 {
			t.Errorf("%d visits, %v", n, err)
		}
		dir = tree(t, files)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ExampleWalk() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"main.go", "debug.log", "util.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			fmt.Println(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n"), 0o666); err != nil {
		fmt.Println(err)
	}
	err = walk.Walk(context.Background(), walk.Options{Root: dir, Sorted: true}, func(e *walk.Entry) error {
		fmt.Println(e.Type, e.Rel)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// file main.go
	// file util.go
}
