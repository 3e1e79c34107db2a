package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// client makes the requests of one call.
type client struct {
	*Egress
	permit *tongs.Permit
}

// errTimeout is why an exchange ends whose time is over.
var errTimeout = tongs.Errorf(tongs.CodeTimeout, "the time for the request is over")

// Do implements tongs.HTTP. The body of the response must be closed; it ends with the time of the exchange.
func (c *client) Do(req *http.Request) (*http.Response, error) {
	limit := c.opt.Timeout
	if d, ok := req.Context().Value(timeoutKey{}).(time.Duration); ok && d > 0 {
		limit = d
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	x := &exchange{client: c, ctx: ctx, cancel: cancel, limit: limit}
	x.clock = startClock(limit, func() { cancel(errTimeout) })
	x.transport = x.newTransport()
	res, err := x.follow(req.Clone(ctx))
	if err != nil {
		err = x.explain(err)
		x.end()
		return nil, err
	}
	return res, nil
}

// exchange is one request with its redirects, until the body of the last response is closed.
type exchange struct {
	*client
	ctx       context.Context
	cancel    context.CancelCauseFunc
	limit     time.Duration
	clock     *clock
	transport *http.Transport

	mu     sync.Mutex
	conns  []net.Conn
	leave  func()
	ending sync.Once
	// proxies are those that requests of this exchange go through.
	proxies []network.Target
}

// end closes everything. Connections are closed here rather than later, so that the row of the call knows them.
func (x *exchange) end() {
	x.ending.Do(func() {
		x.clock.stop()
		x.cancel(nil)
		x.transport.CloseIdleConnections()
		x.mu.Lock()
		conns, leave := x.conns, x.leave
		x.conns, x.leave = nil, nil
		x.mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		if leave != nil {
			leave()
		}
	})
}

// follow makes the request, and those that it is redirected to.
func (x *exchange) follow(req *http.Request) (*http.Response, error) {
	var from *url.URL
	for hops := 0; ; hops++ {
		target, err := x.admit(req, from)
		if err != nil {
			return nil, err
		}
		if err := x.checkRedirect(req, from); err != nil {
			return nil, err
		}
		res, err := x.attempt(req, target)
		if err != nil {
			return nil, err
		}
		next, err := redirected(req, res)
		if err != nil {
			_ = res.Body.Close()
			return nil, err
		}
		if next == nil {
			res.Body = &body{ReadCloser: res.Body, exchange: x}
			context.AfterFunc(x.ctx, x.end) // whoever forgets the body keeps nothing
			return res, nil
		}
		_ = res.Body.Close()
		x.leaveHost() // what comes next may wait for a person, or for the same host
		if hops >= x.opt.Redirects {
			return nil, tongs.Errorf(tongs.CodeNetworkError, "%s redirects more than %d times; the last time to %s",
				target.Name(), x.opt.Redirects, plain(next.URL))
		}
		from, req = req.URL, next
	}
}

// checkRedirect has whoever wants to look at a redirect look at it, once it was decided.
func (x *exchange) checkRedirect(next *http.Request, from *url.URL) error {
	check, ok := x.ctx.Value(redirectKey{}).(func(*http.Request) error)
	if from == nil || !ok || check == nil {
		return nil
	}
	return check(next)
}

// admit gives the address of a request its one form, and has it decided.
func (x *exchange) admit(req *http.Request, from *url.URL) (network.Target, error) {
	target, err := TargetOf(req.URL)
	if err != nil {
		return target, err
	}
	own := *req.URL
	own.Host = hostPort(target, own.Scheme)
	req.URL, req.Host = &own, "" // the host that is decided is the one that is named inside
	why, _ := x.ctx.Value(sendingKey{}).(string)
	if from != nil {
		why = ""
	}
	return target, x.decide(target, Sends(req) || why != "", why, from)
}

// TargetOf returns what a request to the address connects to, or why there is none that may be.
func TargetOf(u *url.URL) (network.Target, error) {
	port := uint16(443)
	switch u.Scheme {
	case "https":
	case "http":
		port = 80
	default:
		return network.Target{}, tongs.Errorf(tongs.CodeInvalidArgs, "%q is not an http or https address", short(u.Scheme+":"))
	}
	if u.User != nil {
		return network.Target{}, tongs.Errorf(tongs.CodeInvalidArgs,
			"the address has a user name before its host, %q; write it without, and send credentials in a header", short(u.Host))
	}
	if strings.HasSuffix(u.Host, ":") {
		return network.Target{}, tongs.Errorf(tongs.CodeInvalidArgs, "the host %q ends with a colon; write its port, or nothing",
			short(u.Host))
	}
	target, err := network.ParseTarget(u.Host, port)
	if err != nil {
		return target, err
	}
	if target.Port == 80 && u.Scheme == "https" || target.Port == 443 && u.Scheme == "http" {
		return target, tongs.Errorf(tongs.CodeInvalidArgs, "%s on port %d is the other scheme's port; name the address as the server means it",
			u.Scheme, target.Port)
	}
	return target, nil
}

// hostPort spells a target in an address of the scheme.
func hostPort(t network.Target, scheme string) string {
	if scheme == "https" && t.Port == 443 || scheme == "http" && t.Port == 80 {
		if strings.Contains(t.Host, ":") {
			return "[" + t.Host + "]"
		}
		return t.Host
	}
	return t.String()
}

// decide returns once the target may be reached, or why it may not.
func (x *exchange) decide(t network.Target, sends bool, why string, from *url.URL) error {
	name, tool := t.Name(), x.permit.Call().Tool
	configured := x.opt.Configured(tool, name)
	sends = sends && !configured // a person said that this is sent there
	special := t.Special() && !configured && !x.opt.Private(name)
	asked := func(e tongs.Effect) bool {
		return e.Kind == tongs.EffectNetwork && !e.Unknown && strings.EqualFold(e.Host, name) &&
			(e.Sends || !sends) && (e.MustAsk || !special)
	}
	if slices.ContainsFunc(x.permit.Effects(), asked) {
		x.sent(t, sends)
		return nil
	}
	effect := t.Effect()
	effect.Sends, effect.Why = sends, why
	reason := "the request goes to " + name
	if from != nil {
		reason = fmt.Sprintf("%s redirects to %s", from.Host, name)
	}
	if special {
		if first, err := TargetOf(orNone(from)); from != nil && (err != nil || !first.Special()) {
			return tongs.Errorf(tongs.CodeNetworkError, "%s, an address of this machine or network, which is not followed; "+
				"fetch it by its own address if it is meant", reason)
		}
		effect.MustAsk, effect.Why = true, network.WhySpecial
	}
	defer x.clock.hold()()
	if err := x.permit.Decide(x.ctx, tongs.More{Reason: reason, Effects: []tongs.Effect{effect}}); err != nil {
		return err
	}
	x.sent(t, sends)
	return nil
}

func orNone(u *url.URL) *url.URL {
	if u == nil {
		return &url.URL{}
	}
	return u
}

func (x *exchange) sent(t network.Target, sends bool) {
	if sends {
		x.permit.Sent("sent data to " + t.Name())
	}
}

// private reports whether the target may be a special address.
func (x *exchange) private(t network.Target) bool {
	name := t.Name()
	if x.opt.Private(name) || x.opt.Configured(x.permit.Call().Tool, name) {
		return true
	}
	// A person who was asked saw the address itself, not a name that leads to it.
	return t.Special() && slices.ContainsFunc(x.permit.Effects(), func(e tongs.Effect) bool {
		return e.Kind == tongs.EffectNetwork && e.MustAsk && strings.EqualFold(e.Host, name)
	})
}

// newTransport returns what carries this exchange alone: no other call meets its connections.
func (x *exchange) newTransport() *http.Transport {
	guard := *x.opt.Guard
	guard.Log = x.logged(guard.Log)
	t := &http.Transport{
		TLSClientConfig: x.opt.TLS.Clone(), ForceAttemptHTTP2: true, DisableCompression: true, DisableKeepAlives: true,
		MaxResponseHeaderBytes: x.opt.HeaderBytes,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			target, err := network.ParseTarget(addr, 0)
			if err != nil {
				return nil, err
			}
			conn, err := guard.Connect(ctx, target, network.Decision{Private: x.isProxy(target) || x.private(target)})
			if err != nil {
				return nil, err
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			x.conns = append(x.conns, conn)
			return conn, nil
		},
	}
	if x.opt.Proxy != nil {
		t.Proxy = x.chooseProxy
	}
	return t
}

// chooseProxy names the proxy of a request, and notes it: it is a person's choice, wherever it is.
func (x *exchange) chooseProxy(req *http.Request) (*url.URL, error) {
	u, err := x.opt.Proxy(req)
	if err != nil || u == nil {
		return nil, err
	}
	port := map[string]uint16{"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}[u.Scheme]
	target, err := network.ParseTarget(u.Host, port)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.proxies = append(x.proxies, target)
	return u, nil
}

func (x *exchange) isProxy(t network.Target) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Contains(x.proxies, t)
}

// logged puts each connection into the row of the call, besides telling whoever else wants to know.
func (x *exchange) logged(also func(network.Attempt)) func(network.Attempt) {
	return func(a network.Attempt) {
		x.permit.Connected(a.String())
		if also != nil {
			also(a)
		}
	}
}
