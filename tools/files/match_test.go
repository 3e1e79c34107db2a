package files

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

func TestApplyEdits(t *testing.T) {
	one := func(old, new string) []replacement { return []replacement{{old: old, new: new}} }
	tests := []struct {
		name  string
		file  string
		edits []replacement
		want  string
		how   string
	}{
		{"exact", "a b c", one("b", "B"), "a B c", byText},
		{"exact across lines", "a\nb\nc\n", one("a\nb", "x"), "x\nc\n", byText},
		{"all", "a b a", []replacement{{old: "a", new: "x", all: true}}, "x b x", byText},
		{"dollar is literal", "price", one("price", `$& \1 %s ${x} $$`), `$& \1 %s ${x} $$`, byText},
		{"crlf kept", "a\r\nb\r\nc\r\n", one("a\nb\n", "x\ny\nz\n"), "x\r\ny\r\nz\r\nc\r\n", byText},
		{"crlf before the end of a line", "foo\r\nbar\r\n", one("foo", "baz"), "baz\r\nbar\r\n", byText},
		{"crlf, from the line end on", "foo\r\nbar\r\n", one("\nbar", "\nbaz"), "foo\r\nbaz\r\n", byText},
		{"mixed: ends like the line there", "a\r\nb\nc\r\n", one("b\n", "x\ny\n"), "a\r\nx\ny\nc\r\n", byText},
		{"mixed: crlf part", "a\r\nb\nc\r\n", one("a\n", "x\ny\n"), "x\r\ny\r\nb\nc\r\n", byText},
		{"lone cr stays", "a\rb\n", one("b", "c"), "a\rc\n", byText},
		{"deeper in the file", "f {\n\t\tx()\n\t\ty()\n}\n", one("x()\ny()\n", "z()\n\tw()\ny()\n"), "f {\n\t\tz()\n\t\t\tw()\n\t\ty()\n}\n", byLines},
		{"shallower in the file", "x()\n  y()\n", one("    x()\n      y()", "    if a\n      y()"), "if a\n  y()\n", byLines},
		{"spaces for tabs", "\tif a {\n\t\tb()\n\t}\n", one("    if a {\n        b()\n    }", "    if a {\n        c {\n            b()\n        }\n    }"), "\tif a {\n\t\tc {\n\t\t\tb()\n\t\t}\n\t}\n", byLines},
		{"tabs for spaces", "    if a:\n        b()\n", one("\tif a:\n\t\tb()", "\tif a:\n\t\tif c:\n\t\t\tb()"), "    if a:\n        if c:\n            b()\n", byLines},
		{"spaces for tabs, and deeper", "\t\tx()\n", one("    x()", "    if a {\n        x()\n    }"), "\t\tif a {\n\t\t\tx()\n\t\t}\n", byLines},
		{"flattened", "func f() {\n\treturn 1\n}\n", one("func f() {\nreturn 1\n}", "func f() {\nreturn 2\n}"), "func f() {\n\treturn 2\n}\n", byLines},
		{"flattened, a line more", "f {\n\ta()\n\tb()\n}\n", one("f {\na()\nb()\n}", "f {\na()\nc()\nb()\n}"), "f {\n\ta()\n\tc()\n\tb()\n}\n", byLines},
		{"trailing blanks ignored and kept", "a  \nb\t\nc\n", one("a\nb\n", "a\nB\n"), "a  \nB\nc\n", byLines},
		{"last line has no end", "a\n  b", one("b\n", "c\n"), "a\n  c", byLines},
		{"lines go", "a\n  b\nc\n", one("\tb\n", ""), "a\nc\n", byLines},
		{"next line is not joined", "a\n  b\nc\n", one("\tb\n", "\tx"), "a\n  x\nc\n", byLines},
		{"all lines", "  a\n    a\n", []replacement{{old: "\ta", new: "\tb", all: true}}, "  b\n    b\n", byLines},
		{"line numbers", "one\ntwo\nthree\n", one("     2\ttwo\n     3\tthree", "     2\tTWO\n     3\tthree"), "one\nTWO\nthree\n", byNumbers},
		{"line numbers in old only", "\tone\n", one("     1\t\tone", "\tx"), "\tx\n", byNumbers},
		{"lines in crlf", "\tif a {\r\n\t\tb()\r\n\t}\r\n", one("if a {\n\tb()\n}\n", "if a {\n\tc()\n\tb()\n}\n"), "\tif a {\r\n\t\tc()\r\n\t\tb()\r\n\t}\r\n", byLines},
		{"each on the former", "a", []replacement{{old: "a", new: "b"}, {old: "b", new: "c"}}, "c", byText},
		{"invalid bytes stay", "\xff a \xfe", one("a", "b"), "\xff b \xfe", byText},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := applyEdits(tt.file, text.Detect([]byte(tt.file)).Ending, tt.edits)
			if err != nil {
				t.Fatal(err)
			}
			if out.text != tt.want || out.how[0] != tt.how {
				t.Errorf("got %q (%s)\nwant %q (%s)", out.text, out.how[0], tt.want, tt.how)
			}
		})
	}
}

