package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
)

// hostile is a tool that redirects as it likes.
type hostile struct {
	spec     tongs.Spec
	redirect func(*tongs.Call) (*tongs.Redirect, error)
}

func (h *hostile) Spec() *tongs.Spec { return &h.spec }

func (h *hostile) Call(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error) {
	return nil, errors.New("a redirecting tool was run")
}

func (h *hostile) Redirect(call *tongs.Call) (*tongs.Redirect, error) { return h.redirect(call) }

func TestRedirectThatMisbehaves(t *testing.T) {
	target := tool(t, free, nil, nil)
	for name, redirect := range map[string]func(*tongs.Call) (*tongs.Redirect, error){
		"panics":          func(*tongs.Call) (*tongs.Redirect, error) { panic("no") },
		"returns nothing": func(*tongs.Call) (*tongs.Redirect, error) { return nil, nil },
		"fails":           func(*tongs.Call) (*tongs.Redirect, error) { return nil, errors.New("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			h := &hostile{tongs.Spec{Name: "h", Description: "Redirects.", Input: target.Spec().Input}, redirect}
			b := setup(t, []tongs.Tool{h, target})
			must(t, b.call("h", `{"text":"x"}`), tongs.CodeInternal)
			if _, err := b.Explain(t.Context(), &tongs.Call{Tool: "h", Args: []byte(`{"text":"x"}`)}); err == nil {
				t.Error("it was explained")
			}
			if _, err := b.Validate(t.Context(), "h", []byte(`{"text":"x"}`)); err == nil {
				t.Error("it was validated")
			}
		})
	}
}

// A redirecting tool sees the call as every tool does: it cannot take its ticket, or change whose call it is.
func TestRedirectSeesOnlyTheCall(t *testing.T) {
	target := tool(t, free, nil, nil)
	var seen tongs.Call
	h := &hostile{tongs.Spec{Name: "h", Description: "Redirects.", Input: target.Spec().Input}, func(call *tongs.Call) (*tongs.Redirect, error) {
		seen = *call
		call.Session, call.Agents[0], call.ID = "another", "root", "forged"
		return &tongs.Redirect{Tool: "echo", Args: call.Args}, nil
	}}
	b := setup(t, []tongs.Tool{h, target})
	must(t, b.Call(t.Context(), &tongs.Call{
		ID: "c1", Tool: "h", Args: []byte(`{"text":"x"}`), Session: "s", Agents: []string{"child"}, Ticket: "q_1", Sink: func(tongs.Update) {},
	}), "")
	if seen.Ticket != "" || seen.Sink != nil {
		t.Errorf("it saw the ticket %q", seen.Ticket)
	}
	if row := b.rows(t)[0]; row.Call != "c1" || row.Session != "s" || row.Agents[0] != "child" {
		t.Errorf("the row says %+v", row)
	}
}

type panickingOut struct {
	Said string `json:"said"`
}

func (panickingOut) Present(*tongs.Result) { panic("cannot present") }

