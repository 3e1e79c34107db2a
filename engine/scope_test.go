package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// runner redirects to another tool, as run_custom_tool will.
type runner struct{ spec tongs.Spec }

type runnerIn struct {
	Tool string         `json:"tool" jsonschema:"which"`
	Args map[string]any `json:"args" jsonschema:"its arguments"`
}

func newRunner(t *testing.T) *runner {
	in, _, err := tongs.SchemaOf[runnerIn]()
	if err != nil {
		t.Fatal(err)
	}
	return &runner{tongs.Spec{Name: "run_custom", Description: "Runs a custom tool.", Input: in, Default: tongs.PreApproved}}
}

func (r *runner) Spec() *tongs.Spec { return &r.spec }

func (r *runner) Call(context.Context, *tongs.Env, *tongs.Call) (*tongs.Result, error) {
	return nil, fmt.Errorf("a redirecting tool was run")
}

func (r *runner) Redirect(call *tongs.Call) (*tongs.Redirect, error) {
	var in struct {
		Tool string
		Args json.RawMessage
	}
	err := json.Unmarshal(call.Args, &in)
	return &tongs.Redirect{Tool: in.Tool, Args: in.Args, Timeout: time.Minute, Kinds: []tongs.SourceKind{tongs.SourceForge}}, err
}

var custom = tongs.Source{Kind: tongs.SourceForge, Name: "mine", Digest: "d1"}

func TestRedirectedCall(t *testing.T) {
	mine := tool(t, tongs.Spec{Name: "mine", Source: custom, Needs: tongs.Execute}, nil, nil)
	redirect := `{"tool":"mine","args":{"text":"hi"}}`
	forge := provide(sources{tongs.SourceForge: &source{tools: []tongs.Tool{mine}}})
	b := setup(t, []tongs.Tool{newRunner(t), tool(t, free, nil, nil)}, forge)
	b.person.answer = yes
	res := b.call("run_custom", redirect)
	must(t, res, "")
	if res.Content != "hi" || b.person.last().Tool != "mine" {
		t.Errorf("%s; asked about %s", res.Content, b.person.last().Tool)
	}
	row := b.rows(t)[0]
	if row.Tool != "run_custom" || row.Intent.Tool != "mine" || row.Intent.Via != "run_custom" {
		t.Errorf("row %+v, intent %+v", row, row.Intent)
	}
	must(t, b.call("run_custom", `{"tool":"mine","args":{"txet":"hi"}}`), tongs.CodeInvalidArgs)
	must(t, b.call("run_custom", `{"tool":"echo","args":{"text":"hi"}}`), tongs.CodeUnknownTool) // not a custom tool
	must(t, b.call("run_custom", `{"tool":"nothing","args":{}}`), tongs.CodeUnknownTool)

	// The rules of both names apply.
	for _, name := range []string{"run_custom", "mine"} {
		b := setup(t, []tongs.Tool{newRunner(t)}, forge, mode(tongs.ModeAll), rules(tongs.Rule{Tool: name, Decision: tongs.Blocked}))
		must(t, b.call("run_custom", redirect), tongs.CodeBlocked)
	}
}

func TestWithinNarrows(t *testing.T) {
	b := setup(t, []tongs.Tool{writer(t, free), tool(t, tongs.Spec{Name: "other", Default: tongs.PreApproved}, nil, nil)})
	call := func(c tongs.Caller, name string) *tongs.Result {
		return c.Call(context.Background(), &tongs.Call{Tool: name, Args: []byte(`{"text":"hi"}`), Session: "s"})
	}
	out := tongs.Path{Rel: "out"}
	for _, tc := range []struct {
		name  string
		scope tongs.Scope
		code  tongs.Code
	}{
		{"nothing", tongs.Scope{}, ""},
		{"tools that are listed", tongs.Scope{Tools: []string{"echo"}}, ""},
		{"tools that are not", tongs.Scope{Tools: []string{"other"}}, tongs.CodeUnknownTool},
		{"no tools", tongs.Scope{Tools: []string{}}, tongs.CodeUnknownTool},
		{"permissions", tongs.Scope{Granted: tongs.Read}, tongs.CodePermissionDenied},
		{"its zone", tongs.Scope{Zones: []tongs.Zone{{Path: out, Writable: true}}}, ""},
		{"a read-only zone", tongs.Scope{Zones: []tongs.Zone{{Path: out}}}, tongs.CodeBlocked},
		{"another zone", tongs.Scope{Zones: []tongs.Zone{{Path: tongs.Path{Rel: "docs"}, Writable: true}}}, tongs.CodeBlocked},
		{"no zones", tongs.Scope{Zones: []tongs.Zone{}}, tongs.CodeBlocked},
		{"a rule that asks", tongs.Scope{Rules: []tongs.Rule{{Tool: "echo", Layer: tongs.LayerWorker, Decision: tongs.Ask}}}, tongs.CodeApprovalRequired},
		{"a rule that blocks", tongs.Scope{Rules: []tongs.Rule{{Tool: "echo", Layer: tongs.LayerWorker, Decision: tongs.Blocked}}}, tongs.CodeBlocked},
	} {
		res := call(b.Within(tc.scope), "echo")
		if got := tongs.CodeOf(asError(res)); got != tc.code {
			t.Errorf("%s: %q, want %q: %s", tc.name, got, tc.code, res.Content)
		}
		// A further scope cannot give back what the first one took.
		wide := tongs.Scope{
			Tools: []string{"echo", "other"}, Granted: tongs.AllPermissions, Zones: []tongs.Zone{{Path: tongs.Path{Rel: "."}, Writable: true}},
			Rules: []tongs.Rule{{Tool: "echo", Layer: tongs.LayerManaged, Decision: tongs.PreApproved}},
		}
		if got := tongs.CodeOf(asError(call(b.Within(tc.scope).Within(wide), "echo"))); got != tc.code {
			t.Errorf("%s, widened: %q, want %q", tc.name, got, tc.code)
		}
	}
	if ex, err := b.Within(tongs.Scope{Zones: []tongs.Zone{}}).Explain(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`)}); err != nil || ex.Decision != tongs.Blocked {
		t.Errorf("explained %+v, %v", ex, err)
	}
}

func asError(r *tongs.Result) error {
	if r.Error == nil {
		return nil
	}
	return r.Error
}

// A child's base rules still apply: what the parent may not do without asking, the child may not either.
func TestChildIsJudgedByTheStrictestOfTheChain(t *testing.T) {
	child := tongs.Scope{Agent: "child", Rules: []tongs.Rule{{Tool: "echo", Layer: tongs.LayerWorker, Decision: tongs.PreApproved}}}
	parent := tongs.Scope{Agent: "parent", Rules: []tongs.Rule{{Tool: "echo", Layer: tongs.LayerWorker, Decision: tongs.Ask}}}
	b := setup(t, []tongs.Tool{writer(t, free)})
	res := b.Within(parent).Within(child).Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`), Agents: []string{"root"}})
	must(t, res, tongs.CodeApprovalRequired)
	if q := b.person.last(); !slices.Equal(q.Agents, []string{"root", "parent", "child"}) {
		t.Errorf("the question shows the chain %v", q.Agents)
	}
}

