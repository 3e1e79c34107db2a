package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
)

// LoginOptions are what a person logs in with. Zero values are meaningful, but for Open.
type LoginOptions struct {
	// Open sends the person to where they log in. The answer comes to an address of this machine, so that Open may
	// return before it does.
	Open func(ctx context.Context, v Visit) error
	// ClientID is what the authorization server knows us as, with its secret where there is one. One that is an https
	// URL is a document about us, for authorization servers that read those. Empty registers a client.
	ClientID     string
	ClientSecret Secret
	// Scopes are asked for beside those that the resource wants.
	Scopes []string
	// Hosts may be reached although they are of this machine or network, as host or host:port.
	Hosts []string
	// Port is where the answer is received; zero is any that is free.
	Port int
}

// Visit is where a person is sent.
type Visit struct {
	URL string
	// Issuer is who they log in with, Scopes what they are asked to allow.
	Issuer string
	Scopes []string
}

// Login logs a person in, in answer to a challenge of the resource, and keeps what comes of it.
func (r *Resource) Login(ctx context.Context, c Challenge, opt LoginOptions) (*Login, error) {
	if err := r.Secure(); err != nil {
		return nil, err
	}
	before, err := r.load()
	if err != nil {
		return nil, err
	}
	if before == nil {
		before = &Login{}
	}
	for _, host := range opt.Hosts {
		if _, err := network.ParseTarget(host, 443); err != nil {
			return nil, failed("the host %.100q cannot be allowed: %w", host, err)
		}
	}
	if len(opt.Hosts) == 0 {
		opt.Hosts = before.Hosts
	}
	w := r.web(opt.Hosts)
	p, err := w.discover(ctx, c)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(opt.Port)))
	if err != nil {
		return nil, failed("the answer to the login cannot be received on this machine: %w", err)
	}
	defer ln.Close()
	redirect := "http://" + ln.Addr().String() + "/callback"
	client, err := w.register(ctx, p.as, redirect, opt)
	if err != nil {
		return nil, err
	}
	l := &Login{
		URL: r.URL, Resource: p.resource, Issuer: p.as.Issuer, TokenEndpoint: p.as.TokenEndpoint,
		RevocationEndpoint: p.as.RevocationEndpoint, Client: client, Scopes: scopes(p, before, opt), Hosts: opt.Hosts, At: time.Now(),
	}
	verifier := rand.Text() + rand.Text() // 52 characters, 260 bits
	code, err := r.visit(ctx, ln, p, l, verifier, opt)
	if err != nil {
		return nil, err
	}
	t, err := w.token(ctx, l.TokenEndpoint, client, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier},
		"resource": {l.Resource},
	})
	if err != nil {
		return nil, failed("the login to the MCP server %s failed: %w", r.Name, err)
	}
	l.take(t)
	return l, r.Store.Update(ctx, r.Name, r.Identity, func(*Login) (*Login, error) { return l, nil })
}

// scopes are what the token is asked to be good for: what the resource wants now and wanted before, what the same
// authorization server granted before, and what lets the login last. Nothing of that leaves it to the authorization
// server.
func scopes(p *place, before *Login, opt LoginOptions) []string {
	list := slices.Concat(p.scopes, before.Wanted, opt.Scopes)
	if before.Issuer == p.as.Issuer {
		list = append(list, before.Scopes...)
	}
	if slices.Contains(p.as.ScopesSupported, offline) {
		list = append(list, offline)
	}
	return cleanScopes(list)
}

// offline is the scope that stands for tokens that can be renewed.
const offline = "offline_access"

