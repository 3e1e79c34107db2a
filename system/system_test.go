package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/system"
)

// withoutMain is set for a process of this program that does not call Main, and names its directory.
const withoutMain = "TONGS_TEST_WITHOUT_MAIN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(withoutMain); dir != "" {
		os.Exit(runWithoutMain(dir))
	}
	system.Main()
	os.Exit(inOwnHome(m))
}

// inOwnHome runs the tests, and the example, with a home and a cache of their own.
func inOwnHome(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tongs-system-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"HOME", "XDG_CACHE_HOME"} {
		if err := os.Setenv(name, filepath.Join(dir, name)); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return m.Run()
}

// options are those of a system below a directory, which touches nothing else.
func options(dir string) system.Options {
	return system.Options{
		Workspace: filepath.Join(dir, "work"), Config: filepath.Join(dir, "config"),
		State: filepath.Join(dir, "state"), CustomTools: filepath.Join(dir, "tools"),
	}
}

// place makes a workspace with a configuration, and a home that nothing may be found in.
func place(t *testing.T, config string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work", "config", "home"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"config/config.yaml": config, "work/a.txt": "one\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	return dir
}

func open(t *testing.T, opt system.Options) *system.System {
	t.Helper()
	s, err := system.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func call(t *testing.T, s tongs.Caller, tool string, args map[string]any) *tongs.Result {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return s.Call(t.Context(), &tongs.Call{Tool: tool, Args: data, Session: "s"})
}

// The rules of the configuration decide, people are asked through the channels, observers are told, and what happened outlives the
// system.
func TestASystemIsAllOfTongs(t *testing.T) {
	dir := place(t, "toolsets:\n  filesystem:\n    approval:\n      tools: {delete_file: blocked}\n")
	opt := options(dir)
	asked, closed := 0, 0
	opt.Channels = []approval.Channel{approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		asked++
		return approval.Answer{Approved: true}, nil
	})}
	opt.Observers = []func(engine.Event){func(e engine.Event) {
		if e.Kind == engine.Closed {
			closed++
		}
	}}
	s := open(t, opt)
	if res := call(t, s, "delete_file", map[string]any{"path": "a.txt"}); res.Error == nil || res.Error.Code != tongs.CodeBlocked {
		t.Errorf("a blocked tool: %v %s", res.Error, res.Content)
	}
	if res := call(t, s, "edit", map[string]any{"path": "a.txt", "oldString": "one", "newString": "two"}); res.Error != nil || asked != 1 {
		t.Errorf("asked %d times: %v", asked, res.Error)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "work", "a.txt")); string(data) != "two\n" {
		t.Errorf("the file is %q", data)
	}
	if closed != 2 {
		t.Errorf("the observer saw %d calls", closed)
	}
	scoped := s.Within(tongs.Scope{Tools: []string{"read_file"}})
	if res := call(t, scoped, "edit", map[string]any{"path": "a.txt", "oldString": "two", "newString": "three"}); res.Error == nil {
		t.Error("a scope did not narrow")
	}
	if ex, err := s.Explain(t.Context(), &tongs.Call{Tool: "read_file", Args: []byte(`{"path":"a.txt"}`)}); err != nil || ex.Decision != tongs.PreApproved {
		t.Errorf("%+v, %v", ex, err)
	}
	if res := call(t, open(t, opt), "undo", nil); res.Error != nil {
		t.Errorf("another system does not know of the change: %v", res.Error)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "work", "a.txt")); string(data) != "one\n" {
		t.Errorf("after undo the file is %q", data)
	}
	if found, err := os.ReadDir(filepath.Join(dir, "home")); err != nil || len(found) > 0 {
		t.Errorf("it wrote to the home directory: %v, %v", found, err)
	}
}

