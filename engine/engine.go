// Package engine calls tools. Every call takes the same stages in the same order, the walk:
//
//	open row → lookup → repair+validate → plan → decide → join → ask → run → settle → fit → close row
//
// The row is the call's entry in the log. A plan lists what the call would do. Join waits for an open question about the
// same call. Settle decides what programs changed on a copy of the files. Fit checks what the tool returned against its schema. The walk is one function, in call.go; this is the
// only package that knows all the stages.
package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/schema"
	"github.com/tongs-ai/tongs/workspace"
)

// Options are what an engine is made of. The zero value works, and is strict: no tools, no files, nobody to ask,
// everything remembered in memory only.
type Options struct {
	// Tools are the program's own. They are built in, and stay as they are.
	Tools []tongs.Tool
	// Providers supply tools, by the kind of source that all tools of a provider are of. For tools of the program's own that
	// change while the engine runs, a [registry.Registry] is the provider of [tongs.SourceBuiltin], in place of Tools.
	Providers map[tongs.SourceKind]Provider
	// Workspace holds the files; nil gives tools none.
	Workspace *workspace.Workspace
	// Rules returns the rules in force; it is called for each call. Nil means none.
	Rules func() []tongs.Rule
	Mode  tongs.Mode
	// Granted are the permissions that tools can have here; zero means all.
	Granted tongs.Permissions
	// Approval asks people. Nil means that there is nobody: what would be asked is refused.
	Approval *approval.Desk
	// Late keeps changes that nobody decided before a call ended. Nil keeps none: an answer is then for the same call, made again.
	Late Late
	// Grants remembers approvals, Audit the calls, State what tools know of a session. Nil keeps them in memory.
	Grants policy.Book
	Audit  audit.Log
	State  func(session string) tongs.State
	// Output bounds what results show.
	Output output.Bounds
	// Commands and HTTP make what runs programs and requests for one call. Nil refuses both.
	Commands func(*tongs.Permit) Programs
	HTTP     func(*tongs.Permit) tongs.HTTP
	// Outcomes reports whether Commands can run programs on a copy of the files, and have what they changed decided
	// afterwards. Nil means that they cannot.
	Outcomes func(context.Context) bool
	// Direct asks about programs that no rule covers before they run, even where they could run on a copy first.
	Direct bool
	// OnResult observes every result, before it is returned. It must not keep or change it.
	OnResult func(*tongs.Call, *tongs.Result)
	// Observe is told what happens to calls while they walk. It is called by whoever runs the call, several at a time, and
	// must not block. Nil costs nothing.
	Observe func(Event)
	// Grace is how long a cancelled tool may take to return before the call does so without it; zero means 2 s.
	Grace time.Duration
}

// Engine calls tools. It implements tongs.Caller and is safe for concurrent use.
type Engine struct {
	opt       Options
	supplies  *supplies
	validator schema.Validator
	// session is that of calls which name none.
	session string
	// roots identifies the workspace and its zones, empty where there is none; zones are all of it.
	roots string
	zones []tongs.Zone
	// last are the newest results, *tongs.Result by tool.
	last sync.Map
}

var _ tongs.Caller = (*Engine)(nil)

// New returns an engine with the given options.
func New(opt Options) (*Engine, error) {
	if opt.Rules == nil {
		opt.Rules = func() []tongs.Rule { return nil }
	}
	if opt.Granted == 0 {
		opt.Granted = tongs.AllPermissions
	}
	if opt.Approval == nil {
		opt.Approval = &approval.Desk{}
	}
	if opt.Approval.Check == nil {
		opt.Approval.Check = func(line string) error {
			_, err := policy.ParseCover(line)
			return err
		}
	}
	if opt.Grants == nil {
		opt.Grants = policy.NewMemoryBook()
	}
	if opt.Audit == nil {
		opt.Audit = audit.NewMemory()
	}
	if opt.State == nil {
		opt.State = newMemoryState().session
	}
	if opt.Commands == nil {
		opt.Commands = func(*tongs.Permit) Programs { return noCommands{} }
	}
	if opt.HTTP == nil {
		opt.HTTP = func(*tongs.Permit) tongs.HTTP { return noHTTP{} }
	}
	if opt.Outcomes == nil {
		opt.Outcomes = func(context.Context) bool { return false }
	}
	if opt.Grace == 0 {
		opt.Grace = 2 * time.Second
	}
	supplies, err := newSupplies(opt.Tools, opt.Providers)
	if err != nil {
		return nil, err
	}
	e := &Engine{opt: opt, session: id.New("s"), supplies: supplies}
	if opt.Workspace != nil {
		e.roots, e.zones = opt.Workspace.Digest(), opt.Workspace.Zones()
	}
	return e, nil
}

