package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/tongs-ai/tongs"
)

// inward are addresses that lead to this machine, its network, or where programs disagree on where they lead.
var inward = []string{
	"http://127.0.0.1/", "http://127.0.0.1:8080/", "http://127.0.0.2/", "http://127.255.255.254/", "http://localhost/",
	"http://LOCALHOST/", "http://localhost./", "http://foo.localhost/", "http://localhost:22/", "http://0.0.0.0/",
	"http://0/", "http://0:80/", "http://127.1/", "http://127.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/",
	"http://0x7f.0x0.0x0.0x1/", "http://017700000001/", "http://0177.0.0.1/", "http://0177.0.0.01/", "http://127.0.0.0x1/",
	"http://00000177.1/", "http://127.0.0.1./", "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/",
	"http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::127.0.0.1]/", "http://[2002:7f00:1::]/",
	"http://[2001:0:53aa:64c:0:0:80ff:fffe]/", "http://[fe80::1]/", "http://[fe80::1%25lo]/", "http://[fc00::1]/", "http://[fd00:ec2::254]/",
	"http://[ff02::1]/", "http://[2001:db8::1]/", "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/",
	"http://192.168.0.1/", "http://192.168.1.1:8443/", "http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/v2/credentials",
	"http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/",
	"http://169.254.169.254.xip.test/", "http://metadata.google.internal/", "http://metadata.google.internal./", "http://100.64.0.1/", "http://100.100.100.200/",
	"http://192.0.0.192/", "http://198.18.0.1/", "http://224.0.0.1/", "http://255.255.255.255/", "http://240.0.0.1/", "http://192.0.2.1/",
	"http://①②⑦.⓪.⓪.①/", "http://１２７.０.０.１/", "http://127。0。0。1/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://loc\u00adalhost/", "http://localhost\u200b/",
	"http://user@127.0.0.1/", "http://example.com@127.0.0.1/", "http://127.0.0.1@example.com/", "http://example.com%40127.0.0.1/", "http://127.0.0.1%23@example.com/",
	"http://example.com\\@127.0.0.1/", "http://127.0.0.1\\.example.com/", "http:\\\\127.0.0.1\\", "http:///127.0.0.1/", "http:127.0.0.1/", "//127.0.0.1/",
	"http://127.0.0.1:80:80/", "http://127.0.0.1 .example.com/", "http://127.0.0.1%00.example.com/", "http://127.0.0.1%09/", "http://[127.0.0.1]/",
	"http://[::1", "http://[::1]x/", "http://0x7f.0.0.1/", "http://7f000001/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:080/",
	"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:6379/_INFO", "dict://127.0.0.1:11211/stats", "data:text/html,x", "javascript:alert(1)",
	"unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "jar:http://127.0.0.1/a!/b", "ldap://127.0.0.1/", "blob:http://127.0.0.1/x",
	"https://127.0.0.1:80/", "http://127.0.0.1:443/", "HTTP://127.0.0.1/", "http://inside.test/", "http://inside.test./", "http://mixed.test/", "http://six.test/",
}

// led is where the names of these tests lead.
func led(_ context.Context, host string) ([]netip.Addr, error) {
	switch host {
	case "inside.test":
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case "mixed.test":
		return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("10.0.0.1")}, nil
	case "six.test":
		return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
	case "metadata.google.internal", "169.254.169.254.xip.test":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	}
	return nil, fmt.Errorf("%s is not known", host)
}

// Everything is allowed, in every way but by name, and nobody is there to ask: nothing is dialled.
func TestInwardAddressesAreRefusedBeforeAnyDial(t *testing.T) {
	if len(inward) < 80 {
		t.Fatalf("%d addresses", len(inward))
	}
	for _, mode := range []tongs.Mode{tongs.ModeSafe, tongs.ModeAll} {
		b := newBench(t, setup{rules: allow("*", "*:*"), mode: mode, nobody: true, resolve: led})
		for _, address := range inward {
			res := b.call("web_fetch", args{"url": address})
			switch code := tongs.CodeOf(res.Error); code {
			case tongs.CodeInvalidArgs, tongs.CodeNetworkError, tongs.CodeApprovalRequired:
			default:
				t.Errorf("%s: %s %s", address, code, res.Content)
			}
		}
		if n := b.dials(); n != 0 {
			t.Errorf("mode %s: %d dials: %v", mode, n, b.dialed)
		}
	}
}

// A person who is asked about an address sees it; a person who says yes to a name does not let it lead inside.
func TestInwardAddressesAreAskedAboutByName(t *testing.T) {
	b := newBench(t, setup{resolve: led, mode: tongs.ModeAll})
	server := httptest.NewServer(saying("text/plain", "inside"))
	defer server.Close()
	out := b.fetch(args{"url": server.URL})
	if out.Body != "inside" {
		t.Errorf("%+v", out)
	}
	asked := b.Asked()
	if len(asked) != 1 || !asked[0].Effects[0].MustAsk || !strings.Contains(asked[0].Effects[0].Why, "this machine") || len(asked[0].Scopes) != 1 {
		t.Errorf("asked: %+v", asked)
	}
	port := server.Listener.Addr().(*net.TCPAddr).Port
	before := b.dials()
	res := b.fails(tongs.CodeNetworkError, args{"url": fmt.Sprintf("http://inside.test:%d/", port)})
	contains(t, "the refusal", res.Content, "inside.test is 127.0.0.1", "allow that host by name")
	if b.dials() != before {
		t.Error("it was dialled")
	}
}