// Whatever part of a tool panics: the call ends with INTERNAL and a row, and the process lives.
func TestEveryPartOfAToolMayPanic(t *testing.T) {
	presents, err := tongs.New(tongs.Def[echoIn, panickingOut]{
		Spec: tongs.Spec{Name: "echo", Description: "Panics.", Default: tongs.PreApproved},
		Run: func(_ context.Context, _ *tongs.Env, in echoIn) (panickingOut, error) {
			return panickingOut{in.Text}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	preview := func(v *tongs.View, in echoIn) (*tongs.Plan, error) {
		plan, err := planWrite("out")(v, in)
		plan.Preview = func(context.Context) (string, error) { panic("cannot show") }
		return plan, err
	}
	for name, test := range map[string]struct {
		tool tongs.Tool
		code tongs.Code
	}{
		"Present": {presents, tongs.CodeInternal},
		"Preview": {tool(t, tongs.Spec{Needs: tongs.Write}, preview, runWrite("out")), tongs.CodeInternal},
		"Plan":    {tool(t, free, func(*tongs.View, echoIn) (*tongs.Plan, error) { panic("no plan") }, nil), tongs.CodeInternal},
		"Run":     {tool(t, free, nil, func(context.Context, *tongs.Env, echoIn) (echoOut, error) { panic(errors.New("no")) }), tongs.CodeInternal},
		"Init":    {tongs.Lazy(tongs.Spec{Name: "echo", Description: "Lazy."}, func(context.Context, tongs.InitContext) (tongs.Tool, error) { panic("no") }), tongs.CodeConfigError},
		"Goexit": {tool(t, free, nil, func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			runtime.Goexit()
			return echoOut{}, nil
		}), tongs.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, []tongs.Tool{test.tool})
			b.person.answer = yes
			must(t, b.call("echo", `{"text":"x"}`), test.code)
			if row := b.rows(t)[0]; row.Close == nil || row.Close.Code != test.code {
				t.Errorf("the row ends with %+v", row.Close)
			}
			if got := b.read(t, "out"); got != "" {
				t.Errorf("it wrote %q", got)
			}
			must(t, b.call("nothing", `{}`), tongs.CodeUnknownTool)
		})
	}
}

// Names that a caller chooses are kept in every row, so they are bounded, and the row of such a call too.
func TestNamesThatNoCallerNeeds(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, call := range map[string]*tongs.Call{
		"ID":      {ID: long, Tool: "echo"},
		"session": {Session: long, Tool: "echo"},
		"message": {Message: long, Tool: "echo"},
		"tool":    {Tool: long},
		"agent":   {Agents: []string{long}, Tool: "echo"},
		"agents":  {Agents: strings.Split(strings.Repeat("a ", 500), " "), Tool: "echo"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, []tongs.Tool{tool(t, free, nil, nil)})
			call.Args = json.RawMessage(`{"text":"x"}`)
			res := b.Call(t.Context(), call)
			must(t, res, tongs.CodeInvalidArgs)
			if len(res.Content) > 1000 || len(res.Title) > 1000 {
				t.Errorf("content of %d bytes, title of %d", len(res.Content), len(res.Title))
			}
			row, err := json.Marshal(b.rows(t)[0])
			if err != nil || len(row) > 20_000 {
				t.Errorf("row of %d bytes, %v", len(row), err)
			}
		})
	}
}

func TestEveryResultIsBounded(t *testing.T) {
	long := strings.Repeat("because ", 1<<17)
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{}), tool(t, tongs.Spec{Name: "fails", Default: tongs.PreApproved}, nil,
		func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			return echoOut{}, tongs.Errorf(tongs.CodeExecutionError, "%s", long)
		})})
	b.person.answer = func(approval.Question) approval.Answer { return approval.Answer{Reason: long} }
	for _, name := range []string{"echo", "fails"} {
		res := b.call(name, `{"text":"x"}`)
		if len(res.Content) > 130_000 || len(res.Error.Message) > 20_000 || len(res.Title) > 600 {
			t.Errorf("%s: content of %d bytes, message of %d, title of %d", name, len(res.Content), len(res.Error.Message), len(res.Title))
		}
	}
}

