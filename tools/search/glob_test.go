package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/tools/search"
	"github.com/tongs-ai/tongs/tools/tooltest"
	"github.com/tongs-ai/tongs/workspace"
)

type args = base.Args

// bench is a workspace with the tools in it.
type bench struct {
	*base.Bench
	// warm is the same with tools that know the workspace from before. What they answer is compared.
	warm *base.Bench
}

func newBench(t testing.TB, files []string, change ...func(*base.Options)) *bench {
	t.Helper()
	o := base.Options{Dir: base.RealDir(t)}
	for i, name := range files {
		put(t, o.Dir, name, i)
	}
	for _, c := range change {
		c(&o)
	}
	common, opt := base.New(t, o)
	b := &bench{Bench: common}
	tools, err := search.Tools(search.Options{User: &ignore.User{}})
	b.Must(err)
	b.Build(opt, tools...)
	b.know(o)
	return b
}

// know makes the engine that knows the workspace.
func (b *bench) know(o base.Options) {
	b.Helper()
	user := ignore.User{}
	service := live.New(live.Options{User: &user})
	b.Cleanup(func() { b.Must(service.Close()) })
	tools, err := search.Tools(search.Options{User: &user, Live: service})
	b.Must(err)
	warm, opt := base.New(b.TB, o)
	b.warm = warm
	if st, err := service.Ready(context.Background(), opt.Workspace.Dir()); err != nil || !st.Ready {
		b.Fatalf("%+v, %v", st, err)
	}
	b.warm.Build(opt, tools...)
}

// both calls a tool that walks and one that knows, and wants the same answer.
func (b *bench) both(tool string, a args) *tongs.Result {
	b.Helper()
	res, warm := b.Call(tool, a), b.warm.Call(tool, a)
	for _, key := range []string{"withheld", "unreadable", "binary"} {
		if got, want := fmt.Sprint(warm.Metadata[key]), fmt.Sprint(res.Metadata[key]); got != want {
			b.Errorf("%s %v: %s is %s for what knows, and %s for what walks", tool, a, key, got, want)
		}
	}
	if warm.Content != res.Content || !reflect.DeepEqual(warm.Value, res.Value) {
		b.Errorf("%s %v: what knows says\n%s\nand what walks\n%s", tool, a, warm.Content, res.Content)
	}
	return res
}

func rules(list ...tongs.Rule) func(*base.Options) {
	return func(o *base.Options) { o.Rules = list }
}

// put writes a file that is age hours old. What follows a "=" in its name is what is in it.
func put(t testing.TB, dir, name string, age int) {
	t.Helper()
	name, content, _ := strings.Cut(name, "=")
	host := filepath.Join(dir, name)
	then := time.Now().Add(-time.Duration(age) * time.Hour)
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(host), 0o755), os.WriteFile(host, []byte(content), 0o644), os.Chtimes(host, then, then),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) put(name string, age int) {
	b.Helper()
	put(b.TB, b.Dir, name, age)
}

func (b *bench) call(a args) *tongs.Result {
	b.Helper()
	return b.both("glob", a)
}

func (b *bench) glob(a args) (search.GlobOutput, *tongs.Result) {
	b.Helper()
	res := b.call(a)
	out, err := tongs.ValueOf[search.GlobOutput](res)
	if err != nil {
		b.Fatalf("%v: %v", a, err)
	}
	return out, res
}

// finds checks the paths, which are separated by spaces and in order.
func (b *bench) finds(a args, want string) *tongs.Result {
	b.Helper()
	out, res := b.glob(a)
	if got := strings.Join(out.Paths, " "); got != want || out.Total < len(out.Paths) || out.Truncated != (out.Total > len(out.Paths)) {
		b.Errorf("%v found %q (%d, truncated %v)\nwant %q\n%s", a, got, out.Total, out.Truncated, want, res.Content)
	}
	return res
}

func (b *bench) says(res *tongs.Result, words ...string) {
	b.Helper()
	for _, w := range words {
		if !strings.Contains(res.Content, w) {
			b.Errorf("%q does not say %q", res.Content, w)
		}
	}
}

