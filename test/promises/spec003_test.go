//go:build linux

package promises

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/registry"
)

// myTool is the example of the document, in Go: MyTool of @beans/core.
func myTool(t *testing.T) tongs.Tool {
	t.Helper()
	type in struct {
		Input string `json:"input" jsonschema:"The input to process" minLength:"1"`
	}
	tool, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "my_tool", Title: "My tool", Description: "Does something useful", Default: tongs.PreApproved},
		Run:  func(_ context.Context, _ *tongs.Env, in in) (string, error) { return "Processed: " + in.Input, nil },
	})
	must(t, err)
	return tool
}

func Test003_FR1_ToolDefinition(t *testing.T) {
	tool := myTool(t)
	e, err := engine.New(engine.Options{Tools: []tongs.Tool{tool}})
	must(t, err)
	t.Run("name, displayName, description and parameters as JSON Schema", func(t *testing.T) {
		s := tool.Spec()
		if s.Name != "my_tool" || s.DisplayName() != "My tool" || s.Description == "" || s.Input.Type != "object" || s.Input.Properties["input"].Description != "The input to process" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("validate without executing", func(t *testing.T) {
		if _, err := e.Validate(t.Context(), "my_tool", []byte(`{"input":"x"}`)); err != nil {
			t.Error(err)
		}
		if _, err := e.Validate(t.Context(), "my_tool", []byte(`{"input":""}`)); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
			t.Errorf("%v", err)
		}
	})
	t.Run("parameters are validated before execution", func(t *testing.T) {
		if res := e.Call(t.Context(), &tongs.Call{Tool: "my_tool", Args: []byte(`{}`)}); res.Error == nil || res.Error.Code != tongs.CodeInvalidArgs {
			t.Errorf("%+v", res)
		}
	})
	t.Run("only execute is needed, and confirmation is optional", func(t *testing.T) {
		if res := e.Call(t.Context(), &tongs.Call{Tool: "my_tool", Args: []byte(`{"input":"x"}`)}); res.Content != "Processed: x" {
			t.Errorf("%+v", res)
		}
	})
}

func Test003_FR3_Registry(t *testing.T) {
	tool := myTool(t)
	r, err := registry.New()
	must(t, err)
	must(t, r.Register(tool))
	t.Run("getTool, getAllTools, getAllDefinitions, has", func(t *testing.T) {
		got, ok := r.Get("my_tool")
		if !ok || got.Spec().Name != "my_tool" || len(r.List()) != 1 || len(r.Definitions()) != 1 || !r.Has("my_tool") || r.Has("other") {
			t.Error("the registry does not have the tool")
		}
	})
	t.Run("duplicate names are errors", func(t *testing.T) {
		if err := r.RegisterAll(tool); err == nil || !strings.Contains(err.Error(), "my_tool") {
			t.Errorf("%v", err)
		}
	})
	t.Run("unregister", func(t *testing.T) {
		if !r.Unregister("my_tool") || r.Unregister("my_tool") {
			t.Error("unregister")
		}
	})
}

func Test003_FR4_BuiltinTools(t *testing.T) {
	d := newDesk(t)
	d.put("src/a.go", "package a\n\nfunc One() {}\n")
	d.put("src/b.txt", "one\ntwo\nthree\nfour\n")
	d.promise("all tools of the table are there", func(d *desk) {
		list := d.ok("tools")
		d.says(list, "\nread_file ", "\nwrite_file ", "\nshell ", "\nglob ", "\ngrep ", "\nedit ", "\nweb_search ", "\nweb_fetch ")
	})
	d.promise("read_file has line numbers, offset and limit", func(d *desk) {
		res := d.do("read_file", object{"path": "src/b.txt", "offset": 2, "limit": 2})
		if !strings.HasPrefix(res.Content, "     2\ttwo\n     3\tthree") || strings.Contains(res.Content, "four") {
			d.Errorf("%s", res.Content)
		}
		d.asks(0)
	})
	d.promise("write_file creates directories and tells the bytes", func(d *desk) {
		res := d.do("write_file", object{"path": "new/x.txt", "content": "12345", "createDirectories": true})
		d.says(res.Content, "5 bytes")
	})
	d.promise("glob lists paths, in a directory", func(d *desk) {
		d.says(d.do("glob", object{"pattern": "**/*.go"}).Content, "src/a.go")
		d.says(d.do("glob", object{"pattern": "*.txt", "path": "src"}).Content, "src/b.txt")
		d.asks(0)
	})
	d.promise("grep prefixes lines with file and line", func(d *desk) {
		d.says(d.do("grep", object{"pattern": `func \w+`}).Content, "src/a.go:3: func One")
		d.says(d.do("grep", object{"pattern": "FUNC", "caseInsensitive": true, "glob": "*.go", "path": "src", "maxResults": 1}).Content, "func One")
		d.asks(0)
	})
	d.promise("edit asks, and replaces text", func(d *desk) {
		d.value("edit", object{"path": "src/b.txt", "oldString": "two", "newString": "2"})
		d.asks(1)
		d.same(d.get("src/b.txt"), "one\n2\nthree\nfour\n")
	})
	d.promise("shell returns both outputs", func(d *desk) {
		v := d.value("shell", object{"command": "echo out; echo err >&2"})
		d.same([]any{v["stdout"], v["stderr"]}, []any{"out\n", "err\n"})
	})
	d.promise("shell asks about what it changed", func(d *desk) {
		d.value("shell", object{"command": "echo changed > src/b.txt"})
		d.asks(1)
	})
	d.promise("a timeout in milliseconds is refused, not misread", func(d *desk) {
		d.says(d.code(tongs.CodeInvalidArgs, "shell", object{"command": "true", "timeout": 120000}).Content, "timeout")
	})
	d.promise("error messages are helpful", func(d *desk) {
		d.says(d.code(tongs.CodeFileNotFound, "read_file", object{"path": "src/aa.go"}).Content, "src/aa.go", "src/a.go")
		d.says(d.code(tongs.CodeNoMatch, "edit", object{"path": "src/a.go", "oldString": "func Two() {}", "newString": "x"}).Content, "func One")
		d.says(d.code(tongs.CodeInvalidArgs, "grep", object{"patern": "x"}).Content, "pattern")
	})
}

func Test003_FR5_Confirmation(t *testing.T) {
	mode := func(mode string, args ...string) (string, int) {
		p := sharedPlace(t)
		p.put("modes.txt", "one\n")
		out, errs, code := p.run(append([]string{"call", "--mode", mode}, args...)...)
		return out + errs, code
	}
	t.Run("none always asks", func(t *testing.T) {
		if said, code := mode("none", "read_file", "path=modes.txt"); code != 3 || !strings.Contains(said, "APPROVAL_REQUIRED") {
			t.Errorf("%d %s", code, said)
		}
	})
	t.Run("safe approves reads", func(t *testing.T) {
		if said, code := mode("safe", "read_file", "path=modes.txt"); code != 0 {
			t.Errorf("%d %s", code, said)
		}
	})
	t.Run("safe asks for writes", func(t *testing.T) {
		if said, code := mode("safe", "write_file", "path=modes.txt", "content=x"); code != 3 {
			t.Errorf("%d %s", code, said)
		}
	})
	t.Run("all approves everything", func(t *testing.T) {
		if said, code := mode("all", "write_file", "path=modes.txt", "content=x"); code != 0 {
			t.Errorf("%d %s", code, said)
		}
	})
	d := newDesk(t)
	d.promise("the person sees the action, its kind and the difference", func(d *desk) {
		d.put("a.txt", "one\n")
		d.do("write_file", object{"path": "a.txt", "content": "two\n"})
		q := d.questions()
		if len(q) != 1 || q[0].Kind != tongs.KindWrite || !strings.Contains(q[0].Message, "Overwrite a.txt") || !strings.Contains(q[0].Preview, "+two") {
			d.Errorf("%+v", q)
		}
		d.do("delete_file", object{"path": "a.txt"})
		if q := d.questions(); len(q) != 1 || q[0].Kind != tongs.KindDestructive {
			d.Errorf("%+v", q)
		}
	})
}

func Test003_FR6_Streaming(t *testing.T) {
	d := newDesk(t)
	d.promise("shell streams both outputs while it runs", func(d *desk) {
		var mu sync.Mutex
		var chunks []string
		first := make(chan struct{})
		res := d.Call(d.Context(), &tongs.Call{
			Tool: "shell", Args: []byte(asJSON(d.T, object{"command": "echo one; sleep 0.3; echo two >&2"})), Session: "s",
			Sink: func(u tongs.Update) {
				mu.Lock()
				defer mu.Unlock()
				if u.Text != "" {
					if chunks = append(chunks, u.Text); len(chunks) == 1 {
						close(first)
					}
				}
			},
		})
		<-first
		mu.Lock()
		defer mu.Unlock()
		if len(chunks) < 2 || !strings.Contains(strings.Join(chunks, ""), "one\n") || !strings.Contains(strings.Join(chunks, ""), "two\n") {
			d.Errorf("%q, %s", chunks, res.Content)
		}
	})
	d.promise("a signal cancels execution", func(d *desk) {
		ctx, cancel := context.WithCancel(d.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		res := d.Call(ctx, &tongs.Call{Tool: "shell", Args: []byte(`{"command":"sleep 60"}`), Session: "s"})
		if res.Error == nil || res.Error.Code != tongs.CodeCancelled {
			d.Errorf("%v", res.Error)
		}
	})
	d.promise("output appears once, at a terminal and through a pipe", func(d *desk) {
		s := d.terminal("call", "shell", "command=echo a; echo b >&2; echo c")
		if code := s.exit(); code != 0 || strings.Count(s.shown(), "a\r\n") != 1 || strings.Count(s.shown(), "b\r\n") != 1 {
			d.Errorf("%d %q", code, s.shown())
		}
		out, errs, _ := d.run("call", "shell", "command=echo a")
		d.same([]any{out, errs}, []any{"a\n", ""})
	})
	d.promise("cwd", func(d *desk) {
		must(d.T, os.MkdirAll(filepath.Join(d.work, "sub"), 0o755))
		d.says(d.value("shell", object{"command": "pwd", "workdir": "sub"})["stdout"].(string), "/ws/sub\n")
	})
}

// shown is what the terminal showed when its command had ended.
func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.eof {
		s.more.Wait()
	}
	return s.all
}

func Test003_NFR2_Security(t *testing.T) {
	d := newDesk(t)
	outside := d.put(filepath.Join(d.home, "outside.txt"), "secret")
	d.put("a/x.txt", "x")
	must(t, os.Symlink(outside, filepath.Join(d.work, "link")))
	for _, path := range []string{"../home/outside.txt", outside, "link", "a/../../home/outside.txt", "/etc/passwd"} {
		d.promise("path traversal: "+strings.ReplaceAll(path, "/", "|"), func(d *desk) {
			d.code(tongs.CodeInvalidPath, "read_file", object{"path": path})
			d.code(tongs.CodeInvalidPath, "write_file", object{"path": path, "content": "x"})
		})
	}
	d.promise("command injection through arguments", func(d *desk) {
		d.do("grep", object{"pattern": "x; touch injected", "path": "."})
		d.do("glob", object{"pattern": "$(touch injected)"})
		if _, err := os.Stat(filepath.Join(d.work, "injected")); err == nil {
			d.Error("a command ran")
		}
	})
}

func Test003_NFR3_Reliability(t *testing.T) {
	d := newDesk(t)
	d.put("bin.dat", "\x00\x01\x02\xff")
	d.put("big.txt", strings.Repeat("line\n", 5000))
	d.promise("a binary file is named, not shown", func(d *desk) {
		res := d.do("read_file", object{"path": "bin.dat"})
		if strings.ContainsRune(res.Content, 0) || !strings.Contains(res.Content, "bin.dat") {
			d.Errorf("%q", res.Content)
		}
	})
	d.promise("large files are cut, and the rest can be read", func(d *desk) {
		d.says(d.do("read_file", object{"path": "big.txt"}).Content, "  2000\tline", "offset=2001")
	})
	d.promise("large output is cut, and kept", func(d *desk) {
		res := d.do("shell", object{"command": "seq 1 100000"})
		if len(res.Content) > 100_000 || !strings.Contains(res.Content, "/spill/") {
			d.Errorf("%d bytes", len(res.Content))
		}
	})
	d.promise("a timeout kills, and returns partial output", func(d *desk) {
		d.says(d.code(tongs.CodeTimeout, "shell", object{"command": "echo early; sleep 60", "timeout": 1}).Content, "early")
	})
	d.promise("permission denied has context", func(d *desk) {
		res := d.code(tongs.CodePermissionDenied, "write_file", object{"path": "/spill/x", "content": "x"})
		d.says(res.Content, "/spill")
	})
	d.promise("content, displayContent, isError and metadata", func(d *desk) {
		d.put("e.txt", "one\n")
		res := d.do("edit", object{"path": "e.txt", "oldString": "one", "newString": "two"})
		if res.Content == "" || !strings.Contains(res.Display, "+two") || res.Error != nil || res.Metadata["call"] == nil {
			d.Errorf("%+v", res)
		}
	})
}
