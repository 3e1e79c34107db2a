package engine

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/engine/policy"
)

// view is what the tool sees while it plans.
func (w *walk) view() *tongs.View {
	return &tongs.View{Call: w.info(), Granted: w.permissions(), Files: w.files(), State: w.engine.opt.State(w.call.Session), Dir: w.dir}
}

func (w *walk) files() tongs.FileView {
	if w.engine.opt.Workspace == nil {
		return noFiles{}
	}
	return w.engine.opt.Workspace.View(w.dir)
}

// env is what the tool may reach while it runs.
func (w *walk) env(r *running) *tongs.Env {
	permit := r.permit()
	r.programs = w.engine.opt.Commands(permit)
	inner := &caller{
		engine: w.engine, scopes: w.caller.scopes, inherited: len(w.caller.scopes), parent: w.call, depth: w.caller.depth + 1,
		ancestors: append(slices.Clone(w.caller.ancestors), w.call.ID),
	}
	env := &tongs.Env{
		Call: w.info(), Granted: w.permissions(), Files: noFiles{}, State: liveState{w.engine.opt.State(w.call.Session), r}, Dir: w.dir,
		Commands: r.programs, HTTP: w.engine.opt.HTTP(permit),
		Caller: &liveCaller{inner, r},
		Output: r.output, Update: w.sink.update,
	}
	if w.engine.opt.Workspace != nil && !(w.caller.limited() && w.needsNoPermission()) {
		env.Files = w.engine.opt.Workspace.Files(w.dir, permit)
	}
	return env
}

// info is what the tool may know of its call. It shares nothing with the walk.
func (w *walk) info() tongs.CallInfo {
	return tongs.CallInfo{
		ID: w.call.ID, Session: w.call.Session, Message: w.call.Message, Parent: w.call.Parent,
		Ancestors: slices.Clone(w.caller.ancestors), Agents: slices.Clone(w.call.Agents),
	}
}

// toolCall is the call as the tool sees it: without what would let it answer or observe for others.
func (w *walk) toolCall() *tongs.Call {
	c := *w.call
	c.Tool, c.Ticket, c.Sink = w.spec.Name, "", nil
	c.Args, c.Agents = slices.Clone(c.Args), slices.Clone(c.Agents)
	return &c
}

// running is one run of a tool: the host of its permit, and what the rest of its Env asks whether the run is over.
type running struct {
	walk *walk
	// ctx is that of the run; life is that of the permit, which lasts until the tool returned or was left behind.
	ctx   context.Context
	life  life
	timer *timer
	// programs are those of the run. Stopped says that the call was cancelled or timed out before the tool returned.
	programs Programs
	stopped  bool
	changed  []string // what it changed directly, once it is over

	mu   sync.Mutex
	sent []string

	deciding sync.Mutex
}

var _ tongs.PermitHost = (*running)(nil)

// permit is what the run was allowed.
func (r *running) permit() *tongs.Permit {
	w := r.walk
	call := *w.call
	call.Tool = w.spec.Name
	p := tongs.NewPermit(&r.life, &call, w.decision.bound(), w.caller.zones(), r)
	if w.decision.deferred || w.decision.onCopy {
		p.RunOnCopy()
	}
	return p
}

// Ruled implements tongs.PermitHost.
func (r *running) Ruled(kind tongs.EffectKind, below *tongs.Path) (named func(tongs.Path) bool, any bool) {
	return policy.RuledTest(r.walk.input(), kind, below)
}

// maxConnections is how many connections a row tells of one by one.
const maxConnections = 100

// Note implements tongs.PermitHost.
func (r *running) Note(kind tongs.NoteKind, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead() {
		return
	}
	if kind == tongs.NoteSent {
		r.sent = append(r.sent, what)
		return
	}
	switch n := len(r.walk.connections); {
	case n < maxConnections:
		r.walk.connections = append(r.walk.connections, what)
	case n == maxConnections:
		r.walk.connections = append(r.walk.connections, "and more")
	}
}

