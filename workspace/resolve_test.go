//go:build linux || darwin

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// resolving is a workspace with a zone beside it, a zone inside it, links of every kind, and something outside.
func resolving(t testing.TB) (w *Workspace, base string) {
	base = tree(t, map[string]string{
		"ws/src/a.go": "a", "ws/src/deep/b.go": "b", "ws/ nl\n": "n", "ws/cache/": "", "ws/.cache/c": "c",
		"zone/z": "z", "zone/sub/": "", "outside/secret": "s",
		"ws/in":          "-> src/a.go",
		"ws/indir":       "-> src",
		"ws/deepdir":     "-> src/deep",
		"ws/up":          "-> ../outside/secret",
		"ws/updir":       "-> ../outside",
		"ws/gone":        "-> ../outside/nothing",
		"ws/dangling":    "-> src/new.go",
		"ws/loop1":       "-> loop2",
		"ws/loop2":       "-> loop1",
		"ws/self":        "-> self",
		"ws/tozone":      "-> ../zone/z",
		"ws/tozonedir":   "-> ../zone",
		"ws/chain1":      "-> chain2",
		"ws/chain2":      "-> updir",
		"ws/src/back":    "-> ../in",
		"ws/src/dotdot":  "-> ..",
		"ws/throughlink": "-> src/dotdot/../outside/secret",
		"zone/out":       "-> ../ws/src/a.go",
		"zone/evil":      "-> ../outside/secret",
	})
	must(t, os.Symlink(filepath.Join(base, "outside", "secret"), filepath.Join(base, "ws", "absup")))
	must(t, os.Symlink(filepath.Join(base, "ws", "src"), filepath.Join(base, "ws", "absin")))
	must(t, os.Symlink("/proc/self/root/etc/passwd", filepath.Join(base, "ws", "magic")))
	must(t, os.Symlink("bad\xff", filepath.Join(base, "ws", "badlink")))
	must(t, os.Symlink("ws", filepath.Join(base, "alias")))
	w = openOn(t, Options{Dir: filepath.Join(base, "alias"), Roots: []Root{
		{Name: "zone", Dir: filepath.Join(base, "zone"), Writable: true},
		{Name: "inner", Dir: filepath.Join(base, "ws", ".cache")},
	}}, openHandle)
	return w, base
}

