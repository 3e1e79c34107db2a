package files

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

func names(v ListOutput) string {
	var list []string
	for _, e := range v.Entries {
		list = append(list, e.Name)
	}
	return strings.Join(list, " ")
}

func TestList(t *testing.T) {
	b := newBench(t, setup{nope: true})
	for _, f := range []string{"z.go", "a.go", "B.go", "src/x.go", "src/deep/y.go", "docs/d.md", ".hidden", ".git/HEAD", "src/.keep"} {
		b.Put(f, "12345")
	}
	b.Must(os.Symlink("src", filepath.Join(b.Dir, "link")))
	b.Must(os.Symlink("/etc", filepath.Join(b.Dir, "out")))
	tests := []struct {
		args args
		want string
		left int
	}{
		{args{}, "docs src B.go a.go link out z.go", 0},
		{args{"path": "src"}, "deep x.go", 0},
		{args{"path": "link"}, "deep x.go", 0},
		{args{"includeHidden": true}, ".git docs src .hidden B.go a.go link out z.go", 0},
		{args{"recursive": true}, "docs docs/d.md src src/deep src/deep/y.go src/x.go B.go a.go link out z.go", 0},
		{args{"limit": 3}, "docs src B.go", 4},
		{args{"recursive": true, "limit": 8}, "docs docs/d.md src B.go a.go link out z.go", 3},
		{args{"recursive": true, "path": "src", "includeHidden": true}, "deep deep/y.go .keep x.go", 0},
	}
	for _, tt := range tests {
		v := value[ListOutput](b, b.OK("list_directory", tt.args))
		if names(v) != tt.want || v.Left != tt.left {
			t.Errorf("%v: %s, %d left; want %s, %d", tt.args, names(v), v.Left, tt.want, tt.left)
		}
	}
	res := b.OK("list_files", args{"limit": 6})
	b.Contains("content", res.Content, "docs/\nsrc/\nB.go (5 bytes)\na.go (5 bytes)\nlink → src\nout → /etc\n[6 of these shown; 1 left; set limit (500 at most), or list a subdirectory]\n[2 hidden; includeHidden shows them]")
	e := value[ListOutput](b, res).Entries
	if e[0].Type != tongs.FileDirectory || e[4].Type != tongs.FileSymlink || e[4].Target != "src" || e[2].Size != 5 || e[2].Modified.IsZero() {
		t.Errorf("entries %+v", e)
	}
	b.fails(tongs.CodeInvalidPath, "is a file", "list_directory", args{"path": "a.go"})
	b.fails(tongs.CodeFileNotFound, "did you mean docs?", "list_directory", args{"path": "dosc"})
	b.fails(tongs.CodeInvalidPath, "", "list_directory", args{"path": "out"})
	b.fails(tongs.CodeInvalidPath, "", "list_directory", args{"path": ".."})
	b.Must(os.Mkdir(filepath.Join(b.Dir, "none"), 0o755))
	b.Equal("empty", b.OK("list", args{"path": "none"}).Content, "[none is empty]")
}

func TestListStrangeNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("such names cannot exist on Windows")
	}
	b := newBench(t, setup{nope: true})
	b.Put("two\nlines", "")
	b.Put("tab\there", "")
	b.Must(os.MkdirAll(filepath.Join(b.Dir, "sub"), 0o755))
	content := b.OK("list_directory", args{}).Content
	b.Contains("content", content, `"two\nlines" (0 bytes)`)
	b.Contains("content", content, `"tab\there" (0 bytes)`)
}

func TestListNestedRoot(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, setup{nope: true, roots: []workspace.Root{{Name: "store", Dir: dir}, {Name: "cache", Dir: cache}}})
	b.Must(os.WriteFile(filepath.Join(cache, "in"), nil, 0o644))
	v := value[ListOutput](b, b.OK("list_directory", args{"path": "/store", "recursive": true}))
	b.Equal("names", names(v), "/cache")
}