func (b *bench) fails(code tongs.Code, says string, a args) {
	b.Helper()
	res := b.call(a)
	if res.OK() || res.Error.Code != code || !strings.Contains(res.Error.Message, says) {
		b.Errorf("%v: %v (%q), want %s: ...%s", a, res.Error, res.Content, code, says)
	}
}

func TestGlob(t *testing.T) {
	b := newBench(t, []string{
		"src/new.go", "main.go", "src/deep/x.go", "src/old.go", "README.md", ".hidden.go", "out/gen.go", "src/a.ts", "src/b.tsx",
		".gitignore=out/\n", ".github/workflows/ci.yml", "docs/.obsidian/x.md",
	})
	b.finds(args{"pattern": "**/*.go"}, "src/new.go main.go src/deep/x.go src/old.go")
	b.finds(args{"pattern": "*.go"}, "main.go")
	b.finds(args{"pattern": "./*.go"}, "main.go")
	b.finds(args{"pattern": "*.go", "path": "src"}, "src/new.go src/old.go")
	b.finds(args{"pattern": "src/*.go"}, "src/new.go src/old.go")
	b.finds(args{"pattern": "../*.go", "path": "src/deep"}, "src/new.go src/old.go")
	b.finds(args{"pattern": "src/**"}, "src/new.go src/deep/x.go src/old.go src/a.ts src/b.tsx")
	b.finds(args{"pattern": "src/"}, "src/new.go src/deep/x.go src/old.go src/a.ts src/b.tsx")
	b.finds(args{"pattern": "**/*.{ts,tsx}"}, "src/a.ts src/b.tsx")
	b.finds(args{"pattern": "src/[!n]*.go"}, "src/old.go")
	b.finds(args{"pattern": "**/*.go", "sort": "path"}, "main.go src/deep/x.go src/new.go src/old.go")
	b.finds(args{"pattern": "**/*.go", "includeHidden": true}, "src/new.go main.go src/deep/x.go src/old.go .hidden.go")
	b.finds(args{"pattern": "**/*.go", "noIgnore": true}, "src/new.go main.go src/deep/x.go src/old.go out/gen.go")
	b.finds(args{"pattern": "out/*.go"}, "out/gen.go")
	b.finds(args{"pattern": ".github/**/*.yml"}, ".github/workflows/ci.yml")
	b.finds(args{"pattern": "**/.github/**"}, ".github/workflows/ci.yml")
	b.finds(args{"pattern": ".*.go"}, ".hidden.go")
	b.finds(args{"pattern": "main.go"}, "main.go")
	b.finds(args{"pattern": filepath.ToSlash(b.Dir) + "/src/*.go"}, "src/new.go src/old.go")
	b.finds(args{"pattern": filepath.ToSlash(b.Dir) + "/main.go"}, "main.go")
}

func TestSortedBeforeItIsCut(t *testing.T) {
	b := newBench(t, nil)
	var want []string
	for i := range 700 {
		name := fmt.Sprintf("d%d/f%03d", i%7, (i*331)%700)
		b.put(name, i)
		want = append(want, name)
	}
	out, res := b.glob(args{"pattern": "**"})
	if !slices.Equal(out.Paths, want[:100]) || out.Total != 700 || !out.Truncated {
		t.Errorf("%d of %d: %v", len(out.Paths), out.Total, out.Paths)
	}
	b.says(res, "[100 of 700 files shown, newest first; set limit (500 at most)")
	out, res = b.glob(args{"pattern": "**", "limit": 1000})
	if !slices.Equal(out.Paths, want[:500]) {
		t.Errorf("%d of %d", len(out.Paths), out.Total)
	}
	b.says(res, "[500 of 700 files shown, newest first; narrow the pattern")
	out, _ = b.glob(args{"pattern": "**", "limit": 3, "sort": "path"})
	slices.Sort(want)
	if !slices.Equal(out.Paths, want[:3]) {
		t.Errorf("by path: %v", out.Paths)
	}
}

