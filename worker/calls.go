package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/tools/todo"
)

const (
	// together is how many calls run at the same time, maxCalls how many a turn may make.
	together = 8
	maxCalls = 64
	// maxReason is how much of what the model said before a call is shown to the person who is asked about it.
	maxReason = 600
)

// task is one call of a turn.
type task struct {
	call  model.Call
	step  int
	reads bool // changes nothing, so that it may run beside others
	// delegates marks the call of a worker: several may run beside each other.
	delegates bool
	paths     []string // what it would change, as far as its plan tells
	again     bool     // the same call as often before
	title     string

	result model.Result
	note   CallNote
}

// perform makes the calls of an answer: the reads at the same time, then the rest in the model's order, workers that are
// called one after another at the same time. The message answers every call. The error is the limit that was met.
func (x *run) perform(ctx context.Context, answer model.Message) (model.Message, []CallNote, error) {
	scoped := x.scoped(ctx)
	var tasks []*task
	for i, c := range answer.Calls() {
		tasks = append(tasks, x.look(ctx, scoped, i, c))
	}
	reason := strings.TrimSpace(answer.Text())
	if r := []rune(reason); len(r) > maxReason {
		reason = string(r[:maxReason]) + "…"
	}
	make := func(list []*task) { x.inParallel(list, func(t *task) { x.one(ctx, scoped, t, reason) }) }
	var reads []*task
	for _, t := range tasks {
		if t.reads {
			reads = append(reads, t)
		}
	}
	make(reads)
	err := x.inOrder(ctx, tasks, make)
	message := model.Message{Role: model.User}
	var notes []CallNote
	for _, t := range tasks {
		message.Parts = append(message.Parts, model.Part{Result: &t.result})
		notes = append(notes, t.note)
	}
	return message, notes, err
}

// inOrder makes the calls that are no reads.
func (x *run) inOrder(ctx context.Context, tasks []*task, make func([]*task)) (limit error) {
	for i := 0; i < len(tasks); i++ {
		t := tasks[i]
		if t.reads {
			continue
		}
		if limit == nil {
			limit = x.ledger.mayChange(t.paths)
		}
		if limit != nil {
			t.refuse(tongs.Errorf(tongs.CodeCancelled, "the call was not made: %w", limit))
			continue
		}
		group := []*task{t}
		for t.delegates && i+1 < len(tasks) && tasks[i+1].delegates {
			i++
			group = append(group, tasks[i])
		}
		make(group)
		if _, limited := errors.AsType[*LimitError](context.Cause(ctx)); limited {
			limit = context.Cause(ctx)
		}
	}
	return limit
}

// inParallel runs tasks at the same time, a few of them.
func (x *run) inParallel(list []*task, do func(*task)) {
	if len(list) == 1 {
		do(list[0])
		return
	}
	slots := make(chan struct{}, together)
	var all sync.WaitGroup
	for _, t := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do(t)
		})
	}
	all.Wait()
}

// look finds out what a call would do, without doing it.
func (x *run) look(ctx context.Context, scoped tongs.Caller, step int, c model.Call) *task {
	t := &task{call: c, step: step, note: CallNote{ID: c.ID, Tool: c.Name}}
	call := x.newCall(t, "")
	leave := x.enter(call)
	explained, err := scoped.Explain(ctx, call)
	leave()
	if err == nil {
		t.note.Tool, t.title = explained.Tool, explained.Message
		t.reads = len(explained.Effects) > 0 && !slices.ContainsFunc(explained.Effects, func(e tongs.Effect) bool {
			return e.Unknown || e.Kind != tongs.EffectRead && (e.Kind != tongs.EffectNetwork || e.Sends)
		})
		for _, e := range explained.Effects {
			if (e.Kind == tongs.EffectWrite || e.Kind == tongs.EffectDelete) && !e.Unknown {
				t.paths = append(t.paths, e.Path.String())
			}
			t.delegates = t.delegates || delegation(e)
		}
	}
	t.again = x.repeats.count(c.Name, c.Args)
	return t
}

// repeats counts calls that are made again and again.
type repeats struct {
	mu   sync.Mutex
	seen map[string]int
}

// sameCalls is how often the same call is made before a person is asked.
const sameCalls = 3

func callKey(name, args string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(args)) == nil {
		args = b.String()
	}
	return name + "\x00" + args
}

// count reports whether the call is made for the third time, or more often.
func (r *repeats) count(name, args string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	key := callKey(name, args)
	r.seen[key]++
	return r.seen[key] >= sameCalls
}

// forget is called after a call that changed something: what was called before may now have another result. Made is
// that call itself; approved says that a person agreed to make it once more.
func (r *repeats) forget(name, args string, approved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := callKey(name, args)
	n := r.seen[key]
	r.seen = map[string]int{key: n}
	if approved {
		delete(r.seen, key)
	}
}

// scoped is the caller of this turn: the tools that the worker has now, its zones, and its rules. It may read the output
// of its own calls that did not fit.
func (x *run) scoped(ctx context.Context) tongs.Caller {
	scope := tongs.Scope{Agent: x.file.Name, Tools: []string{}, Zones: x.zones, Rules: x.rules}
	for _, spec := range x.offered(ctx) {
		scope.Tools = append(scope.Tools, spec.Name)
	}
	scope.Tools = append(scope.Tools, x.below(ctx)...)
	if x.zones == nil {
		return x.caller.Within(scope)
	}
	scope.Zones = slices.Clone(x.zones)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.session.Call == "" {
		scope.Zones = append(scope.Zones, tongs.Zone{Path: tongs.Path{Root: spillRoot, Rel: "."}})
		return x.caller.Within(scope)
	}
	for _, call := range x.own {
		scope.Zones = append(scope.Zones, tongs.Zone{Path: tongs.Path{Root: spillRoot, Rel: call}})
	}
	return x.caller.Within(scope)
}