func TestApplyEditsRefuses(t *testing.T) {
	many := strings.Repeat("x\n", 30)
	tests := []struct {
		name  string
		file  string
		edits []replacement
		code  tongs.Code
		says  string
	}{
		{"two places", "a\nb\na\n", []replacement{{old: "a"}}, tongs.CodeAmbiguousMatch, "lines 1, 3)"},
		{"overlapping places", "aaa", []replacement{{old: "aa"}}, tongs.CodeAmbiguousMatch, "lines 1, 1)"},
		{"many places", many, []replacement{{old: "x"}}, tongs.CodeAmbiguousMatch, "9, 10 and more"},
		{"two places by lines", "  a\n    a\n", []replacement{{old: "\ta"}}, tongs.CodeAmbiguousMatch, "lines 1, 2)"},
		{"nowhere", "a\nb\n", []replacement{{old: "zzzzzz"}}, tongs.CodeNoMatch, "nothing in it comes close"},
		{"empty file", "", []replacement{{old: "a"}}, tongs.CodeNoMatch, "nothing in it comes close"},
		{"typo", "one\nfunc handle(w http.ResponseWriter)\nthree\n", []replacement{{old: "func handel(w http.ResponseWriter)"}}, tongs.CodeNoMatch, "line 2:\n     2\tfunc handle"},
		{"one line wrong", "a1\nb1\nc1\nd1\n", []replacement{{old: "b1\nxx\nd1"}}, tongs.CodeNoMatch, "lines 2 to 4"},
		{"inner white space", "x\nif  (a)\n", []replacement{{old: "if (a)"}}, tongs.CodeNoMatch, "if··(a)"},
		{"no-break space", "x\nif\u00a0(a)\n", []replacement{{old: "if (a)"}}, tongs.CodeNoMatch, "if⍽(a)"},
		{"numbers of another place", "one\n", []replacement{{old: "     7\tseven"}}, tongs.CodeNoMatch, "leave them out"},
		{"second edit", "a\n", []replacement{{old: "a", new: "b"}, {old: "a", new: "c"}}, tongs.CodeNoMatch, "edits[1]: "},
		{"white space only is no line match", "a\n\t\nb\n", []replacement{{old: "   \n  "}}, tongs.CodeNoMatch, ""},
		{"numbers, and two places", "a\nb\na\n", []replacement{{old: "     1\ta"}}, tongs.CodeNoMatch, "leave them out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := applyEdits(tt.file, text.Detect([]byte(tt.file)).Ending, tt.edits)
			if tongs.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v\nwant %s: ...%s", err, tt.code, tt.says)
			}
		})
	}
}

