//go:build linux

package promises

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/system"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// root has everything that the tests share: the command, and the home with its build cache.
var root string

func TestMain(m *testing.M) {
	system.Main()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "promises-")
		if err == nil {
			root, err = filepath.EvalSymlinks(dir)
		}
		if err == nil {
			err = build()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer removeAll(root)
		return m.Run()
	}())
}

// build makes the command once. It is that of the tests of cmd/tongs: the same command, which takes the home of the user database
// from TEST_HOME, so that 'tongs mcp' reads no configuration of whoever runs the tests.
func build() error {
	cmd := exec.Command("go", "test", "-trimpath", "-c", "-o", filepath.Join(root, "bin", "tongs"), "../../cmd/tongs")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the command cannot be built: %w\n%s", err, out)
	}
	return nil
}

// removeAll also removes directories that a build cache made read-only.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// place is a home and a workspace, and the command in it.
type place struct {
	*testing.T
	home, work string
	env        []string
}

// newPlace makes a home and a workspace of their own, both empty.
func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	t.Cleanup(func() { removeAll(dir) })
	return placeIn(t, dir)
}

// sharedPlace is the one place that all tests share which need no configuration of their own: what one of them compiled, all
// have. Files and tools of different tests need different names.
func sharedPlace(t *testing.T) *place {
	t.Helper()
	return placeIn(t, filepath.Join(root, "shared"))
}

func placeIn(t *testing.T, dir string) *place {
	t.Helper()
	p := &place{T: t, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "ws")}
	for _, d := range []string{p.work, filepath.Join(p.home, "config"), filepath.Join(dir, "etc")} {
		must(t, os.MkdirAll(d, 0o755))
	}
	p.env = append(os.Environ(), "HOME="+p.home, "TEST_HOME="+p.home, "TEST_MANAGED="+filepath.Join(dir, "etc", "policy.yaml"),
		"TONGS_CONFIG_DIR="+filepath.Join(p.home, "config"), "TONGS_STATE_DIR="+filepath.Join(p.home, "state"),
		"XDG_CACHE_HOME="+filepath.Join(p.home, "cache"), "FORGE_TOOLS_DIR=", "NO_COLOR=1", "TERM=dumb", "EDITOR=false", "VISUAL=")
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// example is a file of testdata: an example of a document, to the letter.
func example(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	must(t, err)
	return string(data)
}

// put writes a file, at a path below the workspace or an absolute one. A script, which begins with #!, can be run.
func (p *place) put(name, text string) string {
	p.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(p.work, name)
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	must(p.T, os.MkdirAll(filepath.Dir(name), 0o755))
	must(p.T, os.WriteFile(name, []byte(text), mode))
	return name
}

// get reads a file, at a path below the workspace or an absolute one.
func (p *place) get(name string) string {
	p.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(p.work, name)
	}
	data, err := os.ReadFile(name)
	must(p.T, err)
	return string(data)
}

// config writes the user's configuration.
func (p *place) config(text string) { p.put(filepath.Join(p.home, "config", "config.yaml"), text) }

// worker writes a worker of the user's own, which is trusted, with the script of its model.
func (p *place) worker(name, matter, script string) {
	p.Helper()
	dir := filepath.Join(p.home, "config", "workers")
	p.put(filepath.Join(dir, name+".worker"), "---\nmodel: script:"+name+".script\n"+strings.TrimSpace(matter)+"\n---\nDo it.\n")
	p.put(filepath.Join(dir, name+".script"), script)
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), filepath.Join(root, "bin", "tongs"), args...)
	cmd.Dir, cmd.Env = p.work, p.env
	return cmd
}

// run runs the command without a terminal.
func (p *place) run(args ...string) (stdout, stderr string, code int) {
	p.Helper()
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), ee.ExitCode()
	}
	must(p.T, err)
	return out.String(), errs.String(), 0
}

// ok runs the command, which must succeed, and returns what it printed.
func (p *place) ok(args ...string) string {
	p.Helper()
	out, errs, code := p.run(args...)
	if code != 0 {
		p.Fatalf("tongs %q: exit %d\n%s%s", args, code, out, errs)
	}
	return out
}

// fails runs the command, which must exit with the code and say each of these.
func (p *place) fails(code int, says []string, args ...string) string {
	p.Helper()
	out, errs, got := p.run(args...)
	if got != code {
		p.Fatalf("tongs %q: exit %d, want %d\n%s%s", args, got, code, out, errs)
	}
	p.says(out+errs, says...)
	return out + errs
}

