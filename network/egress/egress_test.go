package egress_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/network/egress"
)

// grant is what was decided for a call of these tests, and the host of its permits.
type grant struct {
	tool   string
	extend func(reason string, e tongs.Effect) error

	mu          sync.Mutex
	effects     []tongs.Effect
	asked       []tongs.Effect
	sent        []string
	connections []string
}

// permit is that of the call. What is decided later counts for it alone.
func (g *grant) permit() *tongs.Permit {
	return tongs.NewPermit(context.Background(), &tongs.Call{Tool: g.tool}, g.effects, nil, g)
}

func (g *grant) Decide(_ context.Context, more tongs.More) ([]tongs.Effect, error) {
	g.mu.Lock()
	g.asked = append(g.asked, more.Effects...)
	g.mu.Unlock()
	if g.extend == nil {
		return nil, tongs.Errorf(tongs.CodeDenied, "no")
	}
	return more.Effects, g.extend(more.Reason, more.Effects[0])
}

func (g *grant) Ruled(tongs.EffectKind, *tongs.Path) (func(tongs.Path) bool, bool) { return nil, false }

func (g *grant) Note(kind tongs.NoteKind, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if kind == tongs.NoteSent {
		g.sent = append(g.sent, what)
	} else {
		g.connections = append(g.connections, what)
	}
}

func decided(hosts ...string) *grant {
	g := &grant{tool: "t"}
	for _, host := range hosts {
		g.effects = append(g.effects, tongs.Effect{Kind: tongs.EffectNetwork, Host: host})
	}
	return g
}

// guard lets every name lead to a public address, which is the server.
func guard(server net.Addr) *network.Guard {
	return &network.Guard{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", server.String())
		},
	}
}

func quick(int) time.Duration { return 0 }

func get(t *testing.T, client tongs.HTTP, address string) (string, error) {
	t.Helper()
	return do(t, client, http.MethodGet, address, nil)
}

func do(t *testing.T, client tongs.HTTP, method, address string, body io.Reader) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return fmt.Sprintf("%d %s", res.StatusCode, text), err
}

