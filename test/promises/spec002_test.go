//go:build linux

package promises

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/system"
)

type object = map[string]any

// person is who is asked: she answers as she was told to, and remembers the questions.
type person struct {
	mu     sync.Mutex
	asked  []approval.Question
	answer func(approval.Question) approval.Answer
}

func yes(approval.Question) approval.Answer { return approval.Answer{Approved: true} }

func no(approval.Question) approval.Answer { return approval.Answer{Reason: "not that one"} }

func (h *person) channel() approval.Channel {
	return approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked = append(h.asked, q)
		return h.answer(q), nil
	})
}

// questions returns what was asked since the last time.
func (h *person) questions() []approval.Question {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.asked
	h.asked = nil
	return list
}

// desk is a system with a person, for the promises of one document.
type desk struct {
	*place
	*system.System
	person
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{place: newPlace(t)}
	d.answer = yes
	d.System = d.system(d.channel())
	return d
}

// promise checks one promise, by its name.
func (d *desk) promise(name string, check func(d *desk)) {
	d.Helper()
	whole := d.T
	whole.Run(name, func(t *testing.T) {
		d.T, d.answer = t, yes
		defer func() { d.T = whole }()
		d.questions()
		check(d)
	})
}

func (d *desk) do(tool string, args object) *tongs.Result {
	d.Helper()
	return d.Call(d.Context(), &tongs.Call{Tool: tool, Args: []byte(asJSON(d.T, args)), Session: "s"})
}

// value makes a call that must succeed, and returns its value.
func (d *desk) value(tool string, args object) object {
	d.Helper()
	res := d.do(tool, args)
	if res.Error != nil {
		d.Fatalf("%s %v: %v", tool, args, res.Error)
	}
	v := object{}
	must(d.T, json.Unmarshal(res.Value, &v))
	return v
}

// code makes a call that must fail with this code.
func (d *desk) code(want tongs.Code, tool string, args object) *tongs.Result {
	d.Helper()
	res := d.do(tool, args)
	if res.Error == nil || res.Error.Code != want {
		d.Fatalf("%s %v: %v (%s), want %s", tool, args, res.Error, res.Content, want)
	}
	return res
}

// asks checks how often the person was asked.
func (d *desk) asks(n int) {
	d.Helper()
	if list := d.questions(); len(list) != n {
		d.Errorf("asked %d times, want %d", len(list), n)
	}
}

func (d *desk) same(got, want any) {
	d.Helper()
	if a, b := asJSON(d.T, got), asJSON(d.T, want); a != b {
		d.Errorf("got %s, want %s", a, b)
	}
}

