package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
)

// want fails the test where a session is not in the state, or its answer does not hold the text.
func (b *bench) want(s *worker.Session, state worker.State, text string) {
	b.Helper()
	if s.State != state || !strings.Contains(s.Answer+" "+s.Why, text) {
		b.Fatalf("the session is %s (%s) and says:\n%s\nwant %s, %q", s.State, s.Why, s.Answer, state, text)
	}
}

func TestReadsSearchesEditsAndTells(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	f := b.worker(worker.File{Name: "w"}, lines(
		calls("read_file", args("path", "a.txt"), "grep", args("pattern", "one")),
		calls("edit", args("path", "a.txt", "oldString", "one", "newString", "two"), "todo_write", args("items", []todo.Item{{Content: "x", Status: todo.Pending}})),
		say("done"),
	))
	s := b.run(f, "go")
	b.want(s, worker.Done, "done")
	if b.read("a.txt") != "two\n" || s.Turns != 3 || s.Calls != 4 || s.Files != 1 || s.Lines != 2 || s.Usage.Input != 300 || len(b.asked) != 1 {
		t.Errorf("%+v, asked %d", s, len(b.asked))
	}
	if q := b.asked[0]; q.Tool != "edit" || strings.Join(q.Agents, ">") != "w" {
		t.Errorf("asked %+v", q)
	}
	if todos := b.seen(worker.EventTodos); len(todos) != 1 || todos[0].Todos[0].Content != "x" {
		t.Errorf("todos: %+v", todos)
	}
	for typ, n := range map[worker.EventType]int{worker.EventStart: 1, worker.EventCall: 4, worker.EventResult: 4, worker.EventAnswer: 3, worker.EventTurn: 3, worker.EventEnd: 1} {
		if got := len(b.seen(typ)); got != n {
			t.Errorf("%d events %s, want %d", got, typ, n)
		}
	}
	kept, entries, err := b.store.Load(t.Context(), s.ID, 0)
	if err != nil || kept.State != worker.Done || len(entries) != 6 {
		t.Fatalf("%+v, %d entries, %v", kept, len(entries), err)
	}
	if notes := entries[2].Calls; len(notes) != 2 || notes[0].Tool != "read_file" || notes[0].Call == "" || entries[4].Calls[0].Changed[0].Path != "a.txt" {
		t.Errorf("notes: %+v", notes)
	}
}

// Wrong arguments, unknown tools, arguments that are no JSON and denials are results, and the loop goes on.
func TestFailuresAreResults(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.say = func(approval.Question) bool { return false }
	var got []string
	f := b.worker(worker.File{Name: "w"}, played(func(turn int, told string) model.Message {
		got = append(got, told)
		switch turn {
		case 0:
			return calls("read_fil", args("path", "a.txt"))
		case 1:
			return calls("read_file", args("pfad", "a.txt"))
		case 2:
			return calls("read_file", `{"path": `)
		case 3:
			return calls("delete_file", args("path", "a.txt"))
		}
		return say("done")
	}))
	b.want(b.run(f, "go"), worker.Done, "done")
	for i, want := range []string{"go", "did you mean read_file", "INVALID_ARGS", "INVALID_ARGS", "DENIED: a person declined the call: for the test"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("turn %d was told %q, want %q", i, got[i], want)
		}
	}
	if b.read("a.txt") != "one\n" {
		t.Error("the file is gone")
	}
}

