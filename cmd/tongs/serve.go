package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/mcpserver"
)

// serveFlags are those of 'tongs serve'.
type serveFlags struct {
	addr, socket   string
	remote         bool
	hosts, origins []string
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools to MCP clients over HTTP",
		Long: "Serve the tools to MCP clients over streamable HTTP. It listens on this machine only. Every request must bring a\n" +
			"token, so that other users of the machine cannot call tools as you: it is made once, kept in the state directory,\n" +
			"and shown with a snippet for clients. With --socket it listens on a unix socket that only you can open instead.",
		Example: "  tongs serve\n  tongs serve --addr 127.0.0.1:9000 --workspace ~/src/project\n  tongs serve --socket ~/.tongs-run/mcp.sock",
		Args:    cobra.NoArgs,
	}
	mode := modeFlag(cmd)
	wait := waitFlag(cmd)
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:7333", "the address to listen on")
	cmd.Flags().StringVar(&f.socket, "socket", "", "listen on this unix socket instead; its directory must be yours alone")
	cmd.Flags().BoolVar(&f.remote, "remote", false, "allow an address that other machines can reach; put TLS in front of it")
	cmd.Flags().StringArrayVar(&f.hosts, "allow-host", nil, "a further name that clients may reach the server by")
	cmd.Flags().StringArrayVar(&f.origins, "allow-origin", nil, "a web page's origin that may make requests, such as http://localhost:6274")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		server, sys, err := a.openServer(cmd.Context(), mode(), *wait)
		if err != nil {
			return err
		}
		defer sys.close()
		return a.serve(cmd.Context(), server, sys, f)
	})
	return cmd
}

func (a *app) serve(ctx context.Context, server *mcpserver.Server, sys *system, f serveFlags) error {
	opt := mcpserver.HTTPOptions{Hosts: f.hosts, Origins: f.origins}
	var l net.Listener
	var err error
	if f.socket != "" {
		l, err = mcpserver.ListenSocket(f.socket)
	} else {
		if opt.Token, err = mcpserver.Token(sys.stateDir); err != nil {
			server.Close()
			return err
		}
		l, err = mcpserver.Listen(f.addr, f.remote)
	}
	if err != nil {
		server.Close()
		return err
	}
	a.printServing(l, opt.Token, f.socket)
	return server.ServeHTTP(ctx, l, opt)
}

// printServing shows where the server is, as clients want to know it.
func (a *app) printServing(l net.Listener, token, socket string) {
	if socket != "" {
		fmt.Fprintf(a.out, "Serving MCP at %s on the socket %s. Ctrl-C ends.\n", mcpserver.Path, clean(socket))
		return
	}
	url := "http://" + l.Addr().String() + mcpserver.Path
	snippet, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"tongs": map[string]any{
		"type": "http", "url": url, "headers": map[string]string{"Authorization": "Bearer " + token},
	}}}, "", "  ")
	fmt.Fprintf(a.out, "Serving MCP at %s. Ctrl-C ends. For a client:\n%s\n", url, snippet)
}
