//lint:file-ignore SA1019 what is deprecated here is what clients of the revisions with sessions speak

package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

func needsLinux(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the commands of these tests need Linux")
	}
}

func TestReadsAndTellsEveryWrongArgument(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		w.write("a.txt", "one\n")
		c := w.connect(version, nil)
		if res := c.call("read_file", args{"path": "a.txt"}); res.IsError || !strings.Contains(text(res), "one") {
			t.Errorf("read_file: %s", text(res))
		}
		if res := c.call("read", args{"file_path": "a.txt"}); res.IsError || !strings.Contains(text(res), "one") {
			t.Errorf("by an alias: %s", text(res))
		}
		res := c.call("read_file", args{"limit": "x", "offset": []int{}})
		for _, want := range []string{"limit", "offset", "path"} {
			if codeOf(res) != "INVALID_ARGS" || !strings.Contains(text(res), "- "+want) {
				t.Errorf("the error does not name %s: %s", want, text(res))
			}
		}
	})
}

// Under a prefix tools are offered by their longer names; both names, and those that models know, reach them.
func TestNamesWithAPrefix(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{Options: mcpserver.Options{Prefix: "tongs_"}})
		w.write("a.txt", "one\n")
		c := w.connect(version, nil)
		listed, err := c.ListTools(t.Context(), nil)
		w.must(err)
		for _, tool := range listed.Tools {
			if !strings.HasPrefix(tool.Name, "tongs_") {
				t.Errorf("%s is offered", tool.Name)
			}
		}
		for _, name := range []string{"tongs_read_file", "read_file", "read"} {
			if res := c.call(name, args{"path": "a.txt"}); res.IsError || !strings.Contains(text(res), "one") {
				t.Errorf("%s: %s", name, text(res))
			}
		}
		if rows := w.rows(); strings.Join(rows, " ") != "read_file read_file read_file" {
			t.Errorf("rows of %v", rows)
		}
	})
}

func TestUnknownToolIsAnErrorOfTheProtocolAndARow(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		c := w.connect(version, nil)
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_fil"})
		wire, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || wire.Code != jsonrpc.CodeInvalidParams || !strings.Contains(wire.Message, "read_file") {
			t.Errorf("error %v, want invalid parameters and the nearest name", err)
		}
		rows := w.rows()
		if len(rows) != 1 || rows[0] != "read_fil" {
			t.Errorf("rows of %v, want one of read_fil", rows)
		}
	})
}

func TestStructuredContentFitsItsSchema(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	c := w.connect(withSessions, nil)
	listed, err := c.ListTools(t.Context(), nil)
	w.must(err)
	with := map[string]bool{}
	for _, tool := range listed.Tools {
		with[tool.Name] = tool.OutputSchema != nil
	}
	for tool, a := range map[string]args{
		"list_directory": {}, "glob": {"pattern": "*"}, "file_info": {"path": "a.txt"}, "file_exists": {"path": "a.txt"},
		"read_file": {"path": "a.txt"}, "grep": {"pattern": "one"},
	} {
		res := c.call(tool, a)
		if (res.StructuredContent != nil) != with[tool] {
			t.Errorf("%s: structured content %v, schema %v", tool, res.StructuredContent, with[tool])
		}
	}
}

func TestImagesAndLargeAttachments(t *testing.T) {
	var png bytes.Buffer
	raw, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	png.Write(raw)
	large := bytes.Repeat([]byte{0, 1, 2, 3}, 3<<20)
	w := newWorld(t, setup{tools: []tongs.Tool{attacher(t, large)}})
	w.write("a.png", png.String())
	c := w.connect(withSessions, nil)
	res := c.call("read_file", args{"path": "a.png"})
	i := slices.IndexFunc(res.Content, func(part mcp.Content) bool { _, ok := part.(*mcp.ImageContent); return ok })
	if i < 0 || !bytes.Equal(res.Content[i].(*mcp.ImageContent).Data, raw) {
		t.Fatalf("no image in %s", text(res))
	}
	res = c.call("attach", args{})
	i = slices.IndexFunc(res.Content, func(part mcp.Content) bool { _, ok := part.(*mcp.ResourceLink); return ok })
	if i < 0 {
		t.Fatalf("no link in %s", text(res))
	}
	link := res.Content[i].(*mcp.ResourceLink)
	listed, err := c.ListResources(t.Context(), nil)
	w.must(err)
	if len(listed.Resources) != 1 || listed.Resources[0].URI != link.URI {
		t.Errorf("listed %v, want %s", listed.Resources, link.URI)
	}
	if other, err := w.connect(withSessions, nil).ListResources(t.Context(), nil); err != nil || len(other.Resources) != 0 {
		t.Errorf("another session lists %v (%v)", other.Resources, err)
	}
	if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI}); err == nil || !strings.Contains(err.Error(), "page through") {
		t.Errorf("12 MB in one piece: %v", err)
	}
}