func Test002_CoreTools_Files(t *testing.T) {
	d := newDesk(t)
	d.put("dir/a.txt", "one\n")
	d.put("dir/.hidden", "x")
	d.put("dir/sub/b.txt", "two\n")
	must(t, os.Symlink("a.txt", filepath.Join(d.work, "dir", "link")))
	entries := func(d *desk, args object) map[string]object {
		all := map[string]object{}
		for _, e := range d.value("list_directory", args)["entries"].([]any) {
			all[e.(object)["name"].(string)] = e.(object)
		}
		return all
	}
	d.promise("list_directory returns name, type, size and modified", func(d *desk) {
		e := entries(d, object{"path": "dir"})
		d.same([]any{e["a.txt"]["type"], e["a.txt"]["size"], e["sub"]["type"], e["link"]["type"]}, []any{"file", 4, "directory", "symlink"})
		if _, err := time.Parse(time.RFC3339, e["a.txt"]["modified"].(string)); err != nil {
			d.Error(err)
		}
	})
	d.promise("list_directory is not recursive and leaves out hidden files by default", func(d *desk) {
		e := entries(d, object{"path": "dir"})
		if len(e) != 3 || e[".hidden"] != nil || e["sub/b.txt"] != nil {
			d.Errorf("%v", e)
		}
	})
	d.promise("list_directory recursive", func(d *desk) {
		if e := entries(d, object{"path": "dir", "recursive": true}); e["sub/b.txt"] == nil {
			d.Errorf("%v", e)
		}
	})
	d.promise("list_directory includeHidden", func(d *desk) {
		if e := entries(d, object{"path": "dir", "includeHidden": true}); e[".hidden"] == nil {
			d.Errorf("%v", e)
		}
	})
	d.promise("list_directory shows sizes and times to models with details", func(d *desk) {
		d.says(d.do("list_directory", object{"path": "dir", "details": true}).Content, "a.txt (4 bytes, 20")
	})
	d.promise("list_directory needs no approval", func(d *desk) { d.value("list_directory", object{"path": "."}); d.asks(0) })
	d.promise("read_file returns content, size and modified", func(d *desk) {
		v := d.value("read_file", object{"path": "dir/a.txt"})
		d.same([]any{v["content"], v["size"]}, []any{"one\n", 4})
		if _, err := time.Parse(time.RFC3339, v["modified"].(string)); err != nil {
			d.Error(err)
		}
		d.asks(0)
	})
	d.promise("read_file encoding base64", func(d *desk) {
		v := d.value("read_file", object{"path": "dir/a.txt", "encoding": "base64"})
		d.same(v["content"], base64.StdEncoding.EncodeToString([]byte("one\n")))
	})
	d.promise("read_file refuses another encoding", func(d *desk) {
		d.code(tongs.CodeInvalidArgs, "read_file", object{"path": "dir/a.txt", "encoding": "rot13"})
	})
	d.promise("read_file shows size and time to models with details", func(d *desk) {
		d.says(d.do("read_file", object{"path": "dir/a.txt", "details": true}).Content, "[4 bytes, modified 20")
	})
	d.promise("write_file creates without asking", func(d *desk) {
		v := d.value("write_file", object{"path": "new.txt", "content": "héllo"})
		d.same([]any{v["path"], v["size"]}, []any{"new.txt", 6})
		d.asks(0)
	})
	d.promise("write_file overwrites after asking", func(d *desk) {
		d.value("write_file", object{"path": "new.txt", "content": "other"})
		d.asks(1)
		d.same(d.get("new.txt"), "other")
	})
	d.promise("write_file encoding base64", func(d *desk) {
		d.value("write_file", object{"path": "bin.dat", "content": "AAEC", "encoding": "base64"})
		d.same([]byte(d.get("bin.dat")), []byte{0, 1, 2})
	})
	d.promise("write_file createDirs", func(d *desk) {
		d.value("write_file", object{"path": "x/y/z.txt", "content": "z", "createDirs": true})
		res := d.code(tongs.CodeFileNotFound, "write_file", object{"path": "no/z.txt", "content": "z", "createDirs": false})
		d.says(res.Content, "the directory no does not exist")
	})
	d.promise("delete_file always asks and names what it deleted", func(d *desk) {
		v := d.value("delete_file", object{"path": "bin.dat"})
		d.same(v["deleted"], []string{"bin.dat"})
		d.asks(1)
	})
	d.promise("delete_file needs recursive for a directory", func(d *desk) {
		d.code(tongs.CodeNotEmpty, "delete_file", object{"path": "x"})
		v := d.value("delete_file", object{"path": "x", "recursive": true})
		if len(v["deleted"].([]any)) == 0 {
			d.Errorf("%v", v)
		}
	})
	d.promise("move_file does not ask", func(d *desk) {
		v := d.value("move_file", object{"from": "new.txt", "to": "moved.txt"})
		d.same([]any{v["from"], v["to"]}, []any{"new.txt", "moved.txt"})
		d.asks(0)
	})
	d.promise("move_file does not overwrite by default, and asks with overwrite", func(d *desk) {
		d.put("other.txt", "o")
		d.code(tongs.CodeAlreadyExists, "move_file", object{"from": "moved.txt", "to": "other.txt"})
		d.asks(0)
		d.value("move_file", object{"from": "moved.txt", "to": "other.txt", "overwrite": true})
		d.asks(1)
	})
}

