package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// walk is the state of one call on its way. Its methods are the stages, in the order of call.go.
type walk struct {
	engine *Engine
	caller *caller
	call   *tongs.Call
	// chosen is the ID that the caller gave to the call. Where it may not choose that one, the call has another and is refused.
	chosen string
	begun  time.Time
	sink   *sink
	// always is the context of what is written whether or not the caller is still there: the row.
	always context.Context

	entry  registry.Entry
	supply *supply // what the tool is from
	tool   tongs.Tool
	spec   *tongs.Spec
	names  []string    // every name that rules may know the call by
	via    *tongs.Spec // the redirecting tool
	dir    tongs.Path

	repaired []string
	// asked are the arguments that a person changed, as they were; nil where nobody did.
	asked json.RawMessage
	// decision is what was decided about the call so far.
	decision decision
	// direct means that it turned out that the program cannot be run on a copy.
	direct bool
	unkept []tongs.Effect // what turned out not to be undoable
	sent   []string       // what earlier runs changed already
	// running is the last run of the tool, until what its programs did is settled; settled is what became of that.
	running *running
	settled *tongs.Settled
	// made is what somebody else made of what the last run changed.
	made *tongs.Changed
	// key identifies the call as it was made, once it was looked for what an identical one left; again is why that is not
	// what counts. Returned is what the tool returned, while it is settled; waiting says that its changes wait for an answer.
	key, again string
	returned   func() *tongs.Result
	waiting    bool
	// held are protected names that earlier runs made, and that nobody was asked about.
	held []tongs.Held

	streams map[string]*output.Stream
	output  int64 // bytes that passed through streams that are closed
	waited  time.Duration
	ran     time.Duration
	// connections are those that the call made or was refused.
	connections []string
	// unobserved is what an observer panicked with.
	unobserved atomic.Value
}

func (e *Engine) newWalk(c *caller, call *tongs.Call) *walk {
	own := c.adopt(call)
	w := &walk{engine: e, caller: c, call: own, chosen: call.ID, begun: time.Now()}
	w.decision.walk = w
	w.sink = &sink{call: own.ID, send: w.observed(own.Sink)}
	return w
}

// open writes the first entry of the row.
func (w *walk) open(ctx context.Context) error {
	w.always = context.WithoutCancel(ctx)
	err := w.engine.opt.Audit.Open(w.always, &audit.Row{
		Call: w.call.ID, Parent: w.call.Parent, Session: w.call.Session, Message: w.call.Message, Step: w.call.Step,
		Agents: w.call.Agents, Tool: w.call.Tool, Started: w.begun, Args: w.call.Args, Reason: w.call.Reason, PID: os.Getpid(),
		Workspace: w.engine.dir(),
	})
	if err != nil {
		return tongs.Errorf(tongs.CodeInternal, "the call was not run, since the audit log could not be written: %w", err)
	}
	w.tell(Event{Kind: Opened, Call: w.call})
	return nil
}

// lookup finds the tool, following redirects: the target's plan will apply, and the rules of every name on the way.
func (w *walk) lookup(ctx context.Context) (err error) {
	defer w.stage("lookup")(&err)
	if w.caller.depth > maxDepth {
		return tongs.Errorf(tongs.CodeExecutionError, "calls are nested more than %d deep; a tool seems to call itself", maxDepth)
	}
	if w.chosen != "" && w.chosen != w.call.ID {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the ID %.40q is not one that this tool can give to a call; leave it empty, or begin it with %q",
			w.chosen, w.call.Parent+"-")
	}
	if err := checkNames(w.call); err != nil {
		return err
	}
	if err := w.resolveDir(); err != nil {
		return err
	}
	if err := w.engine.Refresh(ctx); err != nil {
		return err
	}
	name := w.call.Tool
	var kinds []tongs.SourceKind
	for range 4 {
		if err := w.find(ctx, name, kinds); err != nil {
			return err
		}
		redirector, ok := w.tool.(tongs.Redirector)
		if !ok {
			return nil
		}
		if err := w.validate(); err != nil {
			return err
		}
		to, err := w.redirect(redirector)
		if err != nil {
			return err
		}
		w.via, name, kinds = w.spec, to.Tool, to.Kinds
		w.call.Args = to.Args
		if to.Timeout > 0 {
			w.call.Timeout = to.Timeout
		}
	}
	return tongs.Errorf(tongs.CodeExecutionError, "%s is redirected too often", w.call.Tool)
}