func TestListMoreThanTheMost(t *testing.T) {
	b := newBench(t, setup{nope: true})
	const n = 700
	for i := range n {
		b.Must(os.WriteFile(filepath.Join(b.Dir, fmt.Sprintf("f%05d", n-i)), nil, 0o644))
	}
	b.Must(os.Mkdir(filepath.Join(b.Dir, "zdir"), 0o755))
	res := b.OK("list_directory", args{"limit": 10_000})
	v := value[ListOutput](b, res)
	if len(v.Entries) != 500 || v.Left != n+1-500 || v.Entries[0].Name != "zdir" || v.Entries[1].Name != "f00001" || v.Entries[499].Name != "f00499" {
		t.Errorf("%d entries, %d left, %s ... %s", len(v.Entries), v.Left, v.Entries[0].Name, v.Entries[len(v.Entries)-1].Name)
	}
	b.Contains("content", res.Content, "[500 of these shown; 201 left; list a subdirectory to see them]")
}

// endless is a directory of a million entries, which no file system needs to hold.
type endless struct{ tongs.FileView }

func (endless) ReadDir(p tongs.Path) iter.Seq2[tongs.FileInfo, error] {
	return func(yield func(tongs.FileInfo, error) bool) {
		for i := range 1_000_000 {
			if !yield(tongs.FileInfo{Path: p.Join(fmt.Sprintf("f%07d", (i*7919)%1_000_000)), Type: tongs.FileRegular}, nil) {
				return
			}
		}
	}
}

