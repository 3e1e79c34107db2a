package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/output"
)

func put(ctx context.Context, env *tongs.Env, name, text string) error {
	p, err := env.Files.Resolve(name)
	if err != nil {
		return err
	}
	_, err = env.Files.Replace(ctx, p, tongs.Replacing{}, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return err
}

var free = tongs.Spec{Default: tongs.PreApproved}

func TestEveryCallHasARow(t *testing.T) {
	b := setup(t, []tongs.Tool{
		tool(t, free, nil, nil),
		tool(t, tongs.Spec{Name: "asks"}, nil, nil),
		tool(t, tongs.Spec{Name: "fails", Default: tongs.PreApproved}, nil, func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			return echoOut{}, tongs.Errorf(tongs.CodeNoMatch, "nothing there")
		}),
		tool(t, tongs.Spec{Name: "faulty", Default: tongs.PreApproved}, nil, func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			return echoOut{}, errors.New("our disk is on fire")
		}),
		tool(t, tongs.Spec{Name: "panics", Default: tongs.PreApproved}, nil, func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			panic("at the run")
		}),
		tool(t, tongs.Spec{Name: "panics_planning", Default: tongs.PreApproved}, func(*tongs.View, echoIn) (*tongs.Plan, error) {
			panic("at the plan")
		}, nil),
	}, rules(tongs.Rule{Tool: "blocked_*", Decision: tongs.Blocked}))
	for _, tc := range []struct {
		tool, args string
		code       tongs.Code
		outcome    string
	}{
		{"echo", `{"text":"hi"}`, "", "ok"},
		{"ecko", `{"text":"hi"}`, tongs.CodeUnknownTool, "error"},
		{"echo", `{"txet":1}`, tongs.CodeInvalidArgs, "error"},
		{"echo", `not json`, tongs.CodeInvalidArgs, "error"},
		{"asks", `{"text":"hi"}`, tongs.CodeApprovalRequired, "refused"},
		{"fails", `{"text":"hi"}`, tongs.CodeNoMatch, "error"},
		{"faulty", `{"text":"hi"}`, tongs.CodeInternal, "error"},
		{"panics", `{"text":"hi"}`, tongs.CodeInternal, "error"},
		{"panics_planning", `{"text":"hi"}`, tongs.CodeInternal, "error"},
	} {
		before := len(b.rows(t))
		res := b.call(tc.tool, tc.args)
		must(t, res, tc.code)
		rows := b.rows(t)
		if len(rows) != before+1 {
			t.Fatalf("%s: %d rows more", tc.tool, len(rows)-before)
		}
		row := rows[before]
		if row.Close == nil || row.Close.Outcome != tc.outcome || row.Close.Code != tc.code || row.Tool != tc.tool {
			t.Errorf("%s: row %+v, closed %+v", tc.tool, row, row.Close)
		}
		if res.Metadata["call"] != row.Call {
			t.Errorf("%s: the result names call %v, the row %s", tc.tool, res.Metadata["call"], row.Call)
		}
	}
}

func TestUnknownToolNamesTheNearest(t *testing.T) {
	b := setup(t, []tongs.Tool{tool(t, free, nil, nil)})
	res := b.call("ecoh", `{"text":"hi"}`)
	must(t, res, tongs.CodeUnknownTool)
	if !strings.Contains(res.Error.Message, "echo") {
		t.Errorf("message %q", res.Error.Message)
	}
}

// failingLog refuses the writes it is told to.
type failingLog struct {
	audit.Log
	open, intent, close error
}

func (l failingLog) Open(ctx context.Context, r *audit.Row) error {
	if l.open != nil {
		return l.open
	}
	return l.Log.Open(ctx, r)
}

func (l failingLog) Intent(ctx context.Context, call string, in *audit.Intent) error {
	if l.intent != nil {
		return l.intent
	}
	return l.Log.Intent(ctx, call, in)
}

func (l failingLog) Close(ctx context.Context, call string, c *audit.Closing) error {
	if l.close != nil {
		return l.close
	}
	return l.Log.Close(ctx, call, c)
}

