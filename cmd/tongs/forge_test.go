//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// approver is a client whose person approves everything once, and is told when the tools change.
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
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve once"}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { p.changed <- struct{}{} },
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, opt).
		Connect(d.t.Context(), &mcp.CommandTransport{Command: d.command("mcp")}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() })
	return c, p
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
		case <-time.After(30 * time.Second):
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

// The walk-through of the founding document, by tool calls of an MCP client alone: scaffold, edit, build, run on the next
// call. It is written without a test of its own, so that little of the standard library is compiled.
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
	if said = mcpCall(t, c, "git-summarize", map[string]any{"since": "2020-01-01"}); !strings.Contains(said, "First words") || !strings.Contains(said, want) {
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
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "git"); fileExists(path) {
			return path
		}
	}
	t.Fatal("these tests need git")
	return ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A tool appears in a client when a person makes it by hand, and a person approves it at a terminal.
func TestForgeByHand(t *testing.T) {
	d := newDesk(t)
	c, p := d.approving()
	if _, stderr, code := d.run("forge", "new", "word-count", "--description", "Counts words", "--language", "sh", "--param", "path:string:required"); code != 0 {
		t.Fatal(stderr)
	}
	p.listed(t, c, "word-count")
	if _, stderr, code := d.run("call", "word-count", "path=a.txt"); code != 3 || !strings.Contains(stderr, "APPROVAL_REQUIRED") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr, code := d.run("forge", "approve", "word-count"); code != 3 || !strings.Contains(stderr, "real terminal") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	term := d.terminal("forge", "approve", "word-count")
	term.expect(`This is the custom tool word-count`)
	term.typing(term.expect(`type (\w+) and press Enter: `)[1] + "\r")
	if code := term.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, term.screen())
	}
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
