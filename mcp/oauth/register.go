package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// methods are the ways to prove who we are that we know, the best first: a program on a person's machine keeps no
// secret from that person.
var methods = []string{"none", "client_secret_post", "client_secret_basic"}

// method picks one of those that an authorization server supports; silence means client_secret_basic (RFC 8414).
func method(supported []string, secret bool) string {
	if len(supported) == 0 {
		supported = []string{"client_secret_basic"}
	}
	for _, m := range methods {
		if slices.Contains(supported, m) && (m == "none") != secret {
			return m
		}
	}
	if secret {
		return "client_secret_basic"
	}
	return "none"
}

// register returns what the authorization server knows us as: the client that the person named, or a new one.
func (w *web) register(ctx context.Context, as *oauthex.AuthServerMeta, redirect string, opt LoginOptions) (Client, error) {
	document := strings.HasPrefix(opt.ClientID, "https://")
	switch {
	case document && as.ClientIDMetadataDocumentSupported:
		return Client{ID: opt.ClientID, Method: "none"}, nil
	case opt.ClientID != "" && !document:
		return Client{ID: opt.ClientID, Secret: opt.ClientSecret, Method: method(as.TokenEndpointAuthMethodsSupported, opt.ClientSecret != "")}, nil
	case as.RegistrationEndpoint == "":
		return Client{}, failed("the authorization server %.200q has no automatic client registration: register a client with it, with the "+
			"redirect address http://127.0.0.1:PORT/callback, and log in with --client-id and --port", as.Issuer)
	}
	c, err := w.registerClient(ctx, as, redirect)
	if err != nil {
		return Client{}, failed("the authorization server %.200q did not register a client: %w", as.Issuer, err)
	}
	return c, nil
}

// registerClient registers a client (RFC 7591).
func (w *web) registerClient(ctx context.Context, as *oauthex.AuthServerMeta, redirect string) (Client, error) {
	want := ""
	for _, m := range methods {
		if want == "" && slices.Contains(as.TokenEndpointAuthMethodsSupported, m) {
			want = m
		}
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "Tongs", "application_type": "native", "redirect_uris": []string{redirect}, "response_types": []string{"code"},
		"grant_types": []string{"authorization_code", "refresh_token"}, "token_endpoint_auth_method": cmp.Or(want, "none"),
	})
	if err != nil {
		return Client{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, as.RegistrationEndpoint, bytes.NewReader(body))
	if err != nil {
		return Client{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	status, answer, err := w.do(req)
	if err != nil {
		return Client{}, err
	}
	if status != http.StatusCreated && status != http.StatusOK {
		return Client{}, refused(status, answer)
	}
	var got struct {
		ID     string `json:"client_id"`
		Secret Secret `json:"client_secret"`
		Method string `json:"token_endpoint_auth_method"`
	}
	if json.Unmarshal(answer, &got) != nil || got.ID == "" || len(got.ID) > maxField || len(got.Secret) > maxField {
		return Client{}, errors.New("its answer names no client")
	}
	c := Client{ID: got.ID, Secret: got.Secret, Method: cmp.Or(got.Method, want)}
	switch {
	case c.Method == "" && c.Secret != "":
		c.Method = "client_secret_basic"
	case c.Secret == "" || c.Method == "none":
		c.Secret, c.Method = "", "none"
	case !slices.Contains(methods, c.Method):
		return Client{}, failed("it wants clients to prove themselves by %.100q, which is not supported", c.Method)
	}
	return c, nil
}