func TestPlaceholder(t *testing.T) {
	refused := []string{
		"// ... existing code ...", "# rest of file unchanged", "/* ... */", "// ...", "# ...", "  // ...rest of the code unchanged...",
		"// rest of the code unchanged", "<!-- ... existing markup ... -->", "{/* ... existing code ... */}", "-- ... remaining queries",
		"// Existing code here", "# ... (previous code)", "... rest of the code ...", "[rest of file unchanged]", "// … unchanged …",
		"// keep existing code", "// The rest of the function remains unchanged.", "# other methods unchanged", "// ... other imports",
	}
	for _, line := range refused {
		if got, n := placeholder("a.go", "", "x\n\t"+line+"\ny"); got == "" || n != 2 {
			t.Errorf("%q was not recognised", line)
		}
		if got, _ := placeholder("a.go", "before\n  "+line+"\n", line); got != "" {
			t.Errorf("%q was refused though the file has it", line)
		}
	}
	meant := []string{
		"...", "x = [...]", "func f(args ...string)", "// TODO: handle the rest", "// rest is the remainder of the division",
		"# the existing user wins", "// see above", "return nil // ... existing code ...", "print('...')", "// loading...",
		"# Rest of the world", "// keep the connection open", "/* previous owner */", "(existing)", "* other", "// existing users are kept",
		"// copies the remaining lines", "[...]", "// wait for the previous call...to finish",
		"//\t...", "//   ...", "//\t\tother imports", "//......................", "// [0:...] is the same as [:...]",
		"// Replace the right side of the previous assignment by slices.Contains(...)", "const [first, ...rest] = existing",
	}
	for _, line := range meant {
		if got, _ := placeholder("a.go", "", line); got != "" {
			t.Errorf("%q was refused", line)
		}
	}
	if got, _ := placeholder("README.md", "", "// ..."); got != "" {
		t.Errorf("an ellipsis in prose was refused: %q", got)
	}
}

// TestNoMatchIsBounded runs the search for the closest region over what would be slow for a naive one.
func TestNoMatchIsBounded(t *testing.T) {
	same := strings.Repeat("the same line again and again\n", 200_000)
	old := strings.Repeat("the same line again and again\n", 2000) + "but this one is not"
	if _, err := applyEdits(same, text.LF, []replacement{{old: old}}); tongs.CodeOf(err) != tongs.CodeNoMatch {
		t.Error(err)
	}
	long := strings.Repeat("x", 4<<20)
	if _, err := applyEdits(long, text.NoEnding, []replacement{{old: strings.Repeat("x", 1<<20) + "y"}}); tongs.CodeOf(err) != tongs.CodeNoMatch || len(err.Error()) > 1000 {
		t.Errorf("%.200v", err)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\nb\n", "b", "c", false)
	f.Add("\ta\n\t\tb\n", "  a\n    b", "  a\n    c", false)
	f.Add("x\r\ny\r\n", "x\ny", "z", true)
	f.Add("one\n", "     1\tone", "two", false)
	f.Fuzz(func(t *testing.T, file, old, new string, all bool) {
		if len(file) > 1<<12 || len(old) > 1<<10 || len(new) > 1<<10 || old == "" {
			return
		}
		old, new = text.ToLF(old), text.ToLF(new)
		out, err := applyEdits(file, text.Detect([]byte(file)).Ending, []replacement{{old, new, all}})
		if err != nil {
			if code := tongs.CodeOf(err); code != tongs.CodeNoMatch && code != tongs.CodeAmbiguousMatch {
				t.Fatal(err)
			}
			return
		}
		lf := text.ToLF(file)
		if strings.ContainsRune(lf+old+new, '\r') {
			return // a lone carriage return that comes to stand before a line end reads as a part of it
		}
		switch out.how[0] {
		case byText:
			n := 1
			if all {
				n = -1
			}
			if got, want := text.ToLF(out.text), text.ToLF(strings.Replace(lf, old, new, n)); got != want {
				t.Fatalf("exact: %q, strings.Replace: %q", got, want)
			}
		case byLines:
			if !all {
				untouched(t, lf, text.ToLF(out.text), old)
			}
		}
	})
}

// untouched checks that every line before and after the matched ones is as it was.
func untouched(t *testing.T, before, after, old string) {
	t.Helper()
	lines := strings.Split(before, "\n")
	n := len(strings.Split(strings.TrimSuffix(old, "\n"), "\n"))
	got := strings.Split(after, "\n")
	head := 0
	for head < len(lines) && head < len(got) && lines[head] == got[head] {
		head++
	}
	tail := 0
	for tail < len(lines)-head && tail < len(got)-head && lines[len(lines)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	if len(lines)-head-tail > n {
		t.Fatalf("%d lines were matched, but more changed: %q → %q", n, before, after)
	}
}
