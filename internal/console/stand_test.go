package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/workspace"
)

// stand is a console over a real engine, with state and files in directories of its own.
type stand struct {
	t               *testing.T
	dir, state      string
	db              *state.DB
	hub             *Hub
	engine          *engine.Engine
	server          *Server
	web             *httptest.Server
	cookies         []*http.Cookie
	key             string
	rules           []tongs.Rule
	stop            func()
	toolStates      []ToolState
	further         []tongs.Tool
	desk            *approval.Desk
	clients         *mcpserver.Channel
	mcpToken        string // serves MCP beside the console, where it is set
	beforeListening func(*httptest.Server)
	shownAs         string // the workspace, in pictures
	insight         func(*workspace.Workspace) Insight
	ruling          sync.Mutex
}

// newStand returns a stand that is up, and a login. Change may set what it is made of first.
func newStand(t *testing.T, change ...func(*stand)) *stand {
	t.Helper()
	s := &stand{t: t, dir: t.TempDir(), state: t.TempDir()}
	for _, f := range change {
		f(s)
	}
	s.up()
	t.Cleanup(func() { s.stop() })
	s.login()
	return s
}

// up starts it: again, after stop, with the state of before.
func (s *stand) up() {
	s.t.Helper()
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	var err error
	s.db, err = state.Open(s.state)
	must(err)
	spill, err := output.OpenSpill(filepath.Join(s.state, "spill"))
	must(err)
	ws, err := workspace.Open(workspace.Options{Dir: s.dir, Roots: []workspace.Root{{Name: "spill", Dir: spill.Dir(), Inside: true}}})
	must(err)
	list, err := files.Tools(files.Options{})
	must(err)
	s.hub, s.clients = NewHub(), &mcpserver.Channel{}
	s.desk = &approval.Desk{Store: s.db.Questions(approval.Options{}), Channels: []approval.Channel{s.hub.Channel()}, Callers: []approval.CallerChannel{s.clients}, Wait: time.Minute}
	s.engine, err = engine.New(engine.Options{
		Tools: slices.Concat(list, testTools(s.t), s.further), Workspace: ws, Audit: s.db.Audit(), Grants: s.db.Grants(), State: s.db.State, Approval: s.desk,
		Output: output.Bounds{Spill: spill}, Observe: s.hub.Observe, Rules: s.inForce,
	})
	must(err)
	if s.insight == nil {
		s.insight = func(*workspace.Workspace) Insight { return Insight{} }
	}
	s.server, err = New(Options{
		Engine: s.engine, Audit: s.db.Audit(), Questions: s.desk.Store, Grants: s.db.Grants(), Hub: s.hub, StateDir: s.state,
		Rules: s.inForce, Spill: spill.Dir(), Workspace: cmp.Or(s.shownAs, s.dir), Version: "test", User: "tester",
		Tools: func(context.Context) []ToolState { return s.toolStates }, MetricsToken: "metrics-token",
		Files: func(string) (tongs.FileView, error) { return ws.View(tongs.Path{Rel: "."}), nil }, Insight: s.insight(ws),
	})
	must(err)
	var besides http.Handler
	endMCP := func() {}
	if s.mcpToken != "" {
		server, err := mcpserver.New(s.t.Context(), mcpserver.Options{Engine: s.engine, Channel: s.clients})
		must(err)
		besides, endMCP = server.Handler(mcpserver.HTTPOptions{Token: s.mcpToken}), server.Close
	}
	s.web = httptest.NewUnstartedServer(s.server.Handler(besides))
	if s.beforeListening != nil {
		s.beforeListening(s.web)
	}
	s.web.Start()
	s.stop = func() {
		s.server.Close()
		endMCP()
		s.web.Close()
		_ = ws.Close()
		_ = s.db.Close()
		s.stop = func() {}
	}
}

type nothing struct{}

