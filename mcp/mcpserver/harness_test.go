//lint:file-ignore SA1019 what is deprecated here is what clients of the revisions with sessions speak

package mcpserver_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/tools/code"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/tools/search"
	"github.com/tongs-ai/tongs/tools/shell"
	"github.com/tongs-ai/tongs/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// runner is the one sandbox of the tests: starting it is what takes time.
var runner = sync.OnceValues(func() (*sandbox.Runner, error) { return sandbox.New(sandbox.Options{}) })

const token = "a-token-of-the-tests-that-is-long-enough"

// The revisions that clients of the tests speak: one with sessions, one without.
const (
	withSessions    = "2025-11-25"
	withoutSessions = "2026-07-28"
)

// world is a workspace with real tools, an engine over it and a server over that.
type world struct {
	testing.TB
	dir      string
	registry *registry.Registry
	engine   *engine.Engine
	store    approval.Store
	audit    *audit.Memory
	server   *mcpserver.Server
	http     *httptest.Server
	client   string

	// saved are values that transcripts speak of by name.
	saved map[string]string

	mu    sync.Mutex
	ended []string
}

type setup struct {
	mcpserver.Options
	rules []tongs.Rule
	wait  time.Duration
	tools []tongs.Tool
	mode  tongs.Mode
	// http are the options of the HTTP server; its token is set.
	http mcpserver.HTTPOptions
	// durable keeps the log and the state of sessions in a file, as the program does.
	durable bool
	// clientsApprove is what the user's configuration says of approvals by clients; keep goes around the store of questions.
	clientsApprove bool
	// client is the name of clients.
	client string
	keep   func(approval.Store) approval.Store
}

func newWorld(t testing.TB, s setup) *world {
	t.Helper()
	w := &world{TB: t, dir: realDir(t), store: approval.NewMemory(approval.Options{}), audit: audit.NewMemory(), saved: map[string]string{}}
	w.client = cmp.Or(s.client, "tester")
	spill, err := output.OpenSpill(filepath.Join(realDir(t), "spill"))
	w.must(err)
	ws, err := workspace.Open(workspace.Options{
		Dir: w.dir, LockDir: filepath.Join(realDir(t), "locks"),
		Roots: []workspace.Root{{Name: output.Root, Dir: spill.Dir(), Inside: true}},
	})
	w.must(err)
	t.Cleanup(func() { _ = ws.Close() })
	if s.keep != nil {
		w.store = s.keep(w.store)
	}
	s.Channel = &mcpserver.Channel{}
	rules := append(shell.Rules(), s.rules...)
	opt := engine.Options{
		Workspace: ws, Mode: s.mode, Rules: func() []tongs.Rule { return rules }, Audit: w.audit,
		Output: output.Bounds{Spill: spill},
		Approval: &approval.Desk{
			Store: w.store, Callers: []approval.CallerChannel{s.Channel}, Wait: s.wait, CallersApprove: s.clientsApprove,
		},
	}
	if s.durable {
		db, err := state.Open(realDir(t))
		w.must(err)
		t.Cleanup(func() { _ = db.Close() })
		opt.Audit, opt.State = db.Audit(), db.State
	}
	set := w.tools(&opt, ws, spill, s.tools)
	eng, err := engine.New(opt)
	w.must(err)
	s.Engine, s.Files, w.engine = eng, ws, eng
	s.Zones = []tongs.Zone{{Path: tongs.Path{Root: output.Root, Rel: "."}}}
	s.Ended = func(session string) {
		set.Close(session)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = append(w.ended, session)
	}
	w.server, err = mcpserver.New(t.Context(), s.Options)
	w.must(err)
	s.http.Token = token
	w.http = httptest.NewServer(w.server.Handler(s.http))
	t.Cleanup(func() {
		w.server.Close()
		w.http.CloseClientConnections()
		w.http.Close()
		set.CloseAll()
	})
	return w
}

// tools registers the built-in tools and those of the test. Commands run in a real sandbox, on Linux.
func (w *world) tools(opt *engine.Options, ws *workspace.Workspace, spill *output.Spill, more []tongs.Tool) *shell.Set {
	w.Helper()
	list, err := files.Tools(files.Options{})
	w.must(err)
	finders, err := search.Tools(search.Options{})
	w.must(err)
	running := shell.Options{Background: true, FreeReads: true}
	if runtime.GOOS == "linux" {
		run, err := runner()
		w.must(err)
		confined := confine.New(confine.Options{Runner: run, Workspace: ws, Scratch: spill.Dir(), Rules: opt.Rules})
		opt.Commands, running.Full = confined.Commands, confined.Full
	}
	set, err := shell.New(running)
	w.must(err)
	program, err := code.New(code.Options{})
	w.must(err)
	list = append(append(append(append(list, finders...), set.Tools()...), program), more...)
	w.registry, err = registry.New(list...)
	w.must(err)
	opt.Providers = map[tongs.SourceKind]engine.Provider{tongs.SourceBuiltin: w.registry}
	return set
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *world) write(name, content string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(filepath.Join(w.dir, name)), 0o755))
	w.must(os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644))
}