// Reads run at the same time; writes and executions run in the model's order, after them.
func TestReadsAtTheSameTimeThenTheRestInOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	meeting := make(chan struct{})
	var met sync.WaitGroup
	met.Add(2)
	go func() { met.Wait(); close(meeting) }()
	type in struct {
		Name string `json:"name" jsonschema:"Name."`
	}
	mk := func(name string, needs tongs.Permissions, effect tongs.EffectKind, do func(name string)) tongs.Tool {
		tool, err := tongs.New(tongs.Def[in, string]{
			Spec: tongs.Spec{Name: name, Description: "Does.", Needs: needs, Toolset: "test", Default: tongs.PreApproved},
			Plan: func(_ context.Context, _ *tongs.View, in in) (*tongs.Plan, error) {
				e := tongs.Effect{Kind: effect, Path: tongs.Path{Rel: in.Name}, Version: tongs.Absent}
				if effect == tongs.EffectExecute {
					e = tongs.Effect{Kind: effect, Argv: []string{in.Name}}
				}
				return &tongs.Plan{Effects: []tongs.Effect{e}}, nil
			},
			Run: func(_ context.Context, _ *tongs.Env, in in) (string, error) {
				do(in.Name)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, in.Name)
				return in.Name, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	b := newBench(t,
		mk("look", tongs.Read, tongs.EffectRead, func(string) { met.Done(); <-meeting }),
		mk("change", tongs.Write, tongs.EffectWrite, func(string) {}),
		mk("start", tongs.Execute, tongs.EffectExecute, func(string) {}))
	f := b.worker(worker.File{Name: "w"}, lines(calls("change", args("name", "w1"), "look", args("name", "r1"), "start", args("name", "x1"),
		"look", args("name", "r2"), "change", args("name", "w2"))))
	s := b.run(f, "go")
	// The results stand in the order of the calls, whatever ran first.
	b.want(s, worker.Done, "[change] w1\n[look] r1\n[start] x1\n[look] r2\n[change] w2\n")
	if got := strings.Join(order[2:], " "); got != "w1 x1 w2" || len(order) != 5 {
		t.Errorf("ran in the order %v", order)
	}
}

// The same call for the third time asks a person, in whatever spelling of JSON, and also where it is free.
func TestTheSameCallAgainAsksAPerson(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	b.say = func(q approval.Question) bool { return len(b.asked) > 1 }
	f := b.worker(worker.File{Name: "w"}, lines(
		calls("read_file", `{"path":"a.txt"}`), calls("read_file", `{ "path" : "a.txt" }`), calls("read_file", `{"path":"a.txt"}`),
		calls("read_file", `{"path":"a.txt"}`), say("done")))
	b.want(b.run(f, "go"), worker.Done, "done")
	if len(b.asked) != 2 || b.asked[0].Tool != "read_file" || !strings.Contains(b.asked[0].Why, "same call again") {
		t.Fatalf("asked %d times: %+v", len(b.asked), b.asked)
	}
	results := b.seen(worker.EventResult)
	if results[1].Call.Code != "" || results[2].Call.Code != tongs.CodeDenied || results[3].Call.Code != "" {
		t.Errorf("codes %q %q %q", results[1].Call.Code, results[2].Call.Code, results[3].Call.Code)
	}
	// A change in between makes it another question: nobody is asked.
	b = newBench(t)
	b.write("a.txt", "0\n")
	var list []model.Message
	for i := range 4 {
		list = append(list, calls("read_file", args("path", "a.txt")), calls("run", args("command", fmt.Sprint("step ", i))))
	}
	b.want(b.run(b.worker(worker.File{Name: "w"}, lines(append(list, say("done"))...)), "go"), worker.Done, "done")
	if len(b.asked) != 0 {
		t.Errorf("asked %+v", b.asked)
	}
}

// flaky fails with the given errors first.
type flaky struct {
	model.Model
	mu   sync.Mutex
	errs []error
	at   []time.Time
}

func (f *flaky) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = append(f.at, time.Now())
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if e, ok := errors.AsType[*model.Error](err); ok && e.Partial {
			stream(model.Delta{Text: "half an ans"})
			return &model.Response{Message: say("half an ans"), Usage: model.Usage{Input: 7}}, err
		}
		return nil, err
	}
	return f.Model.Turn(ctx, req, stream)
}

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		m := &flaky{Model: lines(say("done")), errs: []error{
			&model.Error{Provider: "p", Status: 429, Message: "slow down", Retry: true, After: 17 * time.Second},
			&model.Error{Provider: "p", Status: 529, Message: "overloaded", Retry: true},
			&model.Error{Provider: "p", Message: "cut off", Partial: true},
		}}
		s := b.run(b.worker(worker.File{Name: "w"}, m), "go")
		b.want(s, worker.Done, "done")
		if wait := m.at[1].Sub(m.at[0]); wait != 17*time.Second {
			t.Errorf("waited %s, not what the provider said", wait)
		}
		second, third := m.at[2].Sub(m.at[1]), m.at[3].Sub(m.at[2])
		if second < 750*time.Millisecond || second > 1250*time.Millisecond || third < 1500*time.Millisecond || third > 2500*time.Millisecond {
			t.Errorf("backed off %s and %s", second, third)
		}
		if s.Answer != "done" || s.Usage.Input != 107 || len(b.seen(worker.EventRetry)) != 3 {
			t.Errorf("%+v", s)
		}
	})
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var errs []error
		for range 20 {
			errs = append(errs, &model.Error{Provider: "p", Status: 500, Message: "oops", Retry: true})
		}
		b.want(b.run(b.worker(worker.File{Name: "w"}, &flaky{Model: lines(), errs: errs}), "go"), worker.Failed, "gave up after 8 attempts: p answered 500: oops")
		once := &flaky{Model: lines(), errs: []error{&model.Error{Provider: "p", Status: 401, Message: "who are you"}}}
		b.want(b.run(b.worker(worker.File{Name: "w"}, once), "go"), worker.Failed, "401: who are you")
		if len(once.at) != 1 {
			t.Errorf("tried %d times", len(once.at))
		}
		long := &flaky{Model: lines(), errs: []error{&model.Error{Provider: "p", Status: 429, Retry: true, After: time.Hour}}}
		b.want(b.run(b.worker(worker.File{Name: "w"}, long), "go"), worker.Failed, "wants us to wait 1h0m0s")
	})
}

func TestStoppedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		m := &flaky{Model: lines(), errs: []error{&model.Error{Provider: "p", Status: 429, Retry: true, After: time.Minute}}}
		f := b.worker(worker.File{Name: "w"}, m)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		s, err := b.runner.Run(ctx, worker.Job{File: f, Prompt: "go"})
		if err != nil || s.State != worker.Stopped || s.Why != "stopped by a person" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// A turn that a person stops does not end the run where they say what to do instead. Its calls are answered.
func TestStopATurn(t *testing.T) {
	began := make(chan struct{})
	slow, err := tongs.New(tongs.Def[struct{}, string]{
		Spec: tongs.Spec{Name: "slow", Description: "Waits.", Needs: tongs.Execute, Toolset: "test", Default: tongs.PreApproved},
		Run: func(ctx context.Context, _ *tongs.Env, _ struct{}) (string, error) {
			close(began)
			<-ctx.Done()
			return "", ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, slow)
	f := b.worker(worker.File{Name: "w"}, lines(calls("slow", "{}", "run", args("command", "after"))))
	stop := make(chan struct{})
	go func() { <-began; stop <- struct{}{} }()
	asked := 0
	s := b.job(worker.Job{File: f, Prompt: "go", Stop: stop, Further: func(context.Context) (string, error) {
		asked++
		return "say what happened", nil
	}})
	b.want(s, worker.Done, "[slow] CANCELLED")
	if asked != 1 || !strings.Contains(s.Answer, "[run] CANCELLED: the call was not made: stopped by a person") || !strings.Contains(s.Answer, "say what happened") {
		t.Errorf("asked %d, %s", asked, s.Answer)
	}
}

func TestStoppedForGood(t *testing.T) {
	b := newBench(t)
	stop := make(chan struct{}, 1)
	stop <- struct{}{}
	block := blocking{}
	s := b.job(worker.Job{File: b.worker(worker.File{Name: "w"}, block), Prompt: "go", Stop: stop})
	b.want(s, worker.Stopped, "stopped by a person")
	if kept, entries, err := b.store.Load(t.Context(), s.ID, 0); err != nil || kept.State != worker.Stopped || len(entries) != 1 {
		t.Errorf("%+v, %d entries, %v", kept, len(entries), err)
	}
}

// blocking never answers.
type blocking struct{}

func (blocking) Turn(ctx context.Context, _ *model.Request, _ func(model.Delta)) (*model.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestContinue(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	f := b.worker(worker.File{Name: "w"}, lines(calls("read_file", args("path", "a.txt")), say("first")))
	s := b.run(f, "go")
	again := b.job(worker.Job{File: f, Prompt: "and now?", Continue: s.ID})
	b.want(again, worker.Done, "and now?")
	if again.ID != s.ID || again.Turns != 3 || again.Usage.Input != 300 || again.Prompt != "go" {
		t.Errorf("%+v", again)
	}
	if _, err := b.runner.Run(t.Context(), worker.Job{File: f, Prompt: "x", Continue: "s_none"}); !errors.Is(err, worker.ErrNoSession) {
		t.Error(err)
	}
}

// A session whose process was killed after the model called is continued with these calls answered.
func TestContinueAfterACrash(t *testing.T) {
	b := newBench(t)
	f := b.worker(worker.File{Name: "w"}, lines(calls("read_file", args("path", "a.txt"))))
	b.must(b.store.Save(t.Context(), worker.Session{ID: "s_1", Root: "s_1", Log: "s_1", State: worker.Running, PID: 1},
		worker.Entry{Seq: 1, Message: model.Message{Role: model.User, Parts: []model.Part{{Text: "go"}}}},
		worker.Entry{Seq: 2, Message: model.Message{Role: model.Assistant, Parts: calls("run", `{"command":"x"}`).Parts}}))
	s := b.job(worker.Job{File: f, Prompt: "go on", Continue: "s_1"})
	b.want(s, worker.Done, "[run] CANCELLED: the session was interrupted")
	if !strings.HasSuffix(s.Answer, "go on") {
		t.Errorf("told %q", s.Answer)
	}
	// What was answered stays so, and both sides take turns, when it is continued once more.
	var roles []model.Role
	b.models["w"] = recording{lines(), func(req *model.Request) {
		roles = nil
		open := map[string]bool{}
		for _, m := range req.Messages {
			roles = append(roles, m.Role)
			for _, p := range m.Parts {
				if p.Result != nil {
					delete(open, p.Result.ID)
				}
			}
			if m.Role == model.User && len(open) > 0 {
				t.Errorf("calls without a result: %v", open)
			}
			for _, c := range m.Calls() {
				open[c.ID] = true
			}
		}
	}}
	b.job(worker.Job{File: f, Prompt: "and on", Continue: "s_1"})
	for i, role := range roles {
		if want := []model.Role{model.User, model.Assistant}[i%2]; role != want {
			t.Errorf("message %d is of the %s", i, role)
		}
	}
}

func TestOutputSchema(t *testing.T) {
	b := newBench(t)
	f := b.worker(worker.File{Name: "w", Output: &jsonschema.Schema{
		Type: "object", Required: []string{"ok"}, Properties: map[string]*jsonschema.Schema{"ok": {Type: "boolean"}},
	}}, lines(say("sure"), say(`{"ok": "yes"}`), say("```json\n{\"ok\": true}\n```")))
	s := b.run(f, "go")
	b.want(s, worker.Done, `{"ok": true}`)
	if notes := b.seen(worker.EventNote); len(notes) != 2 || !strings.Contains(notes[0].Text, "not JSON") || worker.Unfence(s.Answer) != `{"ok": true}` {
		t.Errorf("%+v", notes)
	}
	f = b.worker(worker.File{Name: "w", Output: f.Output}, lines(say("a"), say("b"), say("c"), say("d"), say("e")))
	b.want(b.run(f, "go"), worker.Failed, "must be JSON of the output schema")
}

// Old results are shortened to fit, and what is kept says where the whole is.
func TestContextBudget(t *testing.T) {
	b := newBench(t)
	b.write("big.txt", strings.Repeat("0123456789 line\n", 800))
	var sizes []int
	var last []model.Message
	m := modelFunc(func(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
		n := 0
		for _, msg := range req.Messages {
			n += len(told(msg))
		}
		sizes = append(sizes, n)
		last = req.Messages
		return lines(
			calls("read_file", args("path", "big.txt")), calls("read_file", args("path", "big.txt", "offset", 2)),
			calls("read_file", args("path", "big.txt", "offset", 3)), calls("read_file", args("path", "big.txt", "offset", 4)), say("done"),
		).Turn(ctx, req, stream)
	})
	f := b.worker(worker.File{Name: "w", Limits: worker.Limits{Context: 5000}}, m)
	s := b.run(f, "go")
	b.want(s, worker.Done, "done")
	for i, n := range sizes {
		if n > 5000*4 {
			t.Errorf("turn %d sent %d bytes", i, n)
		}
	}
	old := told(last[2])
	if !strings.Contains(old, "left out; the whole output is in /spill/") {
		t.Errorf("an old result is sent as %q", old)
	}
	_, entries, err := b.store.Load(t.Context(), s.ID, 0)
	if err != nil || len(told(entries[2].Message)) < 3000 {
		t.Error("what is kept is shortened, too")
	}
}

type modelFunc func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error)

func (f modelFunc) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	return f(ctx, req, stream)
}

// A conversation that the model finds too long is shortened further and sent again.
func TestTooLong(t *testing.T) {
	b := newBench(t)
	b.write("big.txt", strings.Repeat("0123456789 line\n", 200))
	m := modelFunc(func(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
		n := 0
		for _, msg := range req.Messages {
			n += len(told(msg))
		}
		if n > 2000 {
			return nil, &model.Error{Provider: "p", Status: 400, Message: "too long", TooLong: true}
		}
		return lines(calls("read_file", args("path", "big.txt")), say("done")).Turn(ctx, req, stream)
	})
	b.want(b.run(b.worker(worker.File{Name: "w"}, m), "go"), worker.Done, "done")
	never := modelFunc(func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
		return nil, &model.Error{Provider: "p", Status: 400, Message: "too long", TooLong: true}
	})
	b.want(b.run(b.worker(worker.File{Name: "w"}, never), "go"), worker.Failed, "nothing is left to shorten")
}