func TestOnlyWhatWasDecidedIsReached(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }))
	defer server.Close()
	e := egress.New(egress.Options{Guard: guard(server.Listener.Addr())})
	g := decided("a.test", "b.test:8080")
	client := e.HTTP(g.permit())
	for address, want := range map[string]string{
		"http://a.test/": "200 a.test", "http://A.TEST./": "200 a.test", "http://b.test:8080/x": "200 b.test:8080", "http://a.test:80/": "200 a.test",
	} {
		if got, err := get(t, client, address); err != nil || got != want {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	for _, address := range []string{"http://b.test/", "http://a.test:8080/", "http://c.test/", "http://x.a.test/"} {
		if _, err := get(t, client, address); tongs.CodeOf(err) != tongs.CodeDenied {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"ftp://a.test/", "http://u@a.test/", "http://u:p@a.test/", "https://a.test:80/", "http://a.test:443/", "file:///etc/passwd"} {
		if _, err := get(t, client, address); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := do(t, client, http.MethodPost, "http://a.test/", strings.NewReader("x")); tongs.CodeOf(err) != tongs.CodeDenied {
		t.Errorf("a body that nobody decided: %v", err)
	}
	g.extend = func(string, tongs.Effect) error { return nil }
	if got, err := do(t, client, http.MethodPost, "http://a.test/", strings.NewReader("x")); err != nil || got != "200 a.test" {
		t.Errorf("a body that was decided: %q %v", got, err)
	}
	if len(g.sent) != 1 || !strings.Contains(strings.Join(g.connections, "\n"), "a.test:80 at 93.184.216.34:80: ") {
		t.Errorf("sent %q, connections %q", g.sent, g.connections)
	}
	// A name in a header is not the host that was decided.
	req, _ := http.NewRequest(http.MethodGet, "http://a.test/", http.NoBody)
	req.Host = "inside.test"
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(text) != "a.test" {
		t.Errorf("the server was asked for %s", text)
	}
}

// The mark of a question allows a private address only where the address itself was in the question.
func TestPrivateAddresses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") }))
	defer server.Close()
	inside := &network.Guard{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
		Dial: guard(server.Listener.Addr()).Dial,
	}
	e := egress.New(egress.Options{Guard: inside, Private: func(host string) bool { return host == "meant.test" }})
	g := decided("10.0.0.1", "name.test", "meant.test", "localhost")
	for i := range g.effects {
		g.effects[i].MustAsk = g.effects[i].Host != "10.0.0.1"
	}
	for address, want := range map[string]tongs.Code{
		"http://10.0.0.1/": tongs.CodeDenied, "http://name.test/": tongs.CodeNetworkError, "http://meant.test/": "", "http://localhost/": "",
	} {
		if _, err := get(t, e.HTTP(g.permit()), address); tongs.CodeOf(err) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
	last := g.asked[len(g.asked)-1]
	if !last.MustAsk || last.Why != network.WhySpecial {
		t.Errorf("asked: %+v", last)
	}
}

func TestRetries(t *testing.T) {
	var n atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := n.Add(1)
		switch {
		case r.URL.Path == "/later":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		case i < 3 && r.URL.Path == "/reset":
			conn, _, _ := http.NewResponseController(w).Hijack()
			conn.Close()
		case i < 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprint(w, "ok")
		}
	}))
	defer server.Close()
	e := egress.New(egress.Options{Guard: guard(server.Listener.Addr()), Backoff: quick})
	g := decided("a.test")
	g.extend = func(string, tongs.Effect) error { return nil }
	for _, c := range []struct {
		method, path, want string
		requests           int32
	}{
		{"GET", "/", "200 ok", 3},
		{"GET", "/reset", "200 ok", 3},
		{"GET", "/later", "429 ", 1},
		{"POST", "/", "503 ", 1},
		{"POST", "/reset", "", 1},
		{"DELETE", "/", "503 ", 1},
	} {
		n.Store(0)
		got, err := do(t, e.HTTP(g.permit()), c.method, "http://a.test"+c.path, nil)
		if got != c.want || n.Load() != c.requests || (c.want == "") != (tongs.CodeOf(err) == tongs.CodeNetworkError) {
			t.Errorf("%s %s: %q after %d requests, %v", c.method, c.path, got, n.Load(), err)
		}
	}
}

type watchedConn struct {
	net.Conn
	closed func()
}

func (c *watchedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// No more than so many exchanges with a host go on at a time; the others wait, and are not lost.
func TestConcurrency(t *testing.T) {
	var now, most atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 100_000)) }))
	defer server.Close()
	watched := guard(server.Listener.Addr())
	dial := watched.Dial
	watched.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		for i := now.Add(1); ; {
			if m := most.Load(); i <= m || most.CompareAndSwap(m, i) {
				break
			}
		}
		conn, err := dial(ctx, addr)
		return &watchedConn{Conn: conn, closed: sync.OnceFunc(func() { now.Add(-1) })}, err
	}
	e := egress.New(egress.Options{Guard: watched, Concurrent: 2, Rate: 1e6, Burst: 1e6})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := get(t, e.HTTP(decided("a.test").permit()), "http://a.test/"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != 2 && most.Load() != 1 {
		t.Errorf("%d at a time", most.Load())
	}
}