// spillRoot is the root where output is kept that did not fit.
const spillRoot = "spill"

// below are the workers that the workers of this one may call, and so on: this one may not call them, and must not keep
// those from it.
func (x *run) below(ctx context.Context) (names []string) {
	seen := map[string]bool{x.file.Path: true}
	next := []*File{x.file}
	for depth := 0; depth < maxDepth && len(next) > 0; depth++ {
		var found []*File
		for _, f := range next {
			for _, name := range f.Workers {
				names = append(names, name)
				if g, err := x.opt.Find(ctx, f, name); err == nil && !seen[g.Path] {
					seen[g.Path] = true
					found = append(found, g)
				}
			}
		}
		next = found
	}
	if len(names) > 0 {
		names = append(names, taskName)
	}
	return names
}

func (x *run) newCall(t *task, reason string) *tongs.Call {
	args := strings.TrimSpace(t.call.Args)
	if args == "" {
		args = "{}"
	}
	return &tongs.Call{
		Session: x.session.Log, Message: fmt.Sprintf("%s/%d", x.session.ID, x.session.Turns), Step: t.step,
		Tool: t.call.Name, Args: json.RawMessage(args), Reason: reason,
	}
}

// one makes a call and keeps its result.
func (x *run) one(ctx context.Context, scoped tongs.Caller, t *task, reason string) {
	switch {
	case ctx.Err() != nil:
		t.refuse(tongs.Errorf(tongs.CodeCancelled, "the call was not made: %v", context.Cause(ctx)))
		return
	case t.step >= maxCalls:
		t.refuse(tongs.Errorf(tongs.CodeInvalidArgs, "a turn may make %d calls; make this one in the next", maxCalls))
		return
	}
	if t.again {
		scoped = scoped.Within(tongs.Scope{Rules: []tongs.Rule{{
			Layer: tongs.LayerManaged, Decision: tongs.Ask,
			Origin: fmt.Sprintf("the worker makes the same call again, at least the %dth time", sameCalls),
		}}})
	}
	call := x.newCall(t, reason)
	defer x.enter(call)()
	x.mu.Lock()
	x.own = append(x.own, call.ID)
	x.mu.Unlock()
	t.note.Call, t.note.Title = call.ID, t.title
	told := CallEvent{CallNote: t.note, Args: t.call.Args, Delegated: t.delegates}
	x.event(Event{Type: EventCall, Call: &told})
	call.Sink = x.sink(told)
	began := time.Now()
	res := scoped.Call(ctx, call)
	t.note.Took = time.Since(began)
	x.finish(ctx, t, res)
	told.CallNote, told.Content, told.Display = t.note, res.Content, res.Display
	x.event(Event{Type: EventResult, Call: &told})
}

// sink tells of a running call.
func (x *run) sink(told CallEvent) func(tongs.Update) {
	if x.opt.Events == nil {
		return nil
	}
	told.Args = ""
	return func(u tongs.Update) {
		if items, ok := u.Metadata["todos"].([]todo.Item); ok {
			x.event(Event{Type: EventTodos, Todos: items})
			return
		}
		x.event(Event{Type: EventUpdate, Call: &told, Update: &u})
	}
}

// finish turns a result into what the model is told, and counts what the call changed.
func (x *run) finish(ctx context.Context, t *task, res *tongs.Result) {
	t.note.Title = res.Title
	t.result = model.Result{ID: t.call.ID, Name: t.call.Name, Text: res.Content, Failed: !res.OK()}
	if res.Error != nil {
		t.note.Code = res.Error.Code
	}
	t.note.Session, _ = res.Metadata["worker"].(string)
	for _, at := range res.Attachments {
		if strings.HasPrefix(at.MIME, "image/") && len(at.Data) > 0 {
			t.result.Images = append(t.result.Images, model.Image{MIME: at.MIME, Data: at.Data})
			continue
		}
		where := at.Name
		if at.Path != "" {
			where = at.Path
		}
		t.result.Text += fmt.Sprintf("\n[attachment %s, %s, %d bytes]", path.Clean(where), at.MIME, at.Size)
	}
	if t.reads {
		return
	}
	if res.OK() && !t.delegates {
		x.repeats.forget(t.call.Name, t.call.Args, t.again)
	}
	if x.opt.Changes == nil || t.delegates { // a worker that was called counted its own
		return
	}
	changed, err := x.opt.Changes(context.WithoutCancel(ctx), t.note.Call)
	if err != nil {
		x.event(Event{Type: EventNote, Text: fmt.Sprintf("what the call %s changed could not be counted: %v", t.note.Call, err)})
	}
	t.note.Changed = changed
	x.ledger.change(changed)
}

// refuse answers a call that is not made.
func (t *task) refuse(err *tongs.Error) {
	t.note.Code, t.note.Title = err.Code, err.Message
	t.result = model.Result{ID: t.call.ID, Name: t.call.Name, Text: err.Error(), Failed: true}
}
