//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/internal/wire"
)

// approver is a client that approves every form once, and is told when the tools change.
type approver struct {
	mu      sync.Mutex
	shown   []string
	changed chan struct{}
}

func (d *desk) approving() (*mcp.ClientSession, *approver) {
	d.t.Helper()
	p := &approver{changed: make(chan struct{}, 100)}
	opt := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.shown = append(p.shown, req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { p.changed <- struct{}{} },
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, opt).
		Connect(d.t.Context(), &mcp.CommandTransport{Command: d.command("mcp", "--wait", "0s")}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	return c, p
}

// callElsewhere makes a call that its client cannot approve. A person approves it at a terminal, which shows this, and the
// same call made again takes the answer.
func (d *desk) callElsewhere(c *mcp.ClientSession, shows, tool string, args map[string]any) string {
	d.t.Helper()
	said := mcpCall(d.t, c, tool, args)
	id := regexp.MustCompile(`tongs approvals approve (q\w+)`).FindStringSubmatch(said)
	if id == nil || !strings.HasPrefix(said, "APPROVAL_REQUIRED: "+tool+" must be approved by a person outside of the client") {
		d.t.Fatalf("nobody else is to be asked about %s: %s", tool, said)
	}
	d.approve(shows, "approvals", "approve", id[1])
	return mcpCall(d.t, c, tool, args)
}

// listed waits until the client sees a tool, by being told that the list changed.
func (p *approver) listed(t *testing.T, c *mcp.ClientSession, name string) *mcp.Tool {
	t.Helper()
	for {
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if tool.Name == name && !strings.HasPrefix(tool.Description, "Cannot be used") {
				return tool
			}
		}
		select {
		case <-p.changed:
		case <-time.After(2 * time.Minute):
			t.Fatalf("the client was never told of %s", name)
		}
	}
}

const gitSummarize = `package main

import (
	"flag"
	"os"
	"os/exec"
)

func main() {
	since := flag.String("since", "", "Start date")
	flag.Parse()
	cmd := exec.Command("git", "log", "--oneline", "--since="+*since)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if cmd.Run() != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString("since " + *since + " in " + os.Getenv("FORGE_WORKSPACE") + "\n")
}
`

// The walk-through of the founding document, by tool calls of an MCP client: scaffold, edit, build, run on the next call. The
// client approves ordinary calls; a person approves the built tool elsewhere. It is written without a test of its own, so that little of the standard library is compiled.
func TestForgeWalkThrough(t *testing.T) {
	d := newDesk(t)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "First words"}} {
		cmd := d.command(args...)
		cmd.Path, cmd.Args[0] = lookGit(t), "git"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	c, p := d.approving()
	said := mcpCall(t, c, "create_custom_tool", map[string]any{
		"name": "git-summarize", "description": "Summarises commits.", "usage": "Give a date.", "source": "package main\n\nfunc main() { undefined() }\n",
		"parameters": []any{map[string]any{"name": "since", "type": "string", "required": true, "description": "Start date"}},
	})
	if !strings.Contains(said, "/forge/git-summarize") {
		t.Fatal(said)
	}
	if said = mcpCall(t, c, "build_custom_tool", map[string]any{"name": "git-summarize"}); !strings.Contains(said, "git-summarize.go:3:15: undefined: undefined") {
		t.Fatalf("a model cannot mend that: %s", said)
	}
	said = mcpCall(t, c, "write_file", map[string]any{"path": "/forge/git-summarize/git-summarize.go", "content": gitSummarize})
	if strings.Contains(said, "ERROR") || strings.Contains(said, "DENIED") {
		t.Fatal(said)
	}
	if said = mcpCall(t, c, "build_custom_tool", map[string]any{"name": "git-summarize"}); !strings.Contains(said, "is built and passes") {
		t.Fatal(said)
	}
	if tool := p.listed(t, c, "git-summarize"); !strings.Contains(tool.Description, "Give a date.") {
		t.Errorf("description %q", tool.Description)
	}
	want := "since 2020-01-01 in " + filepath.Join(d.dir, "ws")
	if said = d.callElsewhere(c, `(?s)git-summarize.*since`, "git-summarize", map[string]any{"since": "2020-01-01"}); !strings.Contains(said, "First words") || !strings.Contains(said, want) {
		t.Errorf("said %q", said)
	}
	said = mcpCall(t, c, "run_custom_tool", map[string]any{"tool_name": "git-summarize", "arguments": map[string]any{"since": "2020-01-01"}})
	if !strings.Contains(said, want) {
		t.Errorf("said %q", said)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.shown) < 4 {
		t.Errorf("asked only %d times: %q", len(p.shown), p.shown)
	}
	out, stderr, code := d.run("forge", "stats", "--format", "json")
	if code != 0 || !strings.Contains(out, `"buildsTried":2,"buildsSucceeded":1`) || !strings.Contains(out, `"runs":2,"ok":2`) {
		t.Errorf("%d %s %s", code, out, stderr)
	}
}