// A proxy carries what was decided, and only that. It may be anywhere, since a person chose it.
func TestProxy(t *testing.T) {
	var seen []string
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Host)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, "by proxy")
	}))
	defer proxy.Close()
	u, _ := url.Parse(proxy.URL)
	var dialed []string
	e := egress.New(egress.Options{
		Proxy: http.ProxyURL(u), Retries: -1,
		Guard: &network.Guard{
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return nil, errors.New("nothing is resolved here")
			},
			Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				dialed = append(dialed, addr.String())
				var d net.Dialer
				return d.DialContext(ctx, "tcp", addr.String())
			},
		},
	})
	g := decided("a.test")
	if got, err := get(t, e.HTTP(g.permit()), "http://a.test/x"); err != nil || got != "200 by proxy" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := get(t, e.HTTP(g.permit()), "https://a.test/x"); tongs.CodeOf(err) != tongs.CodeNetworkError {
		t.Errorf("%v", err)
	}
	for _, address := range []string{"http://b.test/", "http://127.0.0.1/", "http://169.254.169.254/"} {
		if _, err := get(t, e.HTTP(g.permit()), address); tongs.CodeOf(err) != tongs.CodeDenied {
			t.Errorf("%s: %v", address, err)
		}
	}
	if fmt.Sprint(seen) != "[GET http://a.test/x a.test CONNECT //a.test:443 a.test:443]" {
		t.Errorf("%q", seen)
	}
	for _, addr := range dialed {
		if addr != u.Host {
			t.Errorf("%s was dialled", addr)
		}
	}
}

// The environment is nobody's word.
func TestEnvironmentIsNotLookedAt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.String()) }))
	defer server.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://evil.test:3128")
	}
	e := egress.New(egress.Options{Guard: guard(server.Listener.Addr())})
	if got, err := get(t, e.HTTP(decided("a.test").permit()), "http://a.test/x"); err != nil || got != "200 /x" {
		t.Errorf("%q %v", got, err)
	}
}

// HTTPS is spoken as HTTP/2 where the server can, with its certificate checked against the name that was decided.
func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			w.Header().Set("X-Large", strings.Repeat("x", 100_000))
		}
		fmt.Fprint(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	e := egress.New(egress.Options{Guard: guard(server.Listener.Addr()), TLS: &tls.Config{RootCAs: roots}, HeaderBytes: 50_000, Retries: -1})
	g := decided("example.com", "other.test")
	if got, err := get(t, e.HTTP(g.permit()), "https://example.com/"); err != nil || got != "200 HTTP/2.0" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := get(t, e.HTTP(g.permit()), "https://other.test/"); tongs.CodeOf(err) != tongs.CodeNetworkError || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of another name: %v", err)
	}
	if _, err := get(t, e.HTTP(g.permit()), "https://example.com/large"); tongs.CodeOf(err) != tongs.CodeNetworkError {
		t.Errorf("headers over the limit: %v", err)
	}
}

func TestSends(t *testing.T) {
	for _, c := range []struct {
		method, header, value string
		body                  io.Reader
		want                  bool
	}{
		{"GET", "Accept", "text/html", nil, false},
		{"HEAD", "X-Request-Id", "17", nil, false},
		{"GET", "Accept-Language", "de", nil, false},
		{"GET", "If-None-Match", `"abc"`, nil, false},
		{"GET", "Authorization", "x", nil, true},
		{"GET", "Cookie", "x", nil, true},
		{"GET", "X-Api-Key", "x", nil, true},
		{"GET", "X-Auth-Token", "x", nil, true},
		{"GET", "PRIVATE-TOKEN", "x", nil, true},
		{"GET", "X-Note", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", nil, true},
		{"GET", "Accept", "x", strings.NewReader("b"), true},
		{"POST", "Accept", "x", nil, true},
		{"DELETE", "Accept", "x", nil, true},
		{"OPTIONS", "Accept", "x", nil, true},
		{"GET", "X-HTTP-Method-Override", "DELETE", nil, true},
		{"HEAD", "X-Http-Method", "POST", nil, true},
	} {
		req, err := http.NewRequest(c.method, "http://a.test", c.body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(c.header, c.value)
		if got := egress.Sends(req); got != c.want {
			t.Errorf("%s with %s: %s sends %v", c.method, c.header, c.value, got)
		}
	}
}

func ExampleEgress_HTTP() {
	e := egress.New(egress.Options{})
	client := e.HTTP(decided("example.com").permit())
	req, _ := http.NewRequest(http.MethodGet, "http://elsewhere.example/", http.NoBody)
	_, err := client.Do(req)
	fmt.Println(err)
	// Output: DENIED: no
}
