package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/oauth"
	"github.com/tongs-ai/tongs/mcp/oauth/oauthtest"
)

const identity = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// The test binary is also a process that wants a token, beside others.
func TestMain(m *testing.M) {
	if dir := os.Getenv("OAUTH_TEST_STORE"); dir != "" {
		r := &oauth.Resource{Name: "srv", URL: os.Getenv("OAUTH_TEST_URL"), Identity: identity, Store: oauth.Directory(dir)}
		token, err := r.Token(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(string(token))
		return
	}
	os.Exit(m.Run())
}

// resource is that of an authority, with a store in a directory.
func resource(t *testing.T, a *oauthtest.Authority) (*oauth.Resource, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "logins")
	return &oauth.Resource{Name: "srv", URL: a.MCP(), Identity: identity, Store: oauth.Directory(dir)}, dir
}

func login(t *testing.T, r *oauth.Resource) *oauth.Login {
	t.Helper()
	l, err := r.Login(t.Context(), oauth.Challenge{}, agree())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// silent makes sure that a text holds nothing secret.
func silent(t *testing.T, a *oauthtest.Authority, text string) {
	t.Helper()
	for _, s := range append(a.Secrets(), "code-", "access-", "refresh-", "secret+") {
		if strings.Contains(text, s) {
			t.Errorf("%q shows a secret", text)
		}
	}
}

func TestLogin(t *testing.T) {
	a := oauthtest.New(t)
	a.Last(3600)
	a.Metadata = func(m map[string]any) { m["scopes_supported"] = []string{"read", "offline_access"} }
	r, dir := resource(t, a)
	if token, err := r.Token(t.Context()); token != "" || err != nil {
		t.Fatalf("%q %v before the login", string(token), err)
	}
	var visit oauth.Visit
	l, err := r.Login(t.Context(), oauth.Challenge{Scopes: []string{"read"}}, oauth.LoginOptions{
		Scopes: []string{"more"},
		Open: func(ctx context.Context, v oauth.Visit) error {
			visit = v
			return oauthtest.Browse(ctx, v)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"read", "more", "offline_access"}; !slices.Equal(visit.Scopes, want) || visit.Issuer != a.URL {
		t.Errorf("%+v", visit)
	}
	q := a.Requests("/authorize")[0].Query
	for key, want := range map[string]string{"resource": a.MCP(), "scope": "read more offline_access", "prompt": "consent", "code_challenge_method": "S256"} {
		if q.Get(key) != want {
			t.Errorf("%s is %q", key, q.Get(key))
		}
	}
	token, err := r.Token(t.Context())
	if err != nil || token == "" || token != l.Access || !slices.Contains(a.Secrets(), string(token)) {
		t.Errorf("%v", err)
	}
	for _, text := range []string{fmt.Sprint(l), fmt.Sprintf("%+v %#v %s", *l, *l, token), slog.AnyValue(token).Resolve().String()} {
		silent(t, a, text)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(entries, nil) {
		path, mode := dir, os.FileMode(0o700)
		if e != nil {
			path, mode = filepath.Join(dir, e.Name()), 0o600
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode && os.PathSeparator == '/' {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	var reg map[string]any
	if err := json.Unmarshal([]byte(a.Requests("/register")[0].Body), &reg); err != nil || reg["application_type"] != "native" {
		t.Errorf("%v %v", reg, err)
	}
	// A login to one URL is none to another.
	for _, other := range []*oauth.Resource{
		{Name: "srv", URL: a.URL + "/other", Identity: identity, Store: r.Store},
		{Name: "two", URL: a.MCP(), Identity: identity, Store: r.Store},
		{Name: "srv", URL: a.MCP(), Identity: "sha256:" + strings.Repeat("f", 64), Store: r.Store},
	} {
		if token, err := other.Token(t.Context()); token != "" || err != nil {
			t.Errorf("%s %s: has a token, %v", other.Name, other.URL, err)
		}
		if _, err := other.Renew(t.Context(), token); !errors.Is(err, oauth.ErrLogin) {
			t.Errorf("%s %s: %v", other.Name, other.URL, err)
		}
	}
}

func TestClients(t *testing.T) {
	for _, method := range []string{"none", "client_secret_post", "client_secret_basic"} {
		a := oauthtest.New(t)
		a.Method = method
		r, _ := resource(t, a)
		if l := login(t, r); l.Client.Method != method || (l.Client.Secret != "") != (method != "none") {
			t.Errorf("%s: %+v", method, l.Client)
		}
	}
	a := oauthtest.New(t)
	a.Method = "client_secret_basic"
	a.Client("ours:%", "s e+c/r:et")
	a.Metadata = func(m map[string]any) { delete(m, "registration_endpoint") }
	r, _ := resource(t, a)
	opt := agree()
	if _, err := r.Login(t.Context(), oauth.Challenge{}, opt); err == nil || !strings.Contains(err.Error(), "--client-id") {
		t.Errorf("%v", err)
	}
	opt.ClientID, opt.ClientSecret = "ours:%", "s e+c/r:et"
	if _, err := r.Login(t.Context(), oauth.Challenge{}, opt); err != nil {
		t.Error(err)
	}
	// A document about us is for those who read it; others register a client.
	for _, reads := range []bool{true, false} {
		a := oauthtest.New(t)
		a.Client("https://tongs.test/client.json", "")
		a.Metadata = func(m map[string]any) { m["client_id_metadata_document_supported"] = reads }
		r, _ := resource(t, a)
		l, err := r.Login(t.Context(), oauth.Challenge{}, oauth.LoginOptions{Open: oauthtest.Browse, ClientID: "https://tongs.test/client.json"})
		if err != nil || (l.Client.ID == "https://tongs.test/client.json") != reads || (len(a.Requests("/register")) == 0) != reads {
			t.Errorf("%v: %+v %v", reads, l, err)
		}
	}
	strange := oauthtest.New(t)
	strange.Registration = func(m map[string]any) { m["token_endpoint_auth_method"], m["client_secret"] = "private_key_jwt", "x" }
	r, _ = resource(t, strange)
	if _, err := r.Login(t.Context(), oauth.Challenge{}, agree()); err == nil || !strings.Contains(err.Error(), "private_key_jwt") {
		t.Errorf("%v", err)
	}
}

// agree is a login as somebody does it who agrees to everything.
func agree() oauth.LoginOptions { return oauth.LoginOptions{Open: oauthtest.Browse} }

func TestDiscovery(t *testing.T) {
	// Where nothing describes the resource, its own origin may be the authority; OpenID Connect has another path.
	a := oauthtest.New(t)
	a.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
			http.NotFound(w, r)
			return true
		}
		return false
	}
	r, _ := resource(t, a)
	login(t, r)
	b := oauthtest.New(t)
	b.Resource = func(m map[string]any) {
		m["resource"] = b.URL + "/"
		m["authorization_servers"] = []string{b.URL + "/tenant"}
		m["scopes_supported"] = []string{"one", "two", "one", "bad\"scope", ""}
	}
	b.Metadata = func(m map[string]any) { m["issuer"] = b.URL + "/tenant" }
	b.Redirect = func(v url.Values) { v.Set("iss", b.URL+"/tenant") }
	b.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server/tenant", "/.well-known/openid-configuration/tenant":
			http.NotFound(w, r)
			return true
		case "/tenant/.well-known/openid-configuration":
			r.URL.Path = "/.well-known/oauth-authorization-server"
		}
		return false
	}
	r, _ = resource(t, b)
	if l := login(t, r); l.Resource != b.URL+"/" || !slices.Equal(l.Scopes, []string{"one", "two"}) {
		t.Errorf("%+v", l)
	}
	if got := b.Requests("/token")[0].Form.Get("resource"); got != b.URL+"/" {
		t.Errorf("resource %q", got)
	}
}

func TestScopesAddUp(t *testing.T) {
	a := oauthtest.New(t)
	r, _ := resource(t, a)
	if err := r.Want(t.Context(), []string{"early"}); err != nil {
		t.Fatal(err)
	}
	opt := agree()
	if _, err := r.Login(t.Context(), oauth.Challenge{Scopes: []string{"read"}}, opt); err != nil {
		t.Fatal(err)
	}
	if err := r.Want(t.Context(), []string{"write", "read"}); err != nil {
		t.Fatal(err)
	}
	if token, err := r.Token(t.Context()); err != nil || token == "" {
		t.Errorf("wanting more lost what was there: %v", err)
	}
	l, err := r.Login(t.Context(), oauth.Challenge{Scopes: []string{"read"}}, opt)
	if err != nil || !slices.Equal(l.Scopes, []string{"read", "write"}) || len(l.Wanted) != 0 {
		t.Errorf("%+v %v", l, err)
	}
	// What one authority granted is not asked of another, and neither is its client known there.
	b := oauthtest.New(t)
	a.Resource = func(m map[string]any) { m["authorization_servers"] = []string{b.URL} }
	if l, err = r.Login(t.Context(), oauth.Challenge{}, opt); err != nil || len(l.Scopes) != 0 || l.Issuer != b.URL {
		t.Errorf("%+v %v", l, err)
	}
	if first, second := a.Requests("/authorize")[0].Query.Get("client_id"), b.Requests("/authorize")[0].Query.Get("client_id"); first == second {
		t.Error("the client of one authority was used with another")
	}
}

func TestRenewal(t *testing.T) {
	a := oauthtest.New(t)
	a.Last(1) // which is over at once, as far as we are concerned
	r, _ := resource(t, a)
	first := login(t, r)
	a.Last(3600)
	token, err := r.Token(t.Context())
	if err != nil || token == first.Access || token == "" {
		t.Fatal(err)
	}
	if again, err := r.Token(t.Context()); err != nil || again != token {
		t.Errorf("renewed without need: %v", err)
	}
	form := a.Requests("/token")[1].Form
	if form.Get("resource") != a.MCP() || form.Get("client_id") != first.Client.ID {
		t.Errorf("%v", form)
	}
	// What was renewed meanwhile is taken; what the resource does not take is renewed.
	if other, err := r.Renew(t.Context(), first.Access); err != nil || other != token {
		t.Errorf("%v", err)
	}
	next, err := r.Renew(t.Context(), token)
	if err != nil || next == token {
		t.Errorf("%v", err)
	}
	// An authority that is out of order is not the end of the login.
	a.Handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
		}
		return r.URL.Path == "/token"
	}
	if _, err := r.Renew(t.Context(), next); err == nil || errors.Is(err, oauth.ErrLogin) || tongs.CodeOf(err) != tongs.CodeNetworkError {
		t.Errorf("%v", err)
	}
	a.Handle = nil
	if next, err = r.Renew(t.Context(), next); err != nil {
		t.Error(err)
	}
	// A refresh token that ended is.
	a.Revoke()
	if _, err := r.Renew(t.Context(), next); !errors.Is(err, oauth.ErrLogin) {
		t.Errorf("%v", err)
	}
	asked := len(a.Requests("/token"))
	if token, err := r.Token(t.Context()); token != "" || err != nil || len(a.Requests("/token")) != asked {
		t.Errorf("a login that is over is still used: %v", err)
	}
	login(t, r)
	if token, err := r.Token(t.Context()); token == "" || err != nil {
		t.Errorf("%v", err)
	}
}

// Who gives up while a token is issued does not wait for it, and does not lose it.
func TestRenewalGivenUp(t *testing.T) {
	a := oauthtest.New(t)
	r, _ := resource(t, a)
	l := login(t, r)
	asked, release := make(chan struct{}), make(chan struct{})
	a.Handle = func(_ http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/token" {
			close(asked)
			<-release
		}
		return false
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := r.Renew(ctx, l.Access); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	token, err := r.Renew(t.Context(), l.Access)
	if err != nil || token == l.Access || len(a.Requests("/token")) != 2 {
		t.Errorf("%d requests, %v", len(a.Requests("/token")), err)
	}
}

func TestProcessesRenewOnce(t *testing.T) {
	a := oauthtest.New(t)
	a.Last(1)
	r, dir := resource(t, a)
	login(t, r)
	a.Last(3600)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		out []byte
		err error
	}
	results := make(chan result, 8)
	for range cap(results) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "OAUTH_TEST_STORE="+dir, "OAUTH_TEST_URL="+a.MCP())
		go func() {
			out, err := cmd.CombinedOutput()
			results <- result{out, err}
		}()
	}
	tokens := map[string]bool{}
	for range cap(results) {
		res := <-results
		if res.err != nil {
			t.Errorf("%v: %s", res.err, res.out)
		}
		tokens[string(res.out)] = true
	}
	if n := len(a.Requests("/token")); n != 2 || len(tokens) != 1 {
		t.Errorf("%d requests, %d tokens", n, len(tokens))
	}
}

