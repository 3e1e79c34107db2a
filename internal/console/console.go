// Package console shows an engine in a browser: what its calls do, what waits for an answer, which tools there are. It is
// a surface: every call it makes takes the engine's whole walk, and an answer given here is one like any other.
//
// # How it is kept to its owner
//
// A browser logs in once, with a token that works once. From then on it has a cookie, which no script can read, and a key,
// which only pages of this very address can: cookies are shared between the ports of a machine, so a cookie alone opens
// nothing but empty pages. Every request must name the server as it is known (Host), must not come from another web
// page (Origin, Sec-Fetch-Site), and nothing is changed by a GET. The token of MCP clients does not open the console: who calls
// tools does not approve them.
//
// # How a page is made
//
// A page is a template under assets/pages, an ES module under assets/js and a function that lists its routes; pages.go
// names them. Routes are typed, and the OpenAPI file is made of their types.
package console

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/schema"
)

// Engine is what the console shows: *engine.Engine is one.
type Engine interface {
	tongs.Caller
	// Tools returns the specs that can be called, and why some of them are broken.
	Tools(ctx context.Context) (specs []*tongs.Spec, broken map[string]error)
	// Validate checks arguments without planning or executing the call.
	Validate(ctx context.Context, tool string, args json.RawMessage) (schema.Checked, error)
}

// Options are what a console is made of. Engine, Audit and Questions are needed.
type Options struct {
	Engine    Engine
	Audit     audit.Log
	Questions approval.Store
	// Previews has what is too long to stand in a question; nil has none.
	Previews *approval.Previews
	// Grants are the remembered approvals, Rules the rules in force. Nil shows none.
	Grants policy.Book
	Rules  func() []tongs.Rule
	// Mode is how much is asked where no rule speaks.
	Mode tongs.Mode
	// Hub is what the engine reports its calls to. Nil makes one: then calls are seen as the log tells of them.
	Hub *Hub
	// Spill is the host directory with the output that was too long to show; empty offers none.
	Spill string
	// Tools tells more about tools than their specs: those that are not ready, with the reason. Nil tells nothing.
	Tools func(ctx context.Context) []ToolState
	// Files shows the files that a command in the given directory would meet, empty meaning the workspace; it helps to tell
	// what a command is about. Nil shows none.
	Files func(dir string) (tongs.FileView, error)
	// MetricsToken lets a program read /metrics as "Authorization: Bearer TOKEN". Empty lets only browsers that logged in.
	MetricsToken string
	// StateDir keeps the key that logins are signed with, so that they outlive the process. Empty keeps it in memory.
	StateDir string
	// Hosts are the names that the console goes by, beside those of this machine itself. A "*" allows any.
	Hosts []string
	// Workspace and Version are shown; User is who answers questions here.
	Workspace, Version, User string
	// Insight is for the pages about rules, sessions and statistics.
	Insight Insight
	// Poll is how often the log is looked at for calls of other processes, while somebody watches: 250 ms.
	Poll time.Duration
}

// Server is a console. It is safe for concurrent use. Close it when it is no longer needed.
type Server struct {
	opt    Options
	hub    *Hub
	logins *logins
	assets *assets
	pages  []page
	routes []route
	// life ends with Close; calls made here and streams end with it.
	life context.Context
	end  context.CancelFunc
	// tried are the calls that were made from here and still run.
	tried tried
	usage usage
	tally tally
}

// New returns a console.
func New(opt Options) (*Server, error) {
	switch {
	case opt.Engine == nil:
		return nil, errors.New("a console needs an engine")
	case opt.Audit == nil || opt.Questions == nil:
		return nil, errors.New("a console needs the log and the questions of its engine")
	}
	if opt.Hub == nil {
		opt.Hub = NewHub()
	}
	if opt.Rules == nil {
		opt.Rules = func() []tongs.Rule { return nil }
	}
	if opt.Grants == nil {
		opt.Grants = policy.NewMemoryBook()
	}
	if opt.Tools == nil {
		opt.Tools = func(context.Context) []ToolState { return nil }
	}
	if opt.Poll <= 0 {
		opt.Poll = 250 * time.Millisecond
	}
	s := &Server{opt: opt, hub: opt.Hub}
	var err error
	if s.logins, err = openLogins(opt.StateDir); err != nil {
		return nil, err
	}
	if s.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.pages = pages()
	s.routes = s.allRoutes()
	go s.warm()
	s.hub.follow(s.life, source{log: opt.Audit, questions: opt.Questions, poll: opt.Poll})
	return s, nil
}

// Close ends the calls that were made from the console, and every stream.
func (s *Server) Close() {
	s.end()
	s.tried.wait()
}

// Link returns the path of a page that logs a browser in, once. It holds for a day. What is behind the # is not sent with
// requests, so no log of a server or proxy sees it.
func (s *Server) Link() string { return "/login#" + s.logins.issue(24*time.Hour) }
