package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions are those of the server over HTTP. A zero field means the default that its comment names.
type HTTPOptions struct {
	// Token must come with every request, as "Authorization: Bearer TOKEN". Empty lets everybody in who can connect: that
	// is for a socket that only its owner can open.
	Token string
	// Hosts are the names that a request may be for, beside those of this machine itself ("localhost", loopback
	// addresses): none. A "*" allows any.
	Hosts []string
	// Origins are the web pages that may make requests, beside those of the server itself: none.
	Origins []string
	// MaxBody bounds a request, in bytes: 8 MiB.
	MaxBody int64
	// ReadTime is how long a request may take to arrive: 30 s.
	ReadTime time.Duration
	// Idle is how long a session may be without a request before it ends: 8 hours. MaxSessions is how many there may
	// be: 1000.
	Idle        time.Duration
	MaxSessions int
	// Grace is how long calls may go on when the server is told to stop, before they are cancelled: 3 s.
	Grace time.Duration
	// Around may put other pages beside the path of the server: it is given its handler, and returns what serves every
	// request. Nil serves that path alone.
	Around func(http.Handler) http.Handler
}

func (o HTTPOptions) withDefaults() HTTPOptions {
	if o.MaxBody <= 0 {
		o.MaxBody = 8 << 20
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 1000
	}
	setTime(&o.ReadTime, 30*time.Second)
	setTime(&o.Idle, 8*time.Hour)
	setTime(&o.Grace, 3*time.Second)
	return o
}

// Path is the path of the URL that is served.
const Path = "/mcp"

// Handler serves both eras on one URL. Every request is checked before anything of it is read: that it is meant for this
// server (Host), that no other web page made it (Origin), and that it brings the token.
func (s *Server) Handler(opt HTTPOptions) http.Handler {
	opt = opt.withDefaults()
	get := func(*http.Request) *mcp.Server { return s.mcp }
	h := &handler{
		server: s, opt: opt, token: sha256.Sum256([]byte(opt.Token)),
		// What the SDK would check about hosts is checked here, for every address.
		stateful: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			SessionTimeout: opt.Idle, MaxRequestBodyBytes: opt.MaxBody, DisableLocalhostProtection: true, Logger: s.opt.Logger,
		}),
		stateless: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: opt.MaxBody,
			DisableLocalhostProtection: true, Logger: s.opt.Logger,
		}),
	}
	return h
}

type handler struct {
	server              *Server
	opt                 HTTPOptions
	token               [sha256.Size]byte
	stateful, stateless http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case !local(r) && !h.host(r.Host):
		http.Error(w, "this server does not go by that name; see --allow-host", http.StatusForbidden)
	case !h.origin(r):
		http.Error(w, "requests of web pages of that origin are not allowed; see --allow-origin", http.StatusForbidden)
	case !h.authorised(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="tongs"`)
		http.Error(w, "the bearer token is missing or wrong; 'tongs serve' shows it when it starts", http.StatusUnauthorized)
	case r.URL.Path != Path:
		http.NotFound(w, r)
	default:
		h.serve(w, r)
	}
}

// serve passes a request on to the era that it is of.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	if h.server.life.Err() != nil {
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
		return
	}
	body, ok := h.read(w, r)
	if !ok {
		return
	}
	single := sessionless(r, body)
	if !single && r.Header.Get("Mcp-Session-Id") == "" && h.server.connections() >= h.opt.MaxSessions {
		http.Error(w, "there are too many sessions; try again later", http.StatusServiceUnavailable)
		return
	}
	principal := "socket"
	if h.opt.Token != "" {
		principal = "token"
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	defer h.server.carriers.add(r, principal)()
	if r.Method != http.MethodPost { // a stream of a session ends with the server
		defer context.AfterFunc(h.server.life, cancel)()
	}
	if single {
		h.stateless.ServeHTTP(w, r)
	} else {
		h.stateful.ServeHTTP(w, r)
	}
}

// connections is how many sessions there are, also those that called nothing yet.
func (s *Server) connections() (n int) {
	for range s.mcp.Sessions() {
		n++
	}
	return n
}

// read takes the body in, within its bounds of size and time, so that from here on only the end of the connection can be
// read: it ends the call.
func (h *handler) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, true
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(h.opt.ReadTime)) // what cannot have one is no connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.opt.MaxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	if err != nil {
		http.Error(w, "the request did not arrive whole", http.StatusBadRequest)
		return nil, false
	}
	_ = conn.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// metaVersion is the key of a request's metadata with the revision, where there are no sessions.
const metaVersion = mcp.MetaKeyProtocolVersion

// sessionless reports whether a request is of the era without sessions: by its header and, where it has none, by its
// metadata. A request that says different things is refused there.
func sessionless(r *http.Request, body []byte) bool {
	if version := r.Header.Get("Mcp-Protocol-Version"); version != "" {
		return version >= rounds
	}
	if r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") != "" || !bytes.Contains(body, []byte(metaVersion)) {
		return false
	}
	var msg struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &msg)
	_, ok := msg.Params.Meta[metaVersion]
	return ok
}

// host reports whether the server goes by a name. One that only leads here, by an entry of somebody else's name server,
// is not its own.
func (h *handler) host(host string) bool {
	name := hostOnly(host)
	return loopback(name) || slices.ContainsFunc(h.opt.Hosts, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(allowed, name) || strings.EqualFold(allowed, host)
	})
}

// local reports whether a request came in over a unix socket, where a host means nothing.
func local(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && addr.Network() == "unix"
}

func hostOnly(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func loopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// origin reports whether a request is not that of a web page, or of one that may make it.
func (h *handler) origin(r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		// A page that sends no origin, such as an image it shows, still says what it is.
		site := r.Header.Get("Sec-Fetch-Site")
		return site == "" || site == "none" || site == "same-origin"
	}
	return !slices.ContainsFunc(values, func(origin string) bool {
		if slices.Contains(h.opt.Origins, origin) {
			return false
		}
		u, err := url.Parse(origin)
		return err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
	})
}

// authorised reports whether a request brings the token. How long that takes tells nothing about it.
func (h *handler) authorised(r *http.Request) bool {
	if h.opt.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// ServeHTTP serves clients that connect to l until ctx ends. Then it takes no new calls, gives those that run the grace
// of the options, cancels the rest, and returns when everything is gone.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, opt HTTPOptions) error {
	if opt.Token == "" && l.Addr().Network() != "unix" {
		return errors.New("every user of this machine can connect to the address, so that there must be a token")
	}
	opt = opt.withDefaults()
	handler := s.Handler(opt)
	if opt.Around != nil {
		handler = opt.Around(handler)
	}
	web := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(l) }()
	select {
	case err := <-failed:
		s.Close()
		return err
	case <-ctx.Done():
	}
	s.drain(opt.Grace)
	s.Close()
	stop, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := web.Shutdown(stop); err != nil {
		_ = web.Close()
	}
	<-failed
	return nil
}

// drain waits until no call runs, but no longer than grace. Calls that come meanwhile are refused.
func (s *Server) drain(grace time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	for range cap(s.slots) { // whoever holds all the slots is alone
		select {
		case s.slots <- struct{}{}:
		case <-patience.C:
			return
		}
	}
}
