package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/model"
)

// Options are what workers are run with. Caller, Tools and Open are needed.
type Options struct {
	// Caller takes the calls. Tools returns the tools that it has, anew for each turn, and why some of them are broken.
	Caller tongs.Caller
	Tools  func(ctx context.Context) ([]*tongs.Spec, map[string]error)
	// Describe replaces descriptions of tools before a model sees them; nil leaves them as they are.
	Describe func([]*tongs.Spec) ([]*tongs.Spec, error)
	// Open opens a model by its name. Default is the name for workers that name none; empty means there is none.
	Open    func(ctx context.Context, name string) (model.Model, error)
	Default string
	// Find returns the worker that a file means by a name; from is nil for a caller that is no worker. Nil finds none.
	Find func(ctx context.Context, from *File, name string) (*File, error)
	// Resolve turns the spelling of a zone into a path. Nil refuses zones.
	Resolve func(spelling string) (tongs.Path, error)
	// Store keeps the sessions; nil keeps them in memory.
	Store Store
	// Changes returns what a call changed; nil means that nobody knows, and then limits on changes cannot be set.
	Changes func(ctx context.Context, call string) ([]Change, error)
	// Hints are what the system prompt says of tools that the worker is offered, by the name of the tool.
	Hints map[string]Hint
	// Events is told what happens, one event at a time. It must not block for long. Nil tells nobody.
	Events func(Event)
	// Workspace is the host path of the workspace, for sessions.
	Workspace string
}

// Hint is what a worker is told that may use a tool. Root is the root in which the tool writes; a worker whose zones leave it nothing
// there is not told. Empty means none.
type Hint struct{ Root, Text string }

// Runner runs workers. It is safe for concurrent use.
type Runner struct {
	opt    Options
	events sync.Mutex
	// making are the calls on their way, by ID: *run that makes them. Made counts those of workers that were called.
	making sync.Map
	made   atomic.Int64
}

// New returns a runner.
func New(opt Options) (*Runner, error) {
	if opt.Caller == nil || opt.Tools == nil || opt.Open == nil {
		return nil, errors.New("workers need a caller, its tools, and what opens models")
	}
	if opt.Describe == nil {
		opt.Describe = func(specs []*tongs.Spec) ([]*tongs.Spec, error) { return specs, nil }
	}
	if opt.Store == nil {
		opt.Store = &Memory{}
	}
	if opt.Resolve == nil {
		opt.Resolve = func(string) (tongs.Path, error) {
			return tongs.Path{}, tongs.Errorf(tongs.CodeConfigError, "there is no workspace")
		}
	}
	if opt.Find == nil {
		opt.Find = func(_ context.Context, _ *File, name string) (*File, error) {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there is no worker %q", name)
		}
	}
	return &Runner{opt: opt}, nil
}

// Job is what a worker is to do.
type Job struct {
	File        *File
	Prompt      string
	Attachments []Attachment
	// Model overrides the file's.
	Model string
	// Continue is the session to go on with; empty begins a new one. Session is the ID of a new one; empty makes one.
	Continue, Session string
	// Ruled says that the rules of the file are among those of the caller already, so that they can also allow.
	Ruled bool
	// Stop ends the turn each time something is received from it. Further is then asked what to do instead; nil, or an empty
	// answer, ends the run.
	Stop    <-chan struct{}
	Further func(ctx context.Context) (string, error)
}

// Run has a worker do a job and returns how its session stands. The error is why it could not be run at all; a run that
// failed, was stopped or met a limit is told by the session's state. When ctx ends the run ends, and what it started.
func (r *Runner) Run(ctx context.Context, job Job) (*Session, error) {
	x, err := r.prepare(ctx, job, nil, r.opt.Caller, nil)
	if err != nil {
		return nil, err
	}
	return x.loop(ctx)
}

// run is one worker at work.
type run struct {
	*Runner
	job    Job
	file   *File
	parent *run
	depth  int
	// within is the ID of the call that the run was started by, empty for the outermost.
	within string
	// caller is what the run was given, before it is narrowed to what the file says.
	caller tongs.Caller
	zones  []tongs.Zone // nil is no limit
	rules  []tongs.Rule
	model  model.Model
	ledger *ledger
	talk   conversation
	system string
	lost   map[string]bool // what lowering schemas cost, as far as it was told

	mu      sync.Mutex // of what follows
	session Session
	seq     int
	own     []string // the calls it made, whose output it may read
	repeats repeats
}

