// Package mcpserver offers the tools of an engine to MCP clients, over stdio and streamable HTTP. It is a surface: every
// call takes the engine's whole walk, and nothing is decided here.
//
// # Eras
//
// One server speaks the revisions with sessions (2025-03-26, 2025-06-18, 2025-11-25) and the one without (2026-07-28).
// Over HTTP the Mcp-Protocol-Version header tells them apart. What differs is how a client is asked: with a session the
// server sends a request of its own, without one the call returns that it needs input and is made again with it.
//
// # Sessions
//
// Every MCP session is a session of the engine, so remembered approvals and the state of the shell are one client's
// alone. A connection over stdio is one session. Over HTTP without sessions every request is one of its own, unless the
// client names one by a secret of its choice in the request's metadata ([MetaSession]).
//
// # Approval
//
// Put a [Channel] among the callers of the approval desk of the engine. A question about a call that came in here is then
// shown as a form by the client that made it, where it can. Where it cannot, and where something must be asked, the question
// waits in the queue of the desk.
package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

// Engine is what a server offers: *engine.Engine is one.
type Engine interface {
	tongs.Caller
	// Tools returns the specs that can be called, and why some of them are broken.
	Tools(ctx context.Context) (specs []*tongs.Spec, broken map[string]error)
	// Refresh brings the tools up to date; it is called before they are listed. Changed returns a channel that is closed when
	// they change next.
	Refresh(ctx context.Context) error
	Changed() <-chan struct{}
}

// Files tells where paths of this machine are in the roots of the engine: *workspace.Workspace is one.
type Files interface {
	Resolve(dir tongs.Path, spelling string) (tongs.Path, error)
	// Dir is the host path of the workspace.
	Dir() string
}

// Options are what a server is made of. Only Engine is needed.
type Options struct {
	Engine Engine
	// Describe may replace the text of a spec before it is offered. Nil leaves it.
	Describe func([]*tongs.Spec) ([]*tongs.Spec, error)
	// Channel asks clients about their calls; it is among the callers of the engine's approval desk, too. Nil asks none of them:
	// their calls wait for an answer from elsewhere.
	Channel *Channel
	// Files maps the roots that a client names to those of the engine. Nil ignores them.
	Files Files
	// Zones are roots besides the workspace that stay in reach of a client whose own roots narrow the workspace.
	Zones []tongs.Zone
	// Ended is called when a session has ended, with its name. It may block.
	Ended func(session string)
	// Prefix is put before the names of the tools, for clients that take a rule about a tool of their own for one about ours.
	Prefix string
	// Version is that of the program. Instructions tell the model how to use the server; empty means a short default.
	Version, Instructions string
	// Prompts are offered beside the tools.
	Prompts []Prompt
	// Calls is how many calls may run at a time, over all clients: 256. More wait.
	Calls int
	// Park is how long a call without a session waits for its client to come back with an answer: 10 minutes.
	Park time.Duration
	// Instant is the time in which no person reads and declines a question: 300 ms. A refusal that comes sooner is that of
	// a client that did not show it.
	Instant time.Duration
	// Hint says, in a few words, how a person answers a question elsewhere, for clients that show none; nil names the tongs command.
	Hint func(question string) string
	// Patient has a call wait for an answer from elsewhere as long as its client is known to, instead of as long as the desk.
	Patient bool
	// Beat is how often a call that is silent tells that it is alive, to clients that asked for progress: 5 s.
	Beat time.Duration
	// Logger receives what goes wrong in the protocol. Nil discards it.
	Logger *slog.Logger
	// Configure and Extend may change the options of the SDK's server and add features of its own, beside the tools of the
	// engine: what they add does not walk. They are for the fixtures of test suites. Nil leaves it as it is.
	Configure func(*mcp.ServerOptions)
	Extend    func(*mcp.Server)
}

const instructions = "Tools of Tongs, confined to one workspace. Paths are relative to it. A call may wait for a person's approval; " +
	"after APPROVAL_REQUIRED, make the identical call again once it was given. Long output is kept under /spill: read it with read_file."

func (o Options) withDefaults() Options {
	if o.Calls <= 0 {
		o.Calls = 256
	}
	setTime(&o.Park, 10*time.Minute)
	setTime(&o.Instant, 300*time.Millisecond)
	setTime(&o.Beat, 5*time.Second)
	if o.Instructions == "" {
		o.Instructions = instructions
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setTime(d *time.Duration, def time.Duration) {
	if *d <= 0 {
		*d = def
	}
}

// Server offers an engine. It is safe for concurrent use. Close it when it is no longer needed.
type Server struct {
	opt Options
	mcp *mcp.Server
	// life ends with Close; every call ends with it.
	life context.Context
	end  context.CancelFunc

	slots    chan struct{}
	running  sync.WaitGroup // of calls, sessions and watchers
	sessions sessions
	lot      *lot
	carriers carriers

	// offering is held while the tools are offered anew; changed is closed when they change next, nil where they never do.
	offering sync.Mutex
	changed  <-chan struct{}

	mu sync.Mutex
	// offered are the definitions by name, as JSON, to tell a change; names are the aliases by what they stand for.
	offered map[string]string
	names   map[string]string
	closed  bool
}

// New returns a server with the tools that the engine has now; it follows their changes until it is closed.
func New(ctx context.Context, opt Options) (*Server, error) {
	if opt.Engine == nil {
		return nil, errors.New("an MCP server needs an engine")
	}
	opt = opt.withDefaults()
	s := &Server{opt: opt, slots: make(chan struct{}, opt.Calls), offered: map[string]string{}}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if s.lot, err = newLot(opt.Park); err != nil {
		return nil, err
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "tongs", Title: "Tongs", Version: opt.Version}, s.options())
	s.mcp.AddReceivingMiddleware(s.receive)
	s.offerResources()
	s.offerPrompts()
	if opt.Extend != nil {
		opt.Extend(s.mcp)
	}
	s.changed = opt.Engine.Changed()
	if err := s.offer(ctx); err != nil {
		s.end()
		return nil, err
	}
	s.running.Go(s.follow)
	return s, nil
}

func (s *Server) options() *mcp.ServerOptions {
	o := &mcp.ServerOptions{
		Instructions: s.opt.Instructions,
		Logger:       s.opt.Logger,
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{},
		},
		// What is listed depends on who asks, and changes without notice.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	}
	s.addOlder(o)
	if s.opt.Configure != nil {
		s.opt.Configure(o)
	}
	return o
}

// follow offers the tools anew whenever they change.
func (s *Server) follow() {
	for {
		s.offering.Lock()
		changed := s.changed
		s.offering.Unlock()
		select {
		case <-s.life.Done():
			return
		case <-changed:
		}
		if err := s.update(s.life); err != nil && s.life.Err() == nil {
			s.opt.Logger.Error("the tools changed and cannot be offered", "error", err)
		}
	}
}

// update offers the tools anew if they changed since they were last offered.
func (s *Server) update(ctx context.Context) error {
	s.offering.Lock()
	defer s.offering.Unlock()
	select {
	case <-s.changed:
	default:
		return nil
	}
	s.changed = s.opt.Engine.Changed()
	return s.offer(ctx)
}

// Close cancels the calls that run, ends every session, and returns when both are over.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.lot.clear()
	for ss := range s.mcp.Sessions() {
		_ = ss.Close()
	}
	s.running.Wait()
	s.sessions.endAll(s.opt.Ended)
}

// enter counts something that Close waits for; it fails once the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}
