package network

import (
	"bufio"
	"context"
	"crypto/tls"
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
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
)

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]string{
		"example.com":            "example.com:443",
		"EXAMPLE.com.":           "example.com:443",
		"example.com:8443":       "example.com:8443",
		"bücher.example":         "xn--bcher-kva.example:443",
		"ｅｘａｍｐｌｅ.com":            "example.com:443",
		"example。com":            "example.com:443",
		"127.0.0.1":              "127.0.0.1:443",
		"[::1]:80":               "[::1]:80",
		"::1":                    "[::1]:443",
		"[::ffff:127.0.0.1]":     "127.0.0.1:443",
		"::ffff:7f00:1":          "127.0.0.1:443",
		"[0:0:0:0:0:0:0:1]:8080": "[::1]:8080",
		"1e100.net":              "1e100.net:443",
		"0xabc.example":          "0xabc.example:443",
	} {
		got, err := ParseTarget(in, 443)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", ".", ":80", "2130706433", "0x7f000001", "017700000001", "127.1", "0x7f.1", "127.0.0.0x1", "0177.0.0.1",
		"user@example.com", "example.com/path", "example.com:0", "example.com:99999", "example.com:+80", "example.com:080",
		"exa mple.com", "example.com\x00.evil", "example.com\r\nHost: x", "[::1", "[127.0.0.1]", "[::1]80", "[::1]:", "fe80::1%eth0",
		"[fe80::1%25eth0]", "example.com%2f", "a\\b", "①②⑦.⓪.⓪.①x:-1", strings.Repeat("a", 64) + ".com", "xn--a.com", "127。0。0。0x1",
	} {
		if got, err := ParseTarget(in, 443); err == nil {
			t.Errorf("%q became %s", in, got)
		} else if tongs.CodeOf(err) != tongs.CodeNetworkError {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestTargetEffectNamesThePortOnlyWhereItIsUnusual(t *testing.T) {
	for in, want := range map[string]string{"a.test:443": "a.test", "a.test:80": "a.test", "a.test:22": "a.test:22", "[::1]:22": "[::1]:22", "[::1]:443": "::1"} {
		target, err := ParseTarget(in, 443)
		if err != nil || target.Effect().Host != want {
			t.Errorf("%q: %q, %v", in, target.Effect().Host, err)
		}
	}
}

// recorder is a network where nothing is sent: it notes what would have been dialled.
type recorder struct {
	mu      sync.Mutex
	dialled []netip.AddrPort
}

func (r *recorder) dial(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialled = append(r.dialled, addr)
	a, b := net.Pipe()
	b.Close()
	return a, nil
}

func addrs(list ...string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	for i, s := range list {
		out[i] = netip.MustParseAddr(s)
	}
	return out
}

func TestSpecialAddressesAreRefusedUnlessMeant(t *testing.T) {
	for _, addr := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254",
		"ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "::127.0.0.1",
	} {
		r := &recorder{}
		g := &Guard{Dial: r.dial, Resolve: func(context.Context, string) ([]netip.Addr, error) { return addrs(addr), nil }}
		for _, host := range []string{addr, "name.test"} {
			target := Target{Host: host, Port: 80}
			if _, err := g.Connect(t.Context(), target, Decision{}); tongs.CodeOf(err) != tongs.CodeNetworkError || len(r.dialled) != 0 {
				t.Errorf("%s by %s: %v, dialled %v", addr, host, err, r.dialled)
			}
		}
		meant := "name.test"
		if ByAddressOnly(netip.MustParseAddr(addr)) {
			if _, err := g.Connect(t.Context(), Target{Host: meant, Port: 80}, Decision{Private: true}); err == nil || len(r.dialled) != 0 {
				t.Errorf("%s by a name that is meant: %v, dialled %v", addr, err, r.dialled)
			}
			meant = addr
		}
		conn, err := g.Connect(t.Context(), Target{Host: meant, Port: 80}, Decision{Private: true})
		if err != nil || len(r.dialled) != 1 || r.dialled[0].Addr() != netip.MustParseAddr(addr).Unmap() {
			t.Errorf("%s, meant: %v, dialled %v", addr, err, r.dialled)
			continue
		}
		conn.Close()
	}
}

func TestByAddressOnly(t *testing.T) {
	for addr, want := range map[string]bool{
		"169.254.169.254": true, "169.254.170.2": true, "::ffff:169.254.169.254": true, "fe80::1%eth0": true, "fd00:ec2::254": true,
		"100.100.100.200": true, "168.63.129.16": true, "64:ff9b::a9fe:a9fe": true, "2002:a9fe:a9fe::": true,
		"64:ff9b::5db8:d822": false, "127.0.0.1": false, "10.0.0.1": false, "::1": false, "fd12::1": false, "93.184.216.34": false,
	} {
		if got := ByAddressOnly(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %t", addr, got)
		}
	}
}

func TestResolvesOnceAndDialsExactlyThat(t *testing.T) {
	answers := [][]netip.Addr{addrs("93.184.216.34"), addrs("127.0.0.1")}
	asked := 0
	r := &recorder{}
	g := &Guard{Dial: r.dial, Resolve: func(context.Context, string) ([]netip.Addr, error) { asked++; return answers[asked-1], nil }}
	target := Target{Host: "rebinding.test", Port: 443}
	conn, err := g.Connect(t.Context(), target, Decision{})
	if err != nil || asked != 1 || len(r.dialled) != 1 || r.dialled[0].String() != "93.184.216.34:443" {
		t.Fatalf("%v, asked %d times, dialled %v", err, asked, r.dialled)
	}
	conn.Close()
	if _, err := g.Connect(t.Context(), target, Decision{}); err == nil {
		t.Error("the second answer was followed to this machine")
	}
	mixed := &Guard{Dial: r.dial, Resolve: func(context.Context, string) ([]netip.Addr, error) {
		return addrs("93.184.216.34", "10.0.0.1"), nil
	}}
	if _, err := mixed.Connect(t.Context(), target, Decision{}); err == nil || len(r.dialled) != 1 {
		t.Errorf("an answer that mixes public and private addresses: %v, dialled %v", err, r.dialled)
	}
}

func TestConnectFailures(t *testing.T) {
	refused := errors.New("not decided")
	g := &Guard{Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }}
	if _, err := g.Connect(t.Context(), Target{"a.test", 443}, Decision{Err: refused}); !errors.Is(err, refused) {
		t.Error(err)
	}
	if _, err := g.Connect(t.Context(), Target{"a.test", 443}, Decision{}); err == nil || !strings.Contains(err.Error(), "cannot be resolved") {
		t.Error(err)
	}
	g.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
	if _, err := g.Connect(t.Context(), Target{"a.test", 443}, Decision{}); err == nil {
		t.Error("connected to no address")
	}
}

