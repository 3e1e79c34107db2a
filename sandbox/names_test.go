package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

func tree4(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		p := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func relative(dir string, paths []string) (out []string) {
	for _, p := range paths {
		out = append(out, strings.TrimPrefix(p, dir+"/"))
	}
	slices.Sort(out)
	return out
}

func TestFindingNames(t *testing.T) {
	dir := tree4(t, ".git/hooks/x", ".git/config", ".git/modules/m/HEAD", ".git/modules/m/objects/x", ".git/modules/m/refs/x", "sub/.git", "a/.github/workflows/ci.yml",
		"a/.github/README", "b/.ENV", "b/prod.env", "b/Example.env", "b/env", "node_modules/p/.envrc", "c/.envrc", "d/HEAD", "d/refs/x", "d/objects/x", "e/x.worker/y")
	s := scanNames(nil, []string{dir}, nameLists{protect: []string{".git", ".github/workflows", ".envrc", "*.worker"}, hide: []string{".env", "*.env"}, open: []string{"example.env"}}, []string{filepath.Join(dir, "e/x.worker")}, nil)
	want := []string{"a/.github/workflows", "c/.envrc", "sub/.git"}
	for _, git := range []string{".git", ".git/modules/m", "d"} {
		want = append(want, gitdir.PartsOf(git)...)
	}
	slices.Sort(want)
	if got := relative(dir, s.protected); !slices.Equal(got, want) {
		t.Errorf("protected:\n got %v\nwant %v", got, want)
	}
	if got := relative(dir, s.hidden); !slices.Equal(got, []string{"b/.ENV", "b/prod.env"}) {
		t.Errorf("hidden: %v", got)
	}
	if got := s.appeared(nowhere); len(got) > 0 {
		t.Errorf("appeared without anything happening: %v", got)
	}
	for _, f := range []string{"z/deep/.envrc", "f/.git/hooks/x", "g/HEAD", "g/objects/x", "g/refs/x", "g/config"} {
		p := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := relative(dir, s.appeared(nowhere)); !slices.Equal(got, []string{"f/.git/hooks", "g/config", "z/deep/.envrc"}) {
		t.Errorf("appeared: %v", got)
	}
}

func TestMatchingNames(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		match         bool
	}{
		{".env", ".env", true},
		{".env", ".envx", false},
		{"*.env", "x.env", true},
		{"*.env", ".env", true},
		{".env.*", ".env.local", true},
		{".env.*", ".env", false},
		{"a*b", "ab", true},
		{"a*b", "a", false},
		{"lefthook.y*ml", "lefthook.yaml", true},
		{"lefthook.y*ml", "lefthook.yml", true},
	} {
		if got := matchName(c.pattern, c.name); got != c.match {
			t.Errorf("%s matches %s: %v", c.pattern, c.name, got)
		}
	}
}

func TestResolving(t *testing.T) {
	dir := tree4(t, "real/file")
	for at, to := range map[string]string{"rel": "real", "abs": filepath.Join(dir, "real"), "twice": "rel/../abs", "loop": "loop2", "loop2": "loop", "broken": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path, want string
		links      int
	}{{"real/file", "real/file", 0}, {"rel/file", "real/file", 1}, {"abs/file", "real/file", 1}, {"twice/file", "real/file", 3}, {"real/../rel", "real", 1}} {
		got, links, err := resolve(filepath.Join(dir, c.path))
		if err != nil || got != filepath.Join(dir, c.want) || len(links) != c.links {
			t.Errorf("%s: %s %v %v", c.path, got, links, err)
		}
	}
	for _, bad := range []string{"relative", filepath.Join(dir, "loop"), filepath.Join(dir, "broken"), filepath.Join(dir, "real/file/x")} {
		if got, _, err := resolve(bad); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

func TestFindingWhatWasDenied(t *testing.T) {
	dir := tree4(t, "ws/.env", "ws/.git/hooks/x", "ws/a", "home/.ssh/id", "lib/x")
	ws := filepath.Join(dir, "ws")
	res := &resolved{
		trees: []tree{{path: filepath.Join(dir, "lib")}, {path: ws, kind: MountDecided}}, hidden: []string{filepath.Join(ws, ".env")}, protected: []string{filepath.Join(ws, ".git/hooks")},
	}
	for _, c := range []struct {
		line string
		mode NetworkMode
		want []Denial
	}{
		{"cat: " + dir + "/home/.ssh/id: No such file or directory", "", []Denial{{Kind: "read", Path: dir + "/home/.ssh/id"}}},
		{"cat: '" + dir + "/home': Permission denied", "", []Denial{{Kind: "read", Path: dir + "/home"}}},
		{"cat: .env: Permission denied", "", []Denial{{Kind: "read", Path: ws + "/.env"}}},
		{"bash: line 1: .git/hooks/pre-commit: Read-only file system", "", []Denial{{Kind: "write", Path: ws + "/.git/hooks/pre-commit"}}},
		{"cat: .git/hooks/pre-commit: No such file or directory", "", nil},
		{"rm: cannot remove '.git/hooks/x': Read-only file system", "", []Denial{{Kind: "write", Path: ws + "/.git/hooks/x"}}},
		{"touch: cannot touch '" + dir + "/lib/new': Read-only file system", "", []Denial{{Kind: "write", Path: dir + "/lib/new"}}},
		{"cat: nothing: No such file or directory", "", nil},
		{"cat: " + dir + "/home/absent: No such file or directory", "", nil},
		{"Error: EACCES: permission denied, open '" + dir + "/home/.ssh/id'", "", []Denial{{Kind: "read", Path: dir + "/home/.ssh/id"}}},
		{"curl: (6) Could not resolve host: example.org", "", []Denial{{Kind: "network", Host: "example.org"}}},
		{"npm error request to https://packages.example.com/x failed, reason: getaddrinfo EAI_AGAIN packages.example.com", "", []Denial{{Kind: "network", Host: "packages.example.com"}}},
		{"Get \"https://modules.example.com\": dial tcp: lookup modules.example.com on [::1]:53", "", []Denial{{Kind: "network", Host: "modules.example.com"}}},
		{"curl: (6) Could not resolve host: example.org", NetworkOpen, nil},
		{"all is well with " + dir + "/home/.ssh/id", "", nil},
	} {
		if got := findDenied(c.line+"\n", ws, res, c.mode); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %v\nwant %v", c.line, got, c.want)
		}
	}
	long := strings.Repeat("cat: "+dir+"/home/.ssh/id: Permission denied\n", 1000)
	if got := findDenied(long, ws, res, ""); len(got) != 1 {
		t.Errorf("%d denials for one path", len(got))
	}
}

// Text of any kind does no harm.
func FuzzFindDenied(f *testing.F) {
	f.Add("cat: /etc/shadow: Permission denied")
	f.Add("getaddrinfo ENOTFOUND x\x00y")
	res := &resolved{trees: []tree{{path: "/usr"}}}
	f.Fuzz(func(t *testing.T, text string) {
		if got := findDenied(text, "/", res, ""); len(got) > maxDenied {
			t.Errorf("%d denials", len(got))
		}
	})
}

func TestSeatbeltProfiles(t *testing.T) {
	res := &resolved{
		trees: []tree{{path: "/usr"}, {path: `/Users/a/we"ird`, kind: MountDecided}, {path: `/Users/a/we"ird/ro`}}, protected: []string{`/Users/a/we"ird/sub/.git/hooks`},
		hidden: []string{`/Users/a/we"ird/.env`}, absent: []string{`/Users/a/we"ird/.vscode`},
	}
	got := seatbeltProfile(res, "/private/tmp/x", NetworkProxy, "4711")
	last := -1
	for _, line := range []string{
		"(deny default)", `(allow file-write* (subpath "/Users/a/we\"ird"))`, `(deny file-write* (subpath "/Users/a/we\"ird/ro"))`, `(allow file-write* (subpath "/private/tmp/x"))`,
		`(deny file-write* (subpath "/Users/a/we\"ird/sub/.git/hooks"))`, `(deny file-write-unlink (literal "/Users/a/we\"ird/sub/.git"))`,
		`(deny file-write* (subpath "/Users/a/we\"ird/.vscode"))`, `(deny file-read* file-write* (subpath "/Users/a/we\"ird/.env"))`,
		`(allow network-outbound (remote ip "localhost:4711"))`,
	} {
		i := strings.Index(got, line)
		if i <= last {
			t.Errorf("%s is not where it should be in:\n%s", line, got)
		}
		last = i
	}
	if strings.Contains(seatbeltProfile(res, "/t", NetworkNone, ""), "network") {
		t.Error("a profile without a network speaks of it")
	}
}

func BenchmarkFindDenied(b *testing.B) {
	text := strings.Repeat("ok   github.com/example/package/sub/name 0.123s coverage: 81.2% of statements in ./...\n", 400)
	res := &resolved{trees: []tree{{path: "/usr"}}}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		findDenied(text, "/", res, "")
	}
}

// nowhere is where nothing is held back.
func nowhere(string) bool { return false }