// Call takes the call on the whole walk. The result is never nil; a failure is in it.
func (e *Engine) Call(ctx context.Context, call *tongs.Call) *tongs.Result {
	return (&caller{engine: e}).Call(ctx, call)
}

// Explain judges the call without executing it. The error is why it cannot be judged: unknown, invalid.
func (e *Engine) Explain(ctx context.Context, call *tongs.Call) (*tongs.Explanation, error) {
	return (&caller{engine: e}).Explain(ctx, call)
}

// Within returns a caller narrowed to the scope.
func (e *Engine) Within(scope tongs.Scope) tongs.Caller { return (&caller{engine: e}).Within(scope) }

// Validate checks arguments without planning or executing the call, and returns them repaired and completed.
func (e *Engine) Validate(ctx context.Context, tool string, args json.RawMessage) (schema.Checked, error) {
	w := e.newWalk(&caller{engine: e}, &tongs.Call{Tool: tool, Args: args})
	if err := w.lookup(ctx); err != nil {
		return schema.Checked{}, err
	}
	err := w.validate()
	return schema.Checked{Args: w.call.Args, Repaired: w.repaired}, err
}

// Tools returns the specs that a caller of this engine can call, in stable order. Lazy tools are made for it; those
// that fail are returned as they stand, with the reason in the second value.
func (e *Engine) Tools(ctx context.Context) (specs []*tongs.Spec, broken map[string]error) {
	_ = e.Refresh(ctx) // where ctx ended, those that are known are listed
	for _, entry := range e.supplies.Set().Entries() {
		spec, err := e.made(ctx, entry)
		if err != nil {
			if broken == nil {
				broken = map[string]error{}
			}
			spec = entry.Tool.Spec()
			broken[spec.Name] = err
		}
		if e.opt.Granted.Has(spec.Needs) {
			specs = append(specs, spec)
		}
	}
	return specs, broken
}

// Usable are the specs of those that are not broken, which models are offered. People are shown the others too.
func Usable(specs []*tongs.Spec, broken map[string]error) []*tongs.Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(s *tongs.Spec) bool { return broken[s.Name] != nil })
}

// Spec returns the spec of a tool by its name or an alias, as of the last refresh. A lazy tool is made for it.
func (e *Engine) Spec(ctx context.Context, name string) (*tongs.Spec, error) {
	set := e.supplies.Set()
	entry, ok := set.Lookup(name)
	if !ok {
		return nil, unknown(name, set.Nearest(name))
	}
	return e.made(ctx, entry)
}

// made returns the spec of a tool. A lazy one is made for it.
func (e *Engine) made(ctx context.Context, entry registry.Entry) (*tongs.Spec, error) {
	tool, err := e.supplies.Ready(ctx, entry, e.initContext(tongs.Path{Rel: "."}))
	if err != nil {
		return nil, err
	}
	return entry.From.(*supply).stamped(tool.Spec())
}

// Set returns the tools of all providers, as of the last refresh.
func (e *Engine) Set() *registry.Set { return e.supplies.Set() }

// Changed returns a channel that is closed when the tools change next. Take it before reading what may change.
func (e *Engine) Changed() <-chan struct{} { return e.supplies.Changed() }

// Refresh takes up what providers changed. Every call does it too; a program that lives on does so to tell its clients
// before their next call. The error is that ctx ended first.
func (e *Engine) Refresh(ctx context.Context) error { return e.supplies.refresh(ctx) }

// Faults say which tools of providers are not offered, and which providers fail, as of the last refresh.
func (e *Engine) Faults() []registry.Fault { return e.supplies.faults() }

// dir is the directory of the workspace, empty where there is none.
func (e *Engine) dir() string {
	if e.opt.Workspace == nil {
		return ""
	}
	return e.opt.Workspace.Dir()
}

func (e *Engine) initContext(dir tongs.Path) tongs.InitContext {
	if e.opt.Workspace == nil {
		return tongs.InitContext{}
	}
	return tongs.InitContext{Workspace: e.opt.Workspace.Dir(), Dir: e.opt.Workspace.Host(dir)}
}

// maxDepth bounds calls that tools make of tools.
const maxDepth = 16

// caller is the engine as seen by one caller: narrowed by scopes and, for a tool that runs, bound to its call.
type caller struct {
	engine *Engine
	scopes []tongs.Scope
	parent *tongs.Call
	// ancestors are the IDs of the calls that it calls within, outermost first; the last is the parent's.
	ancestors []string
	// inherited is how many of the scopes are the parent's, whose agents are in its chain already.
	inherited int
	depth     int
}

func (c *caller) Call(ctx context.Context, call *tongs.Call) *tongs.Result {
	return c.engine.call(ctx, c, call)
}