// network is a proxy in front of loopback servers, which it knows by name.
type network struct {
	proxy    *url.URL
	mu       sync.Mutex
	attempts []Attempt
	allowed  map[string]bool
}

func newNetwork(t *testing.T, names map[string]net.Addr, allowed ...string) *network {
	t.Helper()
	n := &network{allowed: map[string]bool{}}
	for _, name := range allowed {
		n.allowed[name] = true
	}
	guard := &Guard{
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if names[host] == nil {
				return nil, fmt.Errorf("no such host %q", host)
			}
			return addrs("127.0.0.1"), nil
		},
		Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			for _, at := range names { // the port stands for the server, whatever port was asked for
				return (&net.Dialer{}).DialContext(ctx, "tcp", at.String())
			}
			return nil, errors.New("unreachable")
		},
		Log: func(a Attempt) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.attempts = append(n.attempts, a)
		},
	}
	proxy := &Proxy{Guard: guard, Decide: func(_ context.Context, target Target) Decision {
		if !n.allowed[target.Host] {
			return Decision{Err: tongs.Errorf(tongs.CodeBlocked, "%s was not decided", target.Host)}
		}
		return Decision{Private: true}
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- proxy.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	n.proxy = &url.URL{Scheme: "http", Host: ln.Addr().String()}
	return n
}

func (n *network) client(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(n.proxy), TLSClientConfig: config, DisableKeepAlives: true}}
}

func (n *network) seen() []Attempt {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Attempt(nil), n.attempts...)
}

func TestProxyPlainRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "host %s", r.Host)
	}))
	defer server.Close()
	n := newNetwork(t, map[string]net.Addr{"good.test": server.Listener.Addr()}, "good.test")
	res, err := n.client(nil).Get("http://good.test/x")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != "host good.test" {
		t.Errorf("%s", body)
	}
	res, err = n.client(nil).Get("http://evil.test/x")
	if err != nil {
		t.Fatal(err)
	}
	body, _ = io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "evil.test was not decided") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	// A request for one host cannot name another in its header.
	conn, err := net.Dial("tcp", n.proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET http://good.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n")
	answer, _ := io.ReadAll(conn)
	if !strings.HasSuffix(string(answer), "host good.test") {
		t.Errorf("the header won: %q", answer)
	}
}

