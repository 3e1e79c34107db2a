package project

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// Each formatter is the real one, in a small project that configures it.
func TestFormatters(t *testing.T) {
	for _, c := range []struct {
		name, program  string
		files          map[string]string
		ugly, was, now string
		modules        []string
	}{
		{
			"gofmt", "gofmt",
			map[string]string{"go.mod": "module x\n", "vendor/v.go": "package  v\n"},
			"a/a.go", "package a\n\nfunc  F() {}\n", "package a\n\nfunc F() {}\n", nil,
		},
		{
			"prettier", "node",
			map[string]string{".prettierrc": "{ \"semi\": true }\n", "package.json": "{}\n", ".prettierignore": "skip.js\n", "skip.js": "a  =  1\n"},
			"src/a.js", "const a={b:1}\n", "const a = { b: 1 };\n",
			[]string{"prettier"},
		},
		{
			"black", "black",
			map[string]string{"pyproject.toml": "[tool.black]\nline-length = 80\n", "good.py": "x = 1\n"},
			"pkg/a.py", "x = {  'a':1 }\n", "x = {\"a\": 1}\n", nil,
		},
		{
			"rustfmt", "rustfmt",
			map[string]string{"Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"},
			"src/lib.rs", "pub  async fn f( ) { }\n", "pub async fn f() {}\n", nil,
		},
		{
			"clang-format", "clang-format",
			map[string]string{".clang-format": "BasedOnStyle: LLVM\n"},
			"src/a.c", "int  main( ){return 0;}\n", "int main() { return 0; }\n", nil,
		},
		{
			"shfmt", "shfmt",
			map[string]string{".editorconfig": "[*.sh]\nindent_style = tab\n"},
			"bin/a.sh", "if true;then\necho   x\nfi\n", "if true; then\n\techo x\nfi\n", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			needs(t, c.program)
			b := newBench(t, setup{})
			put(b, c.files)
			if c.modules != nil {
				modules(b, c.modules...)
			}
			b.Put(c.ugly, c.was)
			check := workbench.Value[FormatOutput](b, b.OK("format_code", args{"check": true}))
			if !slices.Equal(check.Files, []string{c.ugly}) || !slices.Equal(check.Formatters, []string{c.name}) {
				t.Errorf("check: %+v", check)
			}
			if !contains(check.Diff, "--- a/"+c.ugly) || !contains(check.Diff, "\n-"+firstChanged(c.was, c.now)) {
				t.Errorf("diff: %s", check.Diff)
			}
			if b.Get(c.ugly) != c.was {
				t.Error("a check changed the file")
			}
			res := b.OK("format_code", args{"paths": []string{filepath.Dir(c.ugly)}})
			if got := b.Get(c.ugly); got != c.now {
				t.Errorf("formatted: %q, want %q\n%s", got, c.now, res.Content)
			}
			if res := b.OK("format_code", args{"paths": []string{c.ugly}}); !contains(res.Content, "everything is formatted") {
				t.Errorf("again: %s", res.Content)
			}
		})
	}
}

// firstChanged is the first line of the one text that is not in the other.
func firstChanged(was, now string) string {
	for i := range was {
		if i >= len(now) || was[i] != now[i] {
			start := i
			for start > 0 && was[start-1] != '\n' {
				start--
			}
			return was[start:i]
		}
	}
	return was
}

func TestWhatCannotBeFormatted(t *testing.T) {
	b := newBench(t, setup{Options: Options{LookPath: func(name string) (string, bool) { return "/usr/bin/" + name, name == "gofmt" }}})
	b.Fails(tongs.CodeConfigError, "no formatter is configured", b.Call("format_code"))
	b.Put(".clang-format", "BasedOnStyle: LLVM\n")
	b.Fails(tongs.CodeNoMatch, "nothing that clang-format formats", b.Call("format_code"))
	b.Put("a.c", "int x;\n")
	b.Fails(tongs.CodeConfigError, "clang-format is not installed here; install it", b.Call("format_code"))
	b.Put("go/go.mod", "module x\n")
	b.Put("go/a.go", "package a\n\nfunc F( {\n")
	b.Fails(tongs.CodeExecutionError, "gofmt failed with exit code 2, and formatted nothing", b.Call("format_code", args{"paths": []string{"go"}}))
	b.Fails(tongs.CodeInvalidArgs, "one project at a time", b.Call("format_code", args{"paths": []string{"go", "a.c"}}))
	b.Fails(tongs.CodeInvalidPath, "", b.Call("format_code", args{"paths": []string{"../x"}}))
	// Names of files never become options.
	b.Put("go/a.go", "package a\n")
	b.Put("go/-w.go", "package a\n\nfunc  F() {}\n")
	out := workbench.Value[FormatOutput](b, b.OK("format_code", args{"paths": []string{"go/-w.go"}, "check": true}))
	if !slices.Equal(out.Files, []string{"go/-w.go"}) || b.Get("go/-w.go") != "package a\n\nfunc  F() {}\n" {
		t.Errorf("a file with the name of an option: %+v", out)
	}
}
