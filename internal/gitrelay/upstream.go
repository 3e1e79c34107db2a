package gitrelay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/network"
)

// exchange makes one request to a remote, as whom it is logged in as. What the program itself logs in with takes precedence:
// it has that anyway.
func (s *Session) exchange(r *http.Request, remote Remote, req *http.Request) (*http.Response, error) {
	l := s.login(remote)
	l.mu.Lock()
	if err := s.connectAs(r.Context(), l, remote); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	for name, values := range l.header {
		req.Header[name] = values
	}
	copyHeaders(req.Header, r.Header, "User-Agent", "Accept-Language", "Authorization")
	if l.password != "" && r.Header.Get("Authorization") == "" {
		req.SetBasicAuth(l.user, l.password)
	}
	client := l.client
	l.mu.Unlock()
	res, err := client.Do(req)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s cannot be reached: %w", remote, unwrapURL(err))
	}
	return res, nil
}

func unwrapURL(err error) error {
	if u, ok := err.(*url.Error); ok {
		return u.Err
	}
	return err
}

// connectAs makes the client of a remote where there is none. Settings may have credentials: a header, or a certificate. They are
// used as a password is, for the remotes of the repository and for those that somebody allowed. The caller holds the lock.
func (s *Session) connectAs(ctx context.Context, l *login, remote Remote) (err error) {
	if l.client != nil {
		return nil
	}
	settings := s.settings(ctx, remote)
	l.settled = settings["http.extraheader"] != "" || settings["http.sslcert"] != ""
	if l.allowed = l.allowed || s.configured(ctx, remote); !l.allowed {
		delete(settings, "http.extraheader")
		delete(settings, "http.sslcert")
	}
	l.client, l.header, err = s.client(remote, settings)
	return err
}

// client makes an HTTP client with the user's settings for a remote.
func (s *Session) client(remote Remote, settings settings) (*http.Client, http.Header, error) {
	config, err := settings.tls()
	if err != nil {
		return nil, nil, err
	}
	choose, err := s.proxy(settings)
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{
		TLSClientConfig: config, DisableCompression: true, DisableKeepAlives: true, TLSHandshakeTimeout: 30 * time.Second,
		MaxResponseHeaderBytes: 1 << 20, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
		Proxy: choose,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return s.dial(ctx, remote, address)
		},
	}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	header := http.Header{}
	if name, value, ok := strings.Cut(settings["http.extraheader"], ":"); ok {
		header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return client, header, nil
}

// dial connects to a remote, or to the proxy that the user reaches it through: that one resolves names itself.
func (s *Session) dial(ctx context.Context, remote Remote, address string) (net.Conn, error) {
	target, err := network.ParseTarget(address, remote.Target.Port)
	if err != nil {
		return nil, err
	}
	connection := s.connection(ctx, remote)
	if target == remote.Target {
		return s.call.Guard.Connect(ctx, target, connection)
	}
	if remote.Target.Special() && !connection.Private {
		return nil, tongs.Errorf(tongs.CodeNetworkError, "%s is an address of this machine or network; allow that host by name if it is meant", remote.Target.Host)
	}
	dialer := net.Dialer{Timeout: 30 * time.Second}
	return dialer.DialContext(ctx, "tcp", address)
}

// settings are the user's http settings for one remote, by key.
type settings map[string]string

func (s *Session) settings(ctx context.Context, remote Remote) settings {
	list := settings{}
	out, err := s.userGit(ctx, "", "config", "-z", "--get-urlmatch", "http", remote.url().String())
	if err != nil { // there are none
		return list
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			list[strings.ToLower(key)] = value
		}
	}
	return list
}

// tls is the configuration of a client: the system's certificates, those that the user's git trusts, and the user's own. A
// setting that turns checking off does not count.
func (l settings) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := l["http.sslcainfo"]; name != "" {
		data, err := os.ReadFile(home(name))
		if err != nil {
			return nil, tongs.Errorf(tongs.CodeConfigError, "http.sslCAInfo of your git settings cannot be read: %w", err)
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		config.RootCAs.AppendCertsFromPEM(data)
	}
	if cert := l["http.sslcert"]; cert != "" {
		key := l["http.sslkey"]
		if key == "" {
			key = cert
		}
		pair, err := tls.LoadX509KeyPair(home(cert), home(key))
		if err != nil {
			return nil, tongs.Errorf(tongs.CodeConfigError, "http.sslCert of your git settings cannot be used: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// home reads ~/ as git does.
func home(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return name
}

// proxy is the one that the user's git would use.
func (s *Session) proxy(l settings) (func(*http.Request) (*url.URL, error), error) {
	if s.opt.Proxy != nil {
		return s.opt.Proxy, nil
	}
	if name, ok := l["http.proxy"]; ok {
		if name == "" {
			return nil, nil
		}
		if !strings.Contains(name, "://") {
			name = "http://" + name
		}
		u, err := url.Parse(name)
		if err != nil {
			return nil, tongs.Errorf(tongs.CodeConfigError, "http.proxy of your git settings is no address")
		}
		return http.ProxyURL(u), nil
	}
	env := func(name string) string {
		for _, spelling := range []string{strings.ToLower(name), name} {
			for _, e := range s.opt.Environ {
				if value, ok := strings.CutPrefix(e, spelling+"="); ok {
					return value
				}
			}
		}
		return ""
	}
	choose := (&httpproxy.Config{HTTPProxy: env("HTTP_PROXY"), HTTPSProxy: env("HTTPS_PROXY"), NoProxy: env("NO_PROXY")}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }, nil
}

// isGit refuses an answer that is not one of a git server: nothing else that credentials open comes in.
func (s *Session) isGit(res *http.Response, remote Remote, kind string) error {
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return noCredentials(remote)
	case res.StatusCode != http.StatusOK:
		said := ""
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
			data, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
			said = ": " + cleantext.Line(strings.TrimSpace(string(data)))
		}
		return tongs.Errorf(tongs.CodeNetworkError, "%s answered %s%s", remote, plain(res.Status), said)
	case res.Header.Get("Content-Type") != kind:
		return tongs.Errorf(tongs.CodeNetworkError, "%s is not a git repository, or its server does not speak git's smart protocol", remote)
	}
	return nil
}
