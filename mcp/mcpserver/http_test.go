package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
	`"clientInfo":{"name":"t","version":"1"}}}`

// post sends a body and returns the status and the answer.
func (w *world) post(path, body string, header map[string]string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.http.URL+path, strings.NewReader(body))
	w.must(err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for key, value := range header {
		switch {
		case value == "":
			req.Header.Del(key)
		case key == "Host":
			req.Host = value
		default:
			req.Header.Set(key, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	w.must(err)
	return res.StatusCode, string(data)
}

func TestOnlyWhoMayGetsIn(t *testing.T) {
	w := newWorld(t, setup{http: mcpserver.HTTPOptions{
		MaxBody: 1 << 20, Hosts: []string{"tools.example"}, Origins: []string{"https://app.example"},
	}})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(w.http.URL, "http://"))
	w.must(err)
	for _, test := range []struct {
		name   string
		header map[string]string
		body   string
		path   string
		want   int
	}{
		{"well", nil, initialize, "/mcp", 200},
		{"no token", map[string]string{"Authorization": ""}, initialize, "/mcp", 401},
		{"wrong token", map[string]string{"Authorization": "Bearer " + token[1:] + "x"}, initialize, "/mcp", 401},
		{"start of the token", map[string]string{"Authorization": "Bearer " + token[:10]}, initialize, "/mcp", 401},
		{"empty token", map[string]string{"Authorization": "Bearer "}, initialize, "/mcp", 401},
		{"another scheme", map[string]string{"Authorization": "Basic " + token}, initialize, "/mcp", 401},
		{"no token, another path", map[string]string{"Authorization": ""}, initialize, "/other", 401},
		{"another path", nil, initialize, "/other", 404},
		{"rebound name", map[string]string{"Host": "evil.example:" + port}, initialize, "/mcp", 403},
		{"name that looks like ours", map[string]string{"Host": "localhost.evil.example"}, initialize, "/mcp", 403},
		{"name that was allowed", map[string]string{"Host": "tools.example:" + port}, initialize, "/mcp", 200},
		{"localhost", map[string]string{"Host": "localhost:" + port}, initialize, "/mcp", 200},
		{"loopback, version 6", map[string]string{"Host": "[::1]:" + port}, initialize, "/mcp", 200},
		{"foreign page", map[string]string{"Origin": "http://evil.example"}, initialize, "/mcp", 403},
		{"page of another port", map[string]string{"Origin": "http://127.0.0.1:1"}, initialize, "/mcp", 403},
		{"opaque page", map[string]string{"Origin": "null"}, initialize, "/mcp", 403},
		{"page without an origin", map[string]string{"Sec-Fetch-Site": "cross-site"}, initialize, "/mcp", 403},
		{"page that was allowed", map[string]string{"Origin": "https://app.example"}, initialize, "/mcp", 200},
		{"own page", map[string]string{"Origin": "http://127.0.0.1:" + port}, initialize, "/mcp", 200},
		{"huge", nil, `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1<<20) + `"}`, "/mcp", 413},
		{"not JSON", nil, "{", "/mcp", 400},
		{"empty", nil, "", "/mcp", 400},
		{"not a request", nil, `[1,2]`, "/mcp", 400},
		{"form", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, initialize, "/mcp", 415},
		{"session that never was", map[string]string{"Mcp-Session-Id": "abc"}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "/mcp", 404},
		{"old revision", map[string]string{"Mcp-Protocol-Version": "2019-01-01"}, initialize, "/mcp", 400},
		{"carrier of the client's own", map[string]string{"Tongs-Carrier": "h1"}, initialize, "/mcp", 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, body := w.post(test.path, test.body, test.header); got != test.want {
				t.Errorf("status %d, want %d: %.300s", got, test.want, body)
			}
		})
	}
}

// A request of the era without sessions whose header and metadata differ is refused, whichever is missing.
func TestErasAreToldApart(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	headers := func(version string) map[string]string {
		return map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "read_file"}
	}
	if status, body := w.post("/mcp", call, headers("2026-07-28")); status != 200 || !strings.Contains(body, "one") {
		t.Errorf("without a session: %d %s", status, body)
	}
	if status, body := w.post("/mcp", call, headers("")); status != 400 || !strings.Contains(body, "-32020") {
		t.Errorf("without the header: %d %s", status, body)
	}
	if status, body := w.post("/mcp", call, headers("2025-11-25")); status != 400 {
		t.Errorf("with another header: %d %s", status, body)
	}
	if status, body := w.post("/mcp", call, headers("2099-01-01")); status != 400 {
		t.Errorf("with a revision that is not there yet: %d %s", status, body)
	}
	plain := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	if status, body := w.post("/mcp", plain, nil); status != 200 || strings.Contains(body, "inputSchema") {
		t.Errorf("a list before there is a session: %d %.300s", status, body)
	}
}

// A client that is gone without a word ends its calls, and the programs that they run.
func TestClientKilledInACall(t *testing.T) {
	needsLinux(t)
	bothEras(t, func(t *testing.T, version string) {
		w := newWorld(t, setup{mode: tongs.ModeAll})
		mark := fmt.Sprintf("33%d", time.Now().UnixNano()%1e9)
		conn := &breaking{}
		transport := w.transport()
		transport.HTTPClient = &http.Client{Transport: conn}
		c := w.join(version, nil, transport)
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "shell", Arguments: args{"command": "sleep " + mark}})
			done <- err
		}()
		eventually(t, func() bool { return running(t, mark) > 0 })
		conn.cut()
		<-done
		eventually(t, func() bool { return running(t, mark) == 0 })
		w.settled()
	})
}

