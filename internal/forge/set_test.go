package forge_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/workbench"
)

func TestBrokenToolsAreListedWithTheirReason(t *testing.T) {
	b := newBench(t, workbench.Options{})
	good := "name: %s\ndescription: d\nentrypoint: run\n"
	b.tool("no-yaml", "readme", "x")
	b.tool("bad-yaml", "tool.yaml", "name: bad-yaml\ndescription: d\nentrypoint: run\ncolour: red\n", "run", "#!/bin/sh\n")
	b.tool("not-built", "tool.yaml", "name: not-built\ndescription: d\nentrypoint: not-built\n", "not-built.go", "package main")
	b.tool("no-entry", "tool.yaml", fmt.Sprintf(good, "no-entry"))
	b.tool("no-exec", "tool.yaml", fmt.Sprintf(good, "no-exec"), "run", "echo")
	b.tool("linked", "tool.yaml", fmt.Sprintf(good, "linked"))
	b.Must(os.Symlink("/bin/sh", filepath.Join(b.forge, "linked", "run")))
	b.tool("bad name", "tool.yaml", "x")
	b.tool("fine", "tool.yaml", fmt.Sprintf(good, "fine"), "run", "#!/bin/sh\n")
	for name, says := range map[string]string{
		"no-yaml": "tool.yaml is missing", "bad-yaml": "line 4", "not-built": "not built", "no-entry": "run is missing", "no-exec": "not executable",
		"linked": "link", "bad name": "no name of a tool",
	} {
		s := b.status(name)
		if s.Status != tongs.StatusBroken || !strings.Contains(s.Detail, says) {
			t.Errorf("%s: %+v, want ...%s", name, s, says)
		}
		if strings.Contains(name, " ") {
			continue
		}
		b.refresh()
		b.Fails(tongs.CodeConfigError, says, b.Call(name))
	}
	if s := b.status("fine"); s.Status != tongs.StatusUnapproved {
		t.Errorf("%+v", s)
	}
	b.Must(os.RemoveAll(filepath.Join(b.forge, "fine")))
	if s := b.status("fine"); s.Name != "" {
		t.Errorf("still there: %+v", s)
	}
}