// Named by a rule, the same hosts are reached, at exactly the address that was checked.
func TestInwardAddressesPassWhereARuleNamesThem(t *testing.T) {
	for address, host := range map[string]string{
		"http://127.0.0.1:8080/": "127.0.0.1:8080", "http://localhost:22/": "localhost:22", "http://inside.test./": "inside.test", "http://six.test/": "six.test",
		"http://[::1]/": "::1", "http://[::ffff:127.0.0.1]/": "127.0.0.1", "http://[::ffff:7f00:1]/": "127.0.0.1", "http://10.0.0.1/": "10.0.0.1",
		"http://169.254.169.254/": "169.254.169.254", "http://192.168.1.1:8443/": "192.168.1.1:8443", "http://[fc00::1]/": "fc00::1", "http://0.0.0.0/": "0.0.0.0",
		"http://mixed.test/": "mixed.test", "http://[64:ff9b::7f00:1]/": "64:ff9b::7f00:1",
	} {
		resolve := led
		if host == "localhost:22" {
			resolve = func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
		}
		b := newBench(t, setup{rules: allow(host), nobody: true, resolve: resolve})
		server := httptest.NewServer(saying("text/plain", "reached"))
		b.anywhere = server.Listener.Addr().String()
		if out := b.fetch(args{"url": address}); out.Body != "reached" {
			t.Errorf("%s: %+v", address, out)
		}
		server.Close()
	}
}

// A rule that names a host trusts whoever answers for that name; where machines are told their credentials it does not lead.
func TestNamesDoNotLeadToCredentials(t *testing.T) {
	b := newBench(t, setup{rules: allow("metadata.google.internal"), mode: tongs.ModeAll, nobody: true, resolve: led})
	res := b.fails(tongs.CodeNetworkError, args{"url": "http://metadata.google.internal/"})
	contains(t, "the refusal", res.Content, "metadata.google.internal is 169.254.169.254", "only that address itself")
	if b.dials() != 0 {
		t.Error("it was dialled")
	}
}

// A site that redirects inside is not followed there, however long the way.
func TestRedirectsInsideAreRefused(t *testing.T) {
	for _, to := range append(inward[:70:70], "http://inside.test/") {
		b := newBench(t, setup{rules: allow("*", "*:*"), mode: tongs.ModeAll})
		b.names["inside.test"] = netip.MustParseAddr("127.0.0.1")
		b.serve("outside.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/robots.txt":
				http.NotFound(w, r)
			case r.URL.Path == "/start":
				http.Redirect(w, r, "/second", http.StatusFound)
			default:
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
		}))
		res := b.call("web_fetch", args{"url": "http://outside.test/start"})
		if res.Error == nil || res.Error.Code == tongs.CodeInternal {
			t.Errorf("%s: %v %s", to, res.Error, res.Content)
		}
		for _, addr := range b.dialed {
			if addr.Addr() != b.names["outside.test"] {
				t.Errorf("%s: %s was dialled", to, addr)
			}
		}
		if len(b.Asked()) != 0 {
			t.Errorf("%s: somebody was asked: %+v", to, b.Asked()[0].Effects)
		}
	}
}

// A name server that changes its answer wins nothing: what was checked is what is dialled, and each new connection is
// checked again.
func TestRebindingWinsNothing(t *testing.T) {
	var asked atomic.Int32
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	server := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(ready) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		answer := new(dns.Msg)
		answer.SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			ip := "93.184.216.77"
			if asked.Add(1) > 1 {
				ip = "127.0.0.1"
			}
			answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(ip)}}
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	defer func() { _ = server.Shutdown() }()
	<-ready
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	b := newBench(t, setup{
		Options: Options{IgnoreRobots: true}, rules: allow("*"), nobody: true,
		resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return resolver.LookupNetIP(ctx, "ip4", host+".")
		},
	})
	page := httptest.NewServer(saying("text/plain", "public"))
	defer page.Close()
	first := netip.MustParseAddr("93.184.216.77")
	b.ends[first] = page.Listener.Addr().String()
	if out := b.fetch(args{"url": "http://rebind.test/"}); out.Body != "public" {
		t.Errorf("%+v", out)
	}
	res := b.fails(tongs.CodeNetworkError, args{"url": "http://rebind.test/other"})
	contains(t, "the refusal", res.Content, "rebind.test is 127.0.0.1")
	if len(b.dialed) != 1 || b.dialed[0].Addr() != first {
		t.Errorf("dialled: %v", b.dialed)
	}
}