// says checks that a text has each of the words.
func (p *place) says(text string, words ...string) {
	p.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			p.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// call makes a call by the command, which must succeed, and returns its result.
func (p *place) call(tool string, args map[string]any) *tongs.Result {
	p.Helper()
	res := &tongs.Result{}
	out := p.ok("call", tool, "--json", asJSON(p.T, args), "--format", "json")
	if err := json.Unmarshal([]byte(out), res); err != nil {
		p.Fatalf("%v: %s", err, out)
	}
	return res
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return string(data)
}

// system opens everything for a Go program, in this place. The channels are asked.
func (p *place) system(channels ...approval.Channel) *system.System {
	p.Helper()
	for _, v := range p.env[len(os.Environ()):] {
		name, value, _ := strings.Cut(v, "=")
		p.Setenv(name, value)
	}
	sys, err := system.Open(p.Context(), system.Options{
		Workspace: p.work, Config: filepath.Join(p.home, "config"), State: filepath.Join(p.home, "state"),
		CustomTools: filepath.Join(p.home, ".forge", "tools"), Attended: true, Channels: channels,
	})
	must(p.T, err)
	p.Cleanup(func() { _ = sys.Close() })
	return sys
}

// client is an MCP client of 'tongs mcp'. Its person approves every form, and remembers what was shown.
type client struct {
	*place
	*mcp.ClientSession
	mu       sync.Mutex
	shown    []string
	progress []string
}

func (p *place) client(args ...string) *client {
	p.Helper()
	c := &client{place: p}
	opt := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.shown = append(c.shown, req.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, req.Params.Message)
		},
	}
	var err error
	transport := &mcp.CommandTransport{Command: p.command(append([]string{"mcp", "--wait", "0s"}, args...)...)}
	c.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, opt).Connect(p.Context(), transport, nil)
	must(p.T, err)
	p.Cleanup(func() { _ = c.Close() })
	return c
}

// tool calls a tool by MCP. What its client cannot approve, a person approves at a terminal, which shows this.
func (c *client) tool(name string, args map[string]any, shows ...string) *mcp.CallToolResult {
	c.Helper()
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken(name)
	res, err := c.CallTool(c.Context(), params)
	must(c.T, err)
	id := regexp.MustCompile(`tongs approvals approve (q\w+)`).FindStringSubmatch(content(res))
	if len(shows) == 0 || id == nil {
		return res
	}
	c.approve(strings.Join(shows, `(?s).*`), "approvals", "approve", id[1])
	res, err = c.CallTool(c.Context(), params)
	must(c.T, err)
	return res
}

// content is the text of a result.
func content(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// screen is a command at a terminal, and the person who looks at it.
type screen struct {
	*place
	cmd *exec.Cmd
	tty *os.File

	mu        sync.Mutex
	more      *sync.Cond
	text, all string // what was not yet expected, and everything
	eof       bool
}

func (p *place) terminal(args ...string) *screen {
	p.Helper()
	s := &screen{place: p, cmd: p.command(args...)}
	s.more = sync.NewCond(&s.mu)
	var err error
	s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100})
	must(p.T, err)
	p.Cleanup(func() { _, _ = s.tty.Close(), s.cmd.Process.Kill() })
	go s.watch()
	return s
}

func (s *screen) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := s.tty.Read(buf)
		s.mu.Lock()
		s.text += string(buf[:n])
		s.all += string(buf[:n])
		s.eof = s.eof || err != nil
		s.more.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until the screen shows the pattern, and returns what it matched.
func (s *screen) expect(pattern string) []string {
	s.Helper()
	re := regexp.MustCompile(pattern)
	guard := time.AfterFunc(patience, func() {
		s.mu.Lock()
		s.eof = true
		s.more.Broadcast()
		s.mu.Unlock()
	})
	defer guard.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if loc := re.FindStringSubmatchIndex(s.text); loc != nil {
			found := re.FindStringSubmatch(s.text)
			s.text = s.text[loc[1]:]
			return found
		}
		if s.eof {
			s.Fatalf("the screen never showed %q; it shows:\n%s", pattern, s.all)
		}
		s.more.Wait()
	}
}

// typing sends keys, once the prompt that they answer was expected.
func (s *screen) typing(keys string) *screen {
	s.Helper()
	_, err := s.tty.WriteString(keys)
	must(s.T, err)
	return s
}

// exit waits for the command to end.
func (s *screen) exit() int {
	s.Helper()
	err := s.cmd.Wait()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return ee.ExitCode()
	}
	must(s.T, err)
	return 0
}

// approve is a person who runs a command at a terminal that shows this, and types the word that it asks for.
func (p *place) approve(shows string, args ...string) {
	p.Helper()
	if s := p.confirm(shows, args...); s.exit() != 0 {
		p.Fatalf("tongs %q failed\n%s", args, s.all)
	}
}

// confirm is approve for a command that may fail after that.
func (p *place) confirm(shows string, args ...string) *screen {
	p.Helper()
	s := p.terminal(args...)
	s.expect(shows)
	s.typing(s.expect(`type (\w+) and press Enter: `)[1] + "\r")
	return s
}
