package web

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/tools/shell"
)

func TestMain(m *testing.M) { workbench.Main(m) }

// index is a package index as an installer reads it: a page with links, and the files that they lead to.
func index(wheel []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/simple/thing/":
			fmt.Fprintf(w, `<a href="/files/thing-1.0-py3-none-any.whl#sha256=%x">thing-1.0-py3-none-any.whl</a>`, sha256.Sum256(wheel))
		case "/files/thing-1.0-py3-none-any.whl":
			_, _ = w.Write(wheel)
		default:
			fmt.Fprint(w, "answer")
		}
	})
}

// installer does what an installer of packages does: read an index, follow a link of it, check what came.
const installer = `
import hashlib, re, sys, urllib.parse, urllib.request
base = sys.argv[1]
page = urllib.request.urlopen(base + "simple/thing/").read().decode()
link, digest = re.search(r'href="([^"#]*)#sha256=([0-9a-f]*)"', page).groups()
data = urllib.request.urlopen(urllib.parse.urljoin(base, link)).read()
print("installed" if hashlib.sha256(data).hexdigest() == digest else "damaged", len(data))
`

// tunnels speaks TLS through the proxy by CONNECT, as every client of https addresses does.
const tunnels = `
import http.client, os, ssl, sys, urllib.parse
proxy = urllib.parse.urlparse(os.environ["HTTPS_PROXY"])
conn = http.client.HTTPSConnection(proxy.hostname, proxy.port, context=ssl._create_unverified_context())
conn.set_tunnel(sys.argv[1], int(sys.argv[2]))
conn.request("GET", "/")
print(conn.getresponse().read().decode())
`

// attempts to get out otherwise: each prints how it failed, or that it did not.
const attempts = `
import os, socket, sys, urllib.request
name, port = sys.argv[1], int(sys.argv[2])
def attempt(what, f):
    try:
        f()
        print("REACHED by " + what)
    except Exception as e:
        print("stopped:", what, type(e).__name__)
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.connect(("192.0.2.53", 53))
    s.send(b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01")
    s.recv(512)
attempt("raw socket to the server", lambda: socket.create_connection(("127.0.0.1", port), 5))
attempt("raw socket outside", lambda: socket.create_connection(("192.0.2.1", 80), 5))
attempt("raw socket over IPv6", lambda: socket.create_connection(("2001:db8::1", 80), 5))
attempt("name of the allowed host", lambda: socket.getaddrinfo(name, port))
attempt("name of another host", lambda: socket.getaddrinfo("other.test", 80))
attempt("DNS server", udp)
attempt("ICMP", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("request without proxy", lambda: urllib.request.build_opener(urllib.request.ProxyHandler({})).open("http://%s:%d/" % (name, port), timeout=5))
attempt("other host by proxy", lambda: urllib.request.urlopen("http://other.test:%d/" % port, timeout=30))
attempt("address by proxy", lambda: urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=30))
attempt("metadata by proxy", lambda: urllib.request.urlopen("http://169.254.169.254/", timeout=30))
attempt("other port by proxy", lambda: urllib.request.urlopen("http://%s:%d/" % (name, port ^ 1), timeout=30))
`

// From inside the sandbox an allowed host is reached by any client that knows proxies; nothing else is, in any way.
func TestProgramsReachAllowedHostsOnly(t *testing.T) {
	plain := httptest.NewServer(index([]byte(strings.Repeat("wheel", 1000))))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(index(nil))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{}
	secure.StartTLS()
	defer secure.Close()
	port := func(s *httptest.Server) int { return s.Listener.Addr().(*net.TCPAddr).Port }
	const name = "service.test"
	var rules []tongs.Rule
	for _, s := range []*httptest.Server{plain, secure} {
		rules = append(rules, tongs.Rule{
			Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: fmt.Sprintf("%s:%d", name, port(s)), Decision: tongs.PreApproved,
		})
	}
	b, opt := workbench.New(t, workbench.Options{
		Rules: append(shell.Rules(), rules...), Private: []string{name},
		Answer: func(q approval.Question) approval.Answer { // to run is approved; hosts are what the rules say
			return approval.Answer{Approved: !slices.ContainsFunc(q.Effects, func(e tongs.Effect) bool {
				return e.Kind == tongs.EffectNetwork && e.Host != rules[0].Pattern && e.Host != rules[1].Pattern
			})}
		},
	})
	set, err := shell.New(shell.Options{})
	b.Must(err)
	t.Cleanup(set.CloseAll)
	b.Build(opt, set.Tools()...)
	b.Put("install.py", installer, 0o644)
	b.Put("tunnel.py", tunnels, 0o644)
	b.Put("attempts.py", attempts, 0o644)
	base := fmt.Sprintf("http://%s:%d/", name, port(plain))
	for command, want := range map[string]string{
		"curl -sS " + base:           "answer",
		"python3 install.py " + base: "installed 5000",
		fmt.Sprintf("curl -sSk https://%s:%d/", name, port(secure)):                                           "answer",
		fmt.Sprintf("python3 tunnel.py %s %d", name, port(secure)):                                            "answer",
		"python3 -c \"import urllib.request; print(urllib.request.urlopen('" + base + "').read().decode())\"": "answer",
	} {
		out := workbench.Value[shell.Output](b, b.OK("shell", workbench.Args{"command": command}))
		if strings.TrimSpace(out.Stdout) != want || out.ExitCode != 0 {
			t.Errorf("%s: %+v", command, out)
		}
	}
	// The program itself ends well, so that what it could not reach is not asked for.
	out := workbench.Value[shell.Output](b, b.OK("shell", workbench.Args{"command": fmt.Sprintf("python3 attempts.py %s %d", name, port(plain))}))
	t.Log(out.Stdout)
	if strings.Contains(out.Stdout, "REACHED") || strings.Count(out.Stdout, "stopped: ") != strings.Count(attempts, "\nattempt(") {
		t.Errorf("%s\n%s", out.Stdout, out.Stderr)
	}
	res := b.Call("shell", workbench.Args{"command": fmt.Sprintf("curl -sSf http://other.test:%d/", port(plain))})
	if res.OK() || res.Error.Code != tongs.CodeDenied || strings.Contains(res.Content, "answer") {
		t.Errorf("another host: %v %s", res.Error, res.Content)
	}
}
