package search_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/tools/search"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func (b *bench) grep(a args) *tongs.Result {
	b.Helper()
	return b.both("grep", a)
}

// greps checks what the model is shown, line by line.
func (b *bench) greps(a args, want ...string) search.GrepOutput {
	b.Helper()
	res := b.grep(a)
	out, err := tongs.ValueOf[search.GrepOutput](res)
	if err != nil {
		b.Fatalf("%v: %v", a, err)
	}
	if got := res.Content; got != strings.Join(want, "\n") {
		b.Errorf("%v shows\n%s\nwant\n%s", a, got, strings.Join(want, "\n"))
	}
	return out
}

func TestGrep(t *testing.T) {
	b := newBench(t, []string{
		"main.go=package main\n\nfunc main() {\n\trun()\n}\n", "src/run.go=package src\n\nfunc run() {}\n", "src/run_test.go=package src\n",
		"out/gen.go=func gen() {}\n", ".gitignore=out/\n", ".config=func hidden\n", "bin=\x00func x",
	})
	out := b.greps(args{"pattern": `^func \w+`}, "main.go:3: func main() {", "src/run.go:3: func run() {}")
	if len(out.Matches) != 2 || out.Total != 2 || out.Truncated || out.FilesSearched != 4 || out.FilesLeft != 0 {
		t.Errorf("%+v", out)
	}
	if m := out.Matches[1]; m.Path != "src/run.go" || m.Line != 3 || m.Column != 1 || m.Text != "func run() {}" {
		t.Errorf("%+v", m)
	}
	b.greps(args{"pattern": "FUNC RUN", "caseInsensitive": true}, "src/run.go:3: func run() {}")
	b.greps(args{"pattern": "run()", "literal": true}, "main.go:4: \trun()", "src/run.go:3: func run() {}")
	b.greps(args{"pattern": "ru", "wordMatch": true}, "[no match for ru in . (3 files searched, 1 binary one passed over)]")
	b.greps(args{"pattern": "func", "glob": "src/**"}, "src/run.go:3: func run() {}")
	b.greps(args{"pattern": "package", "glob": "!*_test.go", "path": "src"}, "src/run.go:1: package src")
	b.greps(args{"pattern": "func", "noIgnore": true, "path": "out"}, "out/gen.go:1: func gen() {}")
	b.greps(args{"pattern": "func h", "includeHidden": true}, ".config:1: func hidden")
	b.greps(args{"pattern": "func h", "glob": ".config"}, ".config:1: func hidden")
	b.greps(args{"pattern": "func", "path": "main.go"}, "main.go:3: func main() {")
	b.greps(args{"pattern": "func", "path": "bin"}, "bin: binary file matches")
	b.greps(args{"pattern": `\{\n\s+run`, "multiline": true}, "main.go:3: func main() {", "main.go:4: \trun()")
	b.greps(args{"pattern": "func run", "outputMode": "files"}, "src/run.go")
	b.greps(args{"pattern": "package", "outputMode": "count"}, "main.go: 1", "src/run.go: 1", "src/run_test.go: 1", "[3 matches in 3 files]")
}

func TestGrepModes(t *testing.T) {
	b := newBench(t, []string{"new=x\n", "mid=x\nx\n", "old=x\n"}) // each an hour older
	out := b.greps(args{"pattern": "x", "outputMode": "files", "maxResults": 2}, "new", "mid", "[2 of 3 files shown, newest first; offset 2 shows more]")
	if out.Total != 3 || out.NextOffset != 2 || !out.Truncated || out.Files[0].Modified == nil {
		t.Errorf("%+v", out)
	}
	b.greps(args{"pattern": "x", "outputMode": "files", "offset": 2}, "old")
	out = b.greps(args{"pattern": "x", "outputMode": "count", "maxResults": 1}, "mid: 2", "[1 of 3 files shown, 4 matches in all; offset 1 shows more]")
	if out.Total != 4 {
		t.Errorf("%+v", out)
	}
}

func TestGrepContext(t *testing.T) {
	b := newBench(t, []string{"a=1\n2\nx\n4\n5\n6\n7\nx\n", "b=x\n"})
	out := b.greps(args{"pattern": "x", "context": 1},
		"a-2- 2", "a:3: x", "a-4- 4", "--", "a-7- 7", "a:8: x", "--", "b:1: x")
	if m := out.Matches[0]; fmt.Sprint(m.Before, m.After) != "[2] [4]" {
		t.Errorf("%+v", m)
	}
	if m := out.Matches[1]; fmt.Sprint(m.Before, m.After) != "[7] []" {
		t.Errorf("%+v", m)
	}
}

func TestGrepPages(t *testing.T) {
	b := newBench(t, nil)
	for i := range 50 {
		b.put(fmt.Sprintf("d%02d/f=%s", i, strings.Repeat("x\n", 7)), 0)
	}
	var all []string
	offset := 0
	for {
		out, err := tongs.ValueOf[search.GrepOutput](b.grep(args{"pattern": "x", "offset": offset}))
		b.Must(err)
		for _, m := range out.Matches {
			all = append(all, fmt.Sprintf("%s:%d", m.Path, m.Line))
		}
		if out.FilesSearched+out.FilesLeft != 50 {
			t.Errorf("searched %d, left %d", out.FilesSearched, out.FilesLeft)
		}
		if offset = out.NextOffset; !out.Truncated {
			break
		}
	}
	if len(all) != 350 || all[0] != "d00/f:1" || all[349] != "d49/f:7" {
		t.Errorf("%d matches: %v", len(all), all)
	}
	b.says(b.grep(args{"pattern": "x"}), "[100 matches shown, there are more, 35 files were not examined; offset 100 shows more")
	b.says(b.grep(args{"pattern": "x", "offset": 1000}), "[nothing beyond offset 1000]")
}