// visit sends the person to the authorization server and waits for the code that it answers with.
func (r *Resource) visit(ctx context.Context, ln net.Listener, p *place, l *Login, verifier string, opt LoginOptions) (string, error) {
	u, err := url.Parse(p.as.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	state := rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	q := u.Query()
	for key, value := range map[string]string{
		"response_type": "code", "client_id": l.Client.ID, "redirect_uri": "http://" + ln.Addr().String() + "/callback",
		"state": state, "code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
		"resource": l.Resource,
	} {
		q.Set(key, value)
	}
	if len(l.Scopes) > 0 {
		q.Set("scope", strings.Join(l.Scopes, " "))
	}
	if slices.Contains(l.Scopes, offline) {
		q.Set("prompt", "consent") // without which OpenID Connect does not grant it
	}
	u.RawQuery = q.Encode()
	answers := receive(ln, state)
	defer answers.close()
	if opt.Open == nil {
		return "", errors.New("nobody can be sent to the authorization server: no way to open its page was given")
	}
	if err := opt.Open(ctx, Visit{URL: u.String(), Issuer: l.Issuer, Scopes: l.Scopes}); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", tongs.Errorf(tongs.CodeCancelled, "nobody logged in to the MCP server %s: %w", r.Name, context.Cause(ctx))
	case a := <-answers.first:
		must := p.as.AuthorizationResponseIssParameterSupported || !ofIssuer(l.Issuer, p.as.AuthorizationEndpoint)
		return a.Get("code"), judgeAnswer(r.Name, a, l.Issuer, must)
	}
}

// ofIssuer reports whether a page is one of the issuer's own: on its host, or where one is part of the other. Whoever sends
// people to the page of another could be sent a code of theirs (mix-up), unless the answer says whose it is.
func ofIssuer(issuer, page string) bool {
	a, errA := url.Parse(issuer)
	b, errB := url.Parse(page)
	if errA != nil || errB != nil || a.Host == b.Host {
		return errA == nil && errB == nil
	}
	one, other := a.Hostname(), b.Hostname()
	if literal(one) || literal(other) {
		return false
	}
	part := func(sub, of string) bool {
		return strings.Contains(of, ".") && (sub == of || strings.HasSuffix(sub, "."+of))
	}
	return part(one, other) || part(other, one)
}

// judgeAnswer refuses the answer of another authorization server than the one that was asked (RFC 9207), and says what
// a refusal was. Issuers are compared as they are written.
func judgeAnswer(server string, a url.Values, issuer string, must bool) error {
	iss, named := a.Get("iss"), a.Has("iss")
	switch {
	case named && iss != issuer:
		return failed("the login to the MCP server %s was answered by another authorization server, %.200q rather than %.200q", server, iss, issuer)
	case must && !named:
		return failed("the login to the MCP server %s was answered without the name of the issuer, so that it may not be from %.200q", server, issuer)
	case a.Has("error"):
		return failed("the login to the MCP server %s failed: %w", server, refusal(a.Get("error")))
	case a.Get("code") == "" || len(a.Get("code")) > maxField:
		return failed("the login to the MCP server %s was answered without a code", server)
	}
	return nil
}

// Logout forgets the login and asks the authorization server to end it. It reports whether there was one, and why the
// authorization server did not end it.
func (r *Resource) Logout(ctx context.Context) (found bool, ended, err error) {
	var last *Login
	err = r.Store.Update(ctx, r.Name, r.Identity, func(l *Login) (*Login, error) {
		last = l
		return nil, nil
	})
	if err != nil { // what cannot be read is forgotten too
		found, err = r.Store.Remove(r.Name)
		return found, nil, err
	}
	if last == nil || last.Access == "" && last.Refresh == "" {
		return false, nil, nil
	}
	if last.RevocationEndpoint == "" {
		return true, errors.New("the authorization server offers no way to end it"), nil
	}
	token := last.Refresh
	if token == "" {
		token = last.Access
	}
	status, _, err := r.web(last.Hosts).post(ctx, last.RevocationEndpoint, last.Client, url.Values{"token": {string(token)}})
	if err == nil && status != 200 {
		err = fmt.Errorf("the authorization server answers with status %d", status)
	}
	return true, err, nil
}
