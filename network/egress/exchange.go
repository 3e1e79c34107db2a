package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// attempt makes one request, again where it changes nothing and the failure may pass.
func (x *exchange) attempt(req *http.Request, t network.Target) (*http.Response, error) {
	repeatable := (req.Method == "" || req.Method == http.MethodGet || req.Method == http.MethodHead) &&
		(req.Body == nil || req.Body == http.NoBody)
	for n := 0; ; n++ {
		res, err := x.once(req, t)
		wait, again := x.opt.Backoff(n), n < x.opt.Retries && repeatable && x.ctx.Err() == nil
		switch {
		case err != nil:
			again = again && passing(err)
		default:
			after, may := retryable(res)
			again = again && may
			wait = max(wait, after)
		}
		if !again {
			return res, err
		}
		if res != nil {
			_ = res.Body.Close()
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-x.ctx.Done():
			pause.Stop()
			return nil, context.Cause(x.ctx)
		}
	}
}

// once makes one request in the turn of its host. The turn lasts until the exchange ends or goes to another host.
func (x *exchange) once(req *http.Request, t network.Target) (*http.Response, error) {
	x.leaveHost()
	leave, err := x.host(t.Host).enter(x.ctx)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.leave = leave
	x.mu.Unlock()
	return x.transport.RoundTrip(req)
}

// leaveHost ends the turn of the exchange.
func (x *exchange) leaveHost() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.leave != nil {
		x.leave()
		x.leave = nil
	}
}

// passing reports whether a failure may be gone the next time.
func passing(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// maxRetryAfter is how long a server may ask us to wait before we ask again. A longer wait is the caller's.
const maxRetryAfter = 5 * time.Second

// retryable reports whether the server says that it may answer otherwise soon, and when.
func retryable(res *http.Response) (time.Duration, bool) {
	after, said := RetryAfter(res.Header, time.Now())
	switch res.StatusCode {
	case http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusServiceUnavailable:
		return after, after <= maxRetryAfter
	case http.StatusTooManyRequests:
		return after, said && after <= maxRetryAfter
	}
	return 0, false
}

// RetryAfter reads the header of that name: seconds, or a date.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0, false
	}
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// redirected returns the request that a response asks for, nil where it asks for none.
func redirected(req *http.Request, res *http.Response) (*http.Request, error) {
	again := false
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		again = true
	default:
		return nil, nil
	}
	where := res.Header.Get("Location")
	if where == "" {
		return nil, nil
	}
	u, err := req.URL.Parse(where)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s redirects to %q, which is no address", req.URL.Host, short(where))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s redirects to %q, which is no http or https address",
			req.URL.Host, short(where))
	}
	if u.Fragment == "" {
		u.Fragment = req.URL.Fragment
	}
	next := req.Clone(req.Context())
	next.URL, next.Host, next.Response = u, "", res
	if again && req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil, tongs.Errorf(tongs.CodeNetworkError, "%s redirects a request whose body cannot be sent twice", req.URL.Host)
		}
		if next.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	if !again {
		if next.Method != http.MethodHead {
			next.Method = http.MethodGet
		}
		next.Body, next.GetBody, next.ContentLength = nil, nil, 0
		next.Header.Del("Content-Type")
	}
	if u.Scheme != req.URL.Scheme || u.Host != req.URL.Host {
		dropCredentials(next.Header)
	}
	return next, nil
}

// dropCredentials takes what was meant for one origin out of a request to another.
func dropCredentials(h http.Header) {
	for name, values := range h {
		for _, value := range values {
			if Credential(name, value) {
				h.Del(name)
				break
			}
		}
	}
}

// explain says what went wrong and what to do about it, without the address, which can contain a secret.
func (x *exchange) explain(err error) error {
	cause := context.Cause(x.ctx)
	if errors.Is(cause, errTimeout) {
		return tongs.Errorf(tongs.CodeTimeout, "no whole answer within %s; give it more time, or ask for less", x.limit)
	}
	if x.ctx.Err() != nil {
		return cause
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if told, ok := errors.AsType[*tongs.Error](err); ok {
		return told
	}
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		return need
	}
	if why := certificate(err); why != "" {
		return tongs.Errorf(tongs.CodeNetworkError, "the certificate of the server is not accepted: %s", why)
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "response headers exceeded"), strings.Contains(text, "header list"):
		return tongs.Errorf(tongs.CodeTooLarge, "the headers of the answer are over %d bytes", x.opt.HeaderBytes)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return tongs.Errorf(tongs.CodeNetworkError, "the server closed the connection before its answer was whole")
	}
	return tongs.Errorf(tongs.CodeNetworkError, "the request failed: %w", err)
}

// certificate says what is wrong with a certificate, nothing where the failure is another one.
func certificate(err error) string {
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		err = bad.Err
	} else if _, ok := errors.AsType[x509.HostnameError](err); !ok {
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
			return ""
		}
	}
	return err.Error()
}

// plain spells an address without its query, which can contain a secret.
func plain(u *url.URL) string {
	return short(fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, u.EscapedPath()))
}

func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "..."
	}
	return s
}

// body ends its exchange when it is closed.
type body struct {
	io.ReadCloser
	exchange *exchange
}

// Read implements io.Reader. A body that was cut off is never one that ended.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.exchange.explain(err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.exchange.end()
	return err
}

// clock bounds an exchange. It can be held while a person is asked.
type clock struct {
	mu   sync.Mutex
	t    *time.Timer
	ends time.Time
}

func startClock(d time.Duration, over func()) *clock {
	return &clock{t: time.AfterFunc(d, over), ends: time.Now().Add(d)}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.Stop()
}

// hold stops the clock and returns what lets it go on.
func (c *clock) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.t.Stop() {
		return func() {}
	}
	left := time.Until(c.ends)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ends = time.Now().Add(left)
		c.t.Reset(left)
	}
}
