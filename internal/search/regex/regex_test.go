package regex

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scan returns the lines that a scanner finds, as bounds.
func scan(m *Matcher, text []byte) (lines []span) {
	s := m.Scanner()
	defer s.Release()
	s.Reset(text)
	for {
		start, end, ok := s.Next()
		if !ok {
			return lines
		}
		lines = append(lines, span{start, end})
	}
}

// byRegexp returns the lines that package regexp matches.
func byRegexp(m *Matcher, text []byte) (lines []span) {
	for start := 0; start < len(text); {
		end := len(text)
		next := end
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i
			next = end + 1
			if end > start && text[end-1] == '\r' {
				end--
			}
		}
		if m.Match(text[start:end]) {
			lines = append(lines, span{start, end})
		}
		start = next
	}
	return lines
}

func compile(t testing.TB, pattern string, opt Options) *Matcher {
	t.Helper()
	m, err := Compile(pattern, opt)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	return m
}

func check(t testing.TB, m *Matcher, text []byte) {
	t.Helper()
	if got, want := scan(m, text), byRegexp(m, text); !slices.Equal(got, want) {
		t.Fatalf("%q %+v in %q:\nfound %v\nwant  %v", m.pattern, m.opt, text, got, want)
	}
}

func TestLines(t *testing.T) {
	text := "one two\nthree\r\n\nFour five\nsix\u00e9 sev\xff\n\r\n\tfoo(bar, 12);\r\nlast"
	for _, pattern := range []string{
		"one", "t", "", "^", "$", "^$", "e$", `\bfive\b`, `\Bive`, `[^e]$`, `.\r`, "(?i)FOUR", "é", "[à-ÿ]", `\x{FFFD}`, `x\B`,
		`\w+\s\w+`, `^\s*[a-z]+\([a-z]+, [0-9]+\);$`, "one|three|last", "nothing", "(?i)k|s", `a{0}`, `(one)? two`, `\z`, `\A`, `last\z`,
		"(f|F)o+", "[[:^ascii:]]", "(?-s)...", `\pL{5}`, `\Qfoo(`, "t\nt", "(?s)o.e", "(?m)^t", `e\r?$`,
	} {
		for _, opt := range []Options{{}, {Fold: true}, {Word: true}, {Literal: true}, {Literal: true, Fold: true, Word: true}} {
			check(t, compile(t, pattern, opt), []byte(text))
		}
	}
}

func TestWord(t *testing.T) {
	for _, c := range []struct {
		pattern, line string
		literal, want bool
	}{
		{"foo", "foo", false, true},
		{"foo", "a foo.", false, true},
		{"foo", "foobar foo", false, true},
		{"foo", "foobar", false, false},
		{"foo", "_foo", false, false},
		{"caf", "café", false, false},
		{"café", "un café.", false, true},
		{"-x", "ls -x", true, true},
		{"-x", "ls a-x", true, false},
		{"foo|foobar", "foobar", false, true},
		{"f(o+)", "food fo", false, true},
	} {
		m := compile(t, c.pattern, Options{Word: true, Literal: c.literal})
		if got := len(scan(m, []byte(c.line))) > 0; got != c.want {
			t.Errorf("word %q in %q: %v, want %v", c.pattern, c.line, got, c.want)
		}
	}
	m := compile(t, "f(o+)", Options{Word: true})
	if start, end := m.Locate([]byte("food fo!")); start != 5 || end != 7 {
		t.Errorf("located at %d to %d, want 5 to 7", start, end)
	}
}

func TestMultiline(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		opt           Options
		want          []string
	}{
		{`a\nb`, "xa\nby\nz\na\nb", Options{}, []string{"xa\nby", "a\nb"}},
		{`a.*c`, "1\na\nb\nc\nd\n", Options{}, []string{"a\nb\nc"}},
		{`^b$`, "a\nb\nc\n", Options{}, []string{"b"}},
		{`\Aa|c`, "a\na\nc\n", Options{}, []string{"a", "c"}},
		{`x*`, "a\n\nb\n", Options{}, []string{"a", "", "b"}},
		{"\n", "a\nb\n", Options{}, []string{"a", "b"}},
		{`aX|a\nX`, "aXa\nX\n", Options{}, []string{"aXa", "X"}},
		{"func (", "x\nfunc (\ny", Options{Literal: true}, []string{"func ("}},
		{"b", "ab\nb\n", Options{Word: true}, []string{"b"}},
		{"missing", "a\n", Options{}, nil},
		{"a", "", Options{}, nil},
	} {
		c.opt.Multiline = true
		var got []string
		for _, l := range scan(compile(t, c.pattern, c.opt), []byte(c.text)) {
			got = append(got, c.text[l.start:l.end])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %q, want %q", c.pattern, c.text, got, c.want)
		}
	}
}

