package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) serveCommand() *cobra.Command {
	var f wire.Serving
	var open bool
	var page string
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
	cmd.Flags().StringVar(&f.Addr, "addr", "127.0.0.1:7717", "the `address` to listen on")
	cmd.Flags().StringVar(&f.Socket, "socket", "", "listen on this unix `socket` instead; only you may have access to its directory")
	cmd.Flags().BoolVar(&open, "open", false, "open the console in your browser")
	cmd.Flags().BoolVar(&f.Remote, "remote", false, "allow an address that other machines can reach; put TLS in front of it")
	cmd.Flags().StringArrayVar(&f.Hosts, "allow-host", nil, "another host `name` that clients and browsers may use (repeatable)")
	cmd.Flags().StringArrayVar(&f.Origins, "allow-origin", nil, "a web `origin` that may make MCP requests, such as http://localhost:6274 (repeatable)")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if *wait < 0 {
			return errWait
		}
		f.User = terminal.Whoami()
		f.Ready = func(at wire.Served) {
			if f.Socket != "" {
				fmt.Fprintf(a.Out, "Serving MCP at %s on the socket %s. Ctrl-C ends.\n", at.Path, terminal.Clean(f.Socket))
				return
			}
			a.Served(at)
			if open {
				page = at.Page
				a.openConsole(at)
			}
		}
		defer func() { _ = os.Remove(page) }()
		return a.host().ServeHTTP(cmd.Context(), wire.Options{Mode: mode(), Wait: *wait, Patient: !cmd.Flags().Changed("wait"), Notify: true}, f)
	})
	return cmd
}

// openConsole opens the console in the browser of the person.
func (a *app) openConsole(at wire.Served) {
	if err := terminal.BrowseSecret(at.Page, at.URL+at.Link()); err != nil {
		fmt.Fprintf(a.Err, "tongs: the browser cannot be opened: %s; open the link above yourself\n", terminal.Clean(err.Error()))
	}
}
