package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// ErrLogin says that only a person can go on, by logging in.
var ErrLogin = errors.New("a person has to log in")

const (
	// maxDocument bounds every answer, maxField every string of it that is kept.
	maxDocument = 256 << 10
	maxField    = 16 << 10
	// defaultTimeout bounds every request.
	defaultTimeout = 20 * time.Second
)

// Resource is an MCP server that a person may have to log in to. It is safe for concurrent use.
type Resource struct {
	// Name is what people call it, URL where it is, Identity the digest of how it is configured.
	Name, URL, Identity string
	// Store keeps logins.
	Store Store
	// Guard makes the connections; nil is a plain one.
	Guard *network.Guard
	// Timeout bounds each request; zero is 20 seconds.
	Timeout time.Duration
}

func failed(format string, args ...any) error {
	return tongs.Errorf(tongs.CodeConfigError, format, args...)
}

// Secure reports why tokens cannot be sent to the resource, nil if they can.
func (r *Resource) Secure() error {
	_, err := endpoint(r.URL)
	if err != nil {
		return failed("the MCP server %s cannot be logged in to: its url %w", r.Name, err)
	}
	return nil
}

// endpoint reads a URL that credentials or trust may depend on: HTTPS, or a name of this machine.
func endpoint(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || len(raw) > 2048 || u.Host == "" || u.Opaque != "":
		return nil, fmt.Errorf("is not a URL: %.100q", raw)
	case u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("holds a password or a fragment: %.100q", u.Redacted())
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, fmt.Errorf("is not https: %.100q", raw)
	}
	if _, err := target(u); err != nil {
		return nil, err
	}
	return u, nil
}

func target(u *url.URL) (network.Target, error) {
	port := uint16(443)
	if u.Scheme == "http" {
		port = 80
	}
	return network.ParseTarget(u.Host, port)
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// literal reports whether a host is what it says, rather than what a name server says.
func literal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost"
}

// named reports whether a person named the host, so that it may be one of this machine or network: it is where the
// resource is, or one of those allowed at login. Another port counts only where no name server can say what it means.
func (r *Resource) named(to network.Target, allowed []string) bool {
	if u, err := url.Parse(r.URL); err == nil {
		if own, err := target(u); err == nil && own.Host == to.Host && (own.Port == to.Port || literal(own.Host)) {
			return true
		}
	}
	return slices.ContainsFunc(allowed, func(host string) bool {
		t, err := network.ParseTarget(host, 443)
		return err == nil && t == to
	})
}

// web makes requests to where a resource leads.
type web struct {
	resource *Resource
	allowed  []string
	client   *http.Client
}

func (r *Resource) web(allowed []string) *web {
	w := &web{resource: r, allowed: allowed}
	timeout := r.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	w.client = &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
				to, err := network.ParseTarget(addr, 443)
				if err != nil {
					return nil, err
				}
				return w.dial(ctx, to)
			},
		},
	}
	return w
}

// reach makes sure that a browser, before which no guard stands, may be sent to a URL.
func (w *web) reach(ctx context.Context, raw string) error {
	u, err := endpoint(raw)
	if err != nil {
		return err
	}
	to, err := target(u)
	if err != nil {
		return err
	}
	conn, err := w.dial(ctx, to)
	if err != nil {
		return fmt.Errorf("cannot be used: %w", err)
	}
	return conn.Close()
}

// dial connects to a host that the resource leads to.
func (w *web) dial(ctx context.Context, to network.Target) (net.Conn, error) {
	guard := w.resource.Guard
	if guard == nil {
		guard = &network.Guard{}
	}
	return guard.Connect(ctx, to, network.Decision{Private: w.resource.named(to, w.allowed)})
}

// errAbsent is that there is no document, rather than one that cannot be used.
var errAbsent = errors.New("is not there")

// get reads a document.
func (w *web) get(ctx context.Context, raw string, into any) error {
	if _, err := endpoint(raw); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	status, body, err := w.do(req)
	switch {
	case err != nil:
		return err
	case status >= 400 && status < 500:
		return errAbsent
	case status != http.StatusOK:
		return fmt.Errorf("answers with status %d", status)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return errors.New("is not the JSON that it should be")
	}
	return nil
}

// do makes a request. What it returns as an error holds nothing of what was sent or answered.
func (w *web) do(req *http.Request) (status int, body []byte, err error) {
	res, err := w.client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return 0, nil, errors.New("did not answer in time")
		}
		return 0, nil, err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return 0, nil, errors.New("leads elsewhere, which is not followed")
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	switch {
	case err != nil:
		return 0, nil, errors.New("broke off, or did not answer in time")
	case len(body) > maxDocument:
		return 0, nil, fmt.Errorf("sent more than %d bytes", maxDocument)
	}
	return res.StatusCode, body, nil
}