func lookGit(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// approveTool is a person who looks at a custom tool at a terminal, is shown this, and approves it.
func (d *desk) approveTool(name, shows string) {
	d.t.Helper()
	d.approve(shows, "forge", "approve", name)
}

// approve is a person who runs a command at a terminal that shows this, and types the word.
func (d *desk) approve(shows string, args ...string) {
	d.t.Helper()
	term := d.terminal(args...)
	term.expect(shows)
	term.typing(term.expect(`type (\w+) and press Enter: `)[1] + "\r")
	if code := term.exit(); code != 0 {
		d.t.Fatalf("exit %d\n%s", code, term.screen())
	}
}

// tool writes a custom tool by hand, as people do: any program with a source beside it.
func (d *desk) tool(name string, program []byte) (dir string) {
	d.t.Helper()
	dir = filepath.Join(d.dir, "home", ".forge", "tools", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	for file, data := range map[string]string{
		"tool.yaml":  "name: " + name + "\ndescription: Says it.\nentrypoint: " + name + "\nparameters:\n  - {name: text, type: string}\n",
		name + ".go": "package main\n\n// It says what it is given.\nfunc main() {}\n", name: string(program),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
	return dir
}

// One byte of an approved tool, in any of its files, and it does not run until a person looked at the difference.
func TestForgeOneByte(t *testing.T) {
	d := newDesk(t)
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(echo)
	if err != nil {
		t.Fatal(err)
	}
	dir := d.tool("say", program)
	d.approveTool("say", `This is the custom tool say`)
	for _, change := range []struct{ file, old, new, shows string }{
		{"tool.yaml", "Says it.", "Says at.", `\+description: Says at\.`},
		{"say.go", "It says", "At says", `\+// At says what`},
		{"say", "", "", `say: binary, \d+ bytes, sha256 [0-9a-f]{64},`},
	} {
		if out, stderr, code := d.run("call", "say", "text=x"); code != 0 || !strings.Contains(out, "--text=x") {
			t.Fatalf("%s: an approved tool: exit %d: %s%s", change.file, code, out, stderr)
		}
		path := filepath.Join(dir, change.file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if change.old == "" {
			data[len(data)-1] ^= 1
		}
		if err := os.WriteFile(path, bytes.Replace(data, []byte(change.old), []byte(change.new), 1), 0o755); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := d.run("call", "--mode", "all", "say", "text=x")
		id := regexp.MustCompile(`tongs approvals \w+ (\w+)`).FindStringSubmatch(stderr)
		if code != 3 || !strings.Contains(stderr, "APPROVAL_REQUIRED") || id == nil {
			t.Fatalf("%s: a changed tool: exit %d: %s", change.file, code, stderr)
		}
		if out, _, _ := d.run("approvals", "show", id[1]); !regexp.MustCompile(change.shows).MatchString(out) {
			t.Errorf("%s: the question shows:\n%s", change.file, out)
		}
		d.approveTool("say", change.shows)
	}
}

// A tool appears in a client when a person makes it by hand, and a person approves it at a terminal.
func TestForgeByHand(t *testing.T) {
	d := newDesk(t)
	c, p := d.approving()
	if _, stderr, code := d.run("forge", "new", "word-count", "--description", "Counts words", "--language", "sh", "--param", "path:string:required"); code != 0 {
		t.Fatal(stderr)
	}
	if list, err := c.ListTools(t.Context(), nil); err != nil || !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "word-count" }) {
		t.Errorf("the next list does not have it, %v", err)
	}
	<-p.changed // and the client is told
	if _, stderr, code := d.run("call", "word-count", "path=a.txt"); code != 3 || !strings.Contains(stderr, "APPROVAL_REQUIRED") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := d.run("forge", "approve", "word-count"); code != 3 || !strings.Contains(stderr, "real terminal") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	d.approveTool("word-count", `This is the custom tool word-count`)
	if out, stderr, code := d.run("call", "word-count", "path=a b.txt"); code != 0 || !strings.Contains(out, "path=a b.txt") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	for _, args := range [][]string{{"forge", "list"}, {"forge", "show", "word-count"}, {"forge", "export", "word-count", "w.tgz"}, {"forge", "disable", "word-count"}} {
		if out, stderr, code := d.run(args...); code != 0 {
			t.Errorf("%v: exit %d: %s%s", args, code, out, stderr)
		}
	}
	if _, stderr, code := d.run("call", "word-count", "path=x"); code != 2 {
		t.Errorf("a disabled tool: exit %d: %s", code, stderr)
	}
	for _, args := range [][]string{{"forge", "remove", "word-count", "--yes"}, {"forge", "import", "w.tgz"}} {
		if out, stderr, code := d.run(args...); code != 0 {
			t.Errorf("%v: exit %d: %s%s", args, code, out, stderr)
		}
	}
	if out, _, _ := d.run("forge", "list"); !strings.Contains(out, "not approved") {
		t.Errorf("an import counts as approved: %s", out)
	}
}

// A directory that the environment names to a server is looked through for tools, which are asked about. It is nothing that
// clients can read or write in: anything could be named so.
func TestForgeOfTheEnvironment(t *testing.T) {
	d := newDesk(t)
	elsewhere := filepath.Join(d.dir, "elsewhere")
	d.env = append(d.env, wire.EnvForge+"="+elsewhere)
	if _, stderr, code := d.run("forge", "new", "greet", "--description", "Greets", "--language", "sh"); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "private.txt"), []byte("PRIVATE"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.approveTool("greet", `This is the custom tool greet`)
	c, p := d.approving()
	p.listed(t, c, "greet")
	// The approval above does not count: the environment names the state that it is in, too.
	if said := d.callElsewhere(c, `echo greet`, "greet", nil); strings.TrimSpace(said) != "greet" {
		t.Errorf("said %q", said)
	}
	p.mu.Lock()
	if len(p.shown) > 0 {
		t.Errorf("asked in the client: %q", p.shown)
	}
	p.mu.Unlock()
	for _, call := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"read_file", map[string]any{"path": "/forge/private.txt"}, "outside the workspace"},
		{"read_file", map[string]any{"path": filepath.Join(elsewhere, "private.txt")}, "outside the workspace"},
		{"write_file", map[string]any{"path": "/forge/greet/greet.sh", "content": "x"}, "outside the workspace"},
		{"create_custom_tool", map[string]any{"name": "other", "description": "d"}, "a zone named forge"},
		{"run_code", map[string]any{"language": "bash", "code": "cat " + filepath.Join(elsewhere, "private.txt")}, "No such file"},
	} {
		if said := mcpCall(t, c, call.tool, call.args); !strings.Contains(said, call.want) || strings.Contains(said, "PRIVATE") {
			t.Errorf("%s %v: %s", call.tool, call.args, said)
		}
	}
	// A person who works in a terminal named it, and it is theirs.
	if out, stderr, code := d.run("call", "read_file", "path=/forge/private.txt"); code != 0 || !strings.Contains(out, "PRIVATE") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
}