func TestNothingFoundIsExplained(t *testing.T) {
	b := newBench(t, []string{"a/x.go", "a/b/x.go", "out/gen.c", ".gitignore=out/\n", "dir.d/f"})
	for _, c := range []struct {
		args args
		says string
	}{
		{args{"pattern": "*.go"}, "the pattern is about . alone; **/*.go finds 2 files deeper down"},
		{args{"pattern": "**/*.c"}, "1 matching file is ignored or hidden; set noIgnore"},
		{args{"pattern": "*.d"}, "1 directory matches; glob finds files"},
		{args{"pattern": "**/*.rs"}, "[no file matches **/*.rs in .]"},
		{args{"pattern": "nope/**/*.go"}, "[nope does not exist]"},
		{args{"pattern": "a/x.go/*"}, "[a/x.go is not a directory]"},
		{args{"pattern": "nope.go"}, "nope.go does not exist; the pattern **/nope.go looks for the name at any depth"},
		{args{"pattern": "a"}, "a is a directory; the pattern a/** finds what is in it"},
	} {
		b.says(b.finds(c.args, ""), c.says)
	}
}

func TestBadCalls(t *testing.T) {
	b := newBench(t, []string{"a/f"})
	b.fails(tongs.CodeInvalidArgs, `the "[" at character 1 is not closed`, args{"pattern": "[a"})
	b.fails(tongs.CodeInvalidArgs, "pattern", args{"pattern": ""})
	b.fails(tongs.CodeInvalidArgs, "sort", args{"pattern": "*", "sort": "size"})
	b.fails(tongs.CodeInvalidArgs, "limit", args{"pattern": "*", "limit": 0})
	b.fails(tongs.CodeInvalidPath, "", args{"pattern": "../../*"})
	b.fails(tongs.CodeInvalidPath, "", args{"pattern": "/etc/*"})
	b.fails(tongs.CodeInvalidPath, "", args{"pattern": "*", "path": "/"})
	b.fails(tongs.CodeInvalidPath, "a/f is not a directory", args{"pattern": "*", "path": "a/f"})
	b.fails(tongs.CodeFileNotFound, "nope", args{"pattern": "*", "path": "nope"})
}

func TestSecretsStayOut(t *testing.T) {
	b := newBench(t, []string{".env", "a/.env.local", "a/server.key", "a/ok", ".env.example", ".aws/credentials"})
	b.says(b.finds(args{"pattern": "**", "includeHidden": true, "noIgnore": true}, "a/ok .env.example"),
		"[left out: 3 files, 1 directory, as secrets")
	b.says(b.finds(args{"pattern": "**/.env*"}, ".env.example"), "left out: 2 files, 1 directory")
	if len(b.Asked()) != 0 {
		t.Errorf("asked %d times", len(b.Asked()))
	}
	// By name a secret can be asked for, and is.
	b.finds(args{"pattern": ".env"}, ".env")
	b.finds(args{"pattern": ".aws/*"}, ".aws/credentials")
	if len(b.Asked()) != 2 || !b.Asked()[0].Effects[0].MustAsk {
		t.Errorf("asked %d times", len(b.Asked()))
	}
}

func TestRulesBelowTheDirectory(t *testing.T) {
	read := tongs.Kinds(tongs.EffectRead)
	b := newBench(t, []string{"private/a", "private/sub/b", "public/a", "asked/a", "x.lock"},
		rules(
			tongs.Rule{Layer: tongs.LayerUser, Effects: read, Pattern: "private/**", Decision: tongs.Blocked},
			tongs.Rule{Layer: tongs.LayerUser, Effects: read, Pattern: "**/*.lock", Decision: tongs.Blocked},
			tongs.Rule{Layer: tongs.LayerUser, Effects: read, Pattern: "asked/**", Decision: tongs.Ask},
		))
	b.says(b.finds(args{"pattern": "**"}, "public/a"), "left out: 1 file, 2 directories")
	if len(b.Asked()) != 0 {
		t.Errorf("asked %d times", len(b.Asked()))
	}
	for _, pattern := range []string{"private/*", "private/a", "private/sub/**", "x.lock"} {
		b.fails(tongs.CodeBlocked, "", args{"pattern": pattern})
	}
	b.finds(args{"pattern": "asked/*"}, "asked/a")
	if len(b.Asked()) != 1 {
		t.Errorf("asked %d times", len(b.Asked()))
	}
}