func TestACallThatCannotBeRecordedDoesNotRun(t *testing.T) {
	full := errors.New("no space left on device")
	for name, log := range map[string]failingLog{"open": {open: full}, "intent": {intent: full}} {
		var ran atomic.Bool
		b := setup(t, []tongs.Tool{tool(t, free, nil, func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			ran.Store(true)
			return echoOut{}, nil
		})}, func(o *engine.Options) {
			log.Log = audit.NewMemory()
			o.Audit = log
		})
		res := b.call("echo", `{"text":"hi"}`)
		must(t, res, tongs.CodeInternal)
		if ran.Load() || !strings.Contains(res.Content, "no space left") {
			t.Errorf("%s: ran %v: %s", name, ran.Load(), res.Content)
		}
	}
	b := setup(t, []tongs.Tool{tool(t, free, nil, nil)}, func(o *engine.Options) {
		o.Audit = failingLog{Log: audit.NewMemory(), close: full}
	})
	res := b.call("echo", `{"text":"hi"}`)
	must(t, res, "")
	if !strings.Contains(fmt.Sprint(res.Metadata["auditError"]), "no space left") {
		t.Errorf("a close that failed is not said: %v", res.Metadata)
	}
}

func TestRepairsAreReported(t *testing.T) {
	b := setup(t, []tongs.Tool{tool(t, free, nil, nil)})
	res := b.call("echo", `{"text":"hi","loud":"true"}`)
	must(t, res, "")
	if list, _ := res.Metadata["repaired"].([]string); len(list) != 1 || !strings.Contains(list[0], "loud") {
		t.Errorf("repaired %v", res.Metadata["repaired"])
	}
}

func TestOutputThatDoesNotFitItsSchemaIsOurFault(t *testing.T) {
	lying := &fixed{spec: *tool(t, free, nil, nil).Spec(), res: &tongs.Result{Value: []byte(`{"said":5}`)}}
	b := setup(t, []tongs.Tool{lying})
	res := b.call("echo", `{"text":"hi"}`)
	must(t, res, tongs.CodeInternal)
	if res.Value != nil || !strings.Contains(res.Content, "said") {
		t.Errorf("%s, value %s", res.Content, res.Value)
	}
}

// fixed returns the same result always.
type fixed struct {
	spec tongs.Spec
	res  *tongs.Result
}

func (f *fixed) Spec() *tongs.Spec { return &f.spec }

func (f *fixed) Call(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error) {
	return f.res, nil
}

func TestUpdatesEndWithTheCall(t *testing.T) {
	late := make(chan struct{})
	var env *tongs.Env
	b := setup(t, []tongs.Tool{tool(t, free, nil, func(_ context.Context, e *tongs.Env, in echoIn) (echoOut, error) {
		env = e
		e.Update(tongs.Update{Title: "working"})
		io.WriteString(e.Output("stdout"), "some output")
		go func() {
			<-late
			e.Update(tongs.Update{Title: "too late"})
			io.WriteString(e.Output("stdout"), "too late")
			late <- struct{}{}
		}()
		return echoOut{in.Text}, nil
	})})
	var got []tongs.Update
	res := b.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`), Sink: func(u tongs.Update) { got = append(got, u) }})
	must(t, res, "")
	late <- struct{}{}
	<-late
	if len(got) != 2 || got[0].Title != "working" || got[1].Text != "some output" || got[1].Stream != "stdout" {
		t.Errorf("updates %+v", got)
	}
	if err := put(t.Context(), env, "late", "x"); tongs.CodeOf(err) != tongs.CodeCancelled {
		t.Errorf("a dead Env wrote a file: %v", err)
	}
	if err := env.State.Save(t.Context(), "k", 1); err == nil {
		t.Error("a dead Env saved state")
	}
	must(t, env.Caller.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`)}), tongs.CodeCancelled)
}

