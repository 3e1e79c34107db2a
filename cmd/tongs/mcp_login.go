package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/mcp/oauth"
)

// loginTime is how long a person may take to log in.
const loginTime = 10 * time.Minute

func (a *app) mcpLoginCommand() *cobra.Command {
	var opt oauth.LoginOptions
	var secret string
	var stay bool
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
	f.BoolVar(&stay, "no-browser", false, "only print the address to open")
	f.StringVar(&opt.ClientID, "client-id", "", "the client that was registered for you, or the https URL of a document about one")
	f.StringVar(&secret, "client-secret-env", "", "the environment variable that holds the client's secret")
	f.StringSliceVar(&opt.Scopes, "scope", nil, "ask for more than the server does")
	f.StringSliceVar(&opt.Hosts, "allow-host", nil, "a host of this machine or network where the server's accounts may be, as HOST or HOST:PORT")
	f.IntVar(&opt.Port, "port", 0, "the port that receives the answer (default: any)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		if secret != "" {
			value, ok := os.LookupEnv(secret)
			if !ok || value == "" {
				return cli.Usagef("--client-secret-env: the environment variable %q is not set", secret)
			}
			opt.ClientSecret = oauth.Secret(value)
		}
		if opt.Port < 0 || opt.Port > 65535 {
			return cli.Usagef("--port %d: want a port from 1 to 65535", opt.Port)
		}
		opt.Open = func(_ context.Context, v oauth.Visit) error { return a.sendTo(args[0], v, !stay) }
		return a.login(cmd.Context(), args[0], opt)
	})
	return cmd
}

func (a *app) login(ctx context.Context, name string, opt oauth.LoginOptions) error {
	sys, err := a.open(ctx, wire.Options{})
	if err != nil {
		return err
	}
	defer sys.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, tongs.Errorf(tongs.CodeTimeout, "nothing came back within %s", loginTime))
	defer cancel()
	l, err := sys.MCP.Login(ctx, name, opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "Logged in to %s with %s%s.\n", terminal.Clean(name), terminal.Clean(l.Issuer), terminal.Clean(forScopes(l.Scopes)))
	if l.Refresh == "" && !l.Expires.IsZero() {
		fmt.Fprintf(a.Err, "It ends at %s, and nothing renews it.\n", l.Expires.Local().Format(time.DateTime))
	}
	for _, s := range sys.StatesOf(tongs.SourceMCP) {
		if s.Name == name && s.Status == tongs.StatusUnapproved {
			fmt.Fprintf(a.Err, "Next: tongs mcp review %s\n", terminal.Clean(name))
		}
	}
	return nil
}

func forScopes(scopes []string) string {
	if len(scopes) == 0 {
		return ""
	}
	return ", for " + strings.Join(scopes, ", ")
}

// sendTo tells a person where to log in, and opens the page if they want that.
func (a *app) sendTo(name string, v oauth.Visit, open bool) error {
	fmt.Fprintf(a.Err, "Log in to %s with %s%s. The page is:\n\n  %s\n\n", terminal.Clean(name), terminal.Clean(v.Issuer), terminal.Clean(forScopes(v.Scopes)), terminal.Clean(v.URL))
	if open {
		if err := terminal.Browse(v.URL); err != nil {
			fmt.Fprintln(a.Err, "No browser could be started; open the page yourself, on this machine.")
		}
	}
	fmt.Fprintln(a.Err, "Waiting for the answer; Ctrl-C gives up.")
	return nil
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
