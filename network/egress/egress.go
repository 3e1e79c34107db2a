// Package egress makes the HTTP requests of tools. What was decided for a call is all that it can reach: each request, and
// each redirect on the way, is held against the decided effects, and what nobody decided is decided while the request
// waits. Connections are made through the network guard only, and are kept in the row of the call.
package egress

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/secrets"
	"github.com/tongs-ai/tongs/network"
)

// Options are those of all requests. A zero field means the default that its comment names.
type Options struct {
	// Guard makes the connections; nil is a plain one.
	Guard *network.Guard
	// Private reports whether special addresses may be reached under this name, because a rule means this very host. Nil
	// means that they never may, unless a person was asked about the address itself.
	Private func(host string) bool
	// Configured reports whether a person configured that the tool sends requests to the host, with a credential of that
	// person: a search provider. Nil means that nobody did.
	Configured func(tool, host string) bool
	// Proxy names the proxy of a request, nil where it has none, as http.Transport wants it. A proxy resolves names itself,
	// so that what they lead to is for it to check; addresses are checked here in any case. Nil means no proxy at all:
	// the environment is not looked at.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS is the configuration of TLS clients; nil is the usual one.
	TLS *tls.Config
	// Timeout bounds an exchange from its first connection to the end of the body: 30 s. A context can say otherwise; see
	// WithTimeout. The time that a person takes to answer does not count.
	Timeout time.Duration
	// HeaderBytes bounds the headers of a response: 1 MiB.
	HeaderBytes int64
	// Redirects is how many are followed: 10.
	Redirects int
	// Concurrent is how many exchanges with one host go on at a time: 4. Rate is how many begin in a second: 5, after
	// the first Burst: 10.
	Concurrent int
	Rate       float64
	Burst      int
	// Retries is how often a request that changes nothing is made again after a failure that may pass: 2; negative is
	// never. Backoff is how long to wait before each: 250 ms, doubled each time.
	Retries int
	Backoff func(attempt int) time.Duration
}

func (o Options) withDefaults() Options {
	if o.Guard == nil {
		o.Guard = &network.Guard{}
	}
	if o.Private == nil {
		o.Private = func(string) bool { return false }
	}
	if o.Configured == nil {
		o.Configured = func(string, string) bool { return false }
	}
	if o.TLS == nil {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if o.TLS.ClientSessionCache == nil {
		o.TLS = o.TLS.Clone()
		o.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(64)
	}
	orElse(&o.Timeout, 30*time.Second)
	orElse(&o.HeaderBytes, 1<<20)
	orElse(&o.Redirects, 10)
	orElse(&o.Concurrent, 4)
	orElse(&o.Rate, 5)
	orElse(&o.Burst, 10)
	if o.Retries == 0 {
		o.Retries = 2
	}
	if o.Backoff == nil {
		o.Backoff = func(attempt int) time.Duration { return 250 * time.Millisecond << attempt }
	}
	return o
}

func orElse[N int | int64 | float64 | time.Duration](v *N, usual N) {
	if *v <= 0 {
		*v = usual
	}
}

// Egress makes requests for calls. It is safe for concurrent use.
type Egress struct {
	opt Options

	mu    sync.Mutex
	hosts map[string]*host
}

// New returns an Egress.
func New(opt Options) *Egress { return &Egress{opt: opt.withDefaults(), hosts: map[string]*host{}} }

// HTTP is what engine.Options.HTTP wants.
func (e *Egress) HTTP(p *tongs.Permit) tongs.HTTP { return &client{Egress: e, permit: p} }

// host is what is known of one host that is talked to.
type host struct {
	limit *rate.Limiter
	slots chan struct{}
}

// maxHosts is how many hosts are known at a time. Those beyond are forgotten, which lets them be asked a little faster.
const maxHosts = 4096

func (e *Egress) host(name string) *host {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.hosts[name]
	if h == nil {
		if len(e.hosts) >= maxHosts {
			clear(e.hosts)
		}
		h = &host{limit: rate.NewLimiter(rate.Limit(e.opt.Rate), e.opt.Burst), slots: make(chan struct{}, e.opt.Concurrent)}
		e.hosts[name] = h
	}
	return h
}

// enter waits for the turn of an exchange with the host, and returns what ends it.
func (h *host) enter(ctx context.Context) (leave func(), err error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	leave = sync.OnceFunc(func() { <-h.slots })
	if err := h.limit.Wait(ctx); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

type timeoutKey struct{}

// WithTimeout returns a context under which an exchange may take d.
func WithTimeout(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, timeoutKey{}, d)
}

type sendingKey struct{}

// Sending returns a context under which a request carries data out, whatever it looks like, for the reason that a person is told.
// The redirects that it leads to do not.
func Sending(ctx context.Context, why string) context.Context {
	return context.WithValue(ctx, sendingKey{}, why)
}

type redirectKey struct{}

// OnRedirect returns a context under which each redirect is shown to check once its host was decided, before it is followed: an
// error ends the exchange. Nil checks nothing.
func OnRedirect(ctx context.Context, check func(next *http.Request) error) context.Context {
	return context.WithValue(ctx, redirectKey{}, check)
}

// Sends reports whether a request carries data out, beyond asking for what is at its address: a method other than GET
// and HEAD, also one that servers take from a header, a body, or a credential in its headers.
func Sends(req *http.Request) bool {
	if req.Method != "" && req.Method != http.MethodGet && req.Method != http.MethodHead {
		return true
	}
	if req.Body != nil && req.Body != http.NoBody {
		return true
	}
	for name, values := range req.Header {
		switch strings.ToLower(name) {
		case "x-http-method-override", "x-http-method", "x-method-override":
			return true
		}
		for _, value := range values {
			if Credential(name, value) {
				return true
			}
		}
	}
	return false
}

// Credential reports whether a header is likely one: by its name or by what its value looks like.
func Credential(name, value string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "cookie2":
		return true
	case "user-agent", "accept", "accept-encoding", "accept-language", "if-none-match", "if-modified-since":
		return len(secrets.Find(value)) > 0
	}
	return secrets.SecretName(name) || namesCredential(name) || len(secrets.Find(value)) > 0
}

// namesCredential reports whether the name of a header has a word in it that credentials are sent under.
func namesCredential(name string) bool {
	for part := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' }) {
		switch part {
		case "key", "token", "auth", "session", "sid", "jwt", "signature", "apikey", "csrf", "xsrf":
			return true
		}
	}
	return false
}
