package ignore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/ignore"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		file, path string
		dir        bool
		want       ignore.Verdict
	}{
		{"", "a", false, ignore.Silent},
		{"# a\n\n", "a", false, ignore.Silent},
		{"a", "a", false, ignore.Excluded},
		{"a", "x/a", false, ignore.Excluded},
		{"/a", "x/a", false, ignore.Silent},
		{"a/", "a", false, ignore.Silent},
		{"a/", "a", true, ignore.Excluded},
		{"x/a", "x/a", false, ignore.Excluded},
		{"x/a", "y/x/a", false, ignore.Silent},
		{"**/x/a", "y/x/a", false, ignore.Excluded},
		{"a\n!a", "a", false, ignore.Included},
		{"!a\na", "a", false, ignore.Excluded},
		{"*.go\n!b.go", "b.go", false, ignore.Included},
		{"!b.go\n*.go", "b.go", false, ignore.Excluded},
		{"a  \r\n", "a", false, ignore.Excluded},
		{`a\ ` + "\n", "a ", false, ignore.Excluded},
		{`a\  ` + "\n", "a ", false, ignore.Excluded},
		{`a\\  ` + "\n", `a\`, false, ignore.Excluded},
		{"\xef\xbb\xbfa", "a", false, ignore.Excluded},
		{`\#a`, "#a", false, ignore.Excluded},
		{`\!a`, "!a", false, ignore.Excluded},
		{"a/**", "a", true, ignore.Silent},
		{"a/**", "a/b/c", false, ignore.Excluded},
		{"a/**/b", "a/b", false, ignore.Excluded},
		{"foo**/bar", "foobar", false, ignore.Excluded}, // as git has it
		{"[[:alpha:]]", "x", false, ignore.Excluded},
		{"[[:nope:]]", "x", false, ignore.Silent},
		{"[a", "[a", false, ignore.Silent},
		{`a\`, "a", false, ignore.Silent},
	} {
		if got := ignore.Parse([]byte(c.file), false).Match(c.path, c.dir); got != c.want {
			t.Errorf("%q on %q (dir %v): %d, want %d", c.file, c.path, c.dir, got, c.want)
		}
	}
	if ignore.Parse([]byte("A\nB.TXT"), true).Match("b.txt", false) != ignore.Excluded {
		t.Error("case is not folded")
	}
}

// Whatever the pattern and the path are, matching ends soon.
func TestHostilePatternsEnd(t *testing.T) {
	path := strings.Repeat(strings.Repeat("a", 100)+"/", 40) + "b"
	for _, p := range []string{
		strings.Repeat("*a", 100) + "c", strings.Repeat("**/*a", 100) + "/c", "/" + strings.Repeat("a*", 500),
		strings.Repeat("**/", 500) + "c", "x/" + strings.Repeat("[a]*?", 300), strings.Repeat("*", 5000) + "c",
	} {
		if v := ignore.Parse([]byte(p), false).Match(path, false); v != ignore.Silent {
			t.Errorf("%.20q matches", p)
		}
	}
}

func TestCacheIsByContent(t *testing.T) {
	var c ignore.Cache
	a := c.Parse([]byte("*.go"), false)
	if c.Parse([]byte("*.go"), false) != a {
		t.Error("equal content made another list")
	}
	if c.Parse([]byte("*.go"), true) == a || c.Parse([]byte("*.c"), false) == a {
		t.Error("different content made the same list")
	}
	if c.Parse(nil, false) != nil {
		t.Error("nothing made a list")
	}
	for i := range 20 { // far more than it remembers
		c.Parse([]byte(fmt.Sprint(i)+strings.Repeat("# comment\n", 200_000)), false)
	}
	if got := c.Parse([]byte("*.go"), false); got.Match("a.go", false) != ignore.Excluded {
		t.Error("wrong after it was emptied")
	}
}

func TestConfigurationOfGit(t *testing.T) {
	home, top := t.TempDir(), t.TempDir()
	put := func(dir, name, content string) {
		t.Helper()
		host := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(host), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(host, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(top, ".git/HEAD", "ref: refs/heads/main\n")
	put(home, "default", "by-default\n")
	put(home, "my ignores", "by-setting\n")
	put(top, "local", "by-repository\n")
	user := ignore.User{Home: home, Config: []string{filepath.Join(home, "sys"), filepath.Join(home, ".gitconfig")}, Ignore: filepath.Join(home, "default")}
	for _, c := range []struct{ global, local, ignored string }{
		{"", "", "by-default"},
		{"[core]\n\texcludesFile = ~/my ignores # comment\n", "", "by-setting"},
		{"[core] excludesfile=\"~/my ignores\"", "", "by-setting"},
		{"[CORE]\nExcludesFile = \"~/my \\\nignores\"\n", "", "by-setting"},
		{"[core]\n\texcludesFile =\n", "", ""},
		{"[core \"sub\"]\n\texcludesFile = ~/my ignores\n", "", "by-default"},
		{"[other]\nexcludesFile = x\n[include]\n\tpath = included\n", "", "by-setting"},
		{"[include]\npath = ~/.gitconfig\n", "", "by-default"},
		{"[core]\nexcludesFile = ~/my ignores\n", "[core]\nexcludesFile = local\n", "by-repository"},
		{"garbage [[[ \x00", "=\n[", "by-default"},
		{"[core]\nignorecase\n", "", "BY-DEFAULT"},
		{"[core]\nignorecase = true\n", "[core]\nignorecase = no\n", "by-default"},
	} {
		put(home, ".gitconfig", c.global)
		put(home, "included", "[core]\nexcludesFile = \"~/my ignores\"\n")
		put(top, ".git/config", c.local)
		rd := &ignore.Reader{User: user}
		rules := (*ignore.Rules)(nil).Enter(0, ignore.Files{}, rd.Repository(top))
		for _, name := range []string{"by-default", "by-setting", "by-repository", "BY-DEFAULT"} {
			want := strings.EqualFold(name, c.ignored)
			if !strings.Contains(c.global+c.local, "ignorecase") || c.ignored == "by-default" {
				want = name == c.ignored
			}
			if got := rules.Ignored(name, false); got != want {
				t.Errorf("%q and %q: %s is ignored: %v", c.global, c.local, name, got)
			}
		}
	}
	if (&ignore.Reader{}).Repository(t.TempDir()) != nil {
		t.Error("a directory without .git is a repository")
	}
}

func TestCurrentUser(t *testing.T) {
	t.Setenv("HOME", "/h")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if u := ignore.CurrentUser(); u.Ignore != filepath.Join("/h", ".config/git/ignore") || len(u.Config) != 2 || u.Config[1] != filepath.Join("/h", ".gitconfig") {
		t.Errorf("%+v", u)
	}
	t.Setenv("XDG_CONFIG_HOME", "/x")
	t.Setenv("GIT_CONFIG_GLOBAL", "/own")
	if u := ignore.CurrentUser(); u.Ignore != filepath.Join("/x", "git/ignore") || len(u.Config) != 1 || u.Config[0] != "/own" {
		t.Errorf("%+v", u)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*.go\n!a/**/b[[:alpha:]-z]\\ \n", "a/b/c.go")
	f.Fuzz(func(t *testing.T, file, path string) {
		if path == "" || path[0] == '/' || path[len(path)-1] == '/' {
			return
		}
		for _, fold := range []bool{false, true} {
			l := ignore.Parse([]byte(file), fold)
			l.Match(path, true)
			l.Match(path, false)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	var file strings.Builder
	for i := range 40 {
		fmt.Fprintf(&file, "name%d\n*.ext%d\n/dir%d/\nsome%d/**/x*\n", i, i, i, i%4)
	}
	l := ignore.Parse([]byte(file.String()+"*~\n*.py[cod]\n!keep\n"), false)
	b.ReportAllocs()
	for b.Loop() {
		l.Match("src/cmd/internal/walk_test.go", false)
	}
}

func ExampleRules() {
	top := ignore.Parse([]byte("*.log\nbuild/\n"), false)
	sub := ignore.Parse([]byte("!keep.log\n"), false)

	// Rules derive from those of the directory above. Paths are given from the top on; base says where in them the part
	// below the directory begins.
	root := (*ignore.Rules)(nil).Enter(0, ignore.Files{ignore.Git: top}, nil)
	logs := root.Enter(len("logs/"), ignore.Files{ignore.Git: sub}, nil)
	fmt.Println(root.Ignored("a.log", false), root.Ignored("build", true), root.Ignored("build", false))
	fmt.Println(logs.Ignored("logs/a.log", false), logs.Ignored("logs/keep.log", false))
	// Output:
	// true true false
	// true false
}