// prepare makes a run ready. Parent and call are of the worker that delegates, nil for the outermost.
func (r *Runner) prepare(ctx context.Context, job Job, parent *run, caller tongs.Caller, call *tongs.Call) (*run, error) {
	f := job.File
	x := &run{Runner: r, job: job, file: f, parent: parent, caller: caller, lost: map[string]bool{}}
	if call != nil {
		x.within = call.ID
	}
	name, err := r.choose(f, job.Model, parent)
	if err != nil {
		return nil, err
	}
	if x.model, err = r.opt.Open(ctx, name); err != nil {
		return nil, fmt.Errorf("the model %q of the worker %s cannot be used: %w", name, f.Name, err)
	}
	if err := x.narrow(call != nil); err != nil {
		return nil, err
	}
	if err := x.account(name); err != nil {
		return nil, err
	}
	if err := x.begin(ctx, name, call); err != nil {
		return nil, err
	}
	x.system = x.instructions(call != nil) + x.hints(ctx)
	x.talk.budget = f.Limits.Context
	if x.talk.budget == 0 {
		x.talk.budget = DefaultContext
	}
	parts, err := f.Attachments.parts(job.Prompt, job.Attachments)
	if err != nil {
		return nil, err
	}
	return x, x.say(ctx, model.Message{Role: model.User, Parts: append(x.unanswered(), parts...)})
}

// choose finds the name of the model: the person's, the file's, that of the worker that calls, the default.
func (r *Runner) choose(f *File, named string, parent *run) (string, error) {
	name := named
	if name == "" {
		name = f.Model
	}
	if name == "" && parent != nil {
		name = parent.session.Model
	}
	if name == "" {
		name = r.opt.Default
	}
	if name == "" {
		return "", tongs.Errorf(tongs.CodeConfigError,
			"the worker %s names no model, and there is no default; say 'model:' in its file, --model, or set TONGS_MODEL", f.Name)
	}
	if !f.Fits(name) {
		return "", tongs.Errorf(tongs.CodeConfigError,
			"the worker %s does not work with the model %q; its compatible_models are %s", f.Name, name, strings.Join(f.Compatible, ", "))
	}
	return name, nil
}

// narrow finds what the run may touch. One that was called and says nothing of zones may touch nothing.
func (x *run) narrow(delegated bool) error {
	zones, rules, err := x.file.resolveZones(x.opt.Resolve)
	if err != nil {
		return err
	}
	if x.file.Zoned || delegated {
		x.zones = zones
	}
	if !x.job.Ruled {
		x.rules = append(slices.Clone(x.file.Rules), rules...)
	}
	return nil
}

// account opens the ledger. What must not cost more than it may needs a price.
func (x *run) account(name string) error {
	price := x.file.Price
	var above *ledger
	if x.parent != nil {
		above = x.parent.ledger
		if price == nil && name == x.parent.session.Model {
			price = above.price
		}
	}
	x.ledger = newLedger(x.file, price, above)
	if x.ledger.costLimited() && price == nil {
		return tongs.Errorf(tongs.CodeConfigError, "the cost of the worker %s is limited, and the price of %q is not known; "+
			"say 'price: {input: ..., output: ...}' in its file, in US dollars for a million tokens", x.file.Name, name)
	}
	limits := x.ledger.limits
	if x.opt.Changes == nil && (limits.FilesChanged > 0 || limits.LinesChanged > 0) {
		return tongs.Errorf(tongs.CodeConfigError, "the worker %s limits changes, and nothing here can count them", x.file.Name)
	}
	return nil
}