func TestLogout(t *testing.T) {
	a := oauthtest.New(t)
	r, dir := resource(t, a)
	if found, ended, err := r.Logout(t.Context()); found || ended != nil || err != nil {
		t.Errorf("%v %v %v", found, ended, err)
	}
	l := login(t, r)
	if found, ended, err := r.Logout(t.Context()); !found || ended != nil || err != nil {
		t.Errorf("%v %v %v", found, ended, err)
	}
	if got := a.Requests("/revoke"); len(got) != 1 || got[0].Form.Get("token") != string(l.Refresh) {
		t.Errorf("%d", len(got))
	}
	if token, err := r.Token(t.Context()); token != "" || err != nil {
		t.Errorf("%v", err)
	}
	a.Metadata = func(m map[string]any) { m["revocation_endpoint"] = "" }
	login(t, r)
	if found, ended, err := r.Logout(t.Context()); !found || ended == nil || err != nil {
		t.Errorf("%v %v %v", found, ended, err)
	}
	// What cannot be read can be forgotten.
	login(t, r)
	file := filepath.Join(dir, "srv."+identity[7:39]+".json")
	for name, content := range map[string]string{
		"no login": `{"access": "access-x`, "another": `{"server": "other", "access": "access-x"}`, "huge": `{"x": "` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := r.Token(t.Context())
		if err == nil || !strings.Contains(err.Error(), "tongs mcp logout srv") {
			t.Errorf("%s: %v", name, err)
		} else {
			silent(t, a, err.Error())
		}
		if found, _, err := r.Logout(t.Context()); !found || err != nil {
			t.Errorf("%s: %v %v", name, found, err)
		}
		if token, err := r.Token(t.Context()); token != "" || err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemory(t *testing.T) {
	a := oauthtest.New(t)
	r, _ := resource(t, a)
	r.Store = oauth.NewMemory()
	login(t, r)
	if token, err := r.Token(t.Context()); token == "" || err != nil {
		t.Error(err)
	}
	if found, err := r.Store.Remove("srv"); !found || err != nil {
		t.Error(err)
	}
	if token, err := r.Token(t.Context()); token != "" || err != nil {
		t.Error(err)
	}
	if _, err := oauth.Directory(t.TempDir()).Load("../x", identity); err == nil {
		t.Error("a name that is a path")
	}
}

func ExampleResource_Token() {
	r := &oauth.Resource{Name: "tracker", URL: "https://tracker.example.com/mcp", Identity: identity, Store: oauth.NewMemory()}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	token, err := r.Token(ctx)
	fmt.Printf("%q %v\n", string(token), err) // nobody is logged in
	// Output: "" <nil>
}

// What a login adds to each request.
func BenchmarkToken(b *testing.B) {
	a := oauthtest.New(b)
	a.Last(3600)
	r := &oauth.Resource{Name: "srv", URL: a.MCP(), Identity: identity, Store: oauth.Directory(b.TempDir())}
	if _, err := r.Login(b.Context(), oauth.Challenge{}, agree()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Token(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
