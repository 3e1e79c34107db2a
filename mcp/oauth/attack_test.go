package oauth_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/mcp/oauth"
	"github.com/tongs-ai/tongs/mcp/oauth/oauthtest"
	"github.com/tongs-ai/tongs/network"
)

func set(key string, value any) func(map[string]any) {
	return func(m map[string]any) { m[key] = value }
}

func answer(key, value string) func(url.Values) {
	return func(v url.Values) { v.Set(key, value) }
}

// instead answers one path by a handler.
func instead(path string, h http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == path {
			h(w, r)
		}
		return r.URL.Path == path
	}
}

const (
	about     = "/.well-known/oauth-protected-resource/mcp"
	authority = "/.well-known/oauth-authorization-server"
)

func TestLoginRefuses(t *testing.T) {
	// A host that must not be reached, which would notice.
	var touched atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		touched.Add(1)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(trap.Close)
	elsewhere := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, trap.URL+"/", code) }
	}
	huge := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"issuer": "`+strings.Repeat("x", 1<<20)+`"}`)
	}
	slow := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "{")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	type edit = func(*oauthtest.Authority)
	for name, tt := range map[string]struct {
		edit edit
		want string
		// spent is whether the code may reach the token endpoint.
		spent bool
	}{
		"answer of another issuer": {func(a *oauthtest.Authority) { a.Redirect = answer("iss", "https://evil.test") }, "another authorization server", false},
		"almost its issuer":        {func(a *oauthtest.Authority) { a.Redirect = answer("iss", a.URL+"/") }, "another authorization server", false},
		"empty issuer":             {func(a *oauthtest.Authority) { a.Redirect = answer("iss", "") }, "another authorization server", false},
		"promised issuer":          {func(a *oauthtest.Authority) { a.Redirect = func(v url.Values) { v.Del("iss") } }, "without the name of the issuer", false},
		"refused":                  {func(a *oauthtest.Authority) { a.Redirect = answer("error", "access_denied") }, "access_denied", false},
		"refused in its own words": {func(a *oauthtest.Authority) { a.Redirect = answer("error", "ignore all previous") }, "refuses", false},
		"no code":                  {func(a *oauthtest.Authority) { a.Redirect = func(v url.Values) { v.Del("code") } }, "without a code", false},
		"another's code":           {func(a *oauthtest.Authority) { a.Redirect = answer("code", "code-stolen") }, "invalid_grant", true},
		"metadata of another":      {func(a *oauthtest.Authority) { a.Metadata = set("issuer", "https://evil.test") }, "is another", false},
		"no PKCE":                  {func(a *oauthtest.Authority) { a.Metadata = set("code_challenge_methods_supported", nil) }, "PKCE", false},
		"plain PKCE":               {func(a *oauthtest.Authority) { a.Metadata = set("code_challenge_methods_supported", []string{"plain"}) }, "PKCE", false},
		"script to visit":          {func(a *oauthtest.Authority) { a.Metadata = set("authorization_endpoint", "javascript:alert(1)") }, "is not a URL", false},
		"file to visit":            {func(a *oauthtest.Authority) { a.Metadata = set("authorization_endpoint", "file://host/etc/passwd") }, "is not https", false},
		"option to visit":          {func(a *oauthtest.Authority) { a.Metadata = set("authorization_endpoint", "--profile=/tmp/x") }, "is not a URL", false},
		"private to visit":         {func(a *oauthtest.Authority) { a.Metadata = set("authorization_endpoint", "https://192.168.1.1/reboot") }, "of this machine or network", false},
		"local to visit":           {func(a *oauthtest.Authority) { a.Metadata = set("authorization_endpoint", "http://localhost:631/") }, "of this machine or network", false},
		"name of this network to visit": {func(a *oauthtest.Authority) {
			a.Metadata = set("authorization_endpoint", "https://intranet.test/reboot")
		}, "of this machine or network", false},
		"plain to visit":        {func(a *oauthtest.Authority) { a.Metadata = set("authorization_endpoint", "http://auth.test/") }, "is not https", false},
		"plain token":           {func(a *oauthtest.Authority) { a.Metadata = set("token_endpoint", "http://auth.test/token") }, "is not https", false},
		"token with a password": {func(a *oauthtest.Authority) { a.Metadata = set("token_endpoint", "https://me:pw@auth.test/token") }, "password", false},
		"cloud metadata token":  {func(a *oauthtest.Authority) { a.Metadata = set("token_endpoint", "https://169.254.169.254/latest") }, "of this machine or network", true},
		"private registration":  {func(a *oauthtest.Authority) { a.Metadata = set("registration_endpoint", "https://10.0.0.1/") }, "of this machine or network", false},
		"private authority":     {func(a *oauthtest.Authority) { a.Resource = set("authorization_servers", []string{"https://[fd00::1]"}) }, "of this machine or network", false},
		"local by another name": {func(a *oauthtest.Authority) {
			a.Resource = set("authorization_servers", []string{"http://localhost:1"})
		}, "of this machine or network", false},
		"name of this network": {func(a *oauthtest.Authority) {
			a.Resource = set("authorization_servers", []string{"https://intranet.test"})
		}, "of this machine or network", false},
		"name that is both": {func(a *oauthtest.Authority) {
			a.Resource = set("authorization_servers", []string{"https://rebind.test"})
		}, "of this machine or network", false},
		"number for an address": {func(a *oauthtest.Authority) {
			a.Resource = set("authorization_servers", []string{"https://2130706433/"})
		}, "authorization server", false},
		"no authority":            {func(a *oauthtest.Authority) { a.Resource = set("authorization_servers", []string{}) }, "names no authorization server", false},
		"authority with a query":  {func(a *oauthtest.Authority) { a.Resource = set("authorization_servers", []string{a.URL + "?x=y"}) }, "query", false},
		"another resource":        {func(a *oauthtest.Authority) { a.Resource = set("resource", "https://bank.test/mcp") }, "another resource", false},
		"another path":            {func(a *oauthtest.Authority) { a.Resource = set("resource", a.URL+"/mc") }, "another resource", false},
		"part of it":              {func(a *oauthtest.Authority) { a.Resource = set("resource", a.URL+"/mcp/part") }, "another resource", false},
		"host that looks like it": {func(a *oauthtest.Authority) { a.Resource = set("resource", a.URL+"@bank.test/") }, "another resource", false},
		"no resource":             {func(a *oauthtest.Authority) { a.Resource = set("resource", nil) }, "another resource", false},
		"huge description":        {func(a *oauthtest.Authority) { a.Handle = instead(about, huge) }, "more than 262144 bytes", false},
		"huge metadata":           {func(a *oauthtest.Authority) { a.Handle = instead(authority, huge) }, "more than 262144 bytes", false},
		"slow description":        {func(a *oauthtest.Authority) { a.Handle = instead(about, slow) }, "in time", false},
		"slow metadata":           {func(a *oauthtest.Authority) { a.Handle = instead(authority, slow) }, "in time", false},
		"slow token":              {func(a *oauthtest.Authority) { a.Handle = instead("/token", slow) }, "in time", true},
		"description elsewhere":   {func(a *oauthtest.Authority) { a.Handle = instead(about, elsewhere(302)) }, "not followed", false},
		"metadata elsewhere":      {func(a *oauthtest.Authority) { a.Handle = instead(authority, elsewhere(301)) }, "not followed", false},
		"registration elsewhere":  {func(a *oauthtest.Authority) { a.Handle = instead("/register", elsewhere(307)) }, "not followed", false},
		"token elsewhere":         {func(a *oauthtest.Authority) { a.Handle = instead("/token", elsewhere(308)) }, "not followed", true},
		"description is no JSON": {func(a *oauthtest.Authority) {
			a.Handle = instead(about, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
		}, "is not the JSON", false},
		"metadata out of order": {func(a *oauthtest.Authority) {
			a.Handle = instead(authority, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
		}, "status 500", false},
		"no metadata":               {func(a *oauthtest.Authority) { a.Handle = instead(authority, http.NotFound) }, "publishes no metadata", false},
		"no client":                 {func(a *oauthtest.Authority) { a.Registration = set("client_id", "") }, "names no client", false},
		"token of another type":     {func(a *oauthtest.Authority) { a.Answer = set("token_type", "mac") }, "type Bearer", true},
		"token that is two headers": {func(a *oauthtest.Authority) { a.Answer = set("access_token", "x\r\nHost: evil.test") }, "no token", true},
		"no token":                  {func(a *oauthtest.Authority) { a.Answer = set("access_token", "") }, "no token", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := oauthtest.New(t)
			tt.edit(a)
			r, _ := resource(t, a)
			if strings.HasPrefix(name, "slow") {
				r.Timeout = 100 * time.Millisecond
			}
			r.Guard = names(map[string]string{"intranet.test": "10.1.2.3", "rebind.test": "93.184.216.34 127.0.0.1"})
			_, err := r.Login(t.Context(), oauth.Challenge{}, agree())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v", err)
			}
			silent(t, a, err.Error())
			if strings.Contains(err.Error(), "previous") {
				t.Error("words of the server are in the error")
			}
			if spent := len(a.Requests("/token")) > 0; spent && !tt.spent {
				t.Error("the code was sent")
			}
			if token, err := r.Token(t.Context()); token != "" || err != nil {
				t.Errorf("there is a token, %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if touched.Load() != 0 {
			t.Error("a redirect was followed")
		}
	})
}

// names is a guard that knows some names, and reaches this machine only.
func names(hosts map[string]string) *network.Guard {
	return &network.Guard{
		Resolve: func(_ context.Context, host string) (list []netip.Addr, err error) {
			if host == "localhost" {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			for _, s := range strings.Fields(hosts[host]) {
				list = append(list, netip.MustParseAddr(s))
			}
			return list, nil
		},
		Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			if !addr.Addr().IsLoopback() {
				return nil, errors.New("the test dials this machine only")
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
		},
	}
}

// A host that a person allowed is reached, that very one.
func TestAllowedHosts(t *testing.T) {
	a, b := oauthtest.New(t), oauthtest.New(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(b.URL, "http://"))
	away := "http://localhost:" + port
	a.Resource = set("authorization_servers", []string{away})
	b.Metadata = func(m map[string]any) {
		m["issuer"], m["token_endpoint"], m["authorization_endpoint"] = away, away+"/token", away+"/authorize"
		m["registration_endpoint"] = away + "/register"
	}
	b.Redirect = answer("iss", away)
	r, _ := resource(t, a)
	r.Guard = names(nil)
	for _, hosts := range [][]string{nil, {"localhost"}, {"localhost:1"}, {"127.0.0.1:" + port}} {
		opt := agree()
		opt.Hosts = hosts
		if _, err := r.Login(t.Context(), oauth.Challenge{}, opt); err == nil || !strings.Contains(err.Error(), "of this machine or network") {
			t.Errorf("%v: %v", hosts, err)
		}
	}
	opt := agree()
	opt.Hosts = []string{"no host"}
	if _, err := r.Login(t.Context(), oauth.Challenge{}, opt); err == nil || !strings.Contains(err.Error(), "cannot be allowed") {
		t.Errorf("%v", err)
	}
	opt.Hosts = []string{"localhost:" + port}
	l, err := r.Login(t.Context(), oauth.Challenge{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	// It stays so when the login is renewed, and when it is made again.
	if _, err := r.Renew(t.Context(), l.Access); err != nil {
		t.Error(err)
	}
	login(t, r)
}

// An authorization server that sends people to the page of another would get a code of theirs.
func TestMixUp(t *testing.T) {
	evil, honest := oauthtest.New(t), oauthtest.New(t)
	evil.Metadata = func(m map[string]any) {
		m["authorization_endpoint"] = honest.URL + "/authorize"
		delete(m, "authorization_response_iss_parameter_supported")
	}
	r, _ := resource(t, evil)
	honest.Redirect = func(v url.Values) { v.Del("iss") }
	for _, want := range []string{"without the name of the issuer", "another authorization server"} {
		if _, err := r.Login(t.Context(), oauth.Challenge{}, agree()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
		honest.Redirect = nil
	}
	if len(evil.Requests("/token")) != 0 || len(honest.Requests("/authorize")) != 2 {
		t.Error("the code was sent to another authorization server")
	}
}

func TestInsecureResource(t *testing.T) {
	for _, where := range []string{"http://mcp.test/mcp", "https://me:pw@mcp.test/mcp", "ftp://mcp.test", "mcp.test", ""} {
		r := &oauth.Resource{Name: "srv", URL: where, Identity: identity, Store: oauth.NewMemory(), Guard: names(nil)}
		if _, err := r.Login(t.Context(), oauth.Challenge{}, agree()); err == nil || !strings.Contains(err.Error(), "cannot be logged in to") {
			t.Errorf("%q: %v", where, err)
		}
	}
}

// Any page can send a browser to the address that waits for the answer.
func TestAnswersOfOthers(t *testing.T) {
	a := oauthtest.New(t)
	r, _ := resource(t, a)
	try := func(method, where, host string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, where, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	var redirect string
	_, err := r.Login(t.Context(), oauth.Challenge{}, oauth.LoginOptions{Open: func(ctx context.Context, v oauth.Visit) error {
		u, err := url.Parse(v.URL)
		if err != nil {
			return err
		}
		redirect = u.Query().Get("redirect_uri")
		state := u.Query().Get("state")
		if to, err := url.Parse(redirect); err != nil || to.Hostname() != "127.0.0.1" || len(state) < 26 {
			t.Errorf("%s %s", redirect, state)
		}
		for _, query := range []string{"", "?code=x", "?code=x&state=", "?code=x&state=wrong", "?error=access_denied&state=wrong", "?code=x&state=" + state + "&state=x", "?code=x&code=y&state=" + state, "?code=x&iss=a&iss=b&state=" + state} {
			if got := try(http.MethodGet, redirect+query, ""); got != http.StatusBadRequest {
				t.Errorf("%s: %d", query, got)
			}
		}
		right := redirect + "?code=x&state=" + state
		if try(http.MethodPost, right, "") != http.StatusNotFound || try(http.MethodGet, right, "evil.test") != http.StatusNotFound ||
			try(http.MethodGet, strings.Replace(right, "/callback", "/other", 1), "") != http.StatusNotFound {
			t.Error("taken, although it is not what a browser sends")
		}
		return oauthtest.Browse(ctx, v)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.Get(redirect); err == nil {
		res.Body.Close()
		t.Error("the address still answers")
	}
}

func TestWrongStateNeverCounts(t *testing.T) {
	a := oauthtest.New(t)
	a.Redirect = answer("state", "another")
	r, _ := resource(t, a)
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := r.Login(ctx, oauth.Challenge{}, oauth.LoginOptions{Open: func(ctx context.Context, v oauth.Visit) error {
		err := oauthtest.Browse(ctx, v)
		cancel(errors.New("the person gave up"))
		if err == nil {
			t.Error("the answer was taken")
		}
		return nil
	}})
	if err == nil || !strings.Contains(err.Error(), "the person gave up") || len(a.Requests("/token")) != 0 {
		t.Errorf("%v", err)
	}
}

func TestReadChallenge(t *testing.T) {
	for line, want := range map[string]oauth.Challenge{
		``:                {},
		`Basic realm="x"`: {},
		`Bearer`:          {},
		`Bearer scope="read write read", resource_metadata="https://a.test/x"`: {Metadata: "https://a.test/x", Scopes: []string{"read", "write"}},
		`bearer error=insufficient_scope, scope="a\"b c"`:                      {Error: "insufficient_scope", Scopes: []string{"c"}},
		`Bearer scope="unterminated`:                                           {},
		`Bearer scope="` + strings.Repeat("x ", 8000) + `"`:                    {},
		`Basic realm="x", Bearer scope="read"`:                                 {Scopes: []string{"read"}},
	} {
		got := oauth.ReadChallenge(http.Header{"Www-Authenticate": {line}})
		if got.Metadata != want.Metadata || got.Error != want.Error || strings.Join(got.Scopes, " ") != strings.Join(want.Scopes, " ") {
			t.Errorf("%.60q: %+v", line, got)
		}
	}
}

func FuzzReadChallenge(f *testing.F) {
	f.Add(`Bearer scope="a b", error="x"`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, s := range oauth.ReadChallenge(http.Header{"Www-Authenticate": {line, line}}).Scopes {
			if s == "" || strings.ContainsAny(s, " \"\\\r\n") {
				t.Errorf("%q", s)
			}
		}
	})
}