// Nobody who makes no tools gets a directory for them, and the first tool does.
func TestForgeIsMadeWithTheFirstTool(t *testing.T) {
	d := newDesk(t)
	dir := filepath.Join(d.dir, "home", ".forge")
	for _, args := range [][]string{{"call", "read_file", "path=a.txt"}, {"tools"}, {"forge", "list"}, {"forge", "stats"}, {"call", "run_code", "language=bash", "code=true"}} {
		if out, stderr, code := d.run(args...); code != 0 {
			t.Errorf("%v: exit %d: %s%s", args, code, out, stderr)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Fatalf("%v made %s", args, dir)
		}
	}
	c, _ := d.approving()
	prompts, err := c.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 1 || len(prompts.Prompts[0].Arguments) != 1 || prompts.Prompts[0].Arguments[0].Required {
		t.Fatalf("%+v, %v", prompts, err)
	}
	for _, args := range []map[string]string{nil, {"chore": "Count the words of a file"}} {
		got, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "write_tool", Arguments: args})
		if err != nil || len(got.Messages) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		text, _ := got.Messages[0].Content.(*mcp.TextContent)
		if text == nil || !strings.Contains(text.Text, "build_custom_tool") || !strings.Contains(text.Text, args["chore"]) {
			t.Errorf("%v: %+v", args, got.Messages[0].Content)
		}
	}
	if said := mcpCall(t, c, "create_custom_tool", map[string]any{"name": "one", "description": "d", "language": "sh"}); !strings.Contains(said, "/forge/one") {
		t.Fatal(said)
	}
	mcpCall(t, c, "write_file", map[string]any{"path": "/forge/one/one.sh", "content": "#!/bin/sh\necho two\n"})
	if said := d.callElsewhere(c, `echo two`, "one", nil); !strings.Contains(said, "two") {
		t.Errorf("said %q", said)
	}
	// Programs that a person let run in its directory build there, as the founding document has it.
	said := mcpCall(t, c, "shell", map[string]any{"command": "echo built > program", "workdir": "/forge/one"})
	if data, err := os.ReadFile(filepath.Join(dir, "tools", "one", "program")); err != nil || string(data) != "built\n" {
		t.Errorf("%v: %s", err, said)
	}
}

// What a command did to a copy has a protected name in it: the client that made the call cannot keep any of it.
func TestAttackAClientKeepsAProtectedName(t *testing.T) {
	d := newDesk(t)
	c, p := d.approving()
	said := mcpCall(t, c, "shell", map[string]any{"command": "echo two > a.txt; echo evil > .envrc"})
	if !strings.HasPrefix(said, "APPROVAL_REQUIRED: shell must be approved by a person outside of the client") || len(p.shown) > 0 {
		t.Errorf("asked %q, said %s", p.shown, said)
	}
	if _, err := os.Lstat(filepath.Join(d.dir, "ws", ".envrc")); err == nil || d.read("a.txt") != "one\n" {
		t.Errorf("kept: %v, %q", err, d.read("a.txt"))
	}
}