func TestStreamingAGigabyteCostsNoMemory(t *testing.T) {
	chunk := []byte(strings.Repeat("0123456789abcde\n", 1<<16))
	spill, err := output.OpenSpill(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	streams := &fixedRun{
		spec: tongs.Spec{Name: "stream", Description: "Streams.", Default: tongs.PreApproved, Input: tool(t, free, nil, nil).Spec().Input},
		run: func(_ context.Context, env *tongs.Env) (*tongs.Result, error) {
			out := env.Output("stdout")
			for range 1 << 10 {
				out.Write(chunk)
			}
			return nil, nil
		},
	}
	b := setup(t, []tongs.Tool{streams}, func(o *engine.Options) {
		o.Output = output.Bounds{Limits: output.Limits{Spill: 1 << 20}, Spill: spill}
	})
	before := heap()
	res := b.call("stream", `{"text":""}`)
	must(t, res, "")
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if len(res.Content) > 31_000 || !strings.Contains(res.Content, "of 1.1 GB left out; read_file /spill/") {
		t.Errorf("content of %d bytes: %.200q", len(res.Content), res.Content)
	}
}

type fixedRun struct {
	spec tongs.Spec
	run  func(context.Context, *tongs.Env) (*tongs.Result, error)
}

func (f *fixedRun) Spec() *tongs.Spec { return &f.spec }

func (f *fixedRun) Call(ctx context.Context, env *tongs.Env, _ *tongs.Call) (*tongs.Result, error) {
	return f.run(ctx, env)
}

func TestCancellation(t *testing.T) {
	for name, run := range map[string]func(context.Context, *tongs.Env, echoIn) (echoOut, error){
		"tool that listens": func(ctx context.Context, _ *tongs.Env, _ echoIn) (echoOut, error) {
			<-ctx.Done()
			return echoOut{}, ctx.Err()
		},
		"tool that does not": func(context.Context, *tongs.Env, echoIn) (echoOut, error) {
			time.Sleep(time.Hour)
			return echoOut{}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			plain := tool(t, free, nil, run)
			synctest.Test(t, func(t *testing.T) {
				eng := bare(t, plain)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				must(t, eng.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`)}), tongs.CodeCancelled)
				res := eng.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`), Timeout: 3 * time.Second})
				must(t, res, tongs.CodeTimeout)
				if !strings.Contains(res.Content, "3s") {
					t.Errorf("%s", res.Content)
				}
				must(t, eng.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`)}), tongs.CodeCancelled)
				time.Sleep(2 * time.Hour) // until the tools that do not listen are gone
			})
		})
	}
}

// bare is an engine without files, for tests with a fake clock.
func bare(t testing.TB, tools ...tongs.Tool) *engine.Engine {
	t.Helper()
	eng, err := engine.New(engine.Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

func TestTimeoutKeepsPartialOutput(t *testing.T) {
	slow := tool(t, free, nil, func(ctx context.Context, env *tongs.Env, _ echoIn) (echoOut, error) {
		io.WriteString(env.Output("stdout"), "half of it")
		<-ctx.Done()
		return echoOut{}, ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		res := bare(t, slow).Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"hi"}`), Timeout: time.Second})
		must(t, res, tongs.CodeTimeout)
		if !strings.Contains(res.Content, "half of it") || !strings.Contains(res.Content, "timed out") {
			t.Errorf("%q", res.Content)
		}
	})
}

func TestOnResultObservesEveryResult(t *testing.T) {
	var seen []string
	b := setup(t, []tongs.Tool{tool(t, free, nil, nil)}, func(o *engine.Options) {
		o.OnResult = func(c *tongs.Call, r *tongs.Result) {
			seen = append(seen, fmt.Sprint(c.Tool, " ", r.OK()))
			panic("a hook that fails must not fail the call")
		}
	})
	must(t, b.call("echo", `{"text":"hi"}`), "")
	must(t, b.call("nothing", `{}`), tongs.CodeUnknownTool)
	if strings.Join(seen, ",") != "echo true,nothing false" {
		t.Errorf("saw %v", seen)
	}
}

func TestExplainNeverExecutes(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{}), writer(t, tongs.Spec{Name: "never"})},
		rules(tongs.Rule{Tool: "never", Decision: tongs.Blocked}))
	for name, want := range map[string]tongs.Decision{"echo": tongs.Ask, "never": tongs.Blocked} {
		ex, err := b.Explain(t.Context(), &tongs.Call{Tool: name, Args: []byte(`{"text":"hi"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if ex.Decision != want || len(ex.Effects) != 1 || ex.Effects[0].String() != "write out" || ex.Rule == "" || ex.Reason == "" {
			t.Errorf("%s: %+v", name, ex)
		}
	}
	if b.read(t, "out") != "" || len(b.rows(t)) != 0 || b.person.count() != 0 {
		t.Error("explaining wrote, recorded or asked")
	}
	if _, err := b.Explain(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{}`)}); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("explaining invalid arguments: %v", err)
	}
}

