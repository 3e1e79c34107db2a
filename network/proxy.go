package network

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
)

// Proxy is an HTTP proxy for programs that can reach nothing else. Each request and each tunnel is decided by its
// host; what is sent through a tunnel must speak to the host that it was opened for.
type Proxy struct {
	Guard *Guard
	// Decide is asked about each target. It must be safe for concurrent use.
	Decide func(ctx context.Context, t Target) Decision
	// First is offered each request before it is decided, and reports whether it answered it; nil answers none. It decides
	// what it answers itself.
	First func(w http.ResponseWriter, r *http.Request) bool
}

// Serve answers connections of the listener until ctx ends; then it closes the listener and every connection.
func (p *Proxy) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler:           p,
		ReadHeaderTimeout: 30 * time.Second,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(ctx, serving{}, ctx) },
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("network proxy: %w", err)
	}
	return nil
}

// serving is the key of the context that ends with Serve. A request's own ends as soon as the client has nothing more
// to send, which in a tunnel does not mean that it has nothing more to hear.
type serving struct{}

// Serving returns the context that ends with Serve, from that of a request. Outside of Serve it is the request's own.
func Serving(ctx context.Context) context.Context {
	if whole, ok := ctx.Value(serving{}).(context.Context); ok {
		return whole
	}
	return ctx
}

// ServeHTTP answers one request of a program: a tunnel by CONNECT, or a plain request with an absolute address.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.First != nil && p.First(w, r) {
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
		refuse(w, tongs.Errorf(tongs.CodeNetworkError, "%q is not a request for a proxy; use http:// addresses or CONNECT", r.URL.Redacted()))
		return
	}
	target, err := ParseTarget(r.URL.Host, 80)
	if err != nil {
		refuse(w, err)
		return
	}
	p.forward(w, r, target)
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, target Target) {
	decision := p.Decide(r.Context(), target)
	if err := cmp.Or(decision.Err, decision.plain(r)); err != nil {
		p.Guard.log(Attempt{Target: target, Err: err, At: time.Now()})
		refuse(w, err)
		return
	}
	transport := &http.Transport{
		Proxy:             nil,
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return p.Guard.Connect(ctx, target, decision)
		},
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.Host = out.In.URL.Host // the host that was decided, whatever the header says
			out.Out.Header.Del("Proxy-Authorization")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	proxy.ServeHTTP(w, r)
}

// plain refuses a request that the decision does not cover.
func (d *Decision) plain(r *http.Request) error {
	switch {
	case d.Methods == nil:
		return nil
	case !slices.Contains(d.Methods, r.Method):
		return tongs.Errorf(tongs.CodeBlocked, "a rule limits %s to %s, and this is a %s request", r.URL.Host, strings.Join(d.Methods, ", "), r.Method)
	case r.ContentLength != 0 || r.Header.Get("Upgrade") != "":
		return tongs.Errorf(tongs.CodeBlocked, "a rule limits %s to %s, and this request sends data", r.URL.Host, strings.Join(d.Methods, ", "))
	}
	return nil
}

func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	target, err := ParseTarget(r.Host, 443)
	if err != nil {
		refuse(w, err)
		return
	}
	decision := p.Decide(r.Context(), target)
	if decision.Err == nil && decision.Methods != nil {
		decision.Err = tongs.Errorf(tongs.CodeBlocked, "a rule limits %s to %s, and what is sent through an encrypted connection cannot be seen; "+
			"remove methods from the rule to allow https", target.Name(), strings.Join(decision.Methods, ", "))
	}
	upstream, err := p.Guard.Connect(r.Context(), target, decision)
	if err != nil {
		refuse(w, err)
		return
	}
	defer upstream.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if ctx, ok := r.Context().Value(serving{}).(context.Context); ok {
		defer context.AfterFunc(ctx, func() { client.Close(); upstream.Close() })()
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	first, err := opening(client, buffered.Reader, target)
	if err != nil {
		p.Guard.log(Attempt{Target: target, Err: err, At: time.Now()})
		return
	}
	if _, err := upstream.Write(first); err != nil {
		return
	}
	pipe(client, buffered.Reader, upstream)
}

// helloTime is how long a client may take to say whom it wants to speak to.
const helloTime = 30 * time.Second

// opening reads the first message of a tunnel. On the port of HTTPS, and wherever a TLS handshake is opened, it must
// name the host of the tunnel: a tunnel to one host is no way to another behind the same address.
func opening(client net.Conn, r *bufio.Reader, target Target) ([]byte, error) {
	if err := client.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return nil, err
	}
	defer client.SetReadDeadline(time.Time{})
	first, err := r.Peek(1)
	if err != nil {
		return nil, err
	}
	const handshake = 0x16
	if first[0] != handshake {
		if target.Port == 443 {
			return nil, tongs.Errorf(tongs.CodeNetworkError, "the tunnel to %s does not start with TLS", target)
		}
		return nil, nil
	}
	var hello bytes.Buffer
	name, err := serverName(io.TeeReader(r, &hello))
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "the tunnel to %s starts with a TLS greeting that cannot be read: %w", target, err)
	}
	if name = strings.ToLower(strings.TrimSuffix(name, ".")); name != "" && name != target.Host {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "the tunnel to %s asks for %q inside", target, name)
	}
	return hello.Bytes(), nil
}

var errHello = errors.New("greeting read")

// serverName reads a TLS greeting and returns the name in it.
func serverName(r io.Reader) (name string, err error) {
	config := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name = hello.ServerName
		return nil, errHello
	}}
	if err = tls.Server(readOnly{r}, config).Handshake(); errors.Is(err, errHello) {
		return name, nil
	}
	return "", err
}

// readOnly is a connection that swallows what is written to it: the alert that ends the greeting.
type readOnly struct{ io.Reader }

func (readOnly) Write(p []byte) (int, error)      { return len(p), nil }
func (readOnly) Close() error                     { return nil }
func (readOnly) LocalAddr() net.Addr              { return nil }
func (readOnly) RemoteAddr() net.Addr             { return nil }
func (readOnly) SetDeadline(time.Time) error      { return nil }
func (readOnly) SetReadDeadline(time.Time) error  { return nil }
func (readOnly) SetWriteDeadline(time.Time) error { return nil }

// pipe carries bytes both ways until both sides are done.
func pipe(client net.Conn, fromClient io.Reader, upstream net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(upstream, fromClient)
		closeWrite(upstream)
	})
	both.Go(func() {
		io.Copy(client, upstream)
		closeWrite(client)
	})
	both.Wait()
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		return
	}
	c.Close()
}

// refuse answers a program with the sentence that a person would read.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Tongs-Refused", "true")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, refusal(err))
}

func refusal(err error) string {
	if e, ok := errors.AsType[*tongs.Error](err); ok {
		return fmt.Sprintf("tongs: %s\n", e.Message)
	}
	return fmt.Sprintf("tongs: %s\n", err)
}