// attacher returns a tool with an attachment.
func attacher(t *testing.T, data []byte) tongs.Tool {
	t.Helper()
	tool, err := tongs.New(tongs.Def[struct{}, attachedOutput]{
		Spec: tongs.Spec{Name: "attach", Description: "Attaches.", Needs: tongs.Read, Default: tongs.PreApproved},
		Run:  func(context.Context, *tongs.Env, struct{}) (attachedOutput, error) { return attachedOutput{data}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

type attachedOutput struct{ data []byte }

func (o attachedOutput) Present(r *tongs.Result) {
	r.Attachments = []tongs.Attachment{{Name: "data.bin", MIME: "application/octet-stream", Data: o.data, Size: int64(len(o.data))}}
}

func TestResourcesAreUnderSpillOnly(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{})
		w.write("long.txt", "secret\n")
		c := w.connect(version, nil)
		templates, err := c.ListResourceTemplates(t.Context(), nil)
		w.must(err)
		if len(templates.ResourceTemplates) != 1 {
			t.Fatalf("templates %v", templates.ResourceTemplates)
		}
		for _, uri := range []string{
			"tongs:///spill/nothing", "tongs:///spill/../long.txt", "tongs:///etc/passwd", "tongs:///spill/%2e%2e/long.txt",
			"file:///etc/passwd", "tongs://host/spill/a", "tongs:///spill/", "tongs:///spill//x", "tongs:///long.txt",
		} {
			if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s was read", uri)
			}
		}
	})
}

func TestShellStreamsAndItsOutputIsAResource(t *testing.T) {
	needsLinux(t)
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{mode: tongs.ModeAll})
		c := w.connect(version, nil)
		params := &mcp.CallToolParams{Name: "shell", Arguments: args{"command": "echo first; read -t 30 x < go; seq 1 30000"}}
		params.SetProgressToken("p")
		w.must(mkfifo(filepath.Join(w.dir, "go")))
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			res, err := c.CallTool(t.Context(), params)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		<-c.updated // before it is done
		w.must(os.WriteFile(filepath.Join(w.dir, "go"), []byte("x\n"), 0o600))
		res := <-done
		c.mu.Lock()
		if m := c.progress[0].Message; m != "first\n" {
			t.Errorf("the first progress says %q", m)
		}
		for i := 1; i < len(c.progress); i++ {
			if c.progress[i].Progress <= c.progress[i-1].Progress {
				t.Errorf("progress does not grow: %v after %v", c.progress[i].Progress, c.progress[i-1].Progress)
			}
		}
		c.mu.Unlock()
		_, after, ok := strings.Cut(text(res), "/spill/")
		if !ok {
			t.Fatalf("no file in %.2000q", text(res))
		}
		name, _, _ := strings.Cut(after, " ")
		read, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "tongs:///spill/" + name})
		w.must(err)
		if got := read.Contents[0].Text; !strings.HasPrefix(got, "first\n1\n2\n") || !strings.HasSuffix(got, "29999\n30000\n") {
			t.Errorf("the resource has %d bytes: %.40q", len(got), got)
		}
	})
}

// A call that its client cancels is over, and so is everything that it started.
func TestCancelKillsTheProcessTree(t *testing.T) {
	needsLinux(t)
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{mode: tongs.ModeAll})
		c := w.connect(version, nil)
		mark := fmt.Sprintf("31%d", time.Now().UnixNano()%1e9)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		params := &mcp.CallToolParams{Name: "shell", Arguments: args{"command": "echo up; sleep " + mark + " & sleep " + mark}}
		params.SetProgressToken("p")
		go func() {
			_, err := c.CallTool(ctx, params)
			done <- err
		}()
		<-c.updated
		eventually(t, func() bool { return running(t, mark) >= 2 })
		cancel()
		if err := <-done; err == nil {
			t.Error("a cancelled call has a result")
		}
		eventually(t, func() bool { return running(t, mark) == 0 })
		w.settled()
	})
}