// More matches than a batch has, and each found once.
func TestMultilineBatches(t *testing.T) {
	text := []byte(strings.Repeat("ab\n", 3*batch))
	if got := len(scan(compile(t, "a|b", Options{Multiline: true}), text)); got != 3*batch {
		t.Errorf("%d lines, want %d", got, 3*batch)
	}
}

func TestRequired(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    string
		pure    bool
	}{
		{"foo", "foo", true},
		{"(?i)foo", "FOO~", true},
		{"foo|bar", "bar foo", true},
		{"fo[ox]", "foo fox", true},
		{"foo.*bar", "foo & bar", false},
		{"foo(bar|baz)+qux", "foobar foobaz & barqux bazqux", false},
		{"(foo)+", "foo", false},
		{"(foo)?", "", false},
		{"a(b)?c", "abc ac", true},
		{`\bfoo\b`, "foo", true},
		{`\b(foo|bar)\b`, "bar foo", false},
		{`^(foo)$`, "foo", true},
		{`foo\b.`, "foo", false},
		{"x*", "", false},
		{`foo\d+(bar|qux\w)`, "bar qux & foo", false},
		{`\x{FFFD}foo`, "", false},
		{"foo\r", "foo\r", false},
		{"foo(?i:bar)", "fooBAR~", false},
		{"[a-z]{3}", "", false},
		{"func (.*) main", "func  &  main", false},
	} {
		r := compile(t, c.pattern, Options{}).need
		var clauses []string
		for _, clause := range r.clauses {
			var lits []string
			for _, l := range clause {
				if l.Fold {
					l.Text += "~"
				}
				lits = append(lits, l.Text)
			}
			slices.Sort(lits)
			clauses = append(clauses, strings.Join(lits, " "))
		}
		if got := strings.Join(clauses, " & "); got != c.want || r.pure != c.pure {
			t.Errorf("%q needs %q (pure %v), want %q (%v)", c.pattern, got, r.pure, c.want, c.pure)
		}
	}
}

func TestSyntaxError(t *testing.T) {
	deep := strings.Repeat("(", 2000) + strings.Repeat(")", 2000)
	for _, c := range []struct{ pattern, at, says string }{
		{"foo(bar", "foo>(<bar", "missing closing )"},
		{`a\(b(c[(]d`, `a\(b>(<c[(]d`, "missing closing )"},
		{"foo)", "foo>)<", "closing ) without"},
		{"a[b", "a>[<b", "missing closing ]"},
		{"a*|*b", "a*|>*<b", "nothing stands before"},
		{"a**", "a>**<", "cannot be repeated"},
		{`a\y`, `a>\y<`, "not an escape"},
		{"[z-a]", "[>z-a<]", "range"},
		{"(?=x)", ">(?=<x)", "no looking ahead"},
		{"a{2,1}", "a>{2,1}<", "repetitions"},
		{`abc\`, `abc>\<`, "backslash"},
		{`\pX`, `>\pX<`, "character class"},
		{"é(", "é>(<", "character 2"},
		{deep, "><" + deep, "nested"},
	} {
		_, err := Compile(c.pattern, Options{})
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want a *SyntaxError", c.pattern, err)
			continue
		}
		if got := c.pattern[:e.At] + ">" + c.pattern[e.At:e.End] + "<" + c.pattern[e.End:]; got != c.at {
			t.Errorf("%q: pointed at %q, want %q", c.pattern, got, c.at)
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %q, want ...%s", c.pattern, err, c.says)
		}
	}
	_, err := Compile(strings.Repeat("a", 100)+"é(b", Options{})
	var e *SyntaxError
	if !errors.As(err, &e) || e.Pointer() != strings.Repeat("a", 38)+"é(b\n"+strings.Repeat(" ", 39)+"^" {
		t.Errorf("pointer:\n%s", e.Pointer())
	}
}

// Expressions whose states do not fit the table are left to package regexp, and found right before, while and after.
func TestTableFull(t *testing.T) {
	line := strings.Repeat("abcdefghijklmnopqrstuvwxyz ", 8)
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "%s%x\n", line[i%50:i%50+100+i%60], i*i*i)
	}
	for _, pattern := range []string{`(a|c|e|[f-m])[a-z ]{14}[0-9a-f]*(x|9)$`, `[a-m][^q]{12}7`, `\w{5}\s+\w{5}\s+\w{5}`} {
		m := compile(t, pattern, Options{})
		check(t, m, []byte(text.String()))
	}
}

func TestScannersAreIndependent(t *testing.T) {
	m := compile(t, `a\w+|b\d`, Options{})
	text := []byte(strings.Repeat("xx ay b1\nnope\n", 2000))
	done := make(chan int)
	for range 8 {
		go func() { done <- len(scan(m, text)) }()
	}
	for range 8 {
		if n := <-done; n != 2000 {
			t.Errorf("%d lines, want 2000", n)
		}
	}
}
