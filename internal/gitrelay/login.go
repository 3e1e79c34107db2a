package gitrelay

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs"
)

// login is how a remote is logged in to. The zero value is not at all.
type login struct {
	mu sync.Mutex
	// user and password are what the user's credential helpers gave; accepted says that the server took them.
	user, password string
	accepted       bool
	// allowed says that the user's credentials may be used, those in the settings as well.
	allowed bool
	client  *http.Client
	header  http.Header
	// settled says that the settings have credentials: a header, or a certificate.
	settled bool
}

// login returns that of an HTTP remote.
func (s *Session) login(r Remote) *login {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.same()
	if s.logins[key] == nil {
		s.logins[key] = &login{}
	}
	return s.logins[key]
}

// get asks what a remote has, and logs in where the server wants that.
func (s *Session) get(r *http.Request, remote Remote, service string) (*http.Response, error) {
	request := func() (*http.Request, error) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, remote.service("info/refs")+"?service="+service, nil)
		if err == nil {
			req.Header.Set("Accept", "*/*")
			if service == uploadPack { // a push has one version of the protocol
				copyHeaders(req.Header, r.Header, "Git-Protocol")
			}
		}
		return req, err
	}
	req, err := request()
	if err != nil {
		return nil, err
	}
	res, err := s.exchange(r, remote, req)
	if err != nil || res.StatusCode != http.StatusUnauthorized || r.Header.Get("Authorization") != "" {
		return res, err
	}
	_ = res.Body.Close()
	l := s.login(remote)
	if err := s.fill(r.Context(), l, remote); err != nil {
		return nil, err
	}
	if req, err = request(); err != nil {
		return nil, err
	}
	if res, err = s.exchange(r, remote, req); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case res.StatusCode == http.StatusUnauthorized && l.password == "":
		_ = res.Body.Close()
		return nil, noCredentials(remote)
	case res.StatusCode == http.StatusUnauthorized:
		_ = res.Body.Close()
		s.credential(r.Context(), "reject", remote, l.user, l.password)
		l.user, l.password = "", ""
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s does not accept your credentials; log in again in your own terminal", remote.site())
	case res.StatusCode < 400 && !l.accepted && l.password != "":
		l.accepted = true
		s.credential(r.Context(), "approve", remote, l.user, l.password)
	}
	return res, nil
}

// fill asks the user's credential helpers.
func (s *Session) fill(ctx context.Context, l *login, remote Remote) error {
	if err := s.mayLogin(ctx, remote); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.password != "" {
		return nil
	}
	if !l.allowed {
		l.allowed, l.client = true, nil
		if err := s.connectAs(ctx, l, remote); err != nil || l.header.Get("Authorization") != "" {
			return err
		}
	}
	out, err := s.credential(ctx, "fill", remote, "", "")
	if err != nil && !l.settled {
		return noCredentials(remote)
	}
	for line := range strings.Lines(out) {
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "="); name {
		case "username":
			l.user = value
		case "password":
			l.password = value
		}
	}
	if l.password == "" && !l.settled {
		return noCredentials(remote)
	}
	return nil
}

// site is the server of a remote, as one would log in to it.
func (r Remote) site() string {
	u := *r.url()
	u.Path, u.RawPath = "", ""
	return u.String()
}

func noCredentials(r Remote) error {
	hint := "make `git ls-remote " + r.url().String() + "` work in your own terminal, with a credential helper"
	if r.Target.Host == "github.com" {
		hint = "run `gh auth login` in your own terminal"
	}
	return tongs.Errorf(tongs.CodeNetworkError, "no credentials for %s: %s", r.site(), hint)
}

// credential runs git credential, outside of every repository.
func (s *Session) credential(ctx context.Context, action string, r Remote, user, password string) (string, error) {
	u := r.url()
	input := "protocol=" + u.Scheme + "\nhost=" + u.Host + "\npath=" + strings.TrimPrefix(u.Path, "/") + "\n"
	if password != "" {
		input += "username=" + user + "\npassword=" + password + "\n"
	}
	return s.userGit(ctx, input+"\n", "credential", action)
}
