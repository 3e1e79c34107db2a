package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Challenge is what a resource said when it refused a request.
type Challenge struct {
	// Metadata is where it describes itself, empty where it did not say.
	Metadata string
	// Scopes are what it wants the token to be good for.
	Scopes []string
	// Error is the code of the refusal, such as insufficient_scope.
	Error string
}

// ReadChallenge reads the challenge of an answer. One that cannot be read says nothing.
func ReadChallenge(header http.Header) (c Challenge) {
	lines := header.Values("WWW-Authenticate")
	if len(strings.Join(lines, "")) > 8<<10 {
		return c
	}
	for _, line := range lines {
		list, err := oauthex.ParseWWWAuthenticate([]string{line})
		if err != nil {
			continue
		}
		for _, one := range list {
			if one.Scheme != "bearer" {
				continue
			}
			if c.Metadata == "" {
				c.Metadata = one.Params["resource_metadata"]
			}
			if len(c.Scopes) == 0 {
				c.Scopes = cleanScopes(strings.Fields(one.Params["scope"]))
			}
			if c.Error == "" {
				c.Error = one.Params["error"]
			}
		}
	}
	return c
}

// cleanScopes drops what is no scope (RFC 6749, 3.3) and what comes twice, and keeps no more than a person could look at.
func cleanScopes(list []string) (clean []string) {
	for _, s := range list {
		odd := strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e || r == '"' || r == '\\' })
		if s != "" && !odd && len(s) <= 200 && len(clean) < 100 && !slices.Contains(clean, s) {
			clean = append(clean, s)
		}
	}
	return clean
}

// place is where a login to a resource takes place.
type place struct {
	// resource is what the token is asked for, as the resource calls itself.
	resource string
	scopes   []string
	as       *oauthex.AuthServerMeta
}

// discover finds out where a person logs in.
func (w *web) discover(ctx context.Context, c Challenge) (*place, error) {
	name := w.resource.Name
	p := &place{resource: w.resource.URL, scopes: c.Scopes}
	meta, err := w.describe(ctx, c)
	if err != nil {
		return nil, err
	}
	issuer := ""
	if meta != nil {
		if len(meta.AuthorizationServers) == 0 {
			return nil, failed("the MCP server %s names no authorization server", name)
		}
		issuer, p.resource = meta.AuthorizationServers[0], meta.Resource
		if len(p.scopes) == 0 {
			p.scopes = cleanScopes(meta.ScopesSupported)
		}
	} else if u, err := url.Parse(w.resource.URL); err == nil {
		issuer = u.Scheme + "://" + u.Host // servers of before the resource described itself are their own
	}
	if p.as, err = w.authority(ctx, issuer); err != nil {
		return nil, err
	}
	if p.as == nil && meta == nil {
		return nil, failed("the MCP server %s does not say where to log in; if it wants a token, put it into its headers", name)
	}
	if p.as == nil {
		return nil, failed("the authorization server %.200q of the MCP server %s publishes no metadata", issuer, name)
	}
	return p, nil
}

// describe returns what the resource says of itself (RFC 9728), nil where it says nothing.
func (w *web) describe(ctx context.Context, c Challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(w.resource.URL)
	if err != nil {
		return nil, err
	}
	const known = "/.well-known/oauth-protected-resource"
	origin := u.Scheme + "://" + u.Host
	var list []string
	if c.Metadata != "" {
		list = append(list, c.Metadata)
	}
	if path := strings.TrimRight(u.EscapedPath(), "/"); path != "" {
		list = append(list, origin+known+path)
	}
	list = append(list, origin+known)
	for _, where := range list {
		meta := &oauthex.ProtectedResourceMetadata{}
		err := w.get(ctx, where, meta)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, failed("the description %.200q of the MCP server %s %w", where, w.resource.Name, err)
		}
		if !covers(meta.Resource, u) {
			return nil, failed("the description of the MCP server %s is about another resource, %.200q; a token for that is not sent here",
				w.resource.Name, meta.Resource)
		}
		return meta, nil
	}
	return nil, nil
}

// covers reports whether a resource is the URL, or a whole that it is part of.
func covers(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Scheme != u.Scheme || r.Host != u.Host || r.User != nil || r.Fragment != "" || r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return false
	}
	whole, path := strings.TrimRight(r.EscapedPath(), "/"), strings.TrimRight(u.EscapedPath(), "/")
	if strings.Contains(whole, "..") || strings.Contains(path, "..") {
		return whole == path
	}
	return whole == path || strings.HasPrefix(path, whole+"/")
}

// authority returns the metadata of an authorization server (RFC 8414, or OpenID Connect), nil where it has none.
func (w *web) authority(ctx context.Context, issuer string) (*oauthex.AuthServerMeta, error) {
	u, err := endpoint(issuer)
	if err == nil && u.RawQuery != "" {
		err = errors.New("holds a query")
	}
	if err != nil {
		return nil, failed("the authorization server of the MCP server %s %w", w.resource.Name, err)
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimRight(u.EscapedPath(), "/")
	list := []string{origin + "/.well-known/oauth-authorization-server" + path, origin + "/.well-known/openid-configuration" + path}
	if path != "" {
		list = append(list, origin+path+"/.well-known/openid-configuration")
	}
	for _, where := range list {
		as := &oauthex.AuthServerMeta{}
		err := w.get(ctx, where, as)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, failed("the authorization server of the MCP server %s: %.200q %w", w.resource.Name, where, err)
		}
		return as, w.judge(ctx, as, issuer)
	}
	return nil, nil
}

// judge refuses metadata that a login must not depend on.
func (w *web) judge(ctx context.Context, as *oauthex.AuthServerMeta, issuer string) error {
	fault := func(format string, args ...any) error {
		return failed("the authorization server %.200q of the MCP server %s "+format, append([]any{issuer, w.resource.Name}, args...)...)
	}
	if strings.TrimSuffix(as.Issuer, "/") != strings.TrimSuffix(issuer, "/") {
		return fault("says that it is another, %.200q", as.Issuer)
	}
	if !slices.Contains(as.CodeChallengeMethodsSupported, "S256") {
		return fault("does not support PKCE with S256, without which a code can be stolen")
	}
	if err := w.reach(ctx, as.AuthorizationEndpoint); err != nil {
		return fault("has an authorization endpoint that %w", err)
	}
	if _, err := endpoint(as.TokenEndpoint); err != nil {
		return fault("has a token endpoint that %w", err)
	}
	if _, err := endpoint(as.RegistrationEndpoint); as.RegistrationEndpoint != "" && err != nil {
		return fault("has a registration endpoint that %w", err)
	}
	return nil
}