// begin makes the session, or takes up the one that is to be continued.
func (x *run) begin(ctx context.Context, name string, call *tongs.Call) error {
	s := Session{
		ID: x.job.Session, Worker: x.file.Name, Agents: []string{x.file.Name}, Prompt: x.job.Prompt, Started: time.Now(),
		Workspace: x.opt.Workspace,
	}
	var entries []Entry
	if x.job.Continue != "" {
		old, list, err := x.opt.Store.Load(ctx, x.job.Continue, 0)
		if err != nil {
			return err
		}
		if old.Parent != "" {
			return tongs.Errorf(tongs.CodeInvalidArgs, "session %s is a part of %s; continue that one", old.ID, old.Root)
		}
		s, entries = *old, list
		x.ledger.take(old, list)
	}
	if s.ID == "" {
		s.ID = id.New("s")
	}
	if s.Root == "" {
		s.Root, s.Log = s.ID, s.ID
	}
	if call != nil {
		s.Call, s.Log = call.ID, call.Session
		s.Agents = append(slices.Clone(call.Agents), x.file.Name)
	}
	if x.parent != nil {
		s.Root, s.Parent = x.parent.session.Root, x.parent.session.ID
		x.depth = x.parent.depth + 1
	}
	s.Model, s.File, s.Hash, s.PID = name, x.file.Path, x.file.Hash, os.Getpid()
	s.State, s.Why, s.Answer = Running, "", ""
	x.session = s
	x.takeUp(entries)
	x.event(Event{Type: EventStart, Snapshot: x.snapshot()})
	return nil
}

// takeUp makes the conversation of the entries of a session.
func (x *run) takeUp(entries []Entry) {
	for _, e := range entries {
		x.seq = e.Seq
		x.talk.add(e.Message)
		for _, c := range e.Calls {
			x.own = append(x.own, c.Call)
		}
	}
}

// unanswered answers the calls that nobody answered, since the process ended.
func (x *run) unanswered() (parts []model.Part) {
	if len(x.talk.messages) == 0 {
		return nil
	}
	for _, c := range x.talk.messages[len(x.talk.messages)-1].Calls() {
		parts = append(parts, model.Part{Result: &model.Result{
			ID: c.ID, Name: c.Name, Failed: true,
			Text: "CANCELLED: the session was interrupted while the call was made; it may have been done in part. Look before you make it again.",
		}})
	}
	return parts
}

// say adds a message to the conversation and keeps it.
func (x *run) say(ctx context.Context, m model.Message) error {
	x.talk.add(m)
	return x.keep(ctx, Entry{Message: m})
}

// keep saves the session with a further entry. It holds even if the run is being ended.
func (x *run) keep(ctx context.Context, add ...Entry) error {
	x.mu.Lock()
	for i := range add {
		x.seq++
		add[i].Seq, add[i].At, add[i].Turn = x.seq, time.Now(), x.session.Turns
	}
	x.mu.Unlock()
	if err := x.opt.Store.Save(context.WithoutCancel(ctx), *x.snapshot(), add...); err != nil {
		return fmt.Errorf("the session could not be kept: %w", err)
	}
	return nil
}

// snapshot is the session as it stands now.
func (x *run) snapshot() *Session {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ledger.fill(&x.session)
	x.session.Updated = time.Now()
	s := x.session
	return &s
}

// event tells what happened.
func (x *run) event(e Event) {
	if x.opt.Events == nil {
		return
	}
	e.At, e.Session, e.Agents = time.Now(), x.session.ID, x.session.Agents
	x.events.Lock()
	defer x.events.Unlock()
	x.opt.Events(e)
}

// chain returns the runs from the outermost to this one.
func (x *run) chain() (list []*run) {
	for ; x != nil; x = x.parent {
		list = append([]*run{x}, list...)
	}
	return list
}

// runOf returns the innermost worker that a call is made by, itself or through other tools, nil where it is none.
func (r *Runner) runOf(call tongs.CallInfo) *run {
	for id := range call.Lineage() {
		if x, ok := r.making.Load(id); ok {
			return x.(*run)
		}
	}
	return nil
}

// enter gives a call its ID and makes the run known as the one that makes it, until leave is called.
func (x *run) enter(call *tongs.Call) (leave func()) {
	call.ID = id.New("c")
	if x.within != "" {
		call.ID = fmt.Sprintf("%s-%d", x.within, x.made.Add(1))
	}
	x.making.Store(call.ID, x)
	return func() { x.making.Delete(call.ID) }
}
