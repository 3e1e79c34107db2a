package mcpclient

import (
	"context"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/oauth"
)

// Login logs a person in to a server by URL that wants that. It is for commands that a person starts: no call of a tool
// does it.
func (s *Set) Login(ctx context.Context, server string, opt oauth.LoginOptions) (*oauth.Login, error) {
	h, err := s.loginHost(server)
	if err != nil {
		return nil, err
	}
	c, err := h.challenge(ctx)
	if err != nil {
		return nil, err
	}
	l, err := h.login.Login(ctx, c, opt)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.retryAt, h.failure = 0, time.Time{}, nil
	return l, nil
}

// Logout forgets the login to a server and asks the authorization server to end it; ended is why that did not. It
// reports whether there was one.
func (s *Set) Logout(ctx context.Context, server string) (found bool, ended, err error) {
	h, err := s.loginHost(server)
	if err != nil {
		return false, nil, err
	}
	return h.login.Logout(ctx)
}

func (s *Set) loginHost(server string) (*host, error) {
	h, err := s.find(server)
	if err != nil {
		return nil, err
	}
	if h.login == nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the MCP server %s is a command; logging in is for a url", server)
	}
	return h, nil
}

// challenge asks the server, without a token, what it wants of who logs in.
func (h *host) challenge(ctx context.Context) (oauth.Challenge, error) {
	if err := h.login.Secure(); err != nil {
		return oauth.Challenge{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	s := newSession(h, launch{})
	var err error
	if s.web, err = newWeb(&h.cfg, h.set.opt.Guard, h.login, h.set.opt.Lookup); err != nil {
		return oauth.Challenge{}, err
	}
	if s.web.login == nil {
		return oauth.Challenge{}, configError("the MCP server %s has a credential in its headers, which wins over a login; remove it to log in", h.cfg.Name)
	}
	s.web.anonymous = true
	defer s.stop()
	// Whether it succeeds does not matter: some servers say only later that they want a login.
	_ = s.connect(ctx, h.protocol())
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	return s.web.challenge, nil
}