func TestResolve(t *testing.T) {
	w, base := resolving(t)
	zone := func(root, rel string) tongs.Path { return tongs.Path{Root: root, Rel: rel} }
	tests := []struct {
		dir, spelling string
		want          tongs.Path
	}{
		{".", ".", in(".")},
		{".", "src/a.go", in("src/a.go")},
		{".", "./src//./a.go", in("src/a.go")},
		{".", "src/", in("src")},
		{".", "src/../src/a.go", in("src/a.go")},
		{".", "new/dir/file", in("new/dir/file")},
		{".", " nl\n", in(" nl\n")},
		{".", `a\b`, in(`a\b`)},
		{".", "./~", in("~")},
		{".", "~x", in("~x")},
		{".", "..a", in("..a")},
		{".", "in", in("src/a.go")},
		{".", "indir/a.go", in("src/a.go")},
		{".", "absin/a.go", in("src/a.go")},
		{".", "deepdir/../a.go", in("src/a.go")}, // the parent of the target, as the kernel has it
		{".", "src/back", in("src/a.go")},
		{".", "src/dotdot", in(".")},
		{".", "dangling", in("src/new.go")},
		{".", "tozone", zone("zone", "z")},
		{".", "tozonedir/sub/new", zone("zone", "sub/new")},
		{"src", "a.go", in("src/a.go")},
		{"src/deep", "../a.go", in("src/a.go")},
		{"indir", "a.go", in("src/a.go")},
		{".", "/zone", zone("zone", ".")},
		{".", "/zone/z", zone("zone", "z")},
		{".", "/zone//./sub/../z", zone("zone", "z")},
		{".", "/zone/out", in("src/a.go")},
		{".", ".cache/c", zone("inner", "c")},
		{".", ".cache", zone("inner", ".")},
		{".", ".cache/new/x", zone("inner", "new/x")},
		{".", "cache/x", in("cache/x")},
		{".", filepath.Join(base, "ws/src/a.go"), in("src/a.go")},
		{".", filepath.Join(base, "alias/src/a.go"), in("src/a.go")},
		{".", filepath.Join(base, "ws"), in(".")},
		{".", filepath.Join(base, "ws/.cache/c"), zone("inner", "c")},
		{".", filepath.Join(base, "zone/z"), zone("zone", "z")},
	}
	for _, tt := range tests {
		got, err := w.Resolve(in(tt.dir), tt.spelling)
		if err != nil || got != tt.want {
			t.Errorf("Resolve(%q, %q) = %+v, %v; want %+v", tt.dir, tt.spelling, got, err, tt.want)
			continue
		}
		if real, err := filepath.EvalSymlinks(w.Host(got)); err == nil && real != w.Host(got) {
			t.Errorf("%q resolved to %s, which is really %s", tt.spelling, w.Host(got), real)
		}
	}
	for spelling, want := range map[string]tongs.Path{
		"in": in("in"), "in/": in("in"), "up": in("up"), "indir/deep": in("src/deep"), "loop1": in("loop1"),
		"updir": in("updir"), "src/back": in("src/back"), "indir/back": in("src/back"),
	} {
		if got, err := w.ResolveEntry(in("."), spelling); err != nil || got != want {
			t.Errorf("ResolveEntry(%q) = %+v, %v; want %+v", spelling, got, err, want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	w, base := resolving(t)
	tests := []struct{ spelling, word string }{
		{"", "empty"},
		{"a\x00b", "NUL"},
		{"src/\xff", "UTF-8"},
		{strings.Repeat("a/", 2100), "bytes long"},
		{strings.Repeat("a", 256), "bytes long"},
		{"src/" + strings.Repeat("é", 200), "bytes long"},
		{"~", "not expanded"},
		{"~/x", "not expanded"},
		{"..", "beyond the workspace"},
		{"../ws/src/a.go", "beyond the workspace"},
		{"../outside/secret", "beyond"},
		{"src/../../outside/secret", "beyond"},
		{"src/../../ws/src", "beyond"},
		{"./.././../etc/passwd", "beyond"},
		{"/", "outside the workspace"},
		{"//", "outside the workspace"},
		{"/etc/passwd", "outside the workspace"},
		{"//etc/passwd", "outside"},
		{"/../etc", "outside"},
		{"/nozone/x", "outside"},
		{"/zone/..", "beyond the zone /zone"},
		{"/zone/../outside/secret", "beyond"},
		{"/zone/evil", "zone/evil → ../outside/secret"},
		{".cache/..", "beyond the zone /inner"},
		{filepath.Join(base, "outside/secret"), "outside the workspace"},
		{base + "/ws/../outside/secret", "beyond"},
		{base + "/wsx", "outside"},
		{base + "/alias/../outside/secret", "beyond"},
		{"up", "up → ../outside/secret"},
		{"updir/secret", "updir → ../outside"},
		{"gone", "gone → ../outside/nothing"},
		{"absup", "absup → "},
		{"chain1/secret", "updir → ../outside"},
		{"throughlink", "src/dotdot → .."},
		{"magic", "magic → /proc"},
		{"badlink", "not a path"},
		{"loop1", "loop"},
		{"self/x", "loop"},
		{"src/a.go/x", "is a file"},
		{"src/a.go/", "is a file"},
		{"src/a.go/..", "is a file"},
		{"in/..", "is a file"},
	}
	for _, tt := range tests {
		got, err := w.Resolve(in("."), tt.spelling)
		if err == nil {
			t.Errorf("Resolve(%.60q) = %+v, want INVALID_PATH", tt.spelling, got)
			continue
		}
		wantCode(t, err, tongs.CodeInvalidPath, tt.word)
	}
	_, err := w.Resolve(in("."), "missing/../src")
	wantCode(t, err, tongs.CodeFileNotFound, "missing")
	for _, dir := range []tongs.Path{in("../outside"), in("/etc"), {Root: "nozone", Rel: "."}, in(".cache"), in("a/../b")} {
		_, err := w.Resolve(dir, "x")
		wantCode(t, err, tongs.CodeInvalidPath)
	}
}

func TestManyLinks(t *testing.T) {
	files := map[string]string{"l00": "end"}
	for i := 1; i <= 41; i++ {
		files["l"+itoa(i)] = "-> l" + itoa(i-1)
	}
	w := newWorkspace(t, files)
	if got, err := w.Resolve(in("."), "l40"); err != nil || got != in("l00") {
		t.Errorf("40 links: %+v, %v", got, err)
	}
	_, err := w.Resolve(in("."), "l41")
	wantCode(t, err, tongs.CodeInvalidPath, "more than 40")
}

func itoa(i int) string { return string(rune('0'+i/10)) + string(rune('0'+i%10)) }

func TestLongPaths(t *testing.T) {
	w := newWorkspace(t, nil)
	// 4096 bytes are a legal spelling, but more than the kernel takes with the workspace in front.
	long := strings.Repeat(strings.Repeat("d", 240)+"/", 17)[:4096]
	_, err := w.Resolve(in("."), long)
	if err == nil { // nothing of it exists, so that it resolves; using it fails
		_, err = w.View(in(".")).Stat(in(long))
	}
	if code := tongs.CodeOf(err); code != tongs.CodeInvalidPath && code != tongs.CodeFileNotFound {
		t.Errorf("got %v", err)
	}
	files, _ := decide(t, w, writing(in(long[:4095])))
	_, err = files.Replace(t.Context(), in(long[:4095]), tongs.Replacing{MakeDirs: true}, content("x"))
	if err != nil {
		wantCode(t, err, tongs.CodeInvalidPath, "too long")
	}
	noLitter(t, w)
}

func TestNamesOfBytes(t *testing.T) {
	w := newWorkspace(t, map[string]string{"bad\xff": "raw", `bad\xff`: "escaped", "new\nline": "n", "dir\xfe/x": "x"})
	v := w.View(in("."))
	seen := map[string]tongs.FileType{}
	for info, err := range v.ReadDir(in(".")) {
		must(t, err)
		seen[info.Path.Rel] = info.Type
	}
	if len(seen) != 3 || seen["new\nline"] != tongs.FileRegular || seen[`dir\xfe`] != tongs.FileOther {
		t.Errorf("listed %q", seen)
	}
	for _, rel := range []string{"bad\xff", "dir\xfe/x"} {
		_, err := v.Open(in(rel))
		wantCode(t, err, tongs.CodeInvalidPath, "UTF-8")
		_, err = w.Check([]tongs.Effect{writing(in(rel))})
		wantCode(t, err, tongs.CodeInvalidPath)
	}
	// The escaped name is the name of another file and means that one only.
	files, _ := decide(t, w, deleting(in(`bad\xff`)))
	_, err := files.Remove(t.Context(), in(`bad\xff`), false)
	must(t, err)
	if got := readHost(t, w, "bad\xff"); got != "raw" {
		t.Errorf("the raw file holds %q", got)
	}
}

// TestCase uses a directory that ignores case where the kernel lets us make one, and names that differ only by case
// everywhere.
func TestCase(t *testing.T) {
	dir := t.TempDir()
	folding := mountFolding(t, dir)
	t.Logf("ignores case: %v", folding)
	must(t, os.MkdirAll(filepath.Join(dir, "Src"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "Src", "Main.go"), nil, 0o644))
	w := openOn(t, Options{Dir: dir}, openHandle)
	got, err := w.Resolve(in("."), "sRC/mAIN.GO")
	must(t, err)
	if folding && got != in("Src/Main.go") {
		t.Errorf("resolved to %+v on a file system that ignores case", got)
	}
	if !folding && got != in("sRC/mAIN.GO") {
		t.Errorf("resolved to %+v on a file system that does not ignore case", got)
	}
	if stripe(w.Host(in("New"))) != stripe(w.Host(in("nEW"))) {
		t.Error("two spellings of a new name have different locks")
	}
}

// TestDiskName simulates a file system that ignores case by a hard link.
func TestDiskName(t *testing.T) {
	w := newWorkspace(t, map[string]string{"Read.Me": "x", "other": ""})
	must(t, os.Link(filepath.Join(w.Dir(), "Read.Me"), filepath.Join(w.Dir(), "rEAD.mE")))
	for _, name := range []string{"Read.Me", "rEAD.mE", "other", "none"} {
		if got := diskName(w.Dir(), name); got != name {
			t.Errorf("diskName(%q) = %q", name, got)
		}
	}
}

func TestPickName(t *testing.T) {
	names := []string{"README", "Makefile", "caf\u00e9", ".git", "a~b"}
	leads := map[string]string{"makefile": "Makefile", "cafe\u0301": "caf\u00e9", "GIT~1": ".git", "readme": "other"}
	for name, want := range map[string]string{
		"makefile": "Makefile", "cafe\u0301": "caf\u00e9", "GIT~1": ".git", "readme": "readme", "none": "none", "a~c": "a~c",
	} {
		if got := pickName(name, names, func(other string) bool { return leads[name] == other }); got != want {
			t.Errorf("pickName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestWindowsNames(t *testing.T) {
	for _, name := range []string{
		"C:", "a:stream", ".git::$INDEX_ALLOCATION", "CON", "nul", "aux.txt", "Com1", "LPT9.x", "com¹", "conin$", "NUL .txt",
		"a.", "a ", "...", "a\\b", "a?b", "a\x01", "a*",
	} {
		if windowsName(name) == "" {
			t.Errorf("%q is accepted on Windows", name)
		}
	}
	for _, name := range []string{"a.txt", ".git", "common", "COM", "com10", "lpt", "console", "naïve", "a b"} {
		if why := windowsName(name); why != "" {
			t.Errorf("%q is refused on Windows: %s", name, why)
		}
	}
}
