package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

// A call that is cancelled at any stage says so, leaves the old file or the new one, and closes its row.
func TestCancelledAtEveryStage(t *testing.T) {
	for _, stage := range []string{"before", "plan", "preview", "question", "run", "writing", "after"} {
		t.Run(stage, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			at := func(now string) {
				if now == stage {
					cancel()
				}
			}
			at("before")
			slow := tool(t, tongs.Spec{Needs: tongs.Write}, func(v *tongs.View, in echoIn) (*tongs.Plan, error) {
				at("plan")
				plan, err := planWrite("out")(v, in)
				plan.Preview = func(context.Context) (string, error) { at("preview"); return "diff", nil }
				return plan, err
			}, func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
				at("run")
				p, err := env.Files.Resolve("out")
				if err != nil {
					return echoOut{}, err
				}
				_, err = env.Files.Replace(ctx, p, tongs.Replacing{}, func(w io.Writer) error {
					at("writing")
					_, err := io.WriteString(w, in.Text)
					return err
				})
				at("after")
				return echoOut{"wrote"}, err
			})
			w := setupWhole(t, func(o *engine.Options) {
				o.Tools = append(o.Tools, slow)
			})
			w.put(t, "out", "old")
			w.person.answer = func(approval.Question) approval.Answer { at("question"); return approval.Answer{Approved: true} }
			res := w.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"new"}`)})
			want := "old"
			if stage == "after" {
				want = "new"
				must(t, res, "")
			} else {
				must(t, res, tongs.CodeCancelled)
			}
			if got := w.read(t, "out"); got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
			if row := w.rows(t)[0]; row.Close == nil {
				t.Errorf("the row is not closed: %+v", row)
			}
			if pending, err := w.opt.Approval.Store.List(t.Context(), true); err != nil || len(pending) > 0 {
				t.Errorf("%d questions are left open, %v", len(pending), err)
			}
		})
	}
}

// broken fails at one method of the stores that a call needs.
type broken struct {
	approval.Store
	policy.Book
	tongs.State
	fails string
}

var errBroken = errors.New("the disk is on fire")

func (b *broken) at(method string) error {
	if b.fails == method {
		return errBroken
	}
	return nil
}

func (b *broken) Open(ctx context.Context, q approval.Question) (approval.Question, error) {
	if err := b.at("Open"); err != nil {
		return q, err
	}
	return b.Store.Open(ctx, q)
}

func (b *broken) Wait(ctx context.Context, id string) (approval.Question, error) {
	if err := b.at("Wait"); err != nil {
		return approval.Question{}, err
	}
	return b.Store.Wait(ctx, id)
}

func (b *broken) Answer(ctx context.Context, id string, a approval.Answer) error {
	if err := b.at("Answer"); err != nil {
		return err
	}
	return b.Store.Answer(ctx, id, a)
}

func (b *broken) Redeem(ctx context.Context, digest, id string) (approval.Question, bool, error) {
	if err := b.at("Redeem"); err != nil {
		return approval.Question{}, true, err
	}
	return b.Store.Redeem(ctx, digest, id)
}

func (b *broken) Find(ctx context.Context, key policy.Key) ([]policy.Grant, error) {
	if err := b.at("Find"); err != nil {
		return nil, err
	}
	return b.Book.Find(ctx, key)
}

func (b *broken) Add(ctx context.Context, g policy.Grant) error {
	if err := b.at("Add"); err != nil {
		return err
	}
	return b.Book.Add(ctx, g)
}

func (b *broken) Load(ctx context.Context, key string, v any) (bool, error) {
	if err := b.at("Load"); err != nil {
		return false, err
	}
	return b.State.Load(ctx, key, v)
}

// list is for the ambiguity of Store and Book, which both have one.
type brokenBook struct{ *broken }

func (b brokenBook) List(ctx context.Context) ([]policy.Grant, error) { return b.Book.List(ctx) }

type brokenStore struct{ *broken }

func (b brokenStore) List(ctx context.Context, pending bool) ([]approval.Question, error) {
	return b.Store.List(ctx, pending)
}

// Whatever of what a call rests on cannot be read or written: the call is not made.
func TestWhatCannotBeReadOrWrittenRefuses(t *testing.T) {
	for _, method := range []string{"Open", "Wait", "Answer", "Redeem", "Find", "Add", "Load"} {
		t.Run(method, func(t *testing.T) {
			w := setupWhole(t, func(o *engine.Options) {
				b := &broken{Store: o.Approval.Store, Book: o.Grants, fails: method}
				state := o.State
				o.Approval = &approval.Desk{Store: brokenStore{b}, Channels: o.Approval.Channels}
				o.Grants = brokenBook{b}
				o.State = func(s string) tongs.State { c := *b; c.State = state(s); return &c }
			})
			w.put(t, "f", "old")
			w.person.answer = forever
			if res := w.model("write_file", args{"path": "f", "content": "new"}); res.OK() || w.read(t, "f") != "old" {
				t.Errorf("%s: the file holds %q", res.Content, w.read(t, "f"))
			}
		})
	}
}

// An approval of one call serves nobody else: not another agent, workspace or argument, and not twice.
func TestApprovalIsOfExactlyThisCall(t *testing.T) {
	a := setupWhole(t)
	other := setupWhole(t, func(o *engine.Options) { o.Approval, o.Grants = a.opt.Approval, a.opt.Grants })
	for _, w := range []*whole{a, other} {
		w.put(t, "f", "old")
	}
	call := func(w *whole, change func(*tongs.Call)) *tongs.Result {
		c := &tongs.Call{Tool: "write_file", Args: []byte(`{"path":"f","content":"new"}`), Session: "s", Agents: []string{"main"}}
		change(c)
		return w.Call(t.Context(), c)
	}
	same := func(*tongs.Call) {}
	res := call(a, same)
	must(t, res, tongs.CodeApprovalRequired)
	id := res.Error.Details["question"].(string)
	if err := a.opt.Approval.Store.Answer(t.Context(), id, approval.Answer{Approved: true}); err != nil {
		t.Fatal(err)
	}
	for _, ticket := range []string{id, "", "q", "%", "q0000000000"} {
		for name, change := range map[string]func(*tongs.Call){
			"another agent":    func(c *tongs.Call) { c.Agents = []string{"child"} },
			"a longer chain":   func(c *tongs.Call) { c.Agents = []string{"main", "child"} },
			"no agent":         func(c *tongs.Call) { c.Agents = nil },
			"other arguments":  func(c *tongs.Call) { c.Args = []byte(`{"path":"f","content":"other"}`) },
			"another tool":     func(c *tongs.Call) { c.Tool, c.Args = "delete_file", []byte(`{"path":"f"}`) },
			"another spelling": func(c *tongs.Call) { c.Args = []byte(`{"path":"./f","content":"new!"}`) },
		} {
			if res := call(a, func(c *tongs.Call) { change(c); c.Ticket = ticket }); res.OK() {
				t.Errorf("%s with the ticket %q: %s", name, ticket, res.Content)
			}
		}
		if res := call(other, func(c *tongs.Call) { c.Ticket = ticket }); res.OK() {
			t.Errorf("another workspace with the ticket %q: %s", ticket, res.Content)
		}
	}
	must(t, call(a, func(c *tongs.Call) { c.Ticket = "q0000000000" }), tongs.CodeApprovalRequired)
	must(t, call(a, func(c *tongs.Call) { c.Ticket = id }), "")
	a.put(t, "f", "old")
	must(t, call(a, func(c *tongs.Call) { c.Ticket, c.Session = id, "another" }), tongs.CodeApprovalRequired)
}

// A grant for a path in one workspace says nothing about the same name in another, or about another agent.
func TestGrantsAreOfOneWorkspaceAndAgent(t *testing.T) {
	a := setupWhole(t)
	b := setupWhole(t, func(o *engine.Options) { o.Approval, o.Grants = a.opt.Approval, a.opt.Grants })
	a.person.answer = forever
	for _, w := range []*whole{a, b} {
		w.put(t, "f", "old")
	}
	edit := func(w *whole, session, old string, agents ...string) *tongs.Result {
		return w.Call(t.Context(), &tongs.Call{
			Tool: "edit", Args: []byte(fmt.Sprintf(`{"path":"f","oldString":%q,"newString":%q}`, old, old+"!")), Session: session, Agents: agents,
		})
	}
	must(t, edit(a, "s1", "old"), "")
	a.person.answer = no
	must(t, edit(a, "s2", "old!"), "")
	must(t, edit(b, "s1", "old"), tongs.CodeDenied)
	must(t, edit(a, "s3", "old!!", "child"), tongs.CodeDenied)
}

// Secrets in arguments are in no row and in no question that is over.
func TestSecretsAreKeptNowhere(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	w := setupWhole(t)
	w.person.answer = yes
	w.put(t, "f", "old")
	must(t, w.model("write_file", args{"path": "f", "content": "token: " + token}), "")
	must(t, w.model("edit", args{"path": "f", "oldString": "token: " + token, "newString": "gone"}), "")
	w.model("read_file", args{"path": "no/" + token})
	w.model("write_file", args{"path": "dir-" + token, "content": "x"})
	w.model(token, args{"password": "hunter2hunter2", "x": token})
	w.person.answer = func(approval.Question) approval.Answer {
		return approval.Answer{Reason: "do not use " + token}
	}
	w.model("delete_file", args{"path": "dir-" + token})
	questions, err := w.opt.Approval.Store.List(t.Context(), false)
	if err != nil || len(questions) < 3 {
		t.Fatalf("%d questions, %v", len(questions), err)
	}
	for what, kept := range map[string]any{"rows": w.rows(t), "questions": questions} {
		data, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(string(data), token); i >= 0 {
			t.Errorf("%s: %s", what, data[max(0, i-200):i])
		}
		if strings.Contains(string(data), "hunter2") {
			t.Errorf("%s hold a password", what)
		}
	}
}

// An engine that makes many calls keeps what it kept after the first thousands, and no goroutine.
func TestManyCallsCostNoMemory(t *testing.T) {
	b := setup(t, []tongs.Tool{tool(t, free, nil, nil), writer(t, tongs.Spec{Name: "asks"})})
	b.person.answer = no
	many := func(n int) {
		for i := range n {
			session := fmt.Sprint("s", i)
			b.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`), Session: session})
			b.Call(t.Context(), &tongs.Call{Tool: fmt.Sprint("unknown", i), Session: session})
			if i%20 == 0 {
				b.Call(t.Context(), &tongs.Call{Tool: "asks", Args: []byte(fmt.Sprintf(`{"text":"%d"}`, i)), Session: session})
			}
		}
		b.person.asked = nil
	}
	many(2000)
	before, goroutines := heap(), runtime.NumGoroutine()
	many(10_000)
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if now := runtime.NumGoroutine(); now > goroutines+5 {
		t.Errorf("%d goroutines, there were %d", now, goroutines)
	}
}

