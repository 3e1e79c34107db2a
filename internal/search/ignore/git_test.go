package ignore_test

import (
	"bytes"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// repo is a git repository to compare with.
type repo struct {
	*testing.T
	dir, home string
}

func newRepo(t *testing.T, config ...string) *repo {
	t.Helper()
	dir := tempDir(t)
	r := &repo{t, filepath.Join(dir, "repo"), filepath.Join(dir, "home")}
	for _, d := range []string{r.dir, r.home} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	r.git("init", "-q", ".")
	for i := 0; i+1 < len(config); i += 2 {
		r.git("config", config[i], config[i+1])
	}
	return r
}

// tempDir is t.TempDir, in memory where the system has such a place: these tests make many thousand files.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ignore")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// user is the user that git runs for in these tests, whatever this machine's configuration is.
func (r *repo) user() ignore.User {
	return ignore.User{
		Home: r.home, Config: []string{filepath.Join(r.home, ".config/git/config"), filepath.Join(r.home, ".gitconfig")},
		Ignore: filepath.Join(r.home, ".config/git/ignore"),
	}
}

func (r *repo) git(args ...string) []byte {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// write makes a file below the repository, with its directories.
func (r *repo) write(rel, content string) {
	r.Helper()
	name := filepath.Join(r.dir, filepath.FromSlash(rel))
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err == nil {
		err = os.WriteFile(name, []byte(content), 0o666)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// wanted is what git lists, ours what the walker visits; both sorted.
func (r *repo) wanted() []string {
	r.Helper()
	list := strings.Split(strings.TrimSuffix(string(r.git("ls-files", "-co", "--exclude-standard", "-z")), "\x00"), "\x00")
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.Sort(list)
	return list
}

func (r *repo) ours() (list []string) {
	r.Helper()
	var mu sync.Mutex
	err := walk.Walk(r.Context(), walk.Options{
		Root: r.dir, Hidden: true, Ignore: &ignore.Reader{User: r.user(), Cache: &ignore.Cache{}},
	}, func(e *walk.Entry) error {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, e.Rel)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// compareSome is compare for a tree that is neither ignored as a whole nor not at all.
func (r *repo) compareSome() {
	r.Helper()
	listed, all := r.compare(), 0
	err := walk.Walk(r.Context(), walk.Options{
		Root: r.dir, Sorted: true, NoIgnore: true, Hidden: true,
		Skip: func(rel string, _ bool) bool { return rel == ".git" },
	}, func(*walk.Entry) error {
		all++
		return nil
	})
	if err != nil || listed < all/20 || listed > all-all/20 {
		r.Errorf("%d of %d files are not ignored (%v); that compares little", listed, all, err)
	}
}

// compare fails for each path that one lists and the other does not. It returns how many git lists.
func (r *repo) compare() int {
	r.Helper()
	git, own := r.wanted(), r.ours()
	wrong := 0
	for _, p := range difference(own, git) {
		wrong++
		r.explain(wrong, p, "visited, but git ignores it")
	}
	for _, p := range difference(git, own) {
		wrong++
		r.explain(wrong, p, "left out, but git lists it")
	}
	return len(git)
}

func difference(a, b []string) (only []string) {
	for _, s := range a {
		if _, found := slices.BinarySearch(b, s); !found {
			only = append(only, s)
		}
	}
	return only
}

// explain shows the ignore files above a path that was judged wrongly.
func (r *repo) explain(nth int, rel, what string) {
	r.Helper()
	if r.Fail(); nth > 10 {
		return
	}
	var b strings.Builder
	for dir := filepath.Dir(rel); ; dir = filepath.Dir(dir) {
		if content, err := os.ReadFile(filepath.Join(r.dir, dir, ".gitignore")); err == nil {
			fmt.Fprintf(&b, "\n\t%s: %q", filepath.Join(dir, ".gitignore"), content)
		}
		if dir == "." {
			break
		}
	}
	r.Errorf("%q %s%s", rel, what, b.String())
}

// cases is how many cases a generated test has: a few thousand, or as many as TONGS_IGNORE_CASES says.
func cases(t *testing.T, standard int) int {
	if s := os.Getenv("TONGS_IGNORE_CASES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return standard
}

// Each case is a directory of one repository with ignore files of its own, so that git runs once for hundreds of them.
func TestGeneratedPatternsAsGit(t *testing.T) {
	const batch = 500
	for seed := range cases(t, 4000) / batch {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			fold := seed%4 == 3
			r := newRepo(t, "core.ignorecase", strconv.FormatBool(fold))
			g := generator{rand.New(rand.NewPCG(uint64(seed), 4))}
			for i := range batch {
				g.generate(r, fmt.Sprintf("c%d/", i))
			}
			r.compareSome()
		})
	}
}

func TestGeneratedExcludeFilesAsGit(t *testing.T) {
	for seed := range cases(t, 40) {
		if seed == 400 {
			break
		}
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			g := generator{rand.New(rand.NewPCG(uint64(seed), 5))}
			paths := g.generate(r, "")
			for i := range 3 {
				paths = append(paths, g.generate(r, fmt.Sprintf("d%d/", i))...)
			}
			r.write(".git/info/exclude", g.file(paths))
			global := filepath.Join(r.home, ".config/git/ignore")
			if seed%2 == 0 {
				global = filepath.Join(r.home, "own ignores")
				r.git("config", "--global", "core.excludesFile", "~/own ignores")
			}
			if err := os.MkdirAll(filepath.Dir(global), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(global, []byte(g.file(paths)), 0o666); err != nil {
				t.Fatal(err)
			}
			r.compare()
		})
	}
}

// TestRealTreeAsGit strews ignore files over a tree with the names of Go's own source.
func TestRealTreeAsGit(t *testing.T) {
	src := filepath.Join(build.Default.GOROOT, "src")
	var paths []string
	if err := walk.Walk(t.Context(), walk.Options{Root: src, Sorted: true, Hidden: true, NoIgnore: true}, func(e *walk.Entry) error {
		if e.Type == walk.File && e.Name() != ".gitignore" {
			paths = append(paths, e.Rel)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(paths) < 5000 {
		t.Fatalf("only %d files in %s", len(paths), src)
	}
	r := newRepo(t)
	for _, p := range paths {
		r.write(p, "")
	}
	for round := range 6 {
		g := generator{rand.New(rand.NewPCG(uint64(round), 6))}
		for range 40 {
			p := paths[g.IntN(len(paths))]
			for range g.IntN(3) {
				p = filepath.Dir(p)
			}
			dir := filepath.Dir(p)
			var below []string
			for range 50 {
				if rel, err := filepath.Rel(dir, paths[g.IntN(len(paths))]); err == nil && !strings.HasPrefix(rel, "..") {
					below = append(below, rel)
				}
			}
			if below = append(below, filepath.Base(p)); dir != "." {
				r.write(dir+"/.gitignore", g.file(below))
			}
		}
		r.write(".gitignore", g.plain(paths)+g.plain(paths)+"!*.go\n"+g.plain(paths))
		r.compareSome()
	}
}

// plain is an ignore file as people write them.
func (g generator) plain(paths []string) string {
	var b strings.Builder
	for range 5 {
		p := paths[g.IntN(len(paths))]
		switch g.IntN(6) {
		case 0:
			p = "*" + filepath.Ext(p)
		case 1:
			p = "/" + filepath.Dir(p) + "/"
		case 2:
			p = "**/" + filepath.Base(filepath.Dir(p)) + "/*_test.go"
		case 3:
			p = filepath.Base(p)
		case 4:
			p = filepath.Dir(filepath.Dir(p)) + "/**/*.s"
		case 5:
			p = "!" + p
		}
		b.WriteString(p + "\n")
	}
	return b.String()
}

// generator makes trees and patterns that are hard to get right.
type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) name() string {
	return g.pick("a", "b", "ab", "aa", "ba", "abc", "A", "foo", "bar", "foo.txt", "bar.txt", "x.tar.gz", ".h", ".a.b", "a b",
		" s", "t ", "#x", "!y", "[a]", "a*", "*", "?", "a-b", "]", "-", "^", `b\c`, `\`, "é", "ñandú", "build", "Build", "z9", "1",
		"a\tb", "n\nl", "\x01", "\xff", "~", "{a,b}", "**", "a/b"[:1], "temp", "tmp", ":", "a]", "[", "B.TXT")
}

// generate makes the tree of one case below prefix and returns its paths.
func (g generator) generate(r *repo, prefix string) (paths []string) {
	r.Helper()
	dirs := []string{""}
	for range 2 + g.IntN(5) {
		dirs = append(dirs, dirs[g.IntN(len(dirs))]+g.name()+"/")
	}
	kind := map[string]bool{} // whether it is a directory
	for _, d := range dirs {
		for i := range len(d) {
			if d[i] == '/' {
				kind[d[:i]] = true
			}
		}
	}
	for range 5 + g.IntN(8) {
		p := dirs[g.IntN(len(dirs))] + g.name()
		if !kind[p] {
			r.write(prefix+p, "")
			paths = append(paths, p)
		}
	}
	for d := range kind {
		paths = append(paths, d+"/")
	}
	slices.Sort(paths)
	if g.IntN(6) == 0 {
		_ = os.Symlink(g.pick(".", "..", "a", "nowhere"), filepath.Join(r.dir, prefix, dirs[g.IntN(len(dirs))], "link"))
	}
	for range 1 + g.IntN(3) {
		d := ""
		if g.IntN(2) == 0 {
			d = dirs[g.IntN(len(dirs))]
		}
		var below []string
		for _, p := range paths {
			if rest, ok := strings.CutPrefix(p, d); ok && rest != "" {
				below = append(below, rest)
			}
		}
		if len(below) > 0 {
			r.write(prefix+d+".gitignore", g.file(below))
		}
	}
	return paths
}

// file makes an ignore file about the given paths.
func (g generator) file(paths []string) string {
	var b strings.Builder
	if g.IntN(20) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for range 1 + g.IntN(6) {
		switch g.IntN(16) {
		case 0:
			b.WriteString(g.pick("", "#", "# a", "!", "/", "//", "   ", "\\", "!/", "**", "/**", "**/", "*", "!*", "!*/", "*/", "[", "[]", "[!]", "\r", "\\ "))
		case 1:
			b.WriteString(g.garbage())
		default:
			b.WriteString(g.pattern(paths[g.IntN(len(paths))]))
		}
		b.WriteString(g.pick("\n", "\n", "\n", "\n", "\n", "\r\n", " \n", "  \n", "\t\n", "\\ \n", "\x00z\n"))
	}
	s := b.String()
	if g.IntN(4) == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

// garbage is a pattern of characters that mean something.
func (g generator) garbage() string {
	var b strings.Builder
	for range 1 + g.IntN(9) {
		b.WriteString(g.pick("a", "b", "*", "*", "**", "?", "/", "/", "[", "]", "!", "^", "-", `\`, "[a", "[!a]", "[[:alpha:]]", ".", " ", "f", "[]a]", "[a-b]"))
	}
	return b.String()
}

// pattern makes a pattern of a path: as it is, or with some of it replaced by wildcards that may still match it.
func (g generator) pattern(path string) string {
	dir := strings.HasSuffix(path, "/")
	elems := strings.Split(strings.TrimSuffix(path, "/"), "/")
	switch g.IntN(5) {
	case 0, 1:
		elems = elems[len(elems)-1:]
	case 2:
		from := g.IntN(len(elems))
		elems = elems[from : from+1+g.IntN(len(elems)-from)]
	}
	for i, e := range elems {
		switch g.IntN(8) {
		case 0:
			elems[i] = g.pick("*", "**", "***", "?", "*?", "?*")
		case 1, 2, 3:
			elems[i] = g.vague(e)
		case 4:
			elems[i] = g.pick("**/", "**", "*/") + e
		default:
			elems[i] = e
		}
	}
	s := strings.Join(elems, "/")
	s = g.pick("", "", "", "", "!", "!", "/", "/", "**/", "!/", "!**/", "*", "\\", "./", "**") + s
	s += g.pick("", "", "", "", "", "/**", "/*", "*", "**", "/**/", "?", "\\", "//", "/**/*")
	if dir && g.IntN(2) == 0 || g.IntN(8) == 0 {
		s += "/"
	}
	return s
}

// vague replaces some characters by wildcards.
func (g generator) vague(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i : i+1]
		switch g.IntN(10) {
		case 0:
			b.WriteString("?")
		case 1:
			b.WriteString(g.pick("*", "*", "**"))
		case 2:
			b.WriteString(g.class(c))
		case 3:
			b.WriteString(`\` + c)
		case 4:
			b.WriteString("*")
			i += g.IntN(len(name))
		default:
			b.WriteString(c)
		}
	}
	return b.String()
}

// class makes a class that has to do with c.
func (g generator) class(c string) string {
	if g.IntN(3) == 0 {
		return "[" + g.pick("", "!", "^", "x", "]", "-") + "[:" +
			g.pick("alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit", "word", "") +
			g.pick(":]", ":]", ":]", "]", ":") + g.pick("]", "]", "]", "a]", "-z]", "")
	}
	return "[" + g.pick("", "", "!", "^", "]", "!]", "^]") +
		g.pick(c, c, c+"x", "x"+c, `\`+c, c+"-z", "A-"+c, "a-z", "A-Z", "a-", "-a", `\]`, `\-`, "z-a", "a-c-e", `a-\`+c, "/", "a/b", `\\`, "[", "[.a.]") +
		g.pick("]", "]", "]", "]", "]", "")
}
