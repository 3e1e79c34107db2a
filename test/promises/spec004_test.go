//go:build linux

package promises

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/schema"
)

// shown is a value with a title, metadata and an attachment of its own.
type shown struct {
	Bytes int `json:"bytes"`
}

func (s shown) Present(r *tongs.Result) {
	r.Title, r.Content = "Read it", "the text"
	r.SetMeta("bytes", s.Bytes)
	r.Attachments = []tongs.Attachment{{Name: "a.png", MIME: "image/png", Data: []byte("x"), Size: 1}}
}

func Test004_ToolDefine_InGo(t *testing.T) {
	type in struct {
		Path string `json:"path" jsonschema:"File path to read"`
	}
	var about tongs.CallInfo
	spec := tongs.Spec{Name: "read_it", Description: "Read file contents", Needs: tongs.Read, Default: tongs.PreApproved}
	static, err := tongs.New(tongs.Def[in, shown]{Spec: spec, Run: func(ctx context.Context, env *tongs.Env, in in) (shown, error) {
		about = env.Call
		env.Update(tongs.Update{Title: "Reading " + in.Path + "..."})
		return shown{Bytes: len(in.Path)}, nil
	}})
	must(t, err)
	object, err := tongs.New(tongs.Def[in, map[string]int]{
		Spec: tongs.Spec{Name: "object", Description: "Gives an object", Default: tongs.PreApproved},
		Run:  func(context.Context, *tongs.Env, in) (map[string]int, error) { return map[string]int{"a": 1}, nil },
	})
	must(t, err)
	made := 0
	lazy := tongs.Lazy(tongs.Spec{Name: "lazy", Description: "Made when it is first needed"}, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		made++
		return tongs.New(tongs.Def[in, string]{
			Spec: tongs.Spec{Name: "lazy", Description: "Made when it is first needed", Default: tongs.PreApproved},
			Run:  func(_ context.Context, _ *tongs.Env, in in) (string, error) { return in.Path, nil },
		})
	})
	var observed []string
	e, err := engine.New(engine.Options{Tools: []tongs.Tool{static, object, lazy}, OnResult: func(c *tongs.Call, _ *tongs.Result) { observed = append(observed, c.Tool) }})
	must(t, err)
	var titles []string
	args := []byte(`{"path":"x.txt"}`)
	res := e.Call(t.Context(), &tongs.Call{
		ID: "c1", Tool: "read_it", Args: args, Session: "s1", Message: "m1", Agents: []string{"coder"},
		Sink: func(u tongs.Update) { titles = append(titles, u.Title) },
	})
	t.Run("Context has sessionID, messageID, agent and callID", func(t *testing.T) {
		if about.ID != "c1" || about.Session != "s1" || about.Message != "m1" || about.Agent() != "coder" {
			t.Errorf("%+v", about)
		}
	})
	t.Run("Result has title, metadata, output and attachments", func(t *testing.T) {
		if res.Title != "Read it" || res.Content != "the text" || res.Metadata["bytes"] != 5 || len(res.Attachments) != 1 {
			t.Errorf("%+v", res)
		}
	})
	t.Run("metadata streams while it runs", func(t *testing.T) {
		if len(titles) != 1 || titles[0] != "Reading x.txt..." {
			t.Errorf("%q", titles)
		}
	})
	t.Run("objects are JSON for the model", func(t *testing.T) {
		if got := e.Call(t.Context(), &tongs.Call{Tool: "object", Args: args}); strings.Join(strings.Fields(got.Content), "") != `{"a":1}` {
			t.Errorf("%q", got.Content)
		}
	})
	t.Run("asynchronous initialisation, once", func(t *testing.T) {
		for range 2 {
			if got := e.Call(t.Context(), &tongs.Call{Tool: "lazy", Args: args}); got.Content != "x.txt" {
				t.Errorf("%+v", got)
			}
		}
		if made != 1 {
			t.Errorf("made %d times", made)
		}
	})
	t.Run("onToolResult sees every result", func(t *testing.T) {
		if strings.Join(observed, " ") != "read_it object lazy lazy" {
			t.Errorf("%q", observed)
		}
	})
	t.Run("lastResults", func(t *testing.T) {
		last := e.LastResults()
		if len(last) != 3 || last["read_it"].Content != "the text" || last["lazy"].Content != "x.txt" {
			t.Errorf("%v", last)
		}
	})
	t.Run("enabled filters by permissions", func(t *testing.T) {
		r, err := registry.New(static, object)
		must(t, err)
		if list := r.Enabled(tongs.Network); len(list) != 1 || list[0].Spec().Name != "object" {
			t.Errorf("%d tools", len(list))
		}
	})
}