// Decide implements tongs.PermitHost.
func (r *running) Decide(ctx context.Context, more tongs.More) (effects []tongs.Effect, err error) {
	err = r.asking(ctx, func(ctx context.Context) error {
		effects, err = r.walk.extend(ctx, more)
		return err
	})
	return effects, err
}

// asking has something decided while the tool waits, one thing at a time. The time-out of the call waits too.
func (r *running) asking(ctx context.Context, decide func(context.Context) error) error {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if r.dead() {
		return errDead
	}
	ctx, cancel := r.bind(ctx)
	defer cancel()
	defer r.timer.hold()()
	return decide(ctx)
}

// bind returns a context that also ends with the run, whichever context the tool chose.
func (r *running) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func (r *running) dead() bool { return r.life.over.Load() }

// ended returns what was changed under the permit, once nothing more can be: its life must be over, and the context of the
// run cancelled, so that nobody is asked any more.
func (r *running) ended() []string {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// output returns the named stream of the run.
func (r *running) output(name string) tongs.Stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.walk
	if r.dead() {
		return (output.Bounds{}).Stream("", name, nil)
	}
	if w.streams[name] == nil {
		if w.streams == nil {
			w.streams = map[string]*output.Stream{}
		}
		var onChunk func(string)
		if w.call.Sink != nil || w.engine.opt.Observe != nil {
			onChunk = func(text string) { w.sink.update(tongs.Update{Stream: name, Text: text}) }
		}
		w.streams[name] = w.engine.opt.Output.Stream(w.call.ID, name, onChunk)
	}
	return w.streams[name]
}

var errDead = tongs.Errorf(tongs.CodeCancelled, "the call has ended; what it was allowed has ended with it")

// sink passes updates on, one at a time and none after the call returned.
type sink struct {
	mu   sync.Mutex
	call string
	send func(tongs.Update)
}

func (s *sink) update(u tongs.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.send != nil {
		u.Call = s.call
		s.send(u)
	}
}

func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send = nil
}

// liveCaller makes calls for a running tool, until it ended.
type liveCaller struct {
	caller tongs.Caller
	run    *running
}

func (c *liveCaller) Call(ctx context.Context, call *tongs.Call) *tongs.Result {
	if c.run.dead() {
		return tongs.Failure(errDead)
	}
	ctx, cancel := c.run.bind(ctx)
	defer cancel()
	return c.caller.Call(ctx, call)
}

func (c *liveCaller) Explain(ctx context.Context, call *tongs.Call) (*tongs.Explanation, error) {
	if c.run.dead() {
		return nil, errDead
	}
	return c.caller.Explain(ctx, call)
}

func (c *liveCaller) Within(scope tongs.Scope) tongs.Caller {
	return &liveCaller{c.caller.Within(scope), c.run}
}

// liveState is the session's state, which only a running tool can write.
type liveState struct {
	tongs.State
	run *running
}

func (s liveState) Save(ctx context.Context, key string, v any) error {
	if s.run.dead() {
		return errDead
	}
	return s.State.Save(ctx, key, v)
}

// noCommands and noHTTP refuse, where the program that made the engine gave it neither.
type noCommands struct{}

var errNoCommands = tongs.Errorf(tongs.CodeSandboxUnavailable, "this program has no sandbox to run commands in")

func (noCommands) Run(context.Context, *tongs.Command) (*tongs.Exit, error) {
	return nil, errNoCommands
}

func (noCommands) Start(context.Context, *tongs.Command) (tongs.Process, error) {
	return nil, errNoCommands
}

func (noCommands) Adopt(tongs.Process) {}

func (noCommands) End(context.Context) (Outcome, error) { return nil, nil }

type noHTTP struct{}

func (noHTTP) Do(*http.Request) (*http.Response, error) {
	return nil, tongs.Errorf(tongs.CodeConfigError, "this program has no network access for tools")
}