func TestListAMillionEntriesInBoundedMemory(t *testing.T) {
	l := &listing{files: endless{}, root: tongs.Path{Rel: "."}, limit: 200}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := l.plain(context.Background()); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	out := l.output(500)
	if len(out.Entries) != 200 || out.Left != 999_800 || out.Entries[0].Name != "f0000000" || out.Entries[199].Name != "f0000199" {
		t.Errorf("%d entries, %d left, %v", len(out.Entries), out.Left, out.Entries[0])
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&listing{files: endless{}, root: tongs.Path{Rel: "."}, limit: 200}).plain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestInfoAndExists(t *testing.T) {
	b := newBench(t, setup{nope: true})
	b.Put("a.txt", "one\r\ntwo\r\n")
	b.Put("p.png", "\x89PNG\r\n\x1a\n\x00")
	b.Put("d/x", "")
	b.Must(os.Symlink("a.txt", filepath.Join(b.Dir, "link")))
	b.Must(os.Symlink("/etc/passwd", filepath.Join(b.Dir, "out")))
	b.Must(os.Symlink("nowhere", filepath.Join(b.Dir, "dangling")))
	info := func(path string) InfoOutput { return value[InfoOutput](b, b.OK("file_info", args{"path": path})) }
	v := info("a.txt")
	if v.Type != "file" || v.Size != 10 || v.Encoding != "utf-8" || v.Ending != "crlf" || *v.Lines != 2 || !strings.HasPrefix(v.Mode, "-rw") {
		t.Errorf("%+v", v)
	}
	if v = info("p.png"); v.Encoding != "binary" || v.Kind != "PNG image" || v.Lines != nil {
		t.Errorf("%+v", v)
	}
	if v = info("link"); v.Type != "symlink" || v.Target != "a.txt" || v.RealPath != "a.txt" || v.Encoding != "" {
		t.Errorf("%+v", v)
	}
	if v = info("out"); v.Type != "symlink" || v.Target != "/etc/passwd" || v.RealPath != "" {
		t.Errorf("%+v", v)
	}
	if v = info("."); v.Type != "directory" {
		t.Errorf("%+v", v)
	}
	b.Contains("content", b.OK("file_info", args{"path": "a.txt"}).Content, "size: 10 bytes\n")
	b.fails(tongs.CodeFileNotFound, "did you mean a.txt?", "file_info", args{"path": "b.txt"})
	b.fails(tongs.CodeInvalidPath, "", "file_info", args{"path": "../x"})

	for path, want := range map[string]ExistsOutput{
		"a.txt": {"a.txt", true, "file"}, "./d/": {"d", true, "directory"}, "link": {"link", true, "symlink"},
		"dangling": {"dangling", true, "symlink"}, "nope": {"nope", false, ""}, "no/such/dir": {"no/such/dir", false, ""},
		"no/../such": {"no/../such", false, ""},
	} {
		b.Equal(path, value[ExistsOutput](b, b.OK("file_exists", args{"path": path})), want)
	}
	b.fails(tongs.CodeInvalidPath, "", "file_exists", args{"path": "/etc/passwd"})
	b.fails(tongs.CodeInvalidPath, "", "file_exists", args{"path": "out/x"})
}

func TestDelete(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("f", "x")
	b.Put("tree/a", "x")
	b.Put("tree/sub/b", "xy")
	b.Put(".git/HEAD", "ref")
	b.Put("keep/f", "x")
	b.Must(os.Mkdir(filepath.Join(b.Dir, "none"), 0o755))
	b.Must(os.Symlink("keep", filepath.Join(b.Dir, "link")))
	b.Must(os.Symlink("/etc/passwd", filepath.Join(b.Dir, "out")))

	v := value[DeleteOutput](b, b.OK("delete_file", args{"path": "f"}))
	b.Equal("deleted", fmt.Sprint(v.Deleted, v.Count), "[f] 1")
	q := b.Asked()[0]
	b.Equal("message", q.Message, "Delete the file f")
	b.Equal("kind", q.Kind, tongs.KindDestructive)
	if !q.Effects[0].NoGrant || q.Effects[0].Version == "" {
		t.Errorf("effects %+v", q.Effects)
	}

	asked := len(b.Asked())
	b.fails(tongs.CodeNotEmpty, "tree is not empty: 2 files and 1 directory in it", "delete_file", args{"path": "tree"})
	for _, path := range []string{".", "", "../x", "/etc/passwd", ".git", "tree/.."} {
		b.fails(tongs.CodeInvalidPath, "", "delete_file", args{"path": path, "recursive": true})
	}
	b.fails(tongs.CodeInvalidPath, "the workspace itself cannot be deleted", "delete_file", args{"path": b.Dir, "recursive": true})
	b.fails(tongs.CodeFileNotFound, "", "delete_file", args{"path": "nope"})
	b.Equal("asked in vain", len(b.Asked()), asked)

	v = value[DeleteOutput](b, b.OK("delete_file", args{"path": "tree", "recursive": true}))
	if v.Count != 4 || b.Exists("tree") {
		t.Errorf("%+v", v)
	}
	q = b.Asked()[len(b.Asked())-1]
	b.Equal("message", q.Message, "Delete the directory tree with 2 files and 1 directory in it")
	b.Contains("preview", q.Preview, "tree: 2 files and 1 directory, 3 bytes\n- tree/a\n- tree/sub/\n- tree/sub/b\n")
	b.OK("delete_file", args{"path": "none"})
	b.OK("delete_file", args{"path": "link", "recursive": true})
	b.OK("delete_file", args{"path": "out"})
	if b.Exists("link") || b.Exists("out") || b.Get("keep/f") != "x" {
		t.Error("a link's target was touched, or a link is left")
	}
	if _, err := os.Stat("/etc/passwd"); err != nil && runtime.GOOS == "linux" {
		t.Error(err)
	}
}

func TestMove(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("a", "A")
	b.Put("b", "B")
	b.Put("dir/x", "X")
	b.Put("other/y", "Y")
	b.Must(os.Symlink("b", filepath.Join(b.Dir, "link")))

	v := value[MoveOutput](b, b.OK("move_file", args{"from": "a", "to": "new/place/a2"}))
	b.Equal("value", v, MoveOutput{"a", "new/place/a2", false})
	b.Equal("asked", len(b.Asked()), 0)
	b.Equal("file", b.Get("new/place/a2"), "A")

	for _, tt := range []struct {
		code     tongs.Code
		says     string
		from, to string
	}{
		{tongs.CodeAlreadyExists, "b exists already (file, 1 byte); set overwrite", "dir/x", "b"},
		{tongs.CodeAlreadyExists, "such as other/b", "b", "other"},
		{tongs.CodeAlreadyExists, "such as other/dir", "dir", "other"},
		{tongs.CodeAlreadyExists, "a directory cannot replace", "dir", "b"},
		{tongs.CodeAlreadyExists, "link is a link", "dir/x", "link"},
		{tongs.CodeInvalidPath, "into itself", "dir", "dir/sub"},
		{tongs.CodeInvalidPath, "such as fresh/b", "b", "fresh/"},
		{tongs.CodeInvalidArgs, "the same", "b", "./b"},
		{tongs.CodeFileNotFound, "", "nope", "c"},
		{tongs.CodeInvalidPath, "the workspace itself", ".", "c"},
		{tongs.CodeInvalidPath, "", "b", "../c"},
		{tongs.CodeInvalidPath, "", "../c", "b"},
		{tongs.CodeInvalidPath, "history of a repository", ".git", "c"},
	} {
		b.fails(tt.code, tt.says, "move_file", args{"from": tt.from, "to": tt.to})
	}
	b.Equal("asked", len(b.Asked()), 0)

	b.OK("move_file", args{"source": "dir/x", "destination": "b", "overwrite": true})
	b.Equal("replaced", b.Get("b"), "X")
	b.Equal("asked", len(b.Asked()), 1)
	b.Equal("message", b.Asked()[0].Message, "Move dir/x to b, replacing the file there (1 byte)")
	b.OK("move_file", args{"from": "link", "to": "link2"})
	if target, err := os.Readlink(filepath.Join(b.Dir, "link2")); err != nil || target != "b" {
		t.Errorf("the link was not moved as it is: %q, %v", target, err)
	}
	b.OK("move_file", args{"from": "other", "to": "moved"})
	b.Equal("directory", b.Get("moved/y"), "Y")
	b.fails(tongs.CodeFileNotFound, "", "move_file", args{"from": "b", "to": "no/dirs", "createDirs": false})

	// Onto a protected name asks, also where everything else is free.
	asked := len(b.Asked())
	b.Put("hook", "#!/bin/sh\n")
	b.Put(".git/config", "[core]\n")
	b.OK("move_file", args{"from": "hook", "to": ".git/hooks/pre-commit"})
	b.Equal("asked for a protected name", len(b.Asked()), asked+1)
}

func TestDecisions(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("f", "x\n")
	b.Put("g", "y\n")
	tests := []struct {
		tool string
		args args
		want tongs.Decision
		kind string
	}{
		{"read_file", args{"path": "f"}, tongs.PreApproved, "read f"},
		{"list_directory", args{}, tongs.PreApproved, "read ."},
		{"file_info", args{"path": "f"}, tongs.PreApproved, "read f"},
		{"file_exists", args{"path": "f"}, tongs.PreApproved, "read f"},
		{"write_file", args{"path": "new", "content": ""}, tongs.PreApproved, "write new"},
		{"write_file", args{"path": "f", "content": ""}, tongs.Ask, "write f"},
		{"edit", args{"path": "f", "oldString": "x", "newString": "z"}, tongs.Ask, "write f, read f"},
		{"delete_file", args{"path": "f"}, tongs.Ask, "delete f"},
		{"move_file", args{"from": "f", "to": "new"}, tongs.PreApproved, "delete f, write new, read f"},
		{"move_file", args{"from": "f", "to": "g", "overwrite": true}, tongs.Ask, "delete f, write g, read f"},
	}
	for _, tt := range tests {
		e := b.Explain(tt.tool, tt.args)
		var effects []string
		for _, effect := range e.Effects {
			effects = append(effects, effect.String())
		}
		if e.Decision != tt.want || strings.Join(effects, ", ") != tt.kind {
			t.Errorf("%s %v: %s, %v; want %s, %s", tt.tool, tt.args, e.Decision, effects, tt.want, tt.kind)
		}
	}
	b.Equal("untouched", b.Get("f")+b.Get("g"), "x\ny\n")
}