// breaking is a connection that can be cut, as by the death of the client.
type breaking struct {
	mu    sync.Mutex
	conns []net.Conn
	once  sync.Once
	http  http.Transport
}

func (b *breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	b.once.Do(func() {
		b.http.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.conns = append(b.conns, conn)
			return conn, err
		}
	})
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.http.RoundTrip(r)
}

func (b *breaking) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		_ = c.Close()
	}
}

func TestManyClientsAtATime(t *testing.T) {
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	for i := range 50 {
		version := []string{withSessions, "2025-06-18", "2025-03-26", withoutSessions}[i%4]
		all.Go(func() {
			c, err := mcp.NewClient(&mcp.Implementation{Name: fmt.Sprint("client", i), Version: "1"}, nil).
				Connect(t.Context(), w.transport(), &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for n := range 10 {
				name := fmt.Sprintf("f%d-%d.txt", i, n)
				for tool, a := range map[string]args{"read_file": {"path": "a.txt"}, "write_file": {"path": name, "content": name}} {
					if res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a}); err != nil || res.IsError {
						t.Errorf("%s: %v", tool, err)
					}
				}
			}
		})
	}
	all.Wait()
	if n := len(w.rows()); n != 1000 {
		t.Errorf("%d rows, want 1000", n)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+10 })
}

func TestSessionsAreBounded(t *testing.T) {
	w := newWorld(t, setup{http: mcpserver.HTTPOptions{MaxSessions: 2}})
	w.write("a.txt", "one\n")
	for range 2 {
		w.connect(withSessions, nil)
	}
	if status, body := w.post("/mcp", initialize, nil); status != http.StatusServiceUnavailable {
		t.Errorf("the third: %d %s", status, body)
	}
	w.connect(withoutSessions, nil).call("read_file", args{"path": "a.txt"}) // has none
}

// A server that is told to stop lets calls finish within its grace, cancels the rest, and leaves nothing behind.
func TestGracefulStop(t *testing.T) {
	needsLinux(t)
	w := newWorld(t, setup{mode: tongs.ModeAll})
	l, err := mcpserver.Listen("127.0.0.1:0", false)
	w.must(err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.server.ServeHTTP(ctx, l, mcpserver.HTTPOptions{Token: token, Grace: time.Millisecond})
	}()
	transport := w.transport()
	transport.Endpoint = "http://" + l.Addr().String() + mcpserver.Path
	c := w.join(withSessions, nil, transport)
	mark := fmt.Sprintf("34%d", time.Now().UnixNano()%1e9)
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "shell", Arguments: args{"command": "sleep " + mark}})
		done <- err
	}()
	eventually(t, func() bool { return running(t, mark) > 0 })
	stop()
	w.must(<-ended)
	<-done
	if n := running(t, mark); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	w.settled()
}

func TestListenRefusesWhatOthersCanReach(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1"} {
		if l, err := mcpserver.Listen(addr, false); err == nil {
			_ = l.Close()
			t.Errorf("%s was listened on", addr)
		}
	}
	l, err := mcpserver.Listen("0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := newWorld(t, setup{})
	if err := w.server.ServeHTTP(t.Context(), l, mcpserver.HTTPOptions{}); err == nil {
		t.Error("served without a token")
	}
}

func TestSocketIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no such socket on Windows")
	}
	dir, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	open := filepath.Join(dir, "open")
	if err := errorsOf(os.Mkdir(open, 0o755), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := mcpserver.ListenSocket(filepath.Join(open, "s")); err == nil {
		t.Error("a socket that others can reach was made")
	}
	path := filepath.Join(dir, "new", "s")
	l, err := mcpserver.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	w := newWorld(t, setup{})
	w.write("a.txt", "one\n")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.server.ServeHTTP(ctx, l, mcpserver.HTTPOptions{}) }()
	if _, err := mcpserver.ListenSocket(path); err == nil {
		t.Error("a socket that is in use was taken over")
	}
	transport := &mcp.StreamableClientTransport{Endpoint: "http://tongs/mcp", MaxRetries: -1, HTTPClient: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}}
	c := w.join(withSessions, nil, transport)
	if res := c.call("read_file", args{"path": "a.txt"}); res.IsError {
		t.Error(text(res))
	}
	stop()
	w.must(<-ended)
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestTokenIsMadeOnceAndPrivate(t *testing.T) {
	dir := t.TempDir()
	var made sync.Map
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			token, err := mcpserver.Token(dir)
			if err != nil {
				t.Error(err)
			}
			made.Store(token, true)
		})
	}
	all.Wait()
	n := 0
	made.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d tokens were made", n)
	}
	path := filepath.Join(dir, "mcp-token")
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
	for _, bad := range []string{"", "short", "a token with spaces in it that is long enough"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if token, err := mcpserver.Token(dir); err == nil {
			t.Errorf("%q was taken as the token %q", bad, token)
		}
	}
}

// A request that is sent too slowly is given up.
func TestSlowRequest(t *testing.T) {
	w := newWorld(t, setup{http: mcpserver.HTTPOptions{ReadTime: 50 * time.Millisecond}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.http.URL, "http://"))
	w.must(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", token)
	w.must(err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	w.must(err)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", res.StatusCode)
	}
}