// Tools that appear while a worker runs are offered in its next turn.
func TestToolsAreRefreshedEachTurn(t *testing.T) {
	b := newBench(t)
	late, err := tongs.New(tongs.Def[struct{}, string]{
		Spec: tongs.Spec{Name: "late", Description: "Late.", Needs: tongs.Execute, Toolset: "test", Default: tongs.PreApproved},
		Run:  func(context.Context, *tongs.Env, struct{}) (string, error) { return "here", nil },
	})
	b.must(err)
	f := b.worker(worker.File{Name: "w"}, played(func(turn int, told string) model.Message {
		switch turn {
		case 0:
			b.must(b.registry.Register(late))
			return calls("read_file", args("path", "."))
		case 1:
			return calls("late", "{}")
		}
		return say(told)
	}))
	b.want(b.run(f, "go"), worker.Done, "[late] here")
}

func TestAnswersThatAreNone(t *testing.T) {
	b := newBench(t)
	b.want(b.run(b.worker(worker.File{Name: "w"}, lines(say(""), say("done"))), "go"), worker.Done, "done")
	refused := modelFunc(func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
		return &model.Response{Message: model.Message{Role: model.Assistant}, Stop: model.StopRefuse}, nil
	})
	b.want(b.run(b.worker(worker.File{Name: "w"}, refused), "go"), worker.Failed, "declined to answer")
	cut := 0
	long := modelFunc(func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
		if cut++; cut < 3 {
			return &model.Response{Message: model.Message{Role: model.Assistant, Parts: []model.Part{{Text: "and"}}}, Stop: model.StopLength}, nil
		}
		return &model.Response{Message: model.Message{Role: model.Assistant, Parts: []model.Part{{Text: "end"}}}, Stop: model.StopEnd}, nil
	})
	b.want(b.run(b.worker(worker.File{Name: "w"}, long), "go"), worker.Done, "end")
}