func TestValidateWithoutExecuting(t *testing.T) {
	b := setup(t, []tongs.Tool{tool(t, tongs.Spec{}, nil, nil)})
	checked, err := b.Validate(t.Context(), "echo", []byte(`{"Text":"hi"}`))
	if err != nil || string(checked.Args) != `{"text":"hi"}` || len(checked.Repaired) != 1 {
		t.Errorf("%s %v %v", checked.Args, checked.Repaired, err)
	}
	if _, err := b.Validate(t.Context(), "echo", []byte(`{}`)); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Error(err)
	}
}

func TestPermissionsNotGranted(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, free)}, func(o *engine.Options) { o.Granted = tongs.Read })
	must(t, b.call("echo", `{"text":"hi"}`), tongs.CodePermissionDenied)
	if specs, _ := b.Tools(t.Context()); len(specs) != 0 {
		t.Errorf("offered %v", specs)
	}
	b = setup(t, []tongs.Tool{tool(t, tongs.Spec{Default: tongs.PreApproved, Needs: tongs.Read}, planWrite("out"), runWrite("out"))})
	must(t, b.call("echo", `{"text":"hi"}`), tongs.CodePermissionDenied)
}

func TestLazyTool(t *testing.T) {
	fails := true
	lazy := tongs.Lazy(tongs.Spec{Name: "echo"}, func(_ context.Context, in tongs.InitContext) (tongs.Tool, error) {
		if fails {
			return nil, errors.New("no such server")
		}
		if in.Workspace == "" {
			t.Error("no workspace in the init context")
		}
		return tool(t, free, nil, nil), nil
	})
	b := setup(t, []tongs.Tool{lazy})
	res := b.call("echo", `{"text":"hi"}`)
	must(t, res, tongs.CodeConfigError)
	if !strings.Contains(res.Content, "no such server") {
		t.Error(res.Content)
	}
	if _, broken := b.Tools(t.Context()); broken["echo"] == nil {
		t.Error("a tool that fails is not listed as broken")
	}
	fails = false
	must(t, b.call("echo", `{"text":"hi"}`), "")
}

func TestConcurrentCalls(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, tongs.Spec{Name: "write"}), tool(t, free, nil, nil)}, mode(tongs.ModeAll))
	b.person.answer = yes
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			must(t, b.call("echo", fmt.Sprintf(`{"text":"%d"}`, i)), "")
			res := b.call("write", fmt.Sprintf(`{"text":"%d"}`, i))
			if res.Error != nil && res.Error.Code != tongs.CodeStaleFile {
				t.Errorf("%s", res.Content)
			}
		})
	}
	wg.Wait()
	if rows := b.rows(t); len(rows) != 64 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestNobodyToAskIsARefusal(t *testing.T) {
	var ran atomic.Bool
	run := func(context.Context, *tongs.Env, echoIn) (echoOut, error) { ran.Store(true); return echoOut{}, nil }
	for name, change := range map[string]func(*engine.Options){
		"no desk":         func(o *engine.Options) { o.Approval = nil },
		"no channel":      func(o *engine.Options) { o.Approval = &approval.Desk{Store: approval.NewMemory(approval.Options{})} },
		"cannot show it":  func(*engine.Options) {},
		"channel fails":   func(o *engine.Options) { o.Approval.Channels = []approval.Channel{badChannel{errors.New("tty gone")}} },
		"channel panics":  func(o *engine.Options) { o.Approval.Channels = []approval.Channel{badChannel{nil}} },
		"zero-value desk": func(o *engine.Options) { o.Approval = &approval.Desk{} },
		"mode none, free": func(o *engine.Options) { o.Mode = tongs.ModeNone },
		"explicit ask":    rules(tongs.Rule{Tool: "echo", Decision: tongs.Ask}),
		"managed ask, all": func(o *engine.Options) {
			o.Mode = tongs.ModeAll
			rules(tongs.Rule{Tool: "echo", Decision: tongs.Ask})(o)
		},
	} {
		b := setup(t, []tongs.Tool{tool(t, tongs.Spec{}, nil, run)}, change)
		res := b.call("echo", `{"text":"hi"}`)
		if res.Error == nil || res.Error.Code != tongs.CodeApprovalRequired || ran.Load() {
			t.Errorf("%s: %s (ran %v)", name, res.Content, ran.Load())
		}
	}
}

type badChannel struct{ err error }

func (c badChannel) Ask(context.Context, approval.Question) (*approval.Answer, error) {
	if c.err == nil {
		panic("channel")
	}
	return &approval.Answer{Approved: true}, c.err
}
