// Package oauthtest is an authorization server for tests, on the loopback interface, with the resource that it protects
// and a browser that agrees to everything.
package oauthtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs/mcp/oauth"
)

// Authority is an authorization server and, under /mcp, a resource. It is as strict as the standards let it be: codes
// and refresh tokens are good once, and using one twice ends everything that came of it. The functions change what it
// answers, and are set before it is used.
type Authority struct {
	*httptest.Server
	// Resource, Metadata, Registration, Redirect and Answer edit the documents and answers of those names.
	Resource, Metadata, Registration, Answer func(map[string]any)
	Redirect                                 func(url.Values)
	// Handle answers a request itself and reports whether it did.
	Handle func(w http.ResponseWriter, r *http.Request) bool
	// Method is how clients prove themselves.
	Method string

	mu       sync.Mutex
	scope    string
	lifetime int
	handler  http.Handler
	clients  map[string]string
	codes    map[string]grant
	access   map[string]string // scopes by token
	refresh  map[string]renewal
	requests []Request
}

// renewal is what a refresh token is good for: scopes, until it was used.
type renewal struct {
	scope string
	used  bool
}

type grant struct{ client, redirect, challenge, resource, scope string }

// Request is one that the authority saw.
type Request struct {
	Path  string
	Query url.Values
	Form  url.Values
	Body  string
	// Bearer and Basic are the credentials, as they were sent.
	Bearer, Basic string
}

// New starts an authority, which ends with the test.
func New(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{Method: "none", clients: map[string]string{}, codes: map[string]grant{}, access: map[string]string{}, refresh: map[string]renewal{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	tb.Cleanup(a.Close)
	return a
}

// MCP is the URL of the resource.
func (a *Authority) MCP() string { return a.URL + "/mcp" }

// Protect makes a handler the resource.
func (a *Authority) Protect(h http.Handler) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handler = h
}

// Requests are those so far with the path, or all where it is empty.
func (a *Authority) Requests(path string) (list []Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.requests {
		if path == "" || r.Path == path {
			list = append(list, r)
		}
	}
	return list
}

// Client makes the authority know a client.
func (a *Authority) Client(id, secret string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[id] = secret
}

// Last sets for how many seconds access tokens last from now on; zero says nothing about it.
func (a *Authority) Last(seconds int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lifetime = seconds
}

// Want makes the resource want a scope from now on, which it says to who has a token without it.
func (a *Authority) Want(scope string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scope = scope
}

// Expire ends every access token.
func (a *Authority) Expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
}

// Revoke ends everything that was issued.
func (a *Authority) Revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
	clear(a.refresh)
}

// Secrets are all tokens that are good.
func (a *Authority) Secrets() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Keys(a.access)), slices.Collect(maps.Keys(a.refresh)))
}

func (a *Authority) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	seen := Request{Path: r.URL.Path, Query: r.URL.Query(), Body: string(body), Basic: r.Header.Get("Authorization")}
	seen.Form, _ = url.ParseQuery(string(body))
	seen.Bearer, _ = strings.CutPrefix(seen.Basic, "Bearer ")
	a.mu.Lock()
	a.requests = append(a.requests, seen)
	handler := a.handler
	a.mu.Unlock()
	if a.Handle != nil && a.Handle(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		a.document(w, http.StatusOK, a.Resource, map[string]any{"resource": a.MCP(), "authorization_servers": []string{a.URL}})
	case "/.well-known/oauth-authorization-server":
		a.document(w, http.StatusOK, a.Metadata, map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
			"registration_endpoint": a.URL + "/register", "revocation_endpoint": a.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			"token_endpoint_auth_methods_supported": []string{a.Method}, "authorization_response_iss_parameter_supported": true,
		})
	case "/register":
		a.register(w)
	case "/authorize":
		a.authorize(w, r)
	case "/token":
		a.token(w, seen)
	case "/revoke":
		a.mu.Lock()
		delete(a.refresh, seen.Form.Get("token"))
		a.mu.Unlock()
	case "/mcp":
		a.resource(w, r, seen, handler)
	default:
		http.NotFound(w, r)
	}
}

func (a *Authority) document(w http.ResponseWriter, status int, edit func(map[string]any), doc map[string]any) {
	if edit != nil {
		edit(doc)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc)
}

func (a *Authority) register(w http.ResponseWriter) {
	doc := map[string]any{"client_id": "client-" + rand.Text(), "token_endpoint_auth_method": a.Method}
	if a.Method != "none" {
		doc["client_secret"] = "secret+/ " + rand.Text()
	}
	a.document(w, http.StatusCreated, func(doc map[string]any) {
		if a.Registration != nil {
			a.Registration(doc)
		}
		secret, _ := doc["client_secret"].(string)
		a.Client(fmt.Sprint(doc["client_id"]), secret)
	}, doc)
}

func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Hostname() != "127.0.0.1" || q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := "code-" + rand.Text()
	a.mu.Lock()
	a.codes[code] = grant{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("resource"), q.Get("scope")}
	a.mu.Unlock()
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.URL}}
	if a.Redirect != nil {
		a.Redirect(answer)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, r Request) {
	fail := func(code string) {
		a.document(w, http.StatusBadRequest, nil, map[string]any{"error": code, "error_description": "you sent " + r.Body})
	}
	id, secret := r.Form.Get("client_id"), r.Form.Get("client_secret")
	if a.Method == "client_secret_basic" {
		data, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Basic, "Basic "))
		id, secret, _ = strings.Cut(string(data), ":")
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.clients[id]; !ok || known != secret {
		fail("invalid_client")
		return
	}
	scope := ""
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		g, ok := a.codes[r.Form.Get("code")]
		delete(a.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if !ok || g.client != id || g.redirect != r.Form.Get("redirect_uri") || g.resource != r.Form.Get("resource") ||
			g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			fail("invalid_grant")
			return
		}
		scope = g.scope
	case "refresh_token":
		token := r.Form.Get("refresh_token")
		old, ok := a.refresh[token]
		if !ok || old.used {
			clear(a.refresh) // it was stolen, or we were
			fail("invalid_grant")
			return
		}
		scope = old.scope
		a.refresh[token] = renewal{scope, true}
	default:
		fail("unsupported_grant_type")
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	a.access[access], a.refresh[refresh] = scope, renewal{scope: scope}
	doc := map[string]any{"access_token": access, "token_type": "bearer", "refresh_token": refresh}
	if a.lifetime != 0 {
		doc["expires_in"] = a.lifetime
	}
	a.document(w, http.StatusOK, a.Answer, doc)
}

func (a *Authority) resource(w http.ResponseWriter, r *http.Request, seen Request, h http.Handler) {
	a.mu.Lock()
	scope, ok := a.access[seen.Bearer]
	want := a.scope
	a.mu.Unlock()
	challenge := fmt.Sprintf("Bearer resource_metadata=%q", a.URL+"/.well-known/oauth-protected-resource/mcp")
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case want != "" && !slices.Contains(strings.Fields(scope), want):
		w.Header().Set("WWW-Authenticate", challenge+fmt.Sprintf(`, scope=%q, error="insufficient_scope"`, want))
		w.WriteHeader(http.StatusForbidden)
	case h != nil:
		h.ServeHTTP(w, r)
	}
}

// Browse goes where a person is sent, as a browser of somebody does who agrees to everything.
func Browse(ctx context.Context, v oauth.Visit) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the browser ended at a page with status %d", res.StatusCode)
	}
	return nil
}