func TestZonesAndLinks(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	zone := ""
	b := newBench(t, []string{"a.go", "zone/z.go", "real/r.go"}, func(o *base.Options) {
		zone = filepath.Join(o.Dir, "zone")
		o.Roots = []workspace.Root{{Name: "z", Dir: zone}}
		for name, target := range map[string]string{"out": outside, "in": "real", "loop": "."} {
			if err := os.Symlink(target, filepath.Join(o.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	})
	b.finds(args{"pattern": "**/*.go"}, "a.go real/r.go")
	b.finds(args{"pattern": "/z/*.go"}, "/z/z.go")
	b.finds(args{"pattern": "*.go", "path": "/z"}, "/z/z.go")
	b.finds(args{"pattern": "zone/*.go"}, "/z/z.go")
	b.finds(args{"pattern": "in/*.go"}, "real/r.go")
	b.finds(args{"pattern": "o*"}, "out") // the link itself
	b.fails(tongs.CodeInvalidPath, "", args{"pattern": "out/*.go"})
}

func TestStrangeNamesAreQuoted(t *testing.T) {
	b := newBench(t, []string{"a\nb.go", "ok.go"})
	out, res := b.glob(args{"pattern": "*.go"})
	if out.Total != 2 || out.Paths[0] != "a\nb.go" {
		t.Errorf("%q", out.Paths)
	}
	b.says(res, `"a\nb.go"`)
}

// Everything is relative to the working directory of the call, and comes out relative to the workspace.
func TestWorkingDirectory(t *testing.T) {
	b := newBench(t, []string{"src/lib/a.go", "lib/b.go", "src/c.go"})
	for pattern, want := range map[string]string{
		"lib/*.go": "src/lib/a.go", "c.go": "src/c.go", "../lib/*.go": "lib/b.go", "../lib/b.go": "lib/b.go", "*.go": "src/c.go", "lib/a.go": "src/lib/a.go",
	} {
		raw, err := json.Marshal(args{"pattern": pattern})
		b.Must(err)
		res := b.Engine.Call(context.Background(), &tongs.Call{Tool: "glob", Args: raw, Dir: "src"})
		if res.Content != want {
			t.Errorf("%s: %s, want %s", pattern, res.Content, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	b := newBench(t, []string{"a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res := b.Engine.Call(ctx, &tongs.Call{Tool: "glob", Args: json.RawMessage(`{"pattern":"**"}`)})
	if res.OK() || res.Error.Code != tongs.CodeCancelled {
		t.Errorf("%v", res.Error)
	}
}

func TestConformance(t *testing.T) {
	tools, err := search.Tools(search.Options{User: &ignore.User{}})
	if err != nil {
		t.Fatal(err)
	}
	valid := map[string][]string{"glob": {
		`{"pattern":"**/*"}`, `{"pattern":"*.txt","path":"dir","sort":"path","limit":3,"includeHidden":true,"noIgnore":true}`, `{"pattern":"a.txt"}`,
	}}
	for _, tool := range tools {
		if examples := valid[tool.Spec().Name]; examples != nil {
			t.Run(tool.Spec().Name, func(t *testing.T) {
				tooltest.Run(t, tool, tooltest.Options{Valid: examples, Files: map[string]string{"a.txt": "one\n", "dir/b.txt": "b\n"}})
			})
		}
	}
	tooltest.Snapshot(t, "testdata/specs", tools...)
}

func ExampleTools() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600); err != nil {
		fmt.Println(err)
	}
	ws, err := workspace.Open(workspace.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ws.Close()
	tools, err := search.Tools(search.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := engine.New(engine.Options{Tools: tools, Workspace: ws})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Call(context.Background(), &tongs.Call{Tool: "glob", Args: json.RawMessage(`{"pattern":"**/*.go"}`)}).Content)
	// Output: main.go
}
