package mcpclient

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/mcp/oauth"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/schema"
)

// Options are what servers are used with. Zero values are meaningful.
type Options struct {
	Servers []Server
	// Store keeps what was seen and approved; nil keeps it in memory.
	Store Store
	// Logins keeps the tokens of servers that a person logged in to; nil keeps them in memory.
	Logins oauth.Store
	// Guard makes the connections to URLs; nil is a plain one.
	Guard *network.Guard
	// Elicit shows questions of servers to a person; nil declines them.
	Elicit func(context.Context, Elicitation) (Elicited, error)
	// Lookup finds the variables in configured values; nil is the environment of this process.
	Lookup func(name string) (string, bool)
	// Packages is a private directory in which packages are installed that npx would fetch; empty refuses such servers. A
	// sandbox must show a program of it the directory that it is in.
	Packages string
	// Root is the host path of the workspace, which programs are told; empty tells them nothing.
	Root string
	// ByHand returns what a person who looks at a server starts its program with, and in which directory: the person decided
	// the effects by that. Nil starts no programs.
	ByHand func(ctx context.Context, server string, effects []tongs.Effect) (tongs.Commands, string)
	// OnChange is called, never twice at a time, when Tools would return others than before.
	OnChange func()
	// Backoff is how long a server that failed is left alone, doubled with each failure in a row; zero is a second.
	Backoff time.Duration
	// Grace is how long a program may take to end by itself when its input ended; zero is a second.
	Grace time.Duration
	// Protocol is the revision to begin with; empty is the newest.
	Protocol string
	// Version is that of the program, for servers.
	Version string
}

// Set is a number of servers. It is safe for concurrent use. Nothing runs until a tool is called.
type Set struct {
	opt       Options
	hosts     []*host
	validator schema.Validator
	paths     func() (string, error)
	changing  sync.Mutex
	// dirty says that tools changed since the last refresh.
	dirty atomic.Bool
}

// New returns the set of the servers. A server that cannot be used is an error; one that is Disabled is only listed.
func New(opt Options) (*Set, error) {
	if opt.Store == nil {
		opt.Store = NewMemory()
	}
	if opt.Logins == nil {
		opt.Logins = oauth.NewMemory()
	}
	if opt.Guard == nil {
		opt.Guard = &network.Guard{}
	}
	if opt.Lookup == nil {
		opt.Lookup = os.LookupEnv
	}
	if opt.Backoff == 0 {
		opt.Backoff = time.Second
	}
	if opt.Grace == 0 {
		opt.Grace = time.Second
	}
	s := &Set{opt: opt}
	s.paths = sync.OnceValues(func() (string, error) { return sandboxPath(opt.Root) })
	for _, cfg := range opt.Servers {
		if err := cfg.Check(); err != nil {
			return nil, err
		}
		if s.host(cfg.Name) != nil {
			return nil, configError("there are two MCP servers named %s; rename one (%s)", cfg.Name, cfg.Origin)
		}
		s.hosts = append(s.hosts, newHost(s, cfg))
	}
	return s, nil
}

func (s *Set) host(name string) *host {
	for _, h := range s.hosts {
		if h.cfg.Name == name {
			return h
		}
	}
	return nil
}

func (s *Set) find(name string) (*host, error) {
	h := s.host(name)
	if h == nil {
		var names []string
		for _, h := range s.hosts {
			names = append(names, h.cfg.Name)
		}
		if len(names) == 0 {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there is no MCP server %q; none is configured", name)
		}
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there is no MCP server %q; there are %s", name, strings.Join(names, ", "))
	}
	if h.cfg.Disabled != "" {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the MCP server %s is not used: %s", name, h.cfg.Disabled)
	}
	return h, nil
}

// entry is one tool of a server.
type entry struct {
	name   string
	status tongs.Status
	detail string
	// def is what the entry stands for, nil where the tool was never seen; pinned is what was approved.
	def, pinned *Definition
}

// source is the identity of the tool: that of its server and of its definition.
func (e *entry) source(h *host) string {
	if e.def == nil {
		return ""
	}
	return digest([]byte(h.identity + " " + e.def.Digest()))
}