// redirect asks a tool which one the call is really for. It sees the call as any tool does.
func (w *walk) redirect(redirector tongs.Redirector) (to *tongs.Redirect, err error) {
	defer w.guard("redirecting", &err)
	to, err = redirector.Redirect(w.toolCall())
	if err == nil && to == nil {
		err = tongs.Errorf(tongs.CodeInternal, "%s names no tool to redirect to", w.spec.Name)
	}
	return to, err
}

// guard, deferred, turns a panic of the tool into an error: it ends the call, not the process.
func (w *walk) guard(doing string, err *error) {
	if p := recover(); p != nil {
		*err = panicked(w.spec.Name+", while "+doing+",", p)
	}
}

const (
	// maxName bounds the names that a caller gives to a call, its session and the rest; maxAgents the chain of agents.
	// They are kept in every row.
	maxName   = 256
	maxAgents = 64
)

// checkNames refuses names that no caller has a reason to give.
func checkNames(call *tongs.Call) error {
	if len(call.Agents) > maxAgents {
		return tongs.Errorf(tongs.CodeInvalidArgs, "the chain of agents has %d names, more than %d", len(call.Agents), maxAgents)
	}
	for i, name := range append([]string{call.ID, call.Session, call.Message, call.Tool}, call.Agents...) {
		if len(name) > maxName {
			what := [...]string{"ID of the call", "session", "message", "name of the tool", "name of the agent"}[min(i, 4)]
			return tongs.Errorf(tongs.CodeInvalidArgs, "the %s has %d bytes, more than %d: %.40q...", what, len(name), maxName, name)
		}
	}
	return nil
}

// viaName is the name of the redirecting tool, empty where there is none.
func (w *walk) viaName() string {
	if w.via == nil {
		return ""
	}
	return w.via.Name
}

func (w *walk) resolveDir() (err error) {
	w.dir = tongs.Path{Rel: "."}
	if w.engine.opt.Workspace != nil && w.call.Dir != "" {
		w.dir, err = w.engine.opt.Workspace.Resolve(w.dir, w.call.Dir)
	}
	return err
}

// find sets the tool of the given name, if the caller can see it and its permissions are granted.
func (w *walk) find(ctx context.Context, name string, kinds []tongs.SourceKind) error {
	set := w.engine.supplies.Set()
	entry, ok := set.Lookup(name)
	var names []string
	if ok {
		spec := entry.Tool.Spec()
		names = append([]string{spec.Name, name}, spec.Aliases...)
		ok = w.caller.visible(names) && (len(kinds) == 0 || slices.Contains(kinds, entry.Kind))
	}
	if !ok {
		return w.unknown(name, set)
	}
	tool, err := w.engine.supplies.Ready(ctx, entry, w.engine.initContext(w.dir))
	if err != nil {
		return err
	}
	from := entry.From.(*supply)
	spec, err := from.stamped(tool.Spec())
	if err != nil {
		return err
	}
	w.entry, w.supply, w.tool, w.spec = entry, from, tool, spec
	w.names = append(w.names, names...)
	if missing := w.spec.Needs &^ w.caller.granted(); missing != 0 {
		return tongs.Errorf(tongs.CodePermissionDenied, "%s needs the permission %s, which is not granted here", w.spec.Name, missing)
	}
	return nil
}

func (w *walk) unknown(name string, set *registry.Set) error {
	near := slices.DeleteFunc(set.Nearest(name), func(name string) bool {
		entry, ok := set.Lookup(name)
		return !ok || !w.caller.visible(append([]string{name, entry.Tool.Spec().Name}, entry.Tool.Spec().Aliases...))
	})
	return unknown(name, near)
}

func unknown(name string, near []string) error {
	err := tongs.Errorf(tongs.CodeUnknownTool, "there is no tool %q", name)
	if len(near) > 0 {
		err.Message += "; did you mean " + strings.Join(near, ", ") + "?"
		err = err.With("nearest", near)
	}
	return err
}