func Test002_CoreTools_RunCode(t *testing.T) {
	d := newDesk(t)
	d.put("in.txt", "inside")
	run := func(d *desk, language, code string, more ...object) object {
		args := object{"language": language, "code": code}
		for _, m := range more {
			for k, v := range m {
				args[k] = v
			}
		}
		return d.value("run_code", args)
	}
	d.promise("python", func(d *desk) {
		v := run(d, "python", "import sys; print('out'); print('err', file=sys.stderr)")
		d.same([]any{v["stdout"], v["stderr"], v["exitCode"]}, []any{"out\n", "err\n", 0})
		if v["duration"].(float64) <= 0 {
			d.Errorf("duration %v", v["duration"])
		}
		d.asks(0)
	})
	d.promise("bash", func(d *desk) { d.same(run(d, "bash", "echo $((6*7))")["stdout"], "42\n"); d.asks(0) })
	d.promise("args", func(d *desk) {
		d.same(run(d, "bash", `echo "$1-$2"`, object{"args": []string{"a b", "c"}})["stdout"], "a b-c\n")
	})
	d.promise("env", func(d *desk) {
		d.same(run(d, "bash", `echo "$X"`, object{"env": object{"X": "y z"}})["stdout"], "y z\n")
	})
	d.promise("an exit code is a result", func(d *desk) { d.same(run(d, "bash", "exit 7")["exitCode"], 7) })
	d.promise("timeout", func(d *desk) {
		d.code(tongs.CodeTimeout, "run_code", object{"language": "bash", "code": "sleep 60", "timeout": 1})
	})
	d.promise("no network", func(d *desk) {
		if v := run(d, "bash", "exec 3<>/dev/tcp/192.0.2.1/80"); v["exitCode"] == 0.0 {
			d.Errorf("%v", v)
		}
	})
	d.promise("cannot read files outside the workspace", func(d *desk) {
		secret := d.put(filepath.Join(d.home, "secret.txt"), "the secret")
		if v := run(d, "bash", "cat "+secret); strings.Contains(v["stdout"].(string), "the secret") {
			d.Errorf("%v", v)
		}
		d.same(run(d, "bash", `cat "$WORKSPACE/in.txt"`)["stdout"], "inside")
	})
	d.promise("resources are limited", func(d *desk) {
		res := d.do("run_code", object{"language": "python", "code": "x = bytearray(64 << 30)\nprint(len(x))", "timeout": 20})
		if strings.Contains(res.Content, "68719476736") {
			d.Errorf("64 GiB were given: %s", res.Content)
		}
	})
}

func Test002_CoreTools_Web(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Custom", "yes")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write([]byte("hello " + r.Header.Get("X-Mine")))
	}))
	t.Cleanup(site.Close)
	d := newDesk(t)
	d.promise("web_fetch returns status, headers and body", func(d *desk) {
		v := d.value("web_fetch", object{"url": site.URL + "/a", "headers": object{"X-Mine": "me"}, "timeout": 20, "responseHeaders": []string{"*"}})
		d.same([]any{v["status"], v["headers"].(object)["x-custom"], strings.TrimSpace(v["body"].(string))}, []any{200, "yes", "hello me"})
	})
	d.promise("web_fetch of a host that is not on the list asks", func(d *desk) {
		d.answer = no
		d.code(tongs.CodeDenied, "web_fetch", object{"url": strings.Replace(site.URL, "127.0.0.1", "localhost", 1) + "/b"})
		d.asks(1)
	})
	d.promise("web_fetch POST with a body", func(d *desk) {
		d.same(d.value("web_fetch", object{"url": site.URL + "/c", "method": "POST", "body": "a=b"})["status"], 201)
		if len(d.questions()) == 0 {
			d.Error("sending data did not ask")
		}
	})
	d.promise("web_fetch takes GET and POST alone", func(d *desk) {
		d.code(tongs.CodeInvalidArgs, "web_fetch", object{"url": site.URL, "method": "DELETE"})
	})
}

