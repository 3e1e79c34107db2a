package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// early is how long before its end a token is renewed.
const early = 30 * time.Second

// fresh reports whether the token can still be sent.
func (l *Login) fresh() bool {
	return l.Access != "" && (l.Expires.IsZero() || time.Until(l.Expires) > early)
}

// load returns the login, nil where there is none for this very URL.
func (r *Resource) load() (*Login, error) {
	l, err := r.Store.Load(r.Name, r.Identity)
	if err != nil || l == nil || l.URL != r.URL {
		return nil, err
	}
	return l, nil
}

// Token returns a token that is valid as far as we know, and empty where nobody is logged in. One that ended is renewed:
// by one process and one caller at a time, the others take what that one got.
func (r *Resource) Token(ctx context.Context) (Secret, error) {
	l, err := r.load()
	if err != nil || l == nil || l.Access == "" {
		return "", err
	}
	if l.fresh() {
		return l.Access, nil
	}
	return r.Renew(ctx, l.Access)
}

// Renew returns another token than one that the resource did not take, or that ended. It fails with [ErrLogin] where
// there is none to be had.
func (r *Resource) Renew(ctx context.Context, stale Secret) (Secret, error) {
	type result struct {
		token Secret
		err   error
	}
	done := make(chan result, 1)
	go func() {
		token, err := r.renew(ctx, stale)
		done <- result{token, err}
	}()
	select {
	case got := <-done:
		return got.token, got.err
	case <-ctx.Done(): // the token that is being issued is kept all the same
		return "", context.Cause(ctx)
	}
}

func (r *Resource) renew(ctx context.Context, stale Secret) (token Secret, err error) {
	var refused error
	err = r.Store.Update(ctx, r.Name, r.Identity, func(l *Login) (*Login, error) {
		switch {
		case l == nil || l.URL != r.URL || l.Access == "":
			refused = ErrLogin
			return l, nil
		case l.Access != stale && l.fresh(): // somebody else did
			token = l.Access
			return l, nil
		case l.Refresh == "":
			refused = ErrLogin
			return l, nil
		}
		t, err := r.web(l.Hosts).token(context.WithoutCancel(ctx), l.TokenEndpoint, l.Client, url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {string(l.Refresh)}, "resource": {l.Resource},
		})
		if permanentlyFailed(err) {
			l.Access, l.Refresh, refused = "", "", ErrLogin
			return l, nil
		}
		if err != nil {
			return nil, tongs.Errorf(tongs.CodeNetworkError, "the login to the MCP server %s could not be renewed: %w", r.Name, err)
		}
		l.take(t)
		token = l.Access
		return l, nil
	})
	if err == nil {
		err = refused
	}
	return token, err
}

// Issuer returns who issued the login, empty where there is none.
func (r *Resource) Issuer() string {
	l, err := r.load()
	if err != nil || l == nil || l.Access == "" {
		return ""
	}
	return l.Issuer
}

// Want remembers what the resource wants a token to be good for, for the next login.
func (r *Resource) Want(ctx context.Context, scopes []string) error {
	return r.Store.Update(ctx, r.Name, r.Identity, func(l *Login) (*Login, error) {
		if l == nil || l.URL != r.URL {
			return l, nil
		}
		l.Wanted = cleanScopes(slices.Concat(l.Wanted, scopes))
		return l, nil
	})
}

// take takes up a token that was issued.
func (l *Login) take(t *tokens) {
	l.Access, l.Expires = t.Access, time.Time{}
	if seconds, err := t.Lifetime.Int64(); err == nil && seconds > 0 {
		l.Expires = time.Now().Add(time.Duration(min(seconds, 10*365*24*3600)) * time.Second)
	}
	if t.Refresh != "" {
		l.Refresh = t.Refresh
	}
	if granted := cleanScopes(strings.Fields(t.Scope)); len(granted) > 0 {
		l.Scopes = granted
	}
}

// tokens is the answer of a token endpoint.
type tokens struct {
	Access   Secret      `json:"access_token"`
	Type     string      `json:"token_type"`
	Lifetime json.Number `json:"expires_in"`
	Refresh  Secret      `json:"refresh_token"`
	Scope    string      `json:"scope"`
}

// refusal is an error that an authorization server answered with. Only its code is kept: words of a server could repeat
// what was sent.
type refusal string

func (r refusal) Error() string {
	if slices.Contains([]refusal{
		"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
		"invalid_target", "access_denied", "unsupported_response_type", "server_error", "temporarily_unavailable",
		"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement",
		"interaction_required", "login_required", "consent_required", "account_selection_required",
	}, r) {
		return "the authorization server refuses: " + string(r)
	}
	return "the authorization server refuses"
}

// permanentlyFailed reports whether a renewal can never succeed.
func permanentlyFailed(err error) bool {
	r, ok := errors.AsType[refusal](err)
	return ok && (r == "invalid_grant" || r == "invalid_client" || r == "unauthorized_client")
}

// token asks a token endpoint.
func (w *web) token(ctx context.Context, where string, c Client, form url.Values) (*tokens, error) {
	status, body, err := w.post(ctx, where, c, form)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, refused(status, body)
	}
	t := &tokens{}
	if json.Unmarshal(body, t) != nil {
		return nil, errors.New("the answer of the token endpoint is not the JSON that it should be")
	}
	odd := func(s Secret) bool {
		return len(s) > maxField || strings.ContainsFunc(string(s), func(r rune) bool { return r < 0x21 || r > 0x7e })
	}
	switch {
	case t.Access == "" || odd(t.Access) || odd(t.Refresh):
		return nil, errors.New("the token endpoint answers with no token that can be sent")
	case !strings.EqualFold(t.Type, "bearer"):
		return nil, errors.New("the token endpoint answers with a token that is not of the type Bearer")
	}
	return t, nil
}

// post sends a form as the client.
func (w *web) post(ctx context.Context, where string, c Client, form url.Values) (int, []byte, error) {
	if _, err := endpoint(where); err != nil {
		return 0, nil, err
	}
	if c.Method != "client_secret_basic" {
		form.Set("client_id", c.ID)
	}
	if c.Method == "client_secret_post" {
		form.Set("client_secret", string(c.Secret))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, where, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, errors.New("the endpoint is not a URL")
	}
	if c.Method == "client_secret_basic" {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(string(c.Secret)))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	return w.do(req)
}

func refused(status int, body []byte) error {
	var answer struct {
		Error string `json:"error"`
	}
	if status >= 400 && status < 500 && json.Unmarshal(body, &answer) == nil && answer.Error != "" {
		return refusal(answer.Error)
	}
	return tongs.Errorf(tongs.CodeNetworkError, "the authorization server answers with status %d", status)
}
