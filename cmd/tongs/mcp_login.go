package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) mcpLoginCommand() *cobra.Command {
	var l cli.Login
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server",
		Long: "Log in to an MCP server that has a URL and needs a login (OAuth). Your browser opens the server's login page and " +
			"returns the answer to this command, on this machine. The tokens are stored in the state directory, readable by " +
			"you alone, sent to that URL and nowhere else, and renewed when they expire.\n\n" +
			"Most servers need no flags. Some accept only registered clients: --client-id names one, and --port the port of " +
			"its redirect address, http://127.0.0.1:PORT/callback. To log in on a machine without a browser, forward that " +
			"port to it (ssh -L PORT:127.0.0.1:PORT) and open the address that --no-browser prints.",
		Example: "  tongs mcp login tracker\n" +
			"  tongs mcp login tracker --no-browser --port 8976\n" +
			"  tongs mcp login crm --client-id tongs-desktop \\\n" +
			"      --client-secret-env CRM_SECRET --port 8976",
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.BoolVar(&l.NoBrowser, "no-browser", false, "only print the address to open")
	f.StringVar(&l.ClientID, "client-id", "", "the client that was registered for you, or the https URL of a document about one")
	f.StringVar(&l.SecretEnv, "client-secret-env", "", "the environment variable that holds the client's secret")
	f.StringSliceVar(&l.Scopes, "scope", nil, "ask for more than the server does")
	f.StringSliceVar(&l.Hosts, "allow-host", nil, "a host of this machine or network where the server's accounts may be, as HOST or HOST:PORT")
	f.IntVar(&l.Port, "port", 0, "the port that receives the answer (default: any)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		if err := l.Check(); err != nil {
			return err
		}
		sys, err := a.open(cmd.Context(), wire.Options{})
		if err != nil {
			return err
		}
		defer sys.Close()
		return a.Login(cmd.Context(), sys, args[0], l)
	})
	return cmd
}

func (a *app) mcpLogoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Log out of an MCP server",
		Long:    "Delete the login to an MCP server, and ask the server that issued it to revoke it.",
		Example: "  tongs mcp logout tracker", Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			sys, err := a.open(cmd.Context(), wire.Options{})
			if err != nil {
				return err
			}
			defer sys.Close()
			found, ended, err := sys.MCP.Logout(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case !found:
				fmt.Fprintf(a.Err, "Nobody is logged in to %s.\n", terminal.Clean(args[0]))
			case ended != nil:
				fmt.Fprintf(a.Err, "Forgot the login to %s. It may go on elsewhere: %s.\n", terminal.Clean(args[0]), terminal.Clean(ended.Error()))
			default:
				fmt.Fprintf(a.Err, "Logged out of %s.\n", terminal.Clean(args[0]))
			}
			return nil
		}),
	}
}