// A tool that planned to fetch and then wants to send data has another effect, which is decided.
func TestNeedToSendIsNotThePlannedFetch(t *testing.T) {
	post := tongs.Effect{Kind: tongs.EffectNetwork, Host: "a.test", Sends: true}
	runs := 0
	fetch := &permitReader{run: func(g *tongs.Permit) error {
		runs++
		for _, e := range g.Effects() {
			if e.Same(post) {
				return nil
			}
		}
		return &tongs.Need{Effects: []tongs.Effect{post}, Reason: "it wants to send a form"}
	}}
	get := tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Network},
		func(*tongs.View, echoIn) (*tongs.Plan, error) {
			return &tongs.Plan{Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "a.test"}}}, nil
		},
		func(context.Context, *tongs.Env, echoIn) (echoOut, error) { return echoOut{}, fetch.check() })
	b := setup(t, []tongs.Tool{get}, func(o *engine.Options) { o.HTTP = fetch.http })
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"x"}`), "")
	if runs != 2 || b.person.count() != 1 || !b.person.last().Effects[0].Sends {
		t.Errorf("ran %d times, asked %d times", runs, b.person.count())
	}
	b.person.answer = no
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeDenied)
}

// permitReader looks at the permit of the call that runs.
type permitReader struct {
	permit *tongs.Permit
	run    func(*tongs.Permit) error
}

func (r *permitReader) http(permit *tongs.Permit) tongs.HTTP { r.permit = permit; return nil }

func (r *permitReader) check() error { return r.run(r.permit) }

// A call that a tool makes ends with the tool's own, whichever context the tool gave it.
func TestInnerCallEndsWithTheOuter(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	inner := tool(t, tongs.Spec{Name: "inner", Default: tongs.PreApproved}, nil, func(ctx context.Context, _ *tongs.Env, _ echoIn) (echoOut, error) {
		close(started)
		<-ctx.Done()
		return echoOut{}, ctx.Err()
	})
	outer := tool(t, free, nil, func(_ context.Context, env *tongs.Env, _ echoIn) (echoOut, error) {
		go func() {
			res := env.Caller.Call(context.Background(), &tongs.Call{Tool: "inner", Args: []byte(`{"text":"x"}`)})
			ended <- res.Error
		}()
		<-started
		return echoOut{"left it behind"}, nil
	})
	b := setup(t, []tongs.Tool{inner, outer})
	must(t, b.call("echo", `{"text":"x"}`), "")
	if err := <-ended; tongs.CodeOf(err) != tongs.CodeCancelled {
		t.Errorf("the inner call ended with %v", err)
	}
}

// A tool that goes on after its call returned writes nowhere and learns nothing.
func TestDeadEnvIsDeaf(t *testing.T) {
	dir := t.TempDir()
	spill, err := output.OpenSpill(dir)
	if err != nil {
		t.Fatal(err)
	}
	var env *tongs.Env
	var out io.Writer
	b := setup(t, []tongs.Tool{tool(t, free, nil, func(_ context.Context, e *tongs.Env, _ echoIn) (echoOut, error) {
		env, out = e, e.Output("stdout")
		return echoOut{"done"}, nil
	})}, func(o *engine.Options) { o.Output = output.Bounds{Limits: output.Limits{Stream: 100}, Spill: spill} })
	must(t, b.call("echo", `{"text":"x"}`), "")
	if n, err := io.WriteString(out, strings.Repeat("late\n", 1000)); n != 5000 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_, _ = io.WriteString(env.Output("stderr"), strings.Repeat("late\n", 1000))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("a dead call made %v, %v", entries, err)
	}
	if _, err := env.Caller.Explain(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`)}); tongs.CodeOf(err) != tongs.CodeCancelled {
		t.Errorf("explained: %v", err)
	}
}

// A tool that does not return from its plan, its preview or its run holds nobody up for longer than the grace.
func TestEveryPartOfAToolMayHang(t *testing.T) {
	hang := func() { select {} }
	for name, hangs := range map[string]tongs.Tool{
		"Plan": tool(t, free, func(*tongs.View, echoIn) (*tongs.Plan, error) { hang(); return nil, nil }, nil),
		"Preview": tool(t, tongs.Spec{Needs: tongs.Write}, func(v *tongs.View, in echoIn) (*tongs.Plan, error) {
			plan, err := planWrite("out")(v, in)
			plan.Preview = func(context.Context) (string, error) { hang(); return "", nil }
			return plan, err
		}, nil),
		"Run": tool(t, free, nil, func(context.Context, *tongs.Env, echoIn) (echoOut, error) { hang(); return echoOut{}, nil }),
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, []tongs.Tool{hangs}, func(o *engine.Options) { o.Grace = time.Millisecond })
			b.person.answer = yes
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			must(t, b.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`)}), tongs.CodeTimeout)
			if row := b.rows(t)[0]; row.Close == nil || row.Close.Code != tongs.CodeTimeout {
				t.Errorf("the row ends with %+v", row.Close)
			}
		})
	}
}