func (c *caller) Explain(ctx context.Context, call *tongs.Call) (*tongs.Explanation, error) {
	w := c.engine.newWalk(c, call)
	if err := w.lookup(ctx); err != nil {
		return nil, err
	}
	if err := w.validate(); err != nil {
		return nil, err
	}
	if err := w.makePlan(ctx); err != nil {
		return nil, err
	}
	d := &w.decision
	if err := d.judge(ctx); err != nil {
		return nil, err
	}
	onCopy := d.onCopy || d.defers(ctx)
	return &tongs.Explanation{
		Tool: w.spec.Name, Via: w.viaName(), Args: w.call.Args, Repaired: w.repaired, Effects: d.effects,
		Decision: d.verdict.Decision, Rule: d.verdict.By, Reason: d.verdict.Reason,
		Message: d.message(), Tells: d.plan.Tells, Kind: d.kind(), Deferred: onCopy, KeepsUndoable: onCopy && d.freesUndoable(),
	}, nil
}

func (c *caller) Within(scope tongs.Scope) tongs.Caller {
	narrowed := *c
	narrowed.scopes = append(slices.Clip(c.scopes), scope)
	return &narrowed
}

// adopt returns a copy of the call with what the caller's position decides: who it is for and where it comes from.
func (c *caller) adopt(call *tongs.Call) *tongs.Call {
	own := *call
	if own.ID == "" || c.parent != nil && !strings.HasPrefix(own.ID, c.parent.ID+"-") {
		own.ID = id.New("c")
	}
	own.Parent = ""
	agents := own.Agents
	if c.parent != nil {
		own.Parent, own.Session, own.Client, agents = c.parent.ID, c.parent.Session, c.parent.Client, c.parent.Agents
		if own.Message == "" {
			own.Message = c.parent.Message
		}
		if own.Dir == "" {
			own.Dir = c.parent.Dir
		}
	}
	own.Agents = slices.Clone(agents)
	for _, scope := range c.scopes[c.inherited:] {
		if scope.Agent != "" {
			own.Agents = append(own.Agents, scope.Agent)
		}
	}
	if own.Session == "" {
		own.Session = c.engine.session
	}
	if len(own.Args) == 0 {
		own.Args = json.RawMessage("{}")
	}
	return &own
}

// granted are the permissions left after every scope.
func (c *caller) granted() tongs.Permissions {
	granted := c.engine.opt.Granted
	for _, scope := range c.scopes {
		if scope.Granted != 0 {
			granted &= scope.Granted
		}
	}
	return granted
}

// visible reports whether every scope lists one of the names.
func (c *caller) visible(names []string) bool {
	for _, scope := range c.scopes {
		if scope.Tools != nil && !slices.ContainsFunc(scope.Tools, func(name string) bool { return slices.Contains(names, name) }) {
			return false
		}
	}
	return true
}

// outside returns why an effect is outside the zones of a scope, or nothing where all are inside.
func (c *caller) outside(effects []tongs.Effect) string {
	for _, scope := range c.scopes {
		if scope.Zones == nil {
			continue
		}
		for _, e := range effects {
			if !e.Kind.OnPath() {
				continue
			}
			inside := !e.Unknown && slices.ContainsFunc(scope.Zones, func(z tongs.Zone) bool {
				return z.Path.Contains(e.Path) && (z.Writable || e.Kind == tongs.EffectRead)
			})
			if !inside {
				return fmt.Sprintf("%s is outside what %s may touch", e, agentName(scope.Agent))
			}
		}
	}
	return ""
}

// limited reports whether a scope limits the zones.
func (c *caller) limited() bool {
	return slices.ContainsFunc(c.scopes, func(scope tongs.Scope) bool { return scope.Zones != nil })
}

// zones are the parts of the roots that every scope leaves.
func (c *caller) zones() []tongs.Zone {
	left := c.engine.zones
	for _, scope := range c.scopes {
		if scope.Zones != nil {
			left = both(left, scope.Zones)
		}
	}
	return left
}

// both are the parts that two lists of zones have in common.
func both(as, bs []tongs.Zone) (common []tongs.Zone) {
	for _, a := range as {
		for _, b := range bs {
			switch z := (tongs.Zone{Writable: a.Writable && b.Writable}); {
			case a.Path.Contains(b.Path):
				z.Path = b.Path
				common = append(common, z)
			case b.Path.Contains(a.Path):
				z.Path = a.Path
				common = append(common, z)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(common), func(z tongs.Zone) bool { // read-only, and writable by another word
		return !z.Writable && slices.ContainsFunc(common, func(o tongs.Zone) bool { return o.Writable && o.Path.Contains(z.Path) })
	})
}

func agentName(name string) string {
	if name == "" {
		return "this caller"
	}
	return fmt.Sprintf("the agent %q", name)
}
