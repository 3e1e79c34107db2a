package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs/internal/id"
)

// MetaSession is the key of a request's metadata by which a client without a session names one: a secret of its own
// making, of 16 to 200 characters. Requests with the same secret share remembered approvals and the state of the shell.
const MetaSession = "ai.tongs/session"

// The bounds of that secret.
const minSecret, maxSecret = 16, 200

// named sessions end when they were not used for idleNamed; there are maxNamed of them at most.
const (
	idleNamed = 30 * time.Minute
	maxNamed  = 1000
)

// session is one client's: what the engine knows it by, and what the client said about itself.
type session struct {
	name   string
	agents []string
	// client is whose it is, for the next session after it.
	client string
	// owner is who may come back for a parked call of the session.
	owner string
	// lasting means that there will be further calls in it, so that an approval for the session makes sense.
	lasting bool

	// asking is held while the client is asked for its roots.
	asking sync.Mutex
	mu     sync.Mutex
	// roots is what the client's roots came to; nil where they were not asked for since they changed, changes times.
	roots   *narrowing
	changes int
	// files are the resources that results named, oldest first.
	files []*mcp.Resource

	// users is how many requests and calls use it; nobody is called when nobody does, guarded by lock. A connection's has
	// neither: it ends with the connection.
	lock   sync.Locker
	users  int
	nobody func()
	timer  *time.Timer
}

// hold says that something more uses the session.
func (s *session) hold() {
	if s.lock == nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.users++
}

// release says that a request or a call is over.
func (s *session) release() {
	if s.lock == nil {
		return
	}
	s.lock.Lock()
	s.users--
	last := s.users == 0
	s.lock.Unlock()
	if last {
		s.nobody()
	}
}

// sessions are those that are alive.
type sessions struct {
	mu    sync.Mutex
	conns map[*mcp.ServerSession]*session
	named map[string]*session
}

// request is what the requests of the SDK have in common.
type request interface {
	GetExtra() *mcp.RequestExtra
	ClientInfo() *mcp.Implementation
	ProtocolVersion() string
	ClientCapabilities() *mcp.ClientCapabilities
}

// sessionOf returns the session that a request belongs to. It is released when the request is over.
func (s *Server) sessionOf(ss *mcp.ServerSession, req request, meta mcp.Meta) (*session, error) {
	extra := req.GetExtra()
	if extra == nil || extra.Header == nil || ss.ID() != "" { // a connection, or a session over HTTP
		client := "stdio"
		if extra != nil && extra.Header != nil {
			client = "http " + s.carriers.principal(extra.Header)
		}
		return s.connected(ss, req, client), nil
	}
	principal := s.carriers.principal(extra.Header)
	secret, given := meta[MetaSession]
	if !given {
		return s.sessions.single(agentsOf(req.ClientInfo()), principal, s.opt.Ended), nil
	}
	text, ok := secret.(string)
	if !ok || len(text) < minSecret || len(text) > maxSecret {
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidParams,
			Message: MetaSession + " in _meta must be a secret text of 16 to 200 characters; leave it out for a session of one call",
		}
	}
	sum := sha256.Sum256([]byte(principal + "\x00" + text))
	return s.sessions.name(hex.EncodeToString(sum[:]), agentsOf(req.ClientInfo()), s.opt.Ended)
}

// connected returns the session of a connection, and starts it with its first request.
func (s *Server) connected(ss *mcp.ServerSession, req request, client string) *session {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	if sess := s.sessions.conns[ss]; sess != nil {
		return sess
	}
	sess := &session{name: id.New("m"), agents: agentsOf(req.ClientInfo()), client: client, lasting: true}
	sess.owner = sess.name
	if s.sessions.conns == nil {
		s.sessions.conns = map[*mcp.ServerSession]*session{}
	}
	if !s.enter() {
		return sess
	}
	s.sessions.conns[ss] = sess
	go func() {
		defer s.running.Done()
		_ = ss.Wait()
		s.sessions.mu.Lock()
		delete(s.sessions.conns, ss)
		s.sessions.mu.Unlock()
		if s.opt.Ended != nil {
			s.opt.Ended(sess.name)
		}
	}()
	return sess
}

