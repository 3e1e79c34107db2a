package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/network/egress"
)

// setup says what a bench is like.
type setup struct {
	Options
	egress egress.Options
	// tool stands in for those of the package.
	tool  tongs.Tool
	rules []tongs.Rule
	mode  tongs.Mode
	// files gives the tools a workspace, which web_fetch and web_search do not need.
	files bool
	// nobody leaves nobody to ask; answer answers, nil approves once.
	nobody bool
	answer func(approval.Question) approval.Answer
	// resolve looks names up instead of the bench's own hosts.
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// bench is an engine with the web tools, on a network of its own: each host has a made-up public address, and whatever is
// dialled ends on loopback or nowhere.
type bench struct {
	*base.Bench
	log audit.Log

	mu     sync.Mutex
	dialed []netip.AddrPort
	names  map[string]netip.Addr
	ends   map[netip.Addr]string
	// anywhere is where connections to other addresses end; empty refuses them.
	anywhere string
	// wild lets every name have an address.
	wild bool
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	b := &bench{names: map[string]netip.Addr{}, ends: map[netip.Addr]string{}, log: audit.NewMemory()}
	var opt engine.Options
	b.Bench, opt = base.New(t, base.Options{Mode: s.mode, Rules: s.rules, Nobody: s.nobody, Answer: s.answer})
	s.Private = meant(s.rules)
	tools, err := Tools(s.Options)
	b.Must(err)
	if s.tool != nil {
		tools = []tongs.Tool{s.tool}
	}
	if s.egress.Guard == nil {
		s.egress.Guard = &network.Guard{Resolve: b.resolve, Dial: b.dial}
		if s.resolve != nil {
			s.egress.Guard.Resolve = s.resolve
		}
	}
	s.egress.Private = s.Private
	if s.egress.Rate == 0 {
		s.egress.Rate, s.egress.Burst = 1e6, 1e6
	}
	if s.egress.Backoff == nil {
		s.egress.Backoff = func(int) time.Duration { return 0 }
	}
	opt.Audit, opt.HTTP = b.log, egress.New(s.egress).HTTP
	if !s.files {
		opt.Workspace, opt.Output = nil, output.Bounds{}
	}
	b.Build(opt, tools...)
	return b
}

// meant is which hosts rules name, as the command has it.
func meant(rules []tongs.Rule) func(string) bool {
	return func(host string) bool {
		for _, r := range rules {
			if r.Effects.Has(tongs.EffectNetwork) && r.Pattern == host {
				return true
			}
		}
		return false
	}
}

func allow(hosts ...string) (rules []tongs.Rule) {
	for _, host := range hosts {
		rules = append(rules, tongs.Rule{
			Layer: tongs.LayerUser, Toolset: Toolset, Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: host, Decision: tongs.PreApproved,
		})
	}
	return rules
}

// serve makes a name lead to a server.
func (b *bench) serve(name string, h http.Handler) *httptest.Server {
	b.Helper()
	s := httptest.NewServer(h)
	b.Cleanup(s.Close)
	b.point(name, s.Listener.Addr().String())
	return s
}

func (b *bench) point(name, addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ip := netip.AddrFrom4([4]byte{93, 184, 216, byte(len(b.names) + 1)})
	b.names[name], b.ends[ip] = ip, addr
}

func (b *bench) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ip, ok := b.names[host]; ok {
		return []netip.Addr{ip}, nil
	}
	if b.wild {
		return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 217, 1})}, nil
	}
	return nil, errors.New("no such host")
}

// dial records the address and ends on loopback.
func (b *bench) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	b.mu.Lock()
	b.dialed = append(b.dialed, addr)
	end, ok := b.ends[addr.Addr()]
	if !ok {
		end = b.anywhere
	}
	b.mu.Unlock()
	if end == "" && addr.Addr().IsLoopback() {
		end = addr.String()
	}
	if end == "" {
		return nil, errors.New("this test has no such place")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", end)
}

func (b *bench) dials() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.dialed)
}

type args = base.Args

func (b *bench) call(tool string, in args) *tongs.Result {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	return b.CallIn(ctx, "s", tool, in)
}

// fetch calls web_fetch, which must succeed.
func (b *bench) fetch(in args) Output {
	b.Helper()
	out, err := tongs.ValueOf[Output](b.call("web_fetch", in))
	if err != nil {
		b.Fatalf("%v: %v", in, err)
	}
	return out
}

// fails calls web_fetch, which must fail with the code.
func (b *bench) fails(code tongs.Code, in args) *tongs.Result {
	b.Helper()
	res := b.call("web_fetch", in)
	if res.Error == nil || res.Error.Code != code {
		b.Fatalf("%v: %v, want %s: %s", in, res.Error, code, res.Content)
	}
	return res
}

// saying answers each request but that for robots.txt.
func saying(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}
}

func contains(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %q in it: %s", what, part, text)
		}
	}
}