// testTools are simple tools for tests: run prints its text in lines, wait ends when it is cancelled.
func testTools(t *testing.T) []tongs.Tool {
	t.Helper()
	type printIn struct {
		Text  string `json:"text"`
		Times int    `json:"times,omitempty"`
	}
	printer, err := tongs.New(tongs.Def[printIn, string]{
		Spec: tongs.Spec{Name: "print", Title: "Print", Description: "Prints a text.", Default: tongs.PreApproved},
		Run: func(_ context.Context, env *tongs.Env, in printIn) (string, error) {
			for range max(1, in.Times) {
				if _, err := io.WriteString(env.Output("stdout"), in.Text); err != nil {
					return "", err
				}
			}
			return "printed", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	waiter, err := tongs.New(tongs.Def[nothing, string]{
		Spec: tongs.Spec{Name: "wait", Description: "Waits until it is cancelled.", Default: tongs.PreApproved},
		Run: func(ctx context.Context, env *tongs.Env, _ nothing) (string, error) {
			_, _ = io.WriteString(env.Output("stdout"), "waiting\n")
			env.Update(tongs.Update{Title: "still waiting", Done: 1, Total: 4})
			<-ctx.Done()
			return "", tongs.Errorf(tongs.CodeCancelled, "cancelled")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return []tongs.Tool{printer, waiter}
}

// login logs in with a fresh link, as a browser does.
func (s *stand) login() {
	s.t.Helper()
	_, token, _ := strings.Cut(s.server.Link(), "#")
	res, body := s.do("POST", "/login", map[string]string{"token": token}, nil)
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("login: %d %s", res.StatusCode, body)
	}
	var in loggedIn
	if err := json.Unmarshal(body, &in); err != nil {
		s.t.Fatal(err)
	}
	s.cookies, s.key = res.Cookies(), in.Key
}

// do makes a request with what the browser has, changed by edit.
func (s *stand) do(method, path string, body any, edit func(*http.Request)) (*http.Response, []byte) {
	s.t.Helper()
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.web.URL+path, payload)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, c := range s.cookies {
		req.AddCookie(c)
	}
	req.Header.Set(keyHeader, s.key)
	if edit != nil {
		edit(req)
	}
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, data
}

// get and post make requests that must succeed, and check the answer against the OpenAPI file.
func (s *stand) get(path string, into any) { s.t.Helper(); s.api("GET", path, nil, into) }

func (s *stand) post(path string, body, into any) { s.t.Helper(); s.api("POST", path, body, into) }

func (s *stand) api(method, path string, body, into any) {
	s.t.Helper()
	res, data := s.do(method, path, body, nil)
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, data)
	}
	checkDescribed(s.t, method, path, data)
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
}

// ask makes a call that must be asked about, and returns its question and what it comes to.
func (s *stand) ask(tool, args string) (approval.Question, <-chan *tongs.Result) {
	s.t.Helper()
	over := make(chan *tongs.Result, 1)
	before := len(s.pending())
	go func() {
		over <- s.engine.Call(context.WithoutCancel(s.t.Context()), &tongs.Call{Tool: tool, Args: json.RawMessage(args), Agents: []string{"lead", "helper"}})
	}()
	var q approval.Question
	eventually(s.t, "a question", func() bool {
		select {
		case res := <-over:
			s.t.Fatalf("%s was not asked about: %s", tool, res.Content)
		default:
		}
		list := s.pending()
		if len(list) > before {
			q = list[0]
		}
		return len(list) > before
	})
	return q, over
}

func (s *stand) pending() []approval.Question {
	s.t.Helper()
	list, err := s.desk.Store.List(s.t.Context(), true)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func (s *stand) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// eventually waits for a condition; the time is a guard, not what is tested.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	guard := time.Now().Add(60 * time.Second)
	for !ok() {
		if time.Now().After(guard) {
			t.Fatalf("there was no %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// call makes a call that must succeed.
func (s *stand) call(tool, args string) *tongs.Result {
	s.t.Helper()
	res := s.engine.Call(s.t.Context(), &tongs.Call{Tool: tool, Args: json.RawMessage(args)})
	if !res.OK() {
		s.t.Fatal(res.Content)
	}
	return res
}

func callOf(tool, args string) *tongs.Call {
	return &tongs.Call{Tool: tool, Args: json.RawMessage(args)}
}

// newEngine is that of another process: it shares the state, and reports to nobody.
func newEngine(t *testing.T, db *state.DB, dir string) *engine.Engine {
	t.Helper()
	ws, err := workspace.Open(workspace.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	list, err := files.Tools(files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{Tools: list, Workspace: ws, Audit: db.Audit(), Grants: db.Grants()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func answerOf(channel, by string) approval.Answer {
	return approval.Answer{Approved: true, Channel: channel, By: by}
}

func eventOpened(id string) engine.Event {
	return engine.Event{Kind: engine.Opened, ID: id, Call: callOf("print", `{}`)}
}

// mcpCall calls a tool as an MCP client does.
func (s *stand) mcpCall(tool string, args map[string]any) <-chan string {
	s.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(s.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.web.URL + "/mcp", MaxRetries: -1, HTTPClient: &http.Client{Transport: bearer(s.mcpToken)},
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	over := make(chan string, 1)
	go func() {
		defer session.Close()
		res, err := session.CallTool(s.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			over <- err.Error()
			return
		}
		over <- res.Content[0].(*mcp.TextContent).Text
	}()
	return over
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