// name returns the session of that key, and keeps it alive until it was released and not used for a while.
func (l *sessions) name(key string, agents []string, ended func(string)) (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sess := l.named[key]
	if sess == nil {
		if len(l.named) >= maxNamed {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "there are too many sessions; try again later"}
		}
		sess = &session{name: id.New("m"), agents: agents, client: "named " + key, owner: key, lasting: true, lock: &l.mu}
		sess.timer = time.AfterFunc(idleNamed, func() { l.expire(key, sess, ended) })
		sess.nobody = func() { sess.timer.Reset(idleNamed) }
		if l.named == nil {
			l.named = map[string]*session{}
		}
		l.named[key] = sess
	}
	sess.users++
	sess.timer.Stop()
	return sess, nil
}

// expire ends a named session that nobody uses.
func (l *sessions) expire(key string, sess *session, ended func(string)) {
	l.mu.Lock()
	over := sess.users == 0 && l.named[key] == sess
	if over {
		delete(l.named, key)
	}
	l.mu.Unlock()
	if over && ended != nil {
		ended(sess.name)
	}
}

// single returns a session of one request, and of the call that it leaves behind.
func (l *sessions) single(agents []string, principal string, ended func(string)) *session {
	sess := &session{name: id.New("m"), agents: agents, client: "http " + principal, owner: principal, users: 1, lock: &l.mu}
	sess.nobody = func() {
		if ended != nil {
			ended(sess.name)
		}
	}
	return sess
}

// endAll ends the named sessions; those of connections ended with their connection.
func (l *sessions) endAll(ended func(string)) {
	l.mu.Lock()
	named := slices.Collect(maps.Values(l.named))
	l.named = nil
	l.mu.Unlock()
	for _, sess := range named {
		sess.timer.Stop()
		if ended != nil {
			ended(sess.name)
		}
	}
}

// maxAgent bounds the name of a client.
const maxAgent = 64

// agentsOf is the chain of agents of a client: its name, as it gives it.
func agentsOf(info *mcp.Implementation) []string {
	if info == nil {
		return nil
	}
	name := strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, info.Name)
	if len(name) > maxAgent {
		name = strings.ToValidUTF8(name[:maxAgent], "")
	}
	if name == "" {
		return nil
	}
	return []string{name}
}

// carrierHeader carries the key of the HTTP request that brought a message in. What a client sends under that name is
// thrown away.
const carrierHeader = "Tongs-Carrier"

// carrier is an HTTP request that waits for its response.
type carrier struct {
	ctx       context.Context
	principal string
}

// carriers are the HTTP requests that wait, by the key in their header.
type carriers struct{ byKey sync.Map }

func (c *carriers) add(r *http.Request, principal string) (remove func()) {
	key := id.New("h")
	r.Header.Set(carrierHeader, key)
	c.byKey.Store(key, carrier{r.Context(), principal})
	return func() { c.byKey.Delete(key) }
}

func (c *carriers) of(h http.Header) (carrier, bool) {
	v, ok := c.byKey.Load(h.Get(carrierHeader))
	if !ok {
		return carrier{}, false
	}
	return v.(carrier), true
}

func (c *carriers) principal(h http.Header) string {
	found, _ := c.of(h)
	return found.principal
}

// bind returns a context that also ends with the server and, over HTTP, with the request that waits for the result:
// once it is gone, nobody can be given the result.
func (s *Server) bind(ctx context.Context, req request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stops := []func() bool{context.AfterFunc(s.life, cancel)}
	if extra := req.GetExtra(); extra != nil && extra.Header != nil {
		if waiting, ok := s.carriers.of(extra.Header); ok {
			stops = append(stops, context.AfterFunc(waiting.ctx, cancel))
		} else {
			cancel() // it is gone already
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