func TestGrepSaysWhyNothingWasFound(t *testing.T) {
	b := newBench(t, []string{"a.go=fmt.Println(x[0])\nfunc Main() {}\n"})
	for _, c := range []struct {
		args args
		says string
	}{
		{args{"pattern": "x[0]"}, "as plain text it does, at a.go:1; set literal"},
		{args{"pattern": "main"}, "without regard to case it does, at a.go:2; set caseInsensitive"},
		{args{"pattern": "X[0]"}, "as plain text and without regard to case it does, at a.go:1; set literal and caseInsensitive"},
		{args{"pattern": "main", "path": "a.go"}, "without regard to case it does, at a.go:2"},
		{args{"pattern": "nothing like this"}, "[no match for nothing like this in . (1 file searched)]"},
		{args{"pattern": "x", "glob": "*.rs"}, "no file matches the glob *.rs, which is relative to ."},
	} {
		b.says(b.grep(c.args), c.says)
	}
}

func TestGrepBadCalls(t *testing.T) {
	b := newBench(t, []string{"a/f=x"})
	fails := func(code tongs.Code, says string, a args) {
		t.Helper()
		res := b.grep(a)
		if res.OK() || res.Error.Code != code || !strings.Contains(res.Error.Message, says) {
			t.Errorf("%v: %v, want %s: ...%s", a, res.Error, code, says)
		}
	}
	fails(tongs.CodeInvalidArgs, "missing closing ) at \"(\", character 10\nfunc main(\n         ^\nset literal to search for the text as it is, or escape it: func main\\(",
		args{"pattern": "func main("})
	fails(tongs.CodeInvalidArgs, "set multiline", args{"pattern": "a\nb", "literal": true})
	fails(tongs.CodeInvalidArgs, "is not closed", args{"pattern": "x", "glob": "[a"})
	fails(tongs.CodeInvalidArgs, "pattern", args{"pattern": ""})
	fails(tongs.CodeInvalidArgs, "context", args{"pattern": "x", "context": 100})
	fails(tongs.CodeFileNotFound, "nope", args{"pattern": "x", "path": "nope"})
	fails(tongs.CodeInvalidPath, "", args{"pattern": "x", "path": "/etc"})
}

func TestGrepLeavesSecretsOut(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, []string{".env=token=1", "a/.env.local=token=2", "a/code=token", "private/x=token"},
		rules(tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectRead), Pattern: "private/**", Decision: tongs.Blocked}),
		func(o *base.Options) {
			if err := os.Symlink(outside, filepath.Join(o.Dir, "out")); err != nil {
				t.Fatal(err)
			}
		})
	b.greps(args{"pattern": "token", "includeHidden": true, "noIgnore": true},
		"a/code:1: token", "[left out: 2 files, 1 directory, as secrets, other roots or what a rule covers; name one to ask for it]")
	if len(b.Asked()) != 0 {
		t.Errorf("asked %d times", len(b.Asked()))
	}
	b.greps(args{"pattern": "token", "path": ".env"}, ".env:1: token=1")
	if len(b.Asked()) != 1 || !b.Asked()[0].Effects[0].MustAsk {
		t.Errorf("asked %d times", len(b.Asked()))
	}
	if res := b.grep(args{"pattern": "token", "path": "private"}); res.OK() || res.Error.Code != tongs.CodeBlocked {
		t.Errorf("%v", res.Error)
	}
	if res := b.grep(args{"pattern": "token", "path": "out"}); res.OK() || res.Error.Code != tongs.CodeInvalidPath {
		t.Errorf("%v", res.Error)
	}
}

func TestGrepLongLinesAreCut(t *testing.T) {
	b := newBench(t, []string{"f=" + strings.Repeat("a", 1000) + "needle" + strings.Repeat("b", 1000)})
	out := b.greps(args{"pattern": "needle"}, "f:1: …"+strings.Repeat("a", 75)+"needle"+strings.Repeat("b", 219)+"…")
	if out.Matches[0].Column != 1001 {
		t.Errorf("%+v", out.Matches[0])
	}
}

func TestGrepConformance(t *testing.T) {
	tools, err := search.Tools(search.Options{User: &ignore.User{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Spec().Name != "grep" {
			continue
		}
		tooltest.Run(t, tool, tooltest.Options{
			Valid: []string{
				`{"pattern":"one"}`, `{"pattern":"b","path":"dir","glob":"*.txt","caseInsensitive":true,"maxResults":1,"context":2,"wordMatch":true}`,
				`{"pattern":"one\\ntwo","multiline":true,"outputMode":"count"}`, `{"pattern":"(","literal":true,"outputMode":"files","offset":1}`,
			},
			Files: map[string]string{"a.txt": "one\ntwo\n", "dir/b.txt": "b\n"},
		})
	}
}