func TestProxyTunnels(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "inside") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	n := newNetwork(t, map[string]net.Addr{"good.test": server.Listener.Addr()}, "good.test")
	insecure := &tls.Config{InsecureSkipVerify: true} // the name is made up; what is tested is the tunnel
	res, err := n.client(insecure).Get("https://good.test/")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != "inside" {
		t.Errorf("%s", body)
	}
	if _, err := n.client(insecure).Get("https://evil.test/"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("evil.test: %v", err)
	}
	fronted := &tls.Config{InsecureSkipVerify: true, ServerName: "evil.test"}
	if _, err := n.client(fronted).Get("https://good.test/"); err == nil {
		t.Error("a tunnel to good.test was used for evil.test")
	}
	found := false
	for _, a := range n.seen() {
		found = found || a.Err != nil && strings.Contains(a.Err.Error(), `asks for "evil.test" inside`)
	}
	if !found {
		t.Errorf("the attempt is not in the log: %+v", n.seen())
	}
}

func TestTunnelOnTheHTTPSPortMustSpeakTLS(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	n := newNetwork(t, map[string]net.Addr{"good.test": echo.Addr()}, "good.test")
	open := func(target, say string) string {
		conn, err := net.Dial("tcp", n.proxy.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", target, target, say)
		r := bufio.NewReader(conn)
		status, _ := r.ReadString('\n')
		if !strings.Contains(status, "200") {
			return status
		}
		r.ReadString('\n')
		conn.(*net.TCPConn).CloseWrite()
		rest, _ := io.ReadAll(r)
		return string(rest)
	}
	if got := open("good.test:443", "SSH-2.0-x\r\n"); got != "" {
		t.Errorf("a plain protocol passed on port 443: %q", got)
	}
	if got := open("good.test:7000", "hello"); got != "hello" {
		t.Errorf("a port that was decided: %q", got)
	}
	for _, bad := range []string{"evil.test:443", "2130706433:443", "127.1:80", "good.test:0"} {
		if got := open(bad, ""); !strings.Contains(got, "403") {
			t.Errorf("CONNECT %s: %q", bad, got)
		}
	}
}

func TestProxyRefusesWhatIsNoProxyRequest(t *testing.T) {
	n := newNetwork(t, nil)
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: good.test", "GET ftp://good.test/ HTTP/1.1\r\nHost: x", "GET http://user:pw@good.test/ HTTP/1.1\r\nHost: good.test"} {
		conn, err := net.Dial("tcp", n.proxy.Host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nConnection: close\r\n\r\n", request)
		answer, _ := io.ReadAll(conn)
		conn.Close()
		if !strings.HasPrefix(string(answer), "HTTP/1.1 403") && !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
			t.Errorf("%q: %q", request, answer)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"example.com", "[::1]:80", "127.0.0.1", "0x7f.1", "ｅxample.com:443", "a.b.c.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := ParseTarget(s, 443)
		if err != nil {
			return
		}
		again, err := ParseTarget(target.String(), 443)
		if err != nil || again != target {
			t.Errorf("%q became %s, which becomes %s (%v)", s, target, again, err)
		}
		if _, err := netip.ParseAddr(target.Host); err != nil && numericName(target.Host) {
			t.Errorf("%q became the number %s", s, target.Host)
		}
	})
}

// An address that never answers does not keep one from the next; the connection that is used is the one that is logged.
func TestAddressesAreRaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, good := netip.MustParseAddr("2606:2800::1"), netip.MustParseAddr("93.184.216.34")
		var logged []Attempt
		ended := make(chan struct{})
		g := &Guard{
			Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{silent, good}, nil },
			Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				if addr.Addr() == silent {
					<-ctx.Done()
					close(ended)
					return nil, ctx.Err()
				}
				ours, _ := net.Pipe()
				return ours, nil
			},
			Log: func(a Attempt) { logged = append(logged, a) },
		}
		conn, err := g.Connect(t.Context(), Target{"a.test", 443}, Decision{})
		if err != nil {
			t.Fatal(err)
		}
		<-ended // the other one is not tried any longer
		conn.Close()
		if len(logged) != 1 || logged[0].Addr.Addr() != good || logged[0].Err != nil {
			t.Errorf("%+v", logged)
		}
		g.Dial = func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
			return nil, fmt.Errorf("no way to %s", addr)
		}
		_, err = g.Connect(t.Context(), Target{"a.test", 443}, Decision{})
		if err == nil || !strings.Contains(err.Error(), "no way to [2606:2800::1]:443") || !strings.Contains(err.Error(), "no way to 93.184.216.34:443") {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		if _, err := g.Connect(ctx, Target{"a.test", 443}, Decision{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}
