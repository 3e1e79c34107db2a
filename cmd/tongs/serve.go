package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	webconsole "github.com/tongs-ai/tongs/internal/console"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/mcp/mcpserver"
)

// serveFlags are those of 'tongs serve'.
type serveFlags struct {
	addr, socket   string
	remote, open   bool
	hosts, origins []string
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Open a local console, and serve the tools over HTTP",
		Long: "Serve a local console, where you watch your agents live, answer their questions and try tools, and serve the " +
			"tools to MCP clients over streamable HTTP. It listens on this machine only.\n\n" +
			"The printed link logs one browser in; --open opens it in your browser. Every request of an MCP client must carry " +
			"a token, so that other users of the machine cannot call tools as you. The token is created once, stored in the " +
			"state directory, and shown with a snippet for clients. It does not open the console: a client that calls tools " +
			"cannot approve them.\n\n" +
			"With --socket it serves only MCP, on a unix socket that only you can open.",
		Example: "  tongs serve --open\n  tongs serve --addr 127.0.0.1:9000 --workspace ~/src/project\n  tongs serve --socket ~/.tongs-run/mcp.sock",
		Args:    cobra.NoArgs,
	}
	mode := cli.ModeFlag(cmd)
	wait := waitFlag(cmd)
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:7717", "the `address` to listen on")
	cmd.Flags().StringVar(&f.socket, "socket", "", "listen on this unix `socket` instead; only you may have access to its directory")
	cmd.Flags().BoolVar(&f.open, "open", false, "open the console in your browser")
	cmd.Flags().BoolVar(&f.remote, "remote", false, "allow an address that other machines can reach; put TLS in front of it")
	cmd.Flags().StringArrayVar(&f.hosts, "allow-host", nil, "another host `name` that clients and browsers may use (repeatable)")
	cmd.Flags().StringArrayVar(&f.origins, "allow-origin", nil, "a web `origin` that may make MCP requests, such as http://localhost:6274 (repeatable)")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		hub := webconsole.NewHub()
		server, sys, err := a.openServer(cmd.Context(), mode(), *wait, func(o *wire.Options) {
			o.Observe, o.Channels = hub.Observe, append(o.Channels, hub.Channel())
		})
		if err != nil {
			return err
		}
		defer sys.Close()
		return a.serve(cmd.Context(), server, sys, hub, f)
	})
	return cmd
}

func (a *app) serve(ctx context.Context, server *mcpserver.Server, sys *wire.System, hub *webconsole.Hub, f serveFlags) error {
	opt := mcpserver.HTTPOptions{Hosts: f.hosts, Origins: f.origins}
	if f.socket != "" {
		l, err := mcpserver.ListenSocket(f.socket)
		if err != nil {
			server.Close()
			return err
		}
		fmt.Fprintf(a.Out, "Serving MCP at %s on the socket %s. Ctrl-C ends.\n", mcpserver.Path, terminal.Clean(f.socket))
		return server.ServeHTTP(ctx, l, opt)
	}
	var err error
	if opt.Token, err = mcpserver.Token(sys.StateDir); err != nil {
		server.Close()
		return err
	}
	web, err := sys.Console(hub, opt.Token, terminal.Whoami(), f.hosts)
	if err != nil {
		server.Close()
		return err
	}
	defer web.Close()
	l, err := mcpserver.Listen(f.addr, f.remote)
	if err != nil {
		server.Close()
		return err
	}
	defer context.AfterFunc(ctx, web.Close)()
	opt.Around = web.Handler
	forget, err := a.announce(web, sys, l, opt.Token, f)
	if err != nil {
		server.Close()
		_ = l.Close()
		return err
	}
	defer forget()
	return server.ServeHTTP(ctx, l, opt)
}

// printServing shows where the server is, as people and clients want to know it.
func (a *app) printServing(l net.Listener, link, token string) {
	base := "http://" + l.Addr().String()
	snippet, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"tongs": map[string]any{
		"type": "http", "url": base + mcpserver.Path, "headers": map[string]string{"Authorization": "Bearer " + token},
	}}}, "", "  ")
	fmt.Fprintf(a.Out, "Serving MCP at %s. Ctrl-C ends. For a client:\n%s\n", base+mcpserver.Path, snippet)
	fmt.Fprintf(a.Out, "\nThe console, by a link that logs one browser in:\n%s\n", base+link)
}