// Every toolset that is built in is there, and so are the program's own tools.
func TestASystemHasAllTools(t *testing.T) {
	opt := options(place(t, ""))
	own, err := tongs.New(tongs.Def[struct{}, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Greets."},
		Run:  func(context.Context, *tongs.Env, struct{}) (string, error) { return "hello", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	opt.Tools = []tongs.Tool{own}
	specs, err := open(t, opt).Tools(t.Context())
	if err != nil {
		t.Error(err)
	}
	var names []string
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	for _, want := range []string{"read_file", "edit", "grep", "shell", "run_code", "undo", "web_fetch", "todo_write", "create_custom_tool", "greet"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s among %v", want, names)
		}
	}
	opt.Tools = append(opt.Tools, own)
	if s, err := system.Open(t.Context(), opt); err == nil {
		_ = s.Close()
		t.Error("two tools of one name were accepted")
	}
}

// A tool of the program cannot have a name that an MCP server could give to one of its tools: that would take its place.
func TestToolsOfTheProgramDoNotHaveNamesOfServers(t *testing.T) {
	opt := options(place(t, ""))
	for _, spec := range []tongs.Spec{{Name: "files__read"}, {Name: "fetch_all", Aliases: []string{"files__read"}}} {
		spec.Description = "Reads."
		own, err := tongs.New(tongs.Def[struct{}, string]{
			Spec: spec, Run: func(context.Context, *tongs.Env, struct{}) (string, error) { return "mine", nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		opt.Tools = []tongs.Tool{own}
		s, err := system.Open(t.Context(), opt)
		if tongs.CodeOf(err) != tongs.CodeConfigError || !strings.Contains(err.Error(), "files__read") {
			t.Errorf("%s: %v", spec.Name, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
}

// Directories that the environment names do not loosen anything, unless a person started the program.
func TestTheEnvironmentCannotLoosen(t *testing.T) {
	dir := place(t, "approval: {mode: all}\n")
	t.Setenv("TONGS_CONFIG_DIR", filepath.Join(dir, "config"))
	opt := options(dir)
	edit := &tongs.Call{Tool: "edit", Args: []byte(`{"path":"a.txt","oldString":"one","newString":"two"}`)}
	for name, c := range map[string]struct {
		config   string
		attended bool
		want     tongs.Decision
	}{
		"named by the program":                {opt.Config, false, tongs.PreApproved},
		"named by the environment":            {"", false, tongs.Ask},
		"named by a person's own environment": {"", true, tongs.PreApproved},
	} {
		opt.Config, opt.Attended = c.config, c.attended
		if ex, err := open(t, opt).Explain(t.Context(), edit); err != nil || ex.Decision != c.want {
			t.Errorf("%s: %+v, %v", name, ex, err)
		}
	}
}

func TestRelativeDirectoriesAreRefused(t *testing.T) {
	dir := place(t, "")
	for name, change := range map[string]func(*system.Options){
		"Config": func(o *system.Options) { o.Config = "config" },
		"State":  func(o *system.Options) { o.State = "state" }, "CustomTools": func(o *system.Options) { o.CustomTools = "tools" },
	} {
		opt := options(dir)
		change(&opt)
		if _, err := system.Open(t.Context(), opt); tongs.CodeOf(err) != tongs.CodeConfigError || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A program that is not the command runs programs in the sandbox once it calls Main. One that does not is told so, and the
// program does not run.
func TestProgramsOfAnEmbeddingProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems start no helper from this program")
	}
	dir := place(t, "")
	if res := call(t, open(t, options(dir)), "shell", map[string]any{"command": "wc -l a.txt"}); res.Error != nil || !strings.Contains(res.Content, "1 a.txt") {
		t.Errorf("%v %s", res.Error, res.Content)
	}
	other := place(t, "")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), withoutMain+"="+other)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "SANDBOX_UNAVAILABLE") || !strings.Contains(string(out), "In main, call system.Main() before anything else") {
		t.Errorf("%s %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(other, "work", "made")); err == nil {
		t.Error("the program ran")
	}
}

// runWithoutMain calls shell in a process that did not call Main, and prints what that came to.
func runWithoutMain(dir string) int {
	opt := options(dir)
	opt.Channels = []approval.Channel{approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) {
		return approval.Answer{Approved: true}, nil
	})}
	s, err := system.Open(context.Background(), opt)
	if err != nil {
		fmt.Println("open:", err)
		return 1
	}
	defer s.Close()
	res := s.Call(context.Background(), &tongs.Call{Tool: "shell", Args: []byte(`{"command":"touch made"}`)})
	fmt.Println(res.Error)
	return 0
}

// The facade stays small, and nothing of internal shows through it.
func TestTheFacadeIsSmall(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "system.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("*.go")
	others = slices.DeleteFunc(others, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if err != nil || !slices.Equal(others, []string{"system.go"}) {
		t.Fatalf("this test reads system.go alone, and there are %v", others)
	}
	internal := map[string]bool{}
	for _, imp := range file.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		if strings.Contains(path, "/internal/") {
			internal[path[strings.LastIndex(path, "/")+1:]] = true
		}
	}
	if len(internal) == 0 {
		t.Fatal("no internal package is imported: the test sees nothing")
	}
	var names []string
	check := func(name string, n ast.Node) {
		names = append(names, name)
		ast.Inspect(n, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && internal[x.Name] {
					t.Errorf("%s mentions %s.%s", name, x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				check(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						check(s.Name.Name, exportedOnly(s.Type))
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() {
							check(n.Name, s)
						}
					}
				}
			}
		}
	}
	if len(names) > 15 {
		t.Errorf("%d exported identifiers, at most 15: %v", len(names), names)
	}
}

// exportedOnly is a type without the fields of a struct that nobody outside can see.
func exportedOnly(t ast.Expr) ast.Expr {
	s, ok := t.(*ast.StructType)
	if !ok {
		return t
	}
	seen := &ast.StructType{Fields: &ast.FieldList{}}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			seen.Fields.List = append(seen.Fields.List, f)
		}
	}
	return seen
}