// entries are the tools of the server that a person listed, by name.
func (h *host) entries(r *Record) []entry {
	if h.cfg.Disabled != "" {
		return nil
	}
	var names []string
	add := func(name string) {
		if h.cfg.exposes(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, defs := range []*Definitions{r.Approved, r.Seen} {
		if defs != nil {
			for _, d := range defs.Tools {
				add(d.Name)
			}
		}
	}
	if !h.cfg.all() {
		for _, name := range h.cfg.Tools {
			add(name)
		}
	}
	slices.Sort(names)
	list := make([]entry, 0, len(names))
	taken := map[string]string{}
	for _, name := range names {
		e := judge(r, name)
		full := qualified(h.cfg.Name, name)
		if first, ok := taken[full]; ok {
			e.status, e.detail = tongs.StatusBroken, fmt.Sprintf("its name is %s here, which is that of %q already", full, first)
		} else {
			taken[full] = name
		}
		list = append(list, e)
	}
	return list
}

// judge compares what was approved of a tool with what was last seen.
func judge(r *Record, name string) entry {
	e := entry{name: name, def: r.Seen.tool(name), pinned: r.Approved.tool(name)}
	switch {
	case e.def == nil && e.pinned != nil:
		e.status, e.detail = tongs.StatusGone, "the server does not have it any more"
	case e.def == nil && r.Seen != nil:
		e.status, e.detail = tongs.StatusGone, "the server has no tool of that name"
	case e.def == nil:
		e.status = tongs.StatusUnseen
	case e.def.Broken != "":
		e.status, e.detail = tongs.StatusBroken, e.def.Broken
	case e.pinned == nil:
		e.status = tongs.StatusUnapproved
	case e.pinned.Digest() != e.def.Digest():
		e.status = tongs.StatusQuarantined
	default:
		e.status = tongs.StatusReady
	}
	return e
}

// Tools returns the tools of all servers, as far as they are known, in stable order. It starts nothing. Those of a server
// that nothing can be read of stay as they were, and its state says why.
func (s *Set) Tools() []tongs.Tool {
	var tools []tongs.Tool
	for _, h := range s.hosts {
		tools = append(tools, h.tools()...)
	}
	return tools
}

func (h *host) tools() []tongs.Tool {
	r, err := h.record()
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.listed
	}
	var tools []tongs.Tool
	seen := map[string]bool{}
	for _, e := range h.entries(r) {
		if name := qualified(h.cfg.Name, e.name); !seen[name] {
			seen[name] = true
			tools = append(tools, newTool(h, e))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listed = tools
	return tools
}

// Refresh implements engine.Provider. Servers tell of changes themselves; it starts nothing.
func (s *Set) Refresh(context.Context) (changed bool) { return s.dirty.Swap(false) }

// changed notes that tools changed, and tells whoever wants to know.
func (s *Set) changed() {
	s.dirty.Store(true)
	if s.opt.OnChange == nil {
		return
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.opt.OnChange()
}

// Reviewed reports whether a person approved a tool of this source.
func (s *Set) Reviewed(src tongs.Source) bool {
	h := s.host(src.Name)
	if h == nil || src.Kind != tongs.SourceMCP || src.Digest == "" {
		return false
	}
	r, err := h.record()
	if err != nil || r.Approved == nil {
		return false
	}
	return slices.ContainsFunc(r.Approved.Tools, func(d Definition) bool {
		return digest([]byte(h.identity+" "+d.Digest())) == src.Digest
	})
}

// States returns what is known of each server. It starts nothing.
func (s *Set) States() []tongs.SourceState {
	list := make([]tongs.SourceState, 0, len(s.hosts))
	for _, h := range s.hosts {
		list = append(list, h.state())
	}
	return list
}

func (h *host) state() tongs.SourceState {
	st := tongs.SourceState{
		Kind: tongs.SourceMCP, Name: h.cfg.Name, Where: h.cfg.Where(), Origin: h.cfg.Origin, Running: h.current() != nil,
		Tools: []tongs.ToolState{}, Status: tongs.StatusReady,
	}
	if h.login != nil {
		st.Login = h.login.Issuer()
	}
	r, err := h.record()
	switch {
	case h.cfg.Disabled != "":
		st.Status, st.Detail = tongs.StatusDisabled, h.cfg.Disabled
		return st
	case err != nil:
		st.Status, st.Detail = tongs.StatusBroken, err.Error()
		return st
	}
	for _, e := range h.entries(r) {
		st.Tools = append(st.Tools, tongs.ToolState{Name: qualified(h.cfg.Name, e.name), Remote: e.name, Status: e.status, Detail: e.detail})
	}
	h.mu.Lock()
	failure := h.failure
	h.mu.Unlock()
	st.Next = "tongs mcp review " + h.cfg.Name
	review := "a person has to look at it: " + st.Next
	program := h.changedProgram(r)
	switch {
	case failure != nil && !st.Running:
		st.Status, st.Detail = tongs.StatusFailed, failure.Error()
	case r.Approved == nil:
		st.Status, st.Detail = tongs.StatusUnapproved, review
	case len(h.cfg.Tools) == 0:
		st.Status, st.Detail = tongs.StatusEmpty, "it exposes none: list them under tools"
	case r.Seen != nil && r.Seen.Digest() != r.Approved.Digest():
		st.Status, st.Detail = tongs.StatusChanged, review
	case program != "":
		st.Status, st.Detail = tongs.StatusChanged, program+"; "+review
	default:
		if !st.Running {
			st.Detail = "known, not started"
		}
		if !slices.ContainsFunc(st.Tools, func(t tongs.ToolState) bool { return t.Status != tongs.StatusReady }) {
			st.Next = ""
		}
	}
	return st
}

// Unconfined reports whether the program of a server runs outside the sandbox.
func (s *Set) Unconfined(server string) bool {
	h := s.host(server)
	return h != nil && h.cfg.Unconfined
}

// Instructions returns what a server wants a model to know, if a person approved it and it still says so.
func (s *Set) Instructions(server string) string {
	h := s.host(server)
	if h == nil || h.cfg.Disabled != "" {
		return ""
	}
	r, err := h.record()
	if err != nil || r.Approved == nil || r.Seen == nil || r.Approved.Instructions != r.Seen.Instructions {
		return ""
	}
	return cleantext.Text(r.Approved.Instructions, maxDescription)
}

// seen is what a person was shown: what a server of this set said of itself, and the program that said it.
type seen struct {
	set              *Set
	server, identity string
	now              *Definitions
	program          *Program
}

// Said returns what the server said that a review is of, nil where it is of something else.
func Said(review *tongs.Review) *Definitions {
	v, ok := review.Seen().(*seen)
	if !ok {
		return nil
	}
	return v.now
}

// Look implements engine.Reviewable: it starts the server, unless it runs, and asks it what it has. A program is started
// by what Options.ByHand returns.
func (s *Set) Look(ctx context.Context, server string) (*tongs.Review, error) {
	h, err := s.find(server)
	if err != nil {
		return nil, err
	}
	l := launch{hosts: h.hosts()}
	if s.opt.ByHand != nil {
		effects, err := s.Effects(server)
		if err != nil {
			return nil, err
		}
		l.commands, l.dir = s.opt.ByHand(ctx, server, effects)
	}
	if h.cfg.Local() {
		if l.commands == nil {
			return nil, tongs.Errorf(tongs.CodeConfigError, "the MCP server %s is a program, and nothing here may start one", server)
		}
		if err := l.prepare(ctx, h); err != nil {
			return nil, err
		}
	}
	session, err := h.session(ctx, l)
	if err != nil {
		return nil, err
	}
	r, err := h.record()
	if err != nil {
		return nil, err
	}
	v := &seen{set: s, server: server, now: session.definitions(), identity: h.identity, program: l.pin.made()}
	all := func(string) bool { return true }
	before := r.Approved
	changed := before == nil || before.Digest() != v.now.Digest() || r.Program.Digest() != v.program.Digest()
	now, text := v.program.render()+v.now.render(all), ""
	switch {
	case before == nil:
		text = now
	case changed:
		text = udiff.Unified("approved", "now", r.Program.render()+before.render(all), now)
	}
	return tongs.NewReview(h.state(), text, before != nil, changed, v), nil
}

// Update installs the package of a server anew, where it is one that npx would fetch. What came of it has to be reviewed.
func (s *Set) Update(ctx context.Context, server, dir string) error {
	h, err := s.find(server)
	if err != nil {
		return err
	}
	if !h.cfg.Local() || kindOf(h.cfg.Command) != "npx" || h.cfg.Unpinned {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the MCP server %s is not installed by Tongs; there is nothing to update", server)
	}
	return h.install(ctx, dir)
}

// Effects are what starting the server does, for who decides that it may be.
func (s *Set) Effects(server string) ([]tongs.Effect, error) {
	h, err := s.find(server)
	if err != nil {
		return nil, err
	}
	if !h.cfg.Local() {
		target, err := h.cfg.target()
		return []tongs.Effect{target.Effect()}, err
	}
	effects := []tongs.Effect{{Kind: tongs.EffectExecute, Argv: h.cfg.argv()}}
	for _, name := range h.hosts() {
		effects = append(effects, tongs.Effect{Kind: tongs.EffectNetwork, Host: name})
	}
	return effects, nil
}

// Approve implements engine.Reviewable: it pins what was looked at.
func (s *Set) Approve(_ context.Context, review *tongs.Review, by string) error {
	v, ok := review.Seen().(*seen)
	if !ok || v.now == nil || v.set != s {
		return tongs.Errorf(tongs.CodeInvalidArgs, "this is no review of an MCP server that is here")
	}
	h, err := s.find(v.server)
	if err != nil {
		return err
	}
	if v.identity != h.identity {
		return tongs.Errorf(tongs.CodeStaleFile, "the MCP server %s is configured differently than when it was looked at", v.server)
	}
	err = s.opt.Store.Update(v.server, h.identity, func(r *Record) {
		r.Approved, r.Program, r.ApprovedBy, r.ApprovedAt = v.now, v.program, by, time.Now()
		if r.Seen == nil {
			r.Seen, r.SeenAt = v.now, r.ApprovedAt
		}
	})
	if err != nil {
		return err
	}
	s.changed()
	return nil
}

// Close ends every server and returns when they are gone.
func (s *Set) Close() error {
	var all sync.WaitGroup
	for _, h := range s.hosts {
		all.Go(h.close)
	}
	all.Wait()
	return nil
}
