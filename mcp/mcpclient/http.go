package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/oauth"
	"github.com/tongs-ai/tongs/network"
)

// web speaks to one address: every connection is to the host that the configuration names, through the network guard.
type web struct {
	server  *Server
	target  network.Target
	headers http.Header
	inner   http.RoundTripper
	// login has the tokens, nil where none may be sent: a credential among the headers wins.
	login *oauth.Resource
	// anonymous asks what the server says to nobody in particular.
	anonymous bool
	// origin is where tokens are sent.
	origin string

	mu sync.Mutex
	// refusal is why the server refused to talk, which no message of the protocol tells; challenge is what it answered.
	refusal   error
	challenge oauth.Challenge
}

// newWeb prepares requests to a server. That the configuration names the host is what allows one of this machine or
// network; no other host is ever dialled.
func newWeb(s *Server, guard *network.Guard, login *oauth.Resource, lookup func(string) (string, bool)) (*web, error) {
	target, err := s.target()
	if err != nil {
		return nil, err
	}
	w := &web{server: s, target: target, headers: http.Header{}, login: login}
	for key, value := range s.Headers {
		v, err := expand(s.Name, "headers."+key, value, lookup)
		if err != nil {
			return nil, err
		}
		w.headers.Set(key, v)
	}
	if u, err := url.Parse(s.URL); err == nil {
		w.origin = u.Scheme + "://" + u.Host
	}
	if w.headers.Get("Authorization") != "" || login != nil && login.Secure() != nil {
		w.login = nil
	}
	w.inner = &http.Transport{
		ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 15 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			if to, err := network.ParseTarget(addr, target.Port); err != nil || to != target {
				return nil, tongs.Errorf(tongs.CodeNetworkError, "the MCP server %s is at %s; it may not lead to %s", s.Name, target, addr)
			}
			return guard.Connect(ctx, target, network.Decision{Private: true})
		},
	}
	return w, nil
}

// transport is what a session is made over.
func (w *web) transport() mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint: w.server.URL, MaxEventSize: maxMessage,
		HTTPClient: &http.Client{
			Transport:     w,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for key, values := range w.headers {
		req.Header[key] = values
	}
	res, err := w.send(req)
	if err != nil {
		return nil, err
	}
	if err := w.refused(req.Context(), res); err != nil {
		res.Body.Close()
		w.mu.Lock()
		w.refusal = err
		w.mu.Unlock()
		return nil, err
	}
	res.Body = &bounded{ReadCloser: res.Body, left: maxMessage, stream: res.Header.Get("Content-Type")}
	return res, nil
}

// send sends a request with the token of the login, if there is one. A token that the server does not take is renewed
// once. Where that takes a person, the answer of the server stands.
func (w *web) send(req *http.Request) (*http.Response, error) {
	if w.login == nil || w.anonymous || req.URL.Scheme+"://"+req.URL.Host != w.origin {
		return w.inner.RoundTrip(req)
	}
	token, err := w.login.Token(req.Context())
	if err != nil && !errors.Is(err, oauth.ErrLogin) {
		return nil, err
	}
	if token == "" {
		return w.inner.RoundTrip(req)
	}
	req.Header.Set("Authorization", "Bearer "+string(token))
	res, err := w.inner.RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
		return res, err
	}
	token, err = w.login.Renew(req.Context(), token)
	if errors.Is(err, oauth.ErrLogin) {
		return res, nil
	}
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	again.Header.Set("Authorization", "Bearer "+string(token))
	return w.inner.RoundTrip(again)
}

// refused says what a person can do about an answer that no retry will change.
func (w *web) refused(ctx context.Context, res *http.Response) error {
	name := w.server.Name
	challenge := oauth.ReadChallenge(res.Header)
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
		w.mu.Lock()
		w.challenge = challenge
		w.mu.Unlock()
	}
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized && w.headers.Get("Authorization") == "" && w.login == nil:
		return configError("the MCP server %s wants a credential (401), which can be sent only over https", name)
	case code == http.StatusUnauthorized && w.login == nil:
		return configError("the MCP server %s does not take the credential in its headers (401)", name)
	case code == http.StatusUnauthorized:
		return configError("the MCP server %s wants a credential (401): %w, with 'tongs mcp login %s'; or put a token into its "+
			"headers, such as Authorization: Bearer ${TOKEN}", name, oauth.ErrLogin, name)
	case code == http.StatusForbidden && w.login != nil && challenge.Error == "insufficient_scope":
		if err := w.login.Want(ctx, challenge.Scopes); err != nil {
			return err
		}
		return configError("the MCP server %s wants a login that allows more (403, %.300q): %w again, with 'tongs mcp login %s'",
			name, strings.Join(challenge.Scopes, " "), oauth.ErrLogin, name)
	case code == http.StatusForbidden:
		return configError("the MCP server %s refuses the request (403); check the credential in its headers, or the login", name)
	case code >= 300 && code < 400 && code != http.StatusNotModified:
		return configError("the MCP server %s leads elsewhere (%d to %.200q); if that is right, configure it as the url",
			name, code, res.Header.Get("Location"))
	}
	return nil
}

// refusalOf returns the refusal that explains err, or err.
func (w *web) refusalOf(err error) error {
	if e, ok := errors.AsType[*tongs.Error](err); ok {
		return e
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && w.refusal != nil {
		return w.refusal
	}
	return err
}

// bounded is a body that is not read beyond what one message may have. A stream of events is bounded by the event.
type bounded struct {
	io.ReadCloser
	left   int64
	stream string
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if len(b.stream) >= 17 && b.stream[:17] == "text/event-stream" {
		return n, err
	}
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("it sent more than %d bytes in one message", maxMessage)
	}
	return n, err
}
