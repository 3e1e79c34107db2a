package engine

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/output"
	"github.com/tongs-ai/tongs/policy"
	"github.com/tongs-ai/tongs/workspace"
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
func (w *walk) env(g *grant) *tongs.Env {
	inner := &caller{
		engine: w.engine, scopes: w.caller.scopes, inherited: len(w.caller.scopes), parent: w.call, depth: w.caller.depth + 1,
		ancestors: append(slices.Clone(w.caller.ancestors), w.call.ID),
	}
	env := &tongs.Env{
		Call: w.info(), Granted: w.permissions(), Files: noFiles{}, State: liveState{w.engine.opt.State(w.call.Session), g}, Dir: w.dir,
		Commands: w.engine.opt.Commands(g), HTTP: w.engine.opt.HTTP(g),
		Caller: &liveCaller{inner, g},
		Output: g.output, Update: w.sink.update,
	}
	if _, zoned := w.caller.zones(); w.engine.opt.Workspace != nil && !(zoned && w.aloof()) {
		env.Files = w.engine.opt.Workspace.Files(w.dir, g)
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

// grant is what one run of a tool was allowed. Once the run ended it allows nothing.
type grant struct {
	walk  *walk
	ctx   context.Context // of the run
	timer *timer

	mu      sync.Mutex
	effects []tongs.Effect
	sent    []string
	over    bool

	extending sync.Mutex
}

var (
	_ tongs.Grant          = (*grant)(nil)
	_ tongs.Showing        = (*grant)(nil)
	_ tongs.Zoned          = (*grant)(nil)
	_ workspace.BelowRuler = (*grant)(nil)
)

func (g *grant) Call() *tongs.Call { return g.walk.toolCall() }

func (g *grant) Effects() []tongs.Effect {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return nil
	}
	return slices.Clip(g.effects)
}

// Zones implements tongs.Zoned.
func (g *grant) Zones() ([]tongs.Zone, bool) { return g.walk.caller.zones() }

// Ruled implements workspace.Ruler.
func (g *grant) Ruled(kind tongs.EffectKind, p tongs.Path) bool {
	return policy.Ruled(g.walk.input(), tongs.Effect{Kind: kind, Path: p})
}

// RuledBelow implements workspace.BelowRuler.
func (g *grant) RuledBelow(dir tongs.Path) func(tongs.Path) bool {
	return policy.RuledBelow(g.walk.input(), dir)
}

func (g *grant) Sent(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sent = append(g.sent, what)
}

// maxConnections is how many connections a row tells of one by one.
const maxConnections = 100

// Connected implements tongs.Connected.
func (g *grant) Connected(where string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return
	}
	switch n := len(g.walk.connections); {
	case n < maxConnections:
		g.walk.connections = append(g.walk.connections, where)
	case n == maxConnections:
		g.walk.connections = append(g.walk.connections, "and more")
	}
}

// Extend decides further effects while the tool waits.
func (g *grant) Extend(ctx context.Context, reason string, effects ...tongs.Effect) error {
	return g.ExtendShowing(ctx, reason, nil, effects...)
}

// ExtendShowing implements tongs.Showing.
func (g *grant) ExtendShowing(
	ctx context.Context, reason string, preview func(context.Context) (string, error), effects ...tongs.Effect,
) error {
	return g.asking(ctx, func(ctx context.Context) error {
		effects, err := g.walk.extend(ctx, reason, preview, effects)
		if err != nil {
			return err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.effects = append(slices.Clip(g.effects), effects...)
		return nil
	})
}

// asking has something decided while the tool waits, one thing at a time. The time-out of the call waits too.
func (g *grant) asking(ctx context.Context, decide func(context.Context) error) error {
	g.extending.Lock()
	defer g.extending.Unlock()
	if g.dead() {
		return errDead
	}
	ctx, cancel := g.bind(ctx)
	defer cancel()
	defer g.timer.hold()()
	return decide(ctx)
}

// extend decides effects that a running tool met. What was refused leaves no trace in what the call may do, and the call
// goes on as it was approved.
func (w *walk) extend(
	ctx context.Context, reason string, preview func(context.Context) (string, error), effects []tongs.Effect,
) (_ []tongs.Effect, err error) {
	plan, notes, needed, approved, question, answered, args := w.plan, w.notes, w.needed, w.approved, w.question, w.answered, w.call.Args
	defer func() {
		w.plan = plan
		if err != nil {
			w.notes, w.needed, w.approved, w.question, w.answered, w.call.Args = notes, needed, approved, question, answered, args
		}
	}()
	if preview != nil {
		shown := *w.plan
		shown.Preview, shown.Kind = preview, ""
		w.plan = &shown
	}
	if effects, err = w.check(effects); err != nil {
		return nil, err
	}
	if err = w.decide(ctx, effects); err != nil {
		return nil, err
	}
	w.notes = append(slices.Clip(w.notes), reason)
	w.needed = append(slices.Clip(w.needed), effects...)
	edited, err := w.ask(ctx, effects)
	if err == nil && edited {
		err = tongs.Errorf(tongs.CodeDenied, "the arguments were edited while the tool ran; call it again with the new ones")
	}
	return effects, err
}

// bind returns a context that also ends with the run, whichever context the tool chose.
func (g *grant) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(g.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

func (g *grant) dead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}

// end revokes the grant and returns what was changed under it. The context of the run must be cancelled, so that
// nobody is asked any more.
func (g *grant) end() []string {
	g.extending.Lock()
	defer g.extending.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	return g.sent
}

// output returns the named stream of the run.
func (g *grant) output(name string) tongs.Stream {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.walk
	if g.over {
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
	grant  *grant
}

func (c *liveCaller) Call(ctx context.Context, call *tongs.Call) *tongs.Result {
	if c.grant.dead() {
		return tongs.Failure(errDead)
	}
	ctx, cancel := c.grant.bind(ctx)
	defer cancel()
	return c.caller.Call(ctx, call)
}

func (c *liveCaller) Explain(ctx context.Context, call *tongs.Call) (*tongs.Explanation, error) {
	if c.grant.dead() {
		return nil, errDead
	}
	return c.caller.Explain(ctx, call)
}

func (c *liveCaller) Within(scope tongs.Scope) tongs.Caller {
	return &liveCaller{c.caller.Within(scope), c.grant}
}

// liveState is the session's state, which only a running tool can write.
type liveState struct {
	tongs.State
	grant *grant
}

func (s liveState) Save(ctx context.Context, key string, v any) error {
	if s.grant.dead() {
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

type noHTTP struct{}

func (noHTTP) Do(*http.Request) (*http.Response, error) {
	return nil, tongs.Errorf(tongs.CodeConfigError, "this program has no network access for tools")
}
