package wire

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	webconsole "github.com/tongs-ai/tongs/internal/console"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

// OpenServer wires a system that serves MCP clients.
func (h Host) OpenServer(ctx context.Context, o Options) (*mcpserver.Server, *System, error) {
	channel := &mcpserver.Channel{}
	o.Caller, o.Lives, o.Warm = channel, true, true
	h.Attended = false // a client starts it, or a person for clients
	sys, err := h.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	server, err := sys.Serve(ctx, channel)
	if err != nil {
		_ = sys.Close()
		return nil, nil, err
	}
	return server, sys, nil
}

// Serving is where and to whom a system is served over HTTP.
type Serving struct {
	// Addr is the address to listen on; Remote allows one that other machines can reach.
	Addr   string
	Remote bool
	// Socket is a unix socket to serve MCP on instead, without the console.
	Socket string
	// Hosts are further names that clients may use; Origins are web pages that may make MCP requests.
	Hosts, Origins []string
	// User is who answers in the console.
	User string
	// Ready is told where the server is, before it serves.
	Ready func(Served)
}

// Served is where a server is.
type Served struct {
	// Path is that of MCP below URL, which is empty for a socket.
	URL, Path string
	// Token is what clients send.
	Token string
	// Link makes a link that logs one browser in. Page is a file of the state directory that can hold one.
	Link func() string
	Page string
}

// ServeHTTP serves a system with a console until ctx ends.
func (h Host) ServeHTTP(ctx context.Context, o Options, s Serving) error {
	hub := webconsole.NewHub()
	o.Observe, o.Channels = hub.Observe, append(o.Channels, hub.Channel())
	server, sys, err := h.OpenServer(ctx, o)
	if err != nil {
		return err
	}
	defer sys.Close()
	if s.Socket != "" {
		l, err := mcpserver.ListenSocket(s.Socket)
		if err != nil {
			server.Close()
			return err
		}
		s.Ready(Served{Path: mcpserver.Path})
		return server.ServeHTTP(ctx, l, mcpserver.HTTPOptions{Hosts: s.Hosts, Origins: s.Origins})
	}
	if err := sys.serveConsole(ctx, server, hub, s); err != nil {
		server.Close()
		return err
	}
	return nil
}

// serveConsole serves MCP and the console at an address.
func (s *System) serveConsole(ctx context.Context, server *mcpserver.Server, hub *webconsole.Hub, at Serving) error {
	token, err := mcpserver.Token(s.StateDir)
	if err != nil {
		return err
	}
	web, err := s.Console(hub, token, at.User, at.Hosts)
	if err != nil {
		return err
	}
	defer web.Close()
	l, err := mcpserver.Listen(at.Addr, at.Remote)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, web.Close)()
	url := "http://" + l.Addr().String()
	forget, err := s.announce(url)
	if err != nil {
		_ = l.Close()
		return err
	}
	defer forget()
	at.Ready(Served{URL: url, Path: mcpserver.Path, Token: token, Link: web.Link, Page: filepath.Join(s.StateDir, "console-open.html")})
	return server.ServeHTTP(ctx, l, mcpserver.HTTPOptions{Hosts: at.Hosts, Origins: at.Origins, Token: token, Around: web.Handler})
}

// announce writes to the state directory where the console is. Forget takes it back.
func (s *System) announce(url string) (forget func(), err error) {
	data, err := json.Marshal(Address{URL: url, PID: os.Getpid(), Workspace: s.Workspace})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.StateDir, AddressFile)
	if err := owned.Replace(path, append(data, '\n'), 0o600); err != nil {
		return nil, err
	}
	return func() {
		if now, err := os.ReadFile(path); err == nil && string(now) == string(data)+"\n" { // not that of another server
			_ = os.Remove(path)
		}
	}, nil
}