func TestToolsFollowTheRegistry(t *testing.T) {
	w := newWorld(t, setup{})
	c := w.connect(withSessions, nil)
	first, err := c.ListTools(t.Context(), nil)
	w.must(err)
	w.must(w.registry.Register(attacher(t, nil)))
	w.must(w.engine.Refresh(t.Context()))
	<-c.changed
	second, err := c.ListTools(t.Context(), nil)
	w.must(err)
	if len(second.Tools) != len(first.Tools)+1 {
		t.Errorf("%d tools, then %d", len(first.Tools), len(second.Tools))
	}
	names := func(tools []*mcp.Tool) (list []string) {
		for _, tool := range tools {
			list = append(list, tool.Name)
		}
		return list
	}
	if list := names(second.Tools); !slices.IsSorted(list) {
		t.Errorf("the order is %v", list)
	}
	w.registry.Unregister("attach")
	w.must(w.engine.Refresh(t.Context()))
	<-c.changed
	if third, err := c.ListTools(t.Context(), nil); err != nil || !slices.Equal(names(third.Tools), names(first.Tools)) {
		t.Errorf("after it is gone: %v, %v", third, err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "attach"}); err == nil {
		t.Error("a tool that is gone was called")
	}
}

func TestLogMessages(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	c := w.connect(withSessions, nil)
	w.must(c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}))
	c.call("read_file", args{"path": "a.txt", "limit": "5"})
	c.call("delete_file", args{"path": "a.txt"})
	var levels []string
	eventually(t, func() bool { // a client hears of them beside the result
		c.mu.Lock()
		defer c.mu.Unlock()
		levels = nil
		for _, l := range c.logs {
			levels = append(levels, string(l.Level))
		}
		return len(levels) >= 2
	})
	if !slices.Equal(levels, []string{"info", "notice"}) {
		t.Errorf("logged %v", levels)
	}
}

// Roots narrow: inside them all is as before, outside nothing is reached, and one outside the workspace adds nothing.
func TestRootsNarrow(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("in/a.txt", "one\n")
	w.write("out/b.txt", "two\n")
	outside := realDir(t)
	w.must(os.WriteFile(filepath.Join(outside, "c.txt"), []byte("three\n"), 0o600))
	for _, test := range []struct {
		name  string
		roots []string
		path  string
		ok    bool
	}{
		{"none", nil, "out/b.txt", true},
		{"inside", []string{w.dir + "/in"}, "a.txt", true},
		{"inside, by its whole path", []string{w.dir + "/in"}, w.dir + "/in/a.txt", true},
		{"outside it", []string{w.dir + "/in"}, "../out/b.txt", false},
		{"two", []string{w.dir + "/in", w.dir + "/out"}, "out/b.txt", true},
		{"the workspace", []string{w.dir}, "out/b.txt", true},
		{"above it", []string{filepath.Dir(w.dir)}, "out/b.txt", true},
		{"elsewhere", []string{outside}, "out/b.txt", false},
		{"elsewhere adds nothing", []string{outside}, outside + "/c.txt", false},
		{"beside another", []string{outside, w.dir + "/in"}, outside + "/c.txt", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
			for _, dir := range test.roots {
				client.AddRoots(&mcp.Root{URI: "file://" + dir})
			}
			session, err := client.Connect(t.Context(), w.transport(), &mcp.ClientSessionOptions{ProtocolVersion: withSessions})
			w.must(err)
			defer session.Close()
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: args{"path": test.path}})
			if err != nil || res.IsError == test.ok {
				t.Errorf("%s: %v, %v", test.path, text(res), err)
			}
			// They may change.
			client.AddRoots(&mcp.Root{URI: "file://" + w.dir})
			eventually(t, func() bool {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: args{"path": w.dir + "/out/b.txt"}})
				return err == nil && !res.IsError
			})
		})
	}
}

func TestPrompts(t *testing.T) {
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{Options: mcpserver.Options{Prompts: []mcpserver.Prompt{{
			Name: "review", Description: "Reviews.", Arguments: []mcpserver.PromptArgument{{Name: "path", Required: true}},
			Text: func(_ context.Context, a map[string]string) (string, error) { return "Review " + a["path"], nil },
		}}}})
		c := w.connect(version, nil)
		got, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review", Arguments: map[string]string{"path": "a.go"}})
		w.must(err)
		if said := got.Messages[0].Content.(*mcp.TextContent).Text; said != "Review a.go" {
			t.Errorf("the prompt says %q", said)
		}
		if _, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review"}); err == nil {
			t.Error("a prompt without its argument was made")
		}
	})
}

// Jobs of a session end with it.
func TestSessionsEnd(t *testing.T) {
	needsLinux(t)
	w := newWorld(t, setup{mode: tongs.ModeAll})
	c := w.connect(withSessions, nil)
	mark := fmt.Sprintf("32%d", time.Now().UnixNano()%1e9)
	if res := c.call("shell", args{"command": "sleep " + mark, "background": true}); res.IsError {
		t.Fatal(text(res))
	}
	other := w.connect(withSessions, nil)
	if res := other.call("shell_jobs", args{"action": "list"}); strings.Contains(text(res), mark) {
		t.Errorf("another session sees the job: %s", text(res))
	}
	eventually(t, func() bool { return running(t, mark) > 0 })
	w.must(c.Close())
	eventually(t, func() bool { return running(t, mark) == 0 })
}