// validate repairs and checks the arguments, and completes them with defaults.
func (w *walk) validate() (err error) {
	defer w.stage("validate")(&err)
	checked, err := w.engine.validator.Check(w.spec, w.call.Args)
	if err != nil {
		return err
	}
	w.call.Args = checked.Args
	w.repaired = append(w.repaired, checked.Repaired...)
	return nil
}

// input is what rules are held against.
func (w *walk) input() policy.Input {
	chain := [][]tongs.Rule{w.engine.opt.Rules()}
	for _, scope := range w.caller.scopes {
		chain = append(chain, scope.Rules)
	}
	return policy.Input{
		Spec: w.spec, Names: w.names, Via: w.via, Shadowed: w.entry.Shadowed, Mode: w.engine.opt.Mode, Chain: chain,
	}
}

// addNeed keeps the effects that a running tool met, so that the next plan contains them.
func (w *walk) addNeed(need *tongs.Need) {
	d := &w.decision
	d.needed = merge(slices.Clone(need.Effects), d.needed)
	d.notes = append(slices.Clip(d.notes), need.Reason)
	w.direct = w.direct || need.Direct
	if need.Lasting {
		w.unkept = append(w.unkept, need.Effects...)
	}
	if len(w.sent) > 0 {
		d.approved = nil
	}
	w.endStreams() // the result is that of the last run
}

// endStreams closes the streams of a run and counts what passed through them.
func (w *walk) endStreams() {
	for _, s := range w.streams {
		w.output += s.Size()
		_ = s.Close()
	}
	w.streams = nil
}

// close writes how the call ended. A panic of ours ends the call, not the process.
func (w *walk) close(res *tongs.Result, panic any) *tongs.Result {
	if panic != nil {
		res = tongs.Failure(panicked("the engine", panic))
	}
	w.dropPrograms()
	w.sink.close()
	if res.Title == "" {
		res.Title = w.title()
	}
	w.tellEdited(res)
	if w.again != "" {
		res.Content = programoutput.Remark(res.Content, w.again)
	}
	produced := int64(len(res.Content))
	w.engine.opt.Output.Fit(w.call.ID, res)
	res.SetMeta("call", w.call.ID)
	w.endStreams()
	closing := &audit.Closing{
		Outcome: "ok", Title: res.Title, Waited: w.waited, Ran: w.ran, Total: time.Since(w.begun), Connections: w.connections,
		Output: max(w.output, produced), Shown: int64(len(res.Content)),
	}
	if res.Error != nil {
		closing.Outcome, closing.Code, closing.Error = outcome(res.Error.Code), res.Error.Code, res.Error.Message
	}
	if err := w.engine.opt.Audit.Close(w.always, w.call.ID, closing); err != nil {
		res.SetMeta("auditError", fmt.Sprintf("how the call ended could not be recorded: %v", err))
	}
	if w.mayChange() {
		_ = w.engine.Refresh(w.always) // tools that it made are announced before the next call
	}
	if w.engine.opt.OnResult != nil {
		w.observe(res)
	}
	w.engine.keepLast(w.spec, res)
	w.tell(Event{Kind: Closed, Call: w.call, Result: res})
	if p := w.unobserved.Load(); p != nil {
		res.SetMeta("observeError", p)
	}
	return res
}

// title names a call that did not get as far as a title of its own.
func (w *walk) title() string {
	if plan := w.decision.plan; plan != nil && plan.Message != "" {
		return plan.Message
	}
	return w.call.Tool
}

// mayChange reports whether the call had other effects than to read.
func (w *walk) mayChange() bool {
	return slices.ContainsFunc(w.decision.effects, func(e tongs.Effect) bool { return e.Kind != tongs.EffectRead })
}

func (w *walk) observe(res *tongs.Result) {
	defer func() {
		if p := recover(); p != nil {
			res.SetMeta("onResultError", fmt.Sprint(p))
		}
	}()
	w.engine.opt.OnResult(w.call, res)
}

func outcome(code tongs.Code) string {
	switch {
	case code.Refused():
		return "refused"
	case code == tongs.CodeCancelled:
		return "cancelled"
	default:
		return "error"
	}
}

// panicked describes a panic without ending the process.
func panicked(who string, p any) error {
	return tongs.Errorf(tongs.CodeInternal, "%s failed unexpectedly: %v", who, p).With("stack", string(debug.Stack()))
}
