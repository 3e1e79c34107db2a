package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/mcp/oauth"
)

// loginTime is how long a person may take to log in.
const loginTime = 10 * time.Minute

// Login is what a person may say of a login to an MCP server.
type Login struct {
	ClientID string
	// SecretEnv names the environment variable with the secret of the client.
	SecretEnv     string
	Scopes, Hosts []string
	Port          int
	// NoBrowser only tells the address.
	NoBrowser bool
}

// Check returns what is wrong with the login, before anything is opened for it.
func (l Login) Check() error {
	if l.SecretEnv != "" && os.Getenv(l.SecretEnv) == "" {
		return Usagef("--client-secret-env: the environment variable %q is not set", l.SecretEnv)
	}
	if l.Port < 0 || l.Port > 65535 {
		return Usagef("--port %d: want a port from 1 to 65535", l.Port)
	}
	return nil
}

// Login has a person log in to a server, and tells how it went.
func (p *Printer) Login(ctx context.Context, sys *wire.System, name string, l Login) error {
	opt := oauth.LoginOptions{
		ClientID: l.ClientID, Scopes: l.Scopes, Hosts: l.Hosts, Port: l.Port,
		Open: func(_ context.Context, v oauth.Visit) error { return p.visit(name, v, !l.NoBrowser) },
	}
	if l.SecretEnv != "" {
		opt.ClientSecret = oauth.Secret(os.Getenv(l.SecretEnv))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, tongs.Errorf(tongs.CodeTimeout, "nothing came back within %s", loginTime))
	defer cancel()
	made, err := sys.MCP.Login(ctx, name, opt)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Err, "Logged in to %s with %s%s.\n", terminal.Clean(name), terminal.Clean(made.Issuer), terminal.Clean(forScopes(made.Scopes)))
	if made.Refresh == "" && !made.Expires.IsZero() {
		fmt.Fprintf(p.Err, "It ends at %s, and nothing renews it.\n", made.Expires.Local().Format(time.DateTime))
	}
	for _, s := range sys.StatesOf(tongs.SourceMCP) {
		if s.Name == name && s.Status == tongs.StatusUnapproved {
			fmt.Fprintf(p.Err, "Next: tongs mcp review %s\n", terminal.Clean(name))
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

// visit tells a person where to log in, and opens the page if they want that.
func (p *Printer) visit(name string, v oauth.Visit, open bool) error {
	fmt.Fprintf(p.Err, "Log in to %s with %s%s. The page is:\n\n  %s\n\n", terminal.Clean(name), terminal.Clean(v.Issuer), terminal.Clean(forScopes(v.Scopes)), terminal.Clean(v.URL))
	if open {
		if err := terminal.Browse(v.URL); err != nil {
			fmt.Fprintln(p.Err, "No browser could be started; open the page yourself, on this machine.")
		}
	}
	fmt.Fprintln(p.Err, "Waiting for the answer; Ctrl-C gives up.")
	return nil
}
