package symbols

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// sound checks what holds for the definitions of any file, and returns how many there are.
func sound(t *testing.T, name string, text []byte) int {
	t.Helper()
	lines := bytes.Count(text, []byte("\n")) + 1
	list := In(name, text)
	for _, d := range list {
		if d.Name == "" || d.Kind == "" || d.Line < 1 || d.Line > lines || d.End < d.Line || d.End > lines || d.Doc < 1 || d.Doc > d.Line {
			t.Fatalf("%s: %+v of %d lines", name, d, lines)
		}
	}
	return len(list)
}

// Whatever is in a file, reading it ends, and what is found lies in it: every beginning and every end of a file, and every
// file as if it were in another language.
func TestBrokenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i := range text {
			sound(t, f, text[:i])
			sound(t, f, text[i:])
		}
		for _, other := range files {
			sound(t, other, text)
		}
	}
}

func TestHugeAndHostileFiles(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("(", 1<<18), strings.Repeat("{\n", 1<<15), strings.Repeat("class A {\n", 1<<14), strings.Repeat("/*", 1<<17), strings.Repeat("\"", 1<<18),
		strings.Repeat("<<A\n", 1<<14), strings.Repeat("f(", 1<<14) + "\n" + strings.Repeat("g(a)\n", 1<<14), strings.Repeat(" ", 1<<18) + "def x():",
		strings.Repeat("r#", 1<<17), strings.Repeat("def f(): pass\n", MaxDefinitions+10), strings.Repeat("@a ", 1<<16), strings.Repeat("static ", 1<<15),
		strings.Repeat("a<", 1<<16) + "(", strings.Repeat("\x00\xff", 1<<16),
	} {
		for _, name := range []string{"a.c", "a.java", "a.js", "a.py", "a.rb", "a.rs", "a.sh", "a.kt", "a.cs", "a.go", "a.sql", "a.clj", "a.md", "a.swift"} {
			if n := sound(t, name, []byte(text)); n > MaxDefinitions {
				t.Errorf("%s: %d definitions", name, n)
			}
		}
	}
}

func FuzzIn(f *testing.F) {
	f.Add("a.py", []byte("def f():\n  '''x'''\n"))
	f.Add("a.rs", []byte("impl<'a> X for Y { fn f(&self) {} }"))
	f.Add(".c", []byte("\xda\xfa::()::():\n:\x87()h)4\n:\x87():'&;':\n {\xcf'';':")) // a name of colons alone
	f.Fuzz(func(t *testing.T, name string, text []byte) { sound(t, name, text) })
}

// What a highlighter takes for a comment is blank, and what it takes for the name of a function or a class is not. It knows
// no heredocs of Ruby and no nested comments of Kotlin.
func TestMasksAgreeWithLexers(t *testing.T) {
	misread := map[string]bool{"a.rb fake": true, "a.kt x": true}
	for _, name := range []string{
		"a.py", "a.js", "a.ts", "A.java", "a.c", "a.cpp", "a.rs", "a.rb", "a.php", "a.cs", "a.kt", "a.swift", "a.sh", "a.sql", "a.lua", "a.ex", "a.hs",
		"a.scala", "a.dart", "a.proto", "a.jl", "a.zig",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		lexer := lexers.Match(name)
		if lexer == nil {
			t.Fatalf("no lexer for %s", name)
		}
		it, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, string(text))
		if err != nil {
			t.Fatal(err)
		}
		masked := languageOf(name, text).mask(text)
		at, compared := 0, 0
		for tok := it(); tok != chroma.EOF; tok = it() {
			end := at + len(tok.Value)
			if end > len(text) {
				break // the lexer ends the text by a line end
			}
			part := bytes.TrimSpace(masked[at:end])
			switch {
			case tok.Type.InCategory(chroma.Comment) && !tok.Type.InSubCategory(chroma.CommentPreproc) && len(part) > 0:
				t.Errorf("%s: %q is a comment, and not blank", name, tok.Value)
			case (tok.Type == chroma.NameFunction || tok.Type == chroma.NameClass) && strings.TrimSpace(tok.Value) != "" && len(part) == 0 && !misread[name+" "+tok.Value]:
				t.Errorf("%s: %q is a name, and blank", name, tok.Value)
			default:
				compared++
			}
			at = end
		}
		if compared < 20 {
			t.Errorf("%s: only %d tokens", name, compared)
		}
	}
}

func BenchmarkIn(b *testing.B) {
	for _, name := range []string{"a.py", "a.js", "A.java", "a.c", "a.rs", "a.rb"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			b.Fatal(err)
		}
		text = bytes.Repeat(text, 50)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				In(name, text)
			}
		})
	}
}
