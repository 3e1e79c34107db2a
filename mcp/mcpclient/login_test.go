package mcpclient_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
	"github.com/tongs-ai/tongs/mcp/oauth"
	"github.com/tongs-ai/tongs/mcp/oauth/oauthtest"
)

// guarded is a desk whose server wants a login.
func guarded(t *testing.T, edit func(*mcpclient.Options)) (*desk, *oauthtest.Authority) {
	t.Helper()
	a := oauthtest.New(t)
	server := newServer()
	a.Protect(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	return newDesk(t, func(o *mcpclient.Options) {
		o.Servers = []mcpclient.Server{{Name: "srv", URL: a.MCP(), Tools: []string{"*"}}}
		o.Logins = oauth.Directory(t.TempDir())
		if edit != nil {
			edit(o)
		}
	}), a
}

func (d *desk) login(t *testing.T) {
	t.Helper()
	if _, err := d.set.Login(t.Context(), "srv", oauth.LoginOptions{Open: oauthtest.Browse}); err != nil {
		t.Fatal(err)
	}
}

func TestLoginAndCalls(t *testing.T) {
	d, a := guarded(t, func(o *mcpclient.Options) { o.Backoff = 1 << 40 })
	_, err := d.set.Look(t.Context(), "srv")
	if !errors.Is(err, oauth.ErrLogin) || tongs.CodeOf(err) != tongs.CodeConfigError || !strings.Contains(err.Error(), "tongs mcp login srv") {
		t.Fatalf("%v", err)
	}
	if _, err := d.set.Look(t.Context(), "srv"); err == nil || strings.Contains(err.Error(), "not started again") {
		t.Errorf("a server that wants a login is left alone: %v", err)
	}
	if len(a.Requests("/authorize")) != 0 || len(a.Requests("/register")) != 0 {
		t.Error("something logged in by itself")
	}
	d.login(t)
	d.review(t)
	d.ok(t, "echo", "hello")
	d.ok(t, "echo", "again")
	if n := len(a.Requests("/token")); n != 1 {
		t.Errorf("%d requests for tokens", n)
	}

	a.Expire() // as the server sees it
	d.ok(t, "echo", "renewed")
	var all sync.WaitGroup
	a.Expire()
	for range 8 {
		all.Go(func() {
			if res := d.call("echo", "together"); res.Error != nil {
				t.Error(res.Content)
			}
		})
	}
	all.Wait()
	if n := len(a.Requests("/token")); n != 3 {
		t.Errorf("%d requests for tokens", n)
	}

	secrets := a.Secrets()
	a.Revoke()
	res := d.fails(t, "echo", "x", tongs.CodeConfigError, "tongs mcp login srv")
	for _, s := range append(secrets, "Bearer ey") {
		if strings.Contains(res.Content, s) {
			t.Errorf("%s shows a token", res.Content)
		}
	}
	d.fails(t, "echo", "x", tongs.CodeConfigError, "tongs mcp login srv")
	d.login(t)
	d.ok(t, "echo", "back")
	if found, ended, err := d.set.Logout(t.Context(), "srv"); !found || ended != nil || err != nil {
		t.Errorf("%v %v %v", found, ended, err)
	}
	d.fails(t, "echo", "x", tongs.CodeConfigError, "tongs mcp login srv")
	if len(a.Requests("/authorize")) != 2 {
		t.Error("a call logged in by itself")
	}
}

func TestLoginThatAllowsMore(t *testing.T) {
	d, a := guarded(t, nil)
	d.login(t)
	d.review(t)
	a.Want("write")
	asked := len(a.Requests("/mcp"))
	d.fails(t, "echo", "x", tongs.CodeConfigError, `"write"`, "tongs mcp login srv")
	d.login(t)
	if !slices.ContainsFunc(a.Requests("/mcp")[asked:], func(r oauthtest.Request) bool { return r.Bearer == "" }) {
		t.Error("nobody asked what the server wants of who has no token")
	}
	d.ok(t, "echo", "x")
	if q := a.Requests("/authorize"); len(q) != 2 || q[1].Query.Get("scope") != "write" {
		t.Errorf("%d", len(q))
	}
}

func TestCredentialInHeadersWins(t *testing.T) {
	d, a := guarded(t, func(o *mcpclient.Options) {
		o.Servers[0].Headers = map[string]string{"authorization": "Bearer mine"}
	})
	if _, err := d.set.Login(t.Context(), "srv", oauth.LoginOptions{Open: oauthtest.Browse}); err == nil || !strings.Contains(err.Error(), "wins") {
		t.Errorf("%v", err)
	}
	if _, err := d.set.Look(t.Context(), "srv"); err == nil || !strings.Contains(err.Error(), "in its headers") || errors.Is(err, oauth.ErrLogin) {
		t.Errorf("%v", err)
	}
	for _, r := range a.Requests("/mcp") {
		if r.Bearer != "mine" {
			t.Errorf("%q was sent", r.Bearer)
		}
	}
}

func TestLoginOfOthers(t *testing.T) {
	d := newDesk(t, nil)
	if _, err := d.set.Login(t.Context(), "srv", oauth.LoginOptions{}); err == nil || !strings.Contains(err.Error(), "is a command") {
		t.Errorf("%v", err)
	}
	if _, err := d.set.Login(t.Context(), "none", oauth.LoginOptions{}); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("%v", err)
	}
	// A server that wants no login says so.
	open := remote(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}, nil)
	_, err := open.set.Login(t.Context(), "srv", oauth.LoginOptions{Open: func(context.Context, oauth.Visit) error {
		t.Error("somebody was sent somewhere")
		return nil
	}})
	if err == nil || !strings.Contains(err.Error(), "does not say where to log in") {
		t.Errorf("%v", err)
	}
}