func Test002_CoreTools_WebSearch(t *testing.T) {
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"results":[{"title":"T","url":"https://example.org/","content":"S"},{"title":"U","url":"https://example.com/","content":"V"}]}`))
	}))
	t.Cleanup(engine.Close)
	p := newPlace(t)
	p.config("toolsets:\n  web:\n    search: [{provider: searxng, url: \"" + engine.URL + "\"}]\n")
	d := &desk{place: p}
	d.answer = yes
	d.System = d.system(d.channel())
	d.promise("web_search returns title, url and snippet", func(d *desk) {
		v := d.value("web_search", object{"query": "tongs", "numResults": 1})
		list := v["results"].([]any)
		first := list[0].(object)
		d.same([]any{len(list), first["title"], first["url"], first["snippet"]}, []any{1, "T", "https://example.org/", "S"})
	})
}

func Test002_ToolRegistry(t *testing.T) {
	type in struct {
		Path string `json:"path" jsonschema:"Path relative to workspace root."`
	}
	made, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "mine", Description: "Mine.", Default: tongs.PreApproved},
		Run:  func(_ context.Context, _ *tongs.Env, in in) (string, error) { return in.Path, nil },
	})
	must(t, err)
	r, err := registry.New()
	must(t, err)
	t.Run("register, get, has, list, unregister", func(t *testing.T) {
		must(t, r.RegisterAll(made))
		if _, ok := r.Get("mine"); !ok || !r.Has("mine") || len(r.List()) != 1 {
			t.Error("the tool is not registered")
		}
		if err := r.Register(made); err == nil {
			t.Error("a duplicate name was accepted")
		}
		if !r.Unregister("mine") || r.Has("mine") {
			t.Error("the tool stays")
		}
	})
	t.Run("definitions for OpenAI, flat as the document has them", func(t *testing.T) {
		var list []map[string]json.RawMessage
		must(t, json.Unmarshal([]byte(sharedPlace(t).ok("tools", "--format", "openai-flat")), &list))
		for _, f := range list {
			if len(f) != 3 || f["name"] == nil || f["description"] == nil || f["parameters"] == nil {
				t.Errorf("%s", f)
			}
		}
	})
	t.Run("definitions for the Chat and Responses APIs", func(t *testing.T) {
		p := sharedPlace(t)
		p.says(p.ok("tools", "--format", "openai"), `{"type":"function","function":{"name":"read_file"`)
		p.says(p.ok("tools", "--format", "openai-responses"), `{"type":"function","name":"read_file"`)
	})
	t.Run("output is validated against its schema", func(t *testing.T) {
		bad, err := tongs.New(tongs.Def[in, map[string]any]{
			Spec: tongs.Spec{Name: "bad", Description: "Bad.", Default: tongs.PreApproved, Output: made.Spec().Input},
			Run:  func(context.Context, *tongs.Env, in) (map[string]any, error) { return map[string]any{"path": 7}, nil },
		})
		must(t, err)
		e, err := engine.New(engine.Options{Tools: []tongs.Tool{bad}})
		must(t, err)
		if res := e.Call(t.Context(), &tongs.Call{Tool: "bad", Args: []byte(`{"path":"x"}`)}); res.OK() {
			t.Errorf("%s", res.Value)
		}
	})
}

func Test002_ApprovalGate(t *testing.T) {
	d := newDesk(t)
	d.promise("the request has the step (the ID of the call), tool, args and a reason", func(d *desk) {
		d.put("a.txt", "one\n")
		d.Call(d.Context(), &tongs.Call{Tool: "write_file", Args: []byte(`{"path":"a.txt","content":"two\n"}`), Step: 3, Reason: "because of the bug"})
		q := d.questions()
		if len(q) != 1 || q[0].Tool != "write_file" || !strings.Contains(string(q[0].Args), "a.txt") || q[0].Reason != "because of the bug" || q[0].Call == "" {
			d.Errorf("%+v", q)
		}
	})
	d.promise("a denial aborts, and its reason is told", func(d *desk) {
		d.answer = no
		d.put("b.txt", "one\n")
		d.says(d.code(tongs.CodeDenied, "write_file", object{"path": "b.txt", "content": "x"}).Content, "not that one")
		d.same(d.get("b.txt"), "one\n")
	})
	d.promise("modifiedArgs run instead, and the agent, the metadata and the log are told", func(d *desk) {
		d.put("c.txt", "one\n")
		d.answer = func(approval.Question) approval.Answer {
			return approval.Answer{Approved: true, Args: json.RawMessage(`{"path":"d.txt","content":"edited\n"}`)}
		}
		res := d.do("write_file", object{"path": "c.txt", "content": "x"})
		d.same([]any{d.get("c.txt"), d.get("d.txt")}, []any{"one\n", "edited\n"})
		d.says(res.Content, "a person changed", `path from "c.txt" to "d.txt"`)
		if res.Metadata["edited"] == nil {
			d.Errorf("metadata %v", res.Metadata)
		}
		d.says(d.ok("log", "show", res.Metadata["call"].(string)), "d.txt", "c.txt")
	})
	d.promise("modified arguments are validated and decided anew", func(d *desk) {
		d.put("e.txt", "one\n")
		d.answer = func(approval.Question) approval.Answer {
			return approval.Answer{Approved: true, Args: json.RawMessage(`{"path":"../outside.txt","content":"x"}`)}
		}
		d.code(tongs.CodeInvalidPath, "write_file", object{"path": "e.txt", "content": "x"})
	})
	d.promise("dynamic approval: only overwriting asks", func(d *desk) {
		d.value("write_file", object{"path": "f.txt", "content": "x"})
		d.asks(0)
		d.value("write_file", object{"path": "f.txt", "content": "y"})
		d.asks(1)
	})
}

func Test002_ErrorHandling(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "x")
	d.promise("INVALID_PATH outside the workspace", func(d *desk) { d.code(tongs.CodeInvalidPath, "read_file", object{"path": "../x"}) })
	d.promise("INVALID_PATH malformed", func(d *desk) { d.code(tongs.CodeInvalidPath, "read_file", object{"path": "a\x00b"}) })
	d.promise("FILE_NOT_FOUND", func(d *desk) { d.code(tongs.CodeFileNotFound, "read_file", object{"path": "none.txt"}) })
	d.promise("TIMEOUT", func(d *desk) { d.code(tongs.CodeTimeout, "shell", object{"command": "sleep 60", "timeout": 1}) })
	d.promise("EXECUTION_ERROR", func(d *desk) {
		d.value("create_custom_tool", object{"name": "broken", "description": "d", "language": "sh", "source": "#!/bin/sh\nif true; then\n"})
		d.code(tongs.CodeExecutionError, "build_custom_tool", object{"name": "broken"})
	})
	d.promise("ok and value, or ok false with code, message and details", func(d *desk) {
		var good, bad object
		must(d.T, json.Unmarshal([]byte(d.ok("call", "read_file", "path=a.txt", "--format", "json")), &good))
		out, _, _ := d.run("call", "read_file", "path=none.txt", "--format", "json")
		must(d.T, json.Unmarshal([]byte(out), &bad))
		failure := bad["error"].(object)
		if good["ok"] != true || good["value"] == nil || bad["ok"] != false || failure["code"] != "FILE_NOT_FOUND" || failure["message"] == "" || failure["details"] == nil {
			d.Errorf("%v %v", good, bad)
		}
	})
	d.promise("every code is documented", func(d *desk) {
		page, err := os.ReadFile("../../docs/tools.md")
		must(d.T, err)
		for _, c := range tongs.Codes() {
			d.says(string(page), "| `"+string(c)+"` |")
		}
	})
}
