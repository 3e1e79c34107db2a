package gitrelay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/network"
)

// tunnel answers a tunnel of git as the host that it was opened for.
func (s *Session) tunnel(w http.ResponseWriter, r *http.Request) {
	target, err := network.ParseTarget(r.Host, 443)
	if err != nil {
		refuse(w, err)
		return
	}
	a, err := s.authority()
	if err != nil {
		refuse(w, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	ctx := network.Serving(r.Context())
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	secure := tls.Server(&readAhead{Conn: conn, r: buffered.Reader}, &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.leaf(target.Host) },
	})
	listener := newSingle(secure)
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, "https", target) }),
		ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0),
	}
	_ = server.Serve(listener)
}

// readAhead is a connection of which something was read already.
type readAhead struct {
	net.Conn
	r io.Reader
}

func (c *readAhead) Read(p []byte) (int, error) { return c.r.Read(p) }

// single is a listener with one connection, which ends when that is closed.
type single struct {
	conns chan net.Conn
	addr  net.Addr
	over  chan struct{}
	once  sync.Once
}

func newSingle(c net.Conn) *single {
	l := &single{conns: make(chan net.Conn, 1), addr: c.LocalAddr(), over: make(chan struct{})}
	l.conns <- &lastConn{Conn: c, close: func() { _ = l.Close() }}
	return l
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *single) Addr() net.Addr { return l.addr }

// lastConn ends its listener when it is closed.
type lastConn struct {
	net.Conn
	close func()
}

func (c *lastConn) Close() error {
	defer c.close()
	return c.Conn.Close()
}

// refuse answers git with a sentence, which git shows: only plain text, and only with an error.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, "tongs: "+sentence(err)+"\n")
}

// sentence is an error as git shows it.
func sentence(err error) string {
	message := err.Error()
	if e, ok := errors.AsType[*tongs.Error](err); ok {
		message = e.Message
	}
	return cleantext.Line(message)
}