// A tool that calls tools cannot leave its scope, shorten the chain, or change session.
func TestRecursiveCallIsNarrowedAndBound(t *testing.T) {
	outer := tool(t, tongs.Spec{Name: "outer", Default: tongs.PreApproved}, nil, func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
		res := env.Caller.Within(tongs.Scope{Agent: "inner"}).Call(ctx, &tongs.Call{Tool: in.Text, Args: []byte(`{"text":"x"}`), Session: "forged", Agents: []string{"forged"}})
		if res.Error != nil {
			return echoOut{}, res.Error
		}
		return echoOut{res.Content}, nil
	})
	b := setup(t, []tongs.Tool{outer, tool(t, free, nil, nil), tool(t, tongs.Spec{Name: "hidden", Default: tongs.PreApproved}, nil, nil)})
	scoped := b.Within(tongs.Scope{Agent: "worker", Tools: []string{"outer", "echo"}})
	must(t, scoped.Call(t.Context(), &tongs.Call{Tool: "outer", Args: []byte(`{"text":"echo"}`), Session: "s"}), "")
	must(t, scoped.Call(t.Context(), &tongs.Call{Tool: "outer", Args: []byte(`{"text":"hidden"}`), Session: "s"}), tongs.CodeUnknownTool)
	inner := b.rows(t)[1]
	if inner.Session != "s" || !slices.Equal(inner.Agents, []string{"worker", "inner"}) {
		t.Errorf("inner row: session %q, agents %v", inner.Session, inner.Agents)
	}
}

func TestEndlessRecursionEnds(t *testing.T) {
	self := tool(t, free, nil, func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
		res := env.Caller.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"again"}`)})
		if res.Error != nil {
			return echoOut{}, res.Error
		}
		return echoOut{res.Content}, nil
	})
	res := setup(t, []tongs.Tool{self}).call("echo", `{"text":"x"}`)
	must(t, res, tongs.CodeExecutionError)
	if !strings.Contains(res.Content, "deep") {
		t.Error(res.Content)
	}
}

// A tool from outside this program has an execute effect, whatever it plans.
func TestOutOfProcessToolAlwaysExecutes(t *testing.T) {
	says := new(tongs.PreApproved)
	plan := func(*tongs.View, echoIn) (*tongs.Plan, error) { return &tongs.Plan{Default: says}, nil }
	mine := tool(t, tongs.Spec{Name: "mine", Source: custom, Needs: tongs.Execute, Default: tongs.PreApproved}, plan, nil)
	b := setup(t, nil, provide(sources{tongs.SourceForge: &source{tools: []tongs.Tool{mine}}}))
	ex, err := b.Explain(t.Context(), &tongs.Call{Tool: "mine", Args: []byte(`{"text":"x"}`)})
	if err != nil || ex.Decision != tongs.Ask || len(ex.Effects) != 1 || ex.Effects[0].Kind != tongs.EffectExecute {
		t.Errorf("%+v, %v", ex, err)
	}
	mine = tool(t, tongs.Spec{Name: "mine", Source: custom, Needs: tongs.Read}, plan, nil)
	b = setup(t, nil, provide(sources{tongs.SourceForge: &source{tools: []tongs.Tool{mine}}}), mode(tongs.ModeAll))
	must(t, b.call("mine", `{"text":"x"}`), tongs.CodePermissionDenied) // it did not declare execute
}
