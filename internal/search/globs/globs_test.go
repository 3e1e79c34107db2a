package globs_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/tongs-ai/tongs/internal/search/globs"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not string // separated by spaces
	}{
		{"*.go", "a.go .go", "a/b.go a.gox a"},
		{"**/*.go", "a.go a/b.go a/b/c.go", "a.gox a/b"},
		{"./*.go", "a.go", "a/b.go"},
		{"a/**", "a/b a/b/c", "a b ab/c"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/bx a/x/bx"},
		{"a/**/**/b", "a/b a/x/b", "b"},
		{"**", "a a/b", ""},
		{"**/a/**", "a/b x/a/b x/y/a/b/c", "a x/a"},
		{"**/a/**/b/*.c", "a/b/x.c y/a/z/b/x.c a/b/b/x.c", "a/b/c/x.c"},
		{"a**b", "ab axxb", "a/b axb/c"},
		{"**.go", "a.go", "b/a.go"},
		{"a?c", "abc aéc a日c", "ac abbc a/c"},
		{"[!a]b", "bb éb", "ab b"},
		{"[^a-c]", "d -", "a b c"},
		{"[]a]x", "]x ax", "x bx"},
		{"[a-]x", "ax -x", "bx"},
		{"[a/b]x", "ax bx", "a/x"},
		{"[[:digit:][:upper:]]*", "1 Ab É", "a"},
		{"[^[:digit:]]", "a", "1"},
		{`[\]]`, "]", "a"},
		{`\*`, "*", "a"},
		{`a\{b`, "a{b", "ab"},
		{"{a,b}", "a b", "c {a,b}"},
		{"x{a,b/c}y", "xay xb/cy", "xby"},
		{"{a,b{c,d}}e", "ae bce bde", "be"},
		{"**/*.{ts,tsx}", "a.ts b/a.tsx", "a.js"},
		{"a{,b}", "a ab", "b"},
		{"{,a/}b", "b a/b", "a"},
		{"{a,}/b", "a/b", "b"},
		{"{a/**,*.c}", "a/b/c x.c", "b/x.c"},
		{"[{]a,b}", "", ""},
		{"a b", "", ""},
		{"été/*", "été/x", "ete/x"},
		{"a\xff?", "a\xffb a\xff\xfe", "a\xfe\xff"},
	} {
		g, err := globs.Compile(c.pattern)
		if c.yes == "" && c.not == "" {
			continue
		}
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, p := range strings.Fields(c.yes) {
			if !g.Match(p) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
		}
		for _, p := range strings.Fields(c.not) {
			if g.Match(p) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
}

func TestBadPatternsAreExplained(t *testing.T) {
	for pattern, want := range map[string]string{
		"a[b":                       `the "[" at character 2 is not closed`,
		"a{b":                       `the "{" at character 2 is not closed`,
		"a}b":                       `the "}" at character 2 has no "{"`,
		`a\`:                        "ends in a backslash",
		`a\/b`:                      "escapes a slash",
		"[b-a]":                     "the range b-a goes backwards",
		"[[:word:]]":                "there is no class [:word:]",
		"":                          "empty element",
		"/a":                        "empty element",
		"a//b":                      "empty element",
		"a/":                        "empty element",
		"{,}":                       "empty element",
		"../a":                      `".." is not an element`,
		"a/./b":                     `"." is not an element`,
		strings.Repeat("{a,b}", 11): "more than 1024 patterns",
		strings.Repeat("a", 5000):   "more than 4096",
	} {
		if _, err := globs.Compile(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", pattern, err, want)
		}
	}
}

func TestBaseAndBelow(t *testing.T) {
	for _, c := range []struct{ pattern, base, below, not string }{
		{"**/*.go", ".", ". a a/b", ""},
		{"*.go", ".", ".", "a"},
		{"src/lib/**/*.go", "src/lib", ". src src/lib src/lib/x/y", "a src/x srcx"},
		{"src/{a,b}/*.go", "src", "src src/a src/b", "src/c src/a/x"},
		{"src/a.go", "src", "src .", "src/a.go"},
		{"{x/y,x/z}/*", "x", "x x/y x/z", "y"},
		{"a/*/c", "a", "a a/b", "a/b/c b"},
	} {
		g, err := globs.Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Base(); got != c.base {
			t.Errorf("base of %q is %q, want %q", c.pattern, got, c.base)
		}
		for _, dir := range strings.Fields(c.below) {
			if !g.Below(dir) {
				t.Errorf("%q: nothing below %q", c.pattern, dir)
			}
		}
		for _, dir := range strings.Fields(c.not) {
			if g.Below(dir) {
				t.Errorf("%q: something below %q", c.pattern, dir)
			}
		}
	}
}

func TestLiteral(t *testing.T) {
	for pattern, want := range map[string]string{"a/b.go": "a/b.go", `a\*`: "a*", "*": "", "{a,b}": "", "**/a": "", "[a]": ""} {
		g, err := globs.Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := g.Literal(); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", pattern, got, ok)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		patterns, yes, not string
	}{
		{"", "a x/y", ""},
		{"*.go", "a.go x/y/a.go", "a.c"},
		{"*.go !*_test.go", "a.go x/a.go", "a_test.go x/a_test.go a.c"},
		{"!*.md", "a.go x/a", "a.md x/a.md"},
		{"src/*.go", "src/a.go", "x/src/a.go src/x/a.go"},
		{"/*.go", "a.go", "x/a.go"},
		{"docs/", "docs/a docs/x/y x/docs/a", "docs a"},
		{"*.{c,h}", "a.c x/a.h", "a.o"},
	} {
		f, err := globs.NewFilter(strings.Fields(c.patterns)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range strings.Fields(c.yes) {
			if !f.Match(p) {
				t.Errorf("%s does not pick %s", c.patterns, p)
			}
			if i := strings.LastIndexByte(p, '/'); i > 0 && !f.Below(p[:i]) {
				t.Errorf("%s does not look for %s", c.patterns, p)
			}
		}
		for _, p := range strings.Fields(c.not) {
			if f.Match(p) {
				t.Errorf("%s picks %s", c.patterns, p)
			}
		}
	}
	if _, err := globs.NewFilter("*.go", "["); err == nil {
		t.Error("a bad pattern was taken")
	}
}

// part is a piece of a pattern and the regular expression that says the same.
type part struct{ glob, re string }

// generate makes a pattern of elements. With plain it has only what doublestar, too, is right about.
func generate(g *rand.Rand, plain bool) (pattern, re string) {
	parts := []part{
		{"a", "a"},
		{"b", "b"},
		{"c", "c"},
		{"é", "é"},
		{"?", "[^/]"},
		{"[ab]", "[ab]"},
		{"{a,b}", "(?:a|b)"},
		{"{ab,ba}", "(?:ab|ba)"},
		{"*", "[^/]*"},
		{"{a,b/c}", "(?:a|b/c)"},
		{"[^a]", "[^a/]"},
		{"[!b-c]", "[^b-c/]"},
		{"{,a}", "(?:|a)"},
		{"{*,b}", "(?:[^/]*|b)"},
		{`\a`, "a"},
		{"b**", "b[^/]*"},
		{"[[:alpha:]]", `\p{L}`},
		{"{a,{b,c}a}", "(?:a|(?:b|c)a)"},
	}
	if plain {
		parts = parts[:10]
	}
	n := 1 + g.IntN(4)
	var globs, res []string
	for i := range n {
		if g.IntN(3) == 0 {
			globs = append(globs, "**")
			if i == n-1 {
				res = append(res, ".+")
			} else {
				res = append(res, "(?:[^/]+/)*")
			}
			continue
		}
		var glob, re strings.Builder
		glob.WriteString("a")
		re.WriteString("a")
		if g.IntN(2) == 0 {
			glob.Reset()
			re.Reset()
		}
		star := false
		for range 1 + g.IntN(4) {
			p := parts[g.IntN(len(parts))]
			if s := strings.ContainsRune(p.glob, '*'); s && star {
				continue
			} else {
				star = s
			}
			glob.WriteString(p.glob)
			re.WriteString(p.re)
		}
		if strings.Trim(glob.String(), "{,a}*b") == "" { // it could come to nothing
			glob.WriteString("c")
			re.WriteString("c")
		}
		globs = append(globs, glob.String())
		if i < n-1 {
			re.WriteString("/")
		}
		res = append(res, re.String())
	}
	return strings.Join(globs, "/"), "^(?s:" + strings.Join(res, "") + ")$"
}

func randomPath(g *rand.Rand) string {
	elems := make([]string, 1+g.IntN(4))
	for i := range elems {
		elems[i] = []string{"a", "b", "c", "ab", "ba", "abc", "é", "cab", "aab", "bca"}[g.IntN(10)]
	}
	return strings.Join(elems, "/")
}

// TestAsRegexp compares with regular expressions that say the same, and, where the pattern is plain, with doublestar,
// whose semantics they are. That says that a/** matches a, which is its own; it is wrong about negated classes, which
// match a slash there, and about stars beside braces.
func TestAsRegexp(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	compared, matched := 0, 0
	for i := range 20_000 {
		plain := i%2 == 0
		pattern, re := generate(g, plain)
		glob, err := globs.Compile(pattern)
		if err != nil {
			if strings.Contains(err.Error(), "stand for more than") {
				continue
			}
			t.Fatal(err)
		}
		want := regexp.MustCompile(re)
		for range 12 {
			path := randomPath(g)
			got := glob.Match(path)
			compared++
			if got {
				matched++
			}
			if got != want.MatchString(path) {
				t.Errorf("%q on %q: %v, but not so %s", pattern, path, got, re)
			}
			if ds, err := doublestar.Match(pattern, path); plain && (err != nil || ds != got) && !strings.HasSuffix(pattern, "**") {
				t.Errorf("%q on %q: %v, doublestar says %v, %v", pattern, path, got, ds, err)
			}
			if base := glob.Base(); base != "." && got && (!strings.HasPrefix(path, base+"/") || !glob.InBase().Match(path[len(base)+1:])) {
				t.Errorf("%q matches %q, but not in its base %q", pattern, path, base)
			}
			for i, c := range path {
				if c == '/' && got && !glob.Below(path[:i]) {
					t.Errorf("%q matches %q, but is said to have nothing below %q", pattern, path, path[:i])
				}
			}
		}
	}
	if matched < compared/20 {
		t.Errorf("%d compared, only %d of them matched", compared, matched)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("**/*.{go,c}", "a/b.go")
	f.Add("[[:alpha:]-z]\\]", "a")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := globs.Compile(pattern)
		if err != nil {
			return
		}
		g.Match(path)
		g.Below(path)
		g.Base()
	})
}

// Whatever the pattern is, matching takes time in proportion to its length and the square of the path's.
func TestHostilePatternsEnd(t *testing.T) {
	path := strings.Repeat("aaaaaaaaaaaaaaa/", 250) + "b"
	for _, pattern := range []string{
		strings.Repeat("*a", 60) + "c", strings.Repeat("**/a*/", 60) + "c", strings.Repeat("**/*a*a*a*/", 60) + "c",
		strings.Repeat("{*,**}/", 8) + "x", strings.Repeat("?*", 500) + "c",
	} {
		g, err := globs.Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if g.Match(path) {
			t.Errorf("%.20q matches", pattern)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = fmt.Sprintf("src/cmd/internal/package%d/some/file%d.%s", i%17, i, []string{"go", "c", "txt"}[i%3])
	}
	for _, pattern := range []string{"**/*.go", "src/**/file*.go", "**/*.{go,c,h}", "**/pack*1/**/f?le[0-9]*.go"} {
		b.Run(pattern, func(b *testing.B) {
			g, err := globs.Compile(pattern)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				g.Match(paths[i%len(paths)])
				i++
			}
		})
	}
}

func ExampleCompile() {
	g, err := globs.Compile("src/**/*.{go,mod}")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Match("src/main.go"), g.Match("src/a/b/go.mod"), g.Match("lib/main.go"))
	fmt.Println(g.Base(), g.Below("src/a"), g.Below("lib"))
	// Output:
	// true true false
	// src true false
}
