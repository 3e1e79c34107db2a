package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// show writes definitions as "line kind container.name".
func show(list []Definition) string {
	var b strings.Builder
	for _, d := range list {
		name := d.Name
		if d.Container != "" {
			name = d.Container + "." + name
		}
		fmt.Fprintf(&b, "%d %s %s\n", d.Line, d.Kind, name)
	}
	return b.String()
}

// Every file in testdata is source with the definitions that are expected in it, each behind "DEF " on the line that
// defines it.
func TestLanguages(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) < 25 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var want strings.Builder
			for i, line := range strings.Split(string(text), "\n") {
				if _, def, ok := strings.Cut(line, "DEF "); ok {
					for d := range strings.SplitSeq(strings.TrimRight(def, " */-#>})"), ", ") {
						fmt.Fprintf(&want, "%d %s\n", i+1, d)
					}
				}
			}
			if got := show(In(f, text)); got != want.String() {
				t.Errorf("got\n%s\nwant\n%s", got, want.String())
			}
		})
	}
}

func TestSpans(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a.go", "package a\n\n// F does.\n// More.\nfunc F() {\n\treturn\n}\n\ntype T struct {\n\tA int\n}\n", "F 3 5 7, T 9 9 11, A 10 10 10"},
		{"a.py", "# About f.\n@cache\ndef f(a,\n      b):\n    return 1\n\n\nclass C:\n    def m(self):\n        pass\n\nx = 1\n", "f 1 3 5, C 8 8 10, m 9 9 10, x 12 12 12"},
		{"a.c", "/* About\n   f. */\nstatic int\nf(int a)\n{\n  return a;\n}\n\nint g(void) {\n}\n", "f 4 4 7, g 9 9 10"},
		{"a.java", "class A {\n  /** Doc. */\n  @Override\n  public void m(\n      int a,\n      int b\n  ) {\n    x();\n  }\n}\n", "A 1 1 10, m 2 4 9"},
		{"a.rb", "class A\n  # doc\n  def m\n    1\n  end\nend\n", "A 1 1 6, m 2 3 5"},
	} {
		var got []string
		for _, d := range In(tt.name, []byte(tt.text)) {
			got = append(got, fmt.Sprintf("%s %d %d %d", d.Name, d.Doc, d.Line, d.End))
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}

func TestLanguage(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a/b.go", "", "go"},
		{"A.PY", "", "python"},
		{"Makefile", "", "make"},
		{"run", "#!/usr/bin/env python3\n", "python"},
		{"run", "#!/bin/bash -e\n", "shell"},
		{"run", "#!/usr/bin/awk\n", ""},
		{"x.tsx", "", "javascript"},
		{"x.png", "", ""},
		{"x", "#!", ""},
	} {
		if got := Language(tt.name, []byte(tt.text)); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

// Go that does not parse still defines what it visibly does.
func TestBrokenGo(t *testing.T) {
	for text, want := range map[string]string{
		"package a\nfunc Good() {}\nfunc Bad( {\nfunc Other() {}\n": "2 function Good\n",
		"func NoPackage() {}\ntype T int\n":                         "1 function NoPackage\n2 type T\n",
	} {
		if got := show(In("a.go", []byte(text))); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}