func (w *world) content(name string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	w.must(err)
	return string(data)
}

// bearer adds the token to requests.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// client is a client of the SDK, and what it was sent.
type client struct {
	*mcp.ClientSession
	world *world

	mu       sync.Mutex
	progress []*mcp.ProgressNotificationParams
	logs     []*mcp.LoggingMessageParams
	changed  chan struct{}
	updated  chan struct{}
}

// connect connects a client over HTTP that speaks a revision.
func (w *world) connect(version string, opt *mcp.ClientOptions) *client {
	w.Helper()
	return w.join(version, opt, &mcp.StreamableClientTransport{
		Endpoint: w.http.URL + mcpserver.Path, HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1,
	})
}

func (w *world) join(version string, opt *mcp.ClientOptions, transport mcp.Transport) *client {
	w.Helper()
	if opt == nil {
		opt = &mcp.ClientOptions{}
	}
	if opt.Capabilities == nil {
		opt.Capabilities = &mcp.ClientCapabilities{}
	}
	c := &client{world: w, changed: make(chan struct{}, 100), updated: make(chan struct{}, 10000)}
	opt.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} }
	opt.ProgressNotificationHandler = func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.progress = append(c.progress, req.Params)
		c.updated <- struct{}{}
	}
	opt.LoggingMessageHandler = func(_ context.Context, req *mcp.LoggingMessageRequest) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.logs = append(c.logs, req.Params)
	}
	var err error
	c.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: w.client, Version: "1"}, opt).
		Connect(w.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	w.must(err)
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// overStdio connects a client over pipes to a server of its own, and returns what ends its input and what waits for the
// server's end.
func (w *world) overStdio(version string, opt *mcp.ClientOptions) (c *client, hangUp func(), ended <-chan error) {
	w.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- w.server.ServeStdio(context.Background(), in, out)
		_ = out.Close()
	}()
	c = w.join(version, opt, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
	return c, func() { _ = toServer.Close() }, done
}

type args map[string]any

// call calls a tool and fails the test where the protocol does.
func (c *client) call(tool string, a args) *mcp.CallToolResult {
	c.world.Helper()
	res, err := c.CallTool(c.world.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		c.world.Fatalf("%s %v: %v", tool, a, err)
	}
	return res
}

// text is what the model reads.
func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, part := range res.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		} else {
			fmt.Fprintf(&b, "[%T]", part)
		}
	}
	return b.String()
}

// codeOf is the code of a failed call.
func codeOf(res *mcp.CallToolResult) string {
	word, _ := res.Meta[mcpserver.MetaError].(string)
	return word
}

// person answers forms, and remembers what it was shown.
type person struct {
	mu     sync.Mutex
	shown  []*mcp.ElicitParams
	answer func(n int, p *mcp.ElicitParams) *mcp.ElicitResult
}

func (p *person) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.shown = append(p.shown, req.Params)
			return p.answer(len(p.shown), req.Params), nil
		},
	}
}

func (p *person) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.shown)
}

func says(content map[string]any) *person {
	return &person{answer: func(int, *mcp.ElicitParams) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}}
}

// bothEras runs a test with a client of each.
func bothEras(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{withSessions, withoutSessions} {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

func (w *world) transport() *mcp.StreamableClientTransport {
	return &mcp.StreamableClientTransport{
		Endpoint: w.http.URL + mcpserver.Path, HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1,
	}
}

// rows are the tools of the rows that were written.
func (w *world) rows() (tools []string) {
	w.Helper()
	rows, err := w.audit.Rows(context.Background(), audit.Filter{})
	w.must(err)
	for _, r := range rows {
		tools = append(tools, r.Tool)
	}
	return tools
}

// settled waits until every row is closed.
func (w *world) settled() {
	w.Helper()
	eventually(w, func() bool {
		rows, err := w.audit.Rows(context.Background(), audit.Filter{})
		w.must(err)
		for _, r := range rows {
			if r.Outcome() == audit.OutcomeRunning {
				return false
			}
		}
		return true
	})
}

// running counts the processes with a word in their command line.
func running(t testing.TB, word string) (n int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), "\x00"+word) {
			n++
		}
	}
	return n
}

// eventually waits for something that another process or goroutine is about to do.
func eventually(t testing.TB, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 24_000 { // two minutes
		if is() {
			return
		}
		<-tick.C
	}
	t.Fatal("it did not happen")
}