func TestChangesAreSeen(t *testing.T) {
	b := newBench(t, workbench.Options{})
	b.script("a", "", "echo a")
	b.age()
	for range 3 {
		if _, err := b.set.Scan(); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.status("a"); s.Status != tongs.StatusReady {
		t.Fatalf("touching it changed it: %+v", s)
	}
	for name, change := range map[string]func() error{
		"program": func() error {
			return os.WriteFile(filepath.Join(b.forge, "a", "run"), []byte("#!/bin/sh\necho b\n"), 0o755)
		},
		"new file": func() error { return os.WriteFile(filepath.Join(b.forge, "a", "data.txt"), nil, 0o644) },
		"mode":     func() error { return os.Chmod(filepath.Join(b.forge, "a", "tool.yaml"), 0o755) },
	} {
		b.age()
		b.approve("a")
		b.Must(change())
		if s := b.status("a"); s.Status != tongs.StatusChanged {
			t.Errorf("%s: %+v", name, s)
		}
	}
	b.approve("a")
	b.Must(b.set.Disable("a"))
	if s := b.status("a"); s.Status != tongs.StatusDisabled || len(b.set.Tools()) != 0 {
		t.Errorf("%+v", s)
	}
	b.approve("a")
	// Another process sees what was approved, and reads nothing for it but stat identities.
	other, err := forge.New(forge.Options{Dir: b.forge, State: b.state})
	b.Must(err)
	if s := other.States(); len(s) != 1 || s[0].Status != tongs.StatusReady {
		t.Errorf("%+v", s)
	}
	b.Must(b.set.Disable("a"))
	changed, err := other.Scan()
	b.Must(err)
	if s := other.States(); !changed || s[0].Status != tongs.StatusDisabled {
		t.Errorf("%t %+v", changed, s)
	}
}

// A set that hears of changes misses none of them.
func TestWatch(t *testing.T) {
	b := newBench(t, workbench.Options{}, func(o *forge.Options) { o.Watch = true })
	defer b.set.Close()
	b.set.Settle(-time.Hour)
	b.script("a", "", "echo a")
	listen := func() {
		t.Helper()
		for range 3 { // until it listens, and finds nothing new
			_, err := b.set.Scan()
			b.Must(err)
		}
		if !b.set.Watching() {
			t.Fatal("nothing is listened for")
		}
		if changed, err := b.set.Scan(); changed || err != nil {
			t.Fatalf("changed by itself: %v", err)
		}
	}
	dir := filepath.Join(b.forge, "a")
	write := func(name, text string, mode os.FileMode) func() {
		return func() { b.Must(os.WriteFile(filepath.Join(dir, name), []byte(text), mode)) }
	}
	other, err := forge.New(forge.Options{Dir: b.forge, State: b.state})
	b.Must(err)
	for _, step := range []struct {
		what   string
		change func()
		want   tongs.Status
	}{
		{"program in place", write("run", "#!/bin/sh\necho b\n", 0o755), tongs.StatusChanged},
		{"approved elsewhere", func() {
			v, err := other.Look(context.Background(), "a")
			b.Must(err)
			b.Must(other.Approve(context.Background(), v, "test"))
		}, tongs.StatusReady},
		{"a new file", write("data", "x", 0o644), tongs.StatusChanged},
		{"a file removed", func() { b.Must(os.Remove(filepath.Join(dir, "data"))) }, tongs.StatusReady},
		{"no longer executable", func() { b.Must(os.Chmod(filepath.Join(dir, "run"), 0o644)) }, tongs.StatusBroken},
		{"executable again", func() { b.Must(os.Chmod(filepath.Join(dir, "run"), 0o755)) }, tongs.StatusReady},
		{"disabled elsewhere", func() { b.Must(other.Disable("a")) }, tongs.StatusDisabled},
		{"moved away", func() { b.Must(os.Rename(dir, dir+"2")) }, ""},
		{"and back", func() { b.Must(os.Rename(dir+"2", dir)) }, tongs.StatusDisabled},
	} {
		listen()
		step.change()
		if changed, err := b.set.Scan(); !changed || err != nil {
			t.Errorf("%s: not heard of, %v", step.what, err)
		}
		if s := b.status("a"); s.Status != step.want {
			t.Errorf("%s: %+v, want %q", step.what, s, step.want)
		}
	}
	b.set.Close()
	if _, err := b.set.Scan(); err != nil || b.set.Watching() {
		t.Errorf("closed, it listens: %v", err)
	}
}

// What is approved in a forge that was not there when the set was made is approved for those who come later.
func TestAForgeThatIsMadeLater(t *testing.T) {
	home := t.TempDir()
	link := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	opt := forge.Options{Dir: filepath.Join(link, ".forge", "tools"), State: t.TempDir()}
	early, err := forge.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(home); len(left) != 0 || len(early.States()) != 0 {
		t.Errorf("looking made %v", left)
	}
	made, err := forge.Draft{Name: "a", Description: "d", Language: "sh"}.Scaffold()
	if err == nil {
		_, err = made.Write(early.Dir())
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := early.Look(context.Background(), "a")
	if err == nil {
		err = early.Approve(context.Background(), v, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	late, err := forge.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	if s := late.States(); len(s) != 1 || s[0].Status != tongs.StatusReady {
		t.Errorf("%+v", s)
	}
}

func TestConcurrentRefreshes(t *testing.T) {
	b := newBench(t, workbench.Options{})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for k := range 20 {
				name := fmt.Sprintf("t%d-%d", i, k)
				d := forge.Draft{Name: name, Description: "d", Language: "sh"}
				made, err := d.Scaffold()
				if err == nil {
					_, err = made.Write(b.forge)
				}
				if err != nil {
					t.Error(err)
				}
				if _, err := b.set.Scan(); err != nil {
					t.Error(err)
				}
				for _, s := range b.set.States() {
					if s.Status == tongs.StatusBroken {
						t.Errorf("half-made: %+v", s)
					}
				}
			}
		})
	}
	all.Wait()
	if n := len(b.set.States()); n != 80 {
		t.Errorf("%d tools", n)
	}
}

func everyParameter() []forge.Parameter {
	return []forge.Parameter{
		{Name: "text", Type: "string", Required: true, Description: `Says "what" \ how`},
		{Name: "PATH", Type: "string", Default: "it's"},
		{Name: "a-b", Type: "integer", Default: float64(3)},
		{Name: "a_b", Type: "number"},
		{Name: "help", Type: "boolean", Default: true},
		{Name: "list", Type: "array", Items: "integer"},
		{Name: "type", Type: "string", Enum: []any{"x", "y"}},
	}
}

func TestScaffoldsWorkAsTheyAre(t *testing.T) {
	for lang, test := range map[string][]string{
		"go": {"sh", "-c", "go mod init x 2>/dev/null && go vet . && go test . && go build -o my-tool ."}, "sh": {"sh", "my-tool_test.sh"}, "python": {"python3", "my-tool_test.py"},
	} {
		for _, params := range [][]forge.Parameter{nil, everyParameter()} {
			forgeDir := t.TempDir()
			made, err := forge.Draft{Name: "my-tool", Description: "It's \"a\" test\n*/ `x` $HOME", Language: lang, Parameters: params}.Scaffold()
			if err != nil {
				t.Fatal(err)
			}
			dir, err := made.Write(forgeDir)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(test[0], test[1:]...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s with %d parameters: %v\n%s\n%s", lang, len(params), err, out, made.Text())
			}
			if params == nil {
				continue
			}
			program := map[string]string{"go": "my-tool", "sh": "my-tool.sh", "python": "my-tool.py"}[lang]
			for _, text := range []string{"-x y", "--", "-", "--text=", "@" + dir} { // libraries that read flags make something of these
				cmd = exec.Command(filepath.Join(dir, program), "--text="+text, "--a-b=-7", "--list=[1,2]", "--help=false")
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.Contains(string(out), text) || !strings.Contains(string(out), "-7") {
					t.Errorf("%s %q: %v: %s", lang, text, err, out)
				}
			}
		}
	}
}

func TestCreateLeavesNothingHalfMade(t *testing.T) {
	b := newBench(t, workbench.Options{})
	b.OK("create_custom_tool", args{"name": "one", "description": "d", "language": "sh"})
	if q := b.Questions(); len(q) != 1 || !strings.Contains(q[0].Preview, "tool.yaml") {
		t.Errorf("%+v", q)
	}
	b.Fails(tongs.CodeAlreadyExists, `"one"`, b.Call("create_custom_tool", args{"name": "one", "description": "d"}))
	for _, a := range []args{
		{"name": "../two", "description": "d"},
		{"name": "two", "description": "d", "language": "perl"},
		{"name": "two", "description": "d", "parameters": []any{args{"name": "a", "type": "x"}}},
		{"name": "two", "description": ""},
		{"name": ".two", "description": "d"},
	} {
		if res := b.Call("create_custom_tool", a); res.OK() || res.Error.Code != tongs.CodeInvalidArgs {
			t.Errorf("%v: %v", a, res.Error)
		}
	}
	left, err := os.ReadDir(b.forge)
	b.Must(err)
	if len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	// What was made can be called at once, and edited by the file tools, each of which asks.
	b.OK("build_custom_tool", args{"name": "one"})
	b.Contains("output", b.OK("one").Content, "one")
	b.Questions()
	b.OK("write_file", args{"path": "/forge/one/notes.txt", "content": "x"})
	if q := b.Questions(); len(q) != 1 {
		t.Errorf("writing in the forge asked %d times", len(q))
	}
	if res := b.Call("write_file", args{"path": filepath.Join(filepath.Dir(b.forge), "elsewhere.txt"), "content": "x"}); res.OK() {
		t.Error("a file outside was written")
	}
}

func TestBuildSaysWhatIsWrong(t *testing.T) {
	b := newBench(t, workbench.Options{})
	b.OK("create_custom_tool", args{"name": "s", "description": "d", "language": "sh", "source": "#!/bin/sh\nif true; then\n"})
	res := b.Call("build_custom_tool", args{"name": "s"})
	b.Fails(tongs.CodeExecutionError, "/forge/s/s.sh does not compile", res)
	b.tool("s", "s.sh", "#!/bin/sh\necho hello\n", "s_test.sh", "#!/bin/sh\necho wrong >&2; exit 1\n")
	b.Fails(tongs.CodeExecutionError, "its test fails", b.Call("build_custom_tool", args{"name": "s"}))
	b.tool("s", "s_test.sh", "#!/bin/sh\n", "tool.yaml", "name: s\ndescription: d\nentrypoint: s.sh\nexamples:\n  - output: goodbye\n")
	res = b.Call("build_custom_tool", args{"name": "s"})
	b.Fails(tongs.CodeExecutionError, "an example", res)
	b.Contains("content", res.Content, "example 1 printed:\nhello")
	b.tool("s", "tool.yaml", "name: s\ndescription: d\nentrypoint: s.sh\nexamples:\n  - output: hello\n")
	if v := workbench.Value[forge.Built](b.Bench, b.OK("build_custom_tool", args{"name": "s"})); v.Cached || v.Digest == "" {
		t.Errorf("%+v", v)
	}
	if v := workbench.Value[forge.Built](b.Bench, b.OK("build_custom_tool", args{"name": "s"})); !v.Cached {
		t.Errorf("built again: %+v", v)
	}
	b.Fails(tongs.CodeUnknownTool, "", b.Call("build_custom_tool", args{"name": "t"}))
}

func TestExportAndImport(t *testing.T) {
	b := newBench(t, workbench.Options{})
	b.script("a", "", "echo a")
	var archive bytes.Buffer
	b.Must(b.set.Export("a", &archive))
	data := archive.Bytes()
	if _, err := b.set.Import(bytes.NewReader(data)); tongs.CodeOf(err) != tongs.CodeAlreadyExists {
		t.Errorf("%v", err)
	}
	other, err := forge.New(forge.Options{Dir: t.TempDir(), State: t.TempDir()})
	b.Must(err)
	if name, err := other.Import(bytes.NewReader(data)); err != nil || name != "a" {
		t.Fatal(name, err)
	}
	if s := other.States(); len(s) != 1 || s[0].Status != tongs.StatusUnapproved || s[0].Digest != b.status("a").Digest {
		t.Errorf("%+v", s)
	}
	for cut := range len(data) {
		broken, err := forge.New(forge.Options{Dir: t.TempDir()})
		b.Must(err)
		if _, err := broken.Import(bytes.NewReader(data[:cut])); err == nil {
			t.Fatalf("%d of %d bytes were taken", cut, len(data))
		}
		if left, _ := os.ReadDir(broken.Dir()); len(left) != 0 {
			t.Fatalf("left: %v", left)
		}
		if cut > 40 {
			break
		}
	}
}