// A request without a session is one of its own, and so are its jobs.
func TestSessionsOfOneCallEnd(t *testing.T) {
	needsLinux(t)
	for name, opt := range map[string]*mcp.ClientOptions{"flies": nil, "takes off": says(nil).options()} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{mode: tongs.ModeAll})
			c := w.connect(withoutSessions, opt)
			mark := fmt.Sprintf("36%d", time.Now().UnixNano()%1e9)
			if res := c.call("shell", args{"command": "sleep " + mark, "background": true}); res.IsError {
				t.Fatal(text(res))
			}
			ended := func() int {
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(w.ended)
			}
			eventually(t, func() bool { return ended() > 0 && running(t, mark) == 0 })
			if n := ended(); n != 1 {
				t.Errorf("%d sessions ended, want 1", n)
			}
		})
	}
}

// A definition leaves out what says no more than a name does, and what our own stage checks anyway.
func TestDefinitionsSayNothingTwice(t *testing.T) {
	property := func(text string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: text, Pattern: "^x"}
	}
	spec := tongs.Spec{
		Name: "read_file", Title: "Read file", Needs: tongs.Execute,
		Input: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{
			"path": property("Its path."), "includeHidden": property("Include hidden."), "content": property("The whole content."), "kind": property(""),
		}},
	}
	data, err := json.Marshal(mcpserver.Definition(&spec))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"inputSchema":{"type":"object","properties":{"content":{"type":"string","description":"The whole content."},` +
		`"includeHidden":{"type":"string"},"kind":{"type":"string","pattern":"^x"},"path":{"type":"string"}}},"name":"read_file"}`
	if string(data) != want {
		t.Errorf("%s\nwant %s", data, want)
	}
	spec.Source = tongs.Source{Kind: tongs.SourceMCP, Name: "other"}
	if d := mcpserver.Definition(&spec); d.Title != "Read file" {
		t.Errorf("the title of another server's tool is %q", d.Title)
	}
}

// The definitions of every built-in tool are small, and their annotations are true.
func TestDefinitions(t *testing.T) {
	w := newWorld(t, setup{})
	c := w.connect(withSessions, nil)
	listed, err := c.ListTools(t.Context(), nil)
	w.must(err)
	total := 0
	for _, tool := range listed.Tools {
		data, err := json.Marshal(tool)
		w.must(err)
		total += len(data)
	}
	t.Logf("%d tools, %d bytes", len(listed.Tools), total)
	if total > 14<<10 { // the limit for all that will be built in
		t.Errorf("the definitions have %d bytes, more than 14 KiB: shorten descriptions", total)
	}
}

func TestAnnotationsAreTrue(t *testing.T) {
	for _, test := range []struct {
		name                                         string
		spec                                         tongs.Spec
		readOnly, destructive, idempotent, openWorld bool
	}{
		{"reader", tongs.Spec{Needs: tongs.Read, Hints: tongs.Hints{ReadOnly: true, Idempotent: true}}, true, false, true, false},
		{"says that it only reads", tongs.Spec{Needs: tongs.Read | tongs.Write, Hints: tongs.Hints{ReadOnly: true}}, false, false, false, false},
		{"may write", tongs.Spec{Needs: tongs.Read, Optional: tongs.Write, Hints: tongs.Hints{ReadOnly: true}}, false, false, false, false},
		{"runs programs", tongs.Spec{Needs: tongs.Execute}, false, true, false, true},
		{"fetches", tongs.Spec{Needs: tongs.Network, Hints: tongs.Hints{ReadOnly: true}}, true, false, false, true},
		{"overwrites", tongs.Spec{Needs: tongs.Write, Hints: tongs.Hints{Destructive: true}}, false, true, false, false},
		{"of others", tongs.Spec{Needs: tongs.Read, Source: tongs.Source{Kind: tongs.SourceMCP}, Hints: tongs.Hints{ReadOnly: true}}, false, true, false, true},
	} {
		a := mcpserver.Definition(&test.spec).Annotations
		if a == nil {
			a = &mcp.ToolAnnotations{} // all as the protocol has it for those that say nothing
		}
		destructive, openWorld := a.DestructiveHint == nil || *a.DestructiveHint, a.OpenWorldHint == nil || *a.OpenWorldHint // as the protocol says
		if a.ReadOnlyHint != test.readOnly || destructive && !test.readOnly != test.destructive || a.IdempotentHint != test.idempotent || openWorld != test.openWorld {
			data, _ := json.Marshal(a)
			t.Errorf("%s: %s", test.name, data)
		}
	}
}