// stuck is a channel that never returns, whatever happens to its context.
type stuck struct{ free chan struct{} }

func (s stuck) Ask(context.Context, approval.Question) (*approval.Answer, error) {
	<-s.free
	return &approval.Answer{Approved: true}, nil
}

// A channel that never returns holds nobody up, and its late answer is none.
func TestAChannelThatNeverReturns(t *testing.T) {
	asks := tool(t, tongs.Spec{}, nil, nil)
	synctest.Test(t, func(t *testing.T) {
		hung := stuck{make(chan struct{})}
		store := approval.NewMemory(approval.Options{})
		eng := withDesk(t, asks, &approval.Desk{Store: store, Channels: []approval.Channel{hung}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, eng.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`)}), tongs.CodeCancelled)
		person := &desk{answer: yes}
		eng = withDesk(t, asks, &approval.Desk{Store: store, Channels: []approval.Channel{hung, person}})
		must(t, eng.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`)}), "")
		close(hung.free)
		synctest.Wait()
		person.answer = nil
		must(t, eng.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"y"}`)}), "") // it answers now
	})
}

func withDesk(t testing.TB, tool tongs.Tool, d *approval.Desk) *engine.Engine {
	t.Helper()
	b := setup(t, []tongs.Tool{tool}, func(o *engine.Options) { o.Approval, o.Workspace = d, nil })
	return b.Engine
}

// Many callers at once: every call has its row, every file is whole, and the chain holds.
func TestManyCallersAtOnce(t *testing.T) {
	w := setupWhole(t, mode(tongs.ModeAll))
	w.put(t, "shared", "0")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 10 {
				session := fmt.Sprint("s", i)
				for tool, a := range map[string]string{
					"write_file": fmt.Sprintf(`{"path":"f%d","content":"%d"}`, i, j),
					"read_file":  fmt.Sprintf(`{"path":"f%d"}`, (i+1)%8),
					"move_file":  fmt.Sprintf(`{"from":"f%d","to":"f%d","overwrite":true}`, i, (i+1)%8),
					"edit":       `{"path":"shared","oldString":"0","newString":"0"}`,
				} {
					w.Call(t.Context(), &tongs.Call{Tool: tool, Args: json.RawMessage(a), Session: session})
				}
			}
		})
	}
	group.Wait()
	rows := w.rows(t)
	if len(rows) != 8*10*4 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		if row.Close == nil || row.Close.Code == tongs.CodeInternal {
			t.Errorf("%s: %+v", row.Tool, row.Close)
		}
	}
	if chain, err := w.log.Verify(t.Context(), ""); err != nil || !chain.OK() {
		t.Errorf("%+v, %v", chain, err)
	}
}