func Test004_BuiltinTools(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct{ alias, name, needs string }{
		{"read", "read_file", "read"},
		{"write", "write_file", "write"},
		{"edit", "edit", "read,write"},
		{"glob", "glob", "read"},
		{"grep", "grep", "read"},
		{"list", "list_directory", "read"},
		{"bash", "shell", "execute"},
		{"task", "task", "execute"},
		{"todowrite", "todo_write", ""},
		{"todoread", "todo_read", ""},
		{"webfetch", "web_fetch", "network"},
	} {
		d.promise(c.alias+" is there, with its permission", func(d *desk) {
			said := d.ok("describe", c.alias)
			if !strings.HasPrefix(said, c.name+" (") || c.needs != "" && !strings.Contains(said, "needs:       "+c.needs+"\n") {
				d.Errorf("%s", said)
			}
		})
	}
	specs, err := d.Tools(t.Context())
	must(t, err)
	d.promise("descriptions have at most 40 tokens, and parameters are documented", func(d *desk) {
		for _, s := range specs {
			if n := schema.Tokens(s.Description); n > 40 {
				d.Errorf("%s: %d tokens", s.Name, n)
			}
			for name, p := range s.Input.Properties {
				if p.Description == "" {
					d.Errorf("%s.%s is not documented", s.Name, name)
				}
			}
		}
	})
	d.promise("enums are shown", func(d *desk) { d.says(d.ok("describe", "read_file"), "one of utf-8, base64") })
	d.promise("grep and glob are in the toolset that describe names", func(d *desk) {
		d.says(d.ok("describe", "grep"), "toolset:     filesystem")
		d.worker("sees", "toolsets: {filesystem: {}}", "model: x\nturns:\n  - offered: [read_file, grep, glob]\n    withheld: [shell]\n    text: done\n")
		d.says(d.ok("run", "sees", "go"), "done")
	})
	d.promise("task without a model: LLM_ASSIST_REQUIRED with the instructions", func(d *desk) {
		d.put(filepath.Join(d.home, "config", "workers", "alone.yaml"), "name: alone\ndescription: Alone.\ntoolsets: {filesystem: {}}\ninstructions: Be brief and true.\n")
		out, _, code := d.run("call", "task", "worker=alone", "prompt=do it", "--format", "json")
		if code == 0 {
			d.Errorf("exit %d", code)
		}
		d.says(out, `"LLM_ASSIST_REQUIRED"`, "Be brief and true.", `"metadata"`)
	})
	d.promise("todowrite and todoread", func(d *desk) {
		d.value("todowrite", object{"items": []object{{"content": "Find it", "status": "in_progress"}}})
		d.says(d.do("todoread", object{}).Content, "Find it")
	})
}

func Test004_ExternalDescriptions(t *testing.T) {
	var mu sync.Mutex
	var sent string
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		sent += string(body)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	p := newPlace(t)
	p.config("descriptions: ./texts\n")
	p.put(filepath.Join(p.home, "config", "texts", "read_file.txt"), "Reads below ${workspace}, from ${directory}, started in ${cwd}.")
	want := "Reads below " + p.work + ", from " + p.work + ", started in " + p.home + "."
	t.Run("variables", func(t *testing.T) {
		cmd := p.command("--workspace", p.work, "describe", "read_file")
		cmd.Dir = p.home
		out, err := cmd.Output()
		must(t, err)
		p.says(string(out), want)
	})
	t.Run("models of workers see them", func(t *testing.T) {
		dir := filepath.Join(p.home, "config", "workers")
		p.put(filepath.Join(dir, "plain.yaml"), "name: plain\nmodel: openai:test\ntoolsets: {filesystem: {}}\ninstructions: Read.\n")
		p.env = append(p.env, "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=none")
		p.says(p.ok("run", "plain", "go"), "done")
		mu.Lock()
		defer mu.Unlock()
		p.says(sent, "Reads below "+p.work)
	})
	t.Run("every built-in tool has a long description", func(t *testing.T) {
		p := sharedPlace(t)
		for _, name := range []string{"read_file", "grep", "shell", "run_code", "undo", "web_fetch", "create_custom_tool", "todo_write", "task"} {
			if said := p.ok("describe", name); strings.Count(said, "\n") < 5 || !strings.Contains(said, p.work) && name != "build_custom_tool" {
				t.Errorf("%s: %s", name, said)
			}
		}
	})
}

func Test000_ApprovalModel(t *testing.T) {
	p := newPlace(t)
	p.config(`approval:
  tools:
    edit: preApproved
    delete_file: blocked
    read_file: ask
toolsets:
  shell:
    rules:
      - pattern: "git "
        approval: preApproved
      - pattern: curl
        approval: blocked
`)
	d := &desk{place: p}
	d.answer = yes
	d.System = d.system(d.channel())
	d.put("a.txt", "one\n")
	d.promise("preApproved", func(d *desk) {
		d.value("edit", object{"path": "a.txt", "oldString": "one", "newString": "two"})
		d.asks(0)
	})
	d.promise("ask", func(d *desk) { d.value("read_file", object{"path": "a.txt"}); d.asks(1) })
	d.promise("blocked, without a question", func(d *desk) {
		d.code(tongs.CodeBlocked, "delete_file", object{"path": "a.txt"})
		d.asks(0)
	})
	d.promise("a shell rule matches whole words", func(d *desk) {
		d.value("shell", object{"command": "git --version"})
		d.asks(0)
		d.code(tongs.CodeBlocked, "shell", object{"command": "true && curl http://example.org"})
	})
	d.promise("an unknown decision is an error", func(d *desk) {
		q := newPlace(d.T)
		q.config("approval: {tools: {edit: maybe}}\n")
		q.fails(1, []string{"maybe", "preApproved"}, "tools")
	})
	d.promise("toolsets group the tools", func(d *desk) {
		specs, err := d.Tools(d.Context())
		must(d.T, err)
		of := map[string]string{}
		for _, s := range specs {
			of[s.Name] = s.Toolset
		}
		for _, name := range []string{"read_file", "write_file", "list_directory", "delete_file", "file_exists", "file_info"} {
			d.same(of[name], "filesystem")
		}
		d.same([]string{of["shell"], of["task"]}, []string{"shell", "workers"})
	})
}
