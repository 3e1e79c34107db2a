package todo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func tools(t testing.TB) []tongs.Tool {
	t.Helper()
	list, err := todo.Tools()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func newEngine(t testing.TB, more ...tongs.Tool) *engine.Engine {
	t.Helper()
	b, opt := base.New(t, base.Options{Nobody: true})
	b.Build(opt, append(tools(t), more...)...)
	return b.Engine
}

func call(c tongs.Caller, session, tool, args string) *tongs.Result {
	return c.Call(context.Background(), &tongs.Call{Tool: tool, Args: json.RawMessage(args), Session: session})
}

func TestConformance(t *testing.T) {
	for _, tool := range tools(t) {
		valid := []string{`{}`}
		if tool.Spec().Name == "todo_write" {
			valid = []string{`{"items":[]}`, `{"items":[{"content":"a","status":"in_progress","activeForm":"doing a"}]}`}
		}
		t.Run(tool.Spec().Name, func(t *testing.T) { tooltest.Run(t, tool, tooltest.Options{Valid: valid}) })
	}
}

func TestSnapshots(t *testing.T) { tooltest.Snapshot(t, "testdata/specs", tools(t)...) }

// A session has a list of its own; writing replaces it whole.
func TestAListForEachSession(t *testing.T) {
	e := newEngine(t)
	res := call(e, "s1", "todowrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress","activeForm":"doing b"},
		{"content":"c","status":"pending"},{"content":"d","status":"cancelled"}]}`)
	if !res.OK() || res.Content != "[x] a\n[>] doing b\n[ ] c\n[-] d" || res.Title != "1 of 3 done" {
		t.Fatalf("%q, %q, %v", res.Title, res.Content, res.Error)
	}
	for status, n := range map[string]int{"total": 4, "pending": 1, "in_progress": 1, "completed": 1, "cancelled": 1} {
		if res.Metadata[status] != n {
			t.Errorf("metadata %s is %v, want %d", status, res.Metadata[status], n)
		}
	}
	if res := call(e, "s2", "todo_read", `{}`); res.Content != "The list is empty." || res.Metadata["total"] != 0 {
		t.Errorf("another session sees %q", res.Content)
	}
	call(e, "s1", "todo_write", `{"items":[{"content":"e","status":"pending"}]}`)
	if res := call(e, "s1", "todoread", `{}`); res.Content != "[ ] e" {
		t.Errorf("after replacing: %q", res.Content)
	}
}

func TestWrongLists(t *testing.T) {
	long := strings.Repeat("x", 2001)
	many := strings.TrimSuffix(strings.Repeat(`{"content":"x","status":"pending"},`, 201), ",")
	for args, want := range map[string]string{
		`{"items":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"},{"content":"c","status":"in_progress"}]}`: "items[0], items[2] are all in_progress; leave one so",
		`{"items":[{"content":" ","status":"pending"}]}`:                   "items[0].content is empty",
		`{"items":[{"content":"a","status":"done"}]}`:                      "status",
		`{"items":[{"content":"a"}]}`:                                      "status",
		fmt.Sprintf(`{"items":[{"content":%q,"status":"pending"}]}`, long): "longer than 2000",
		fmt.Sprintf(`{"items":[%s]}`, many):                                "has 201 items",
		`{}`:                                                               "items",
	} {
		e := newEngine(t)
		call(e, "s", "todo_write", `{"items":[{"content":"kept","status":"pending"}]}`)
		res := call(e, "s", "todo_write", args)
		if res.OK() || res.Error.Code != tongs.CodeInvalidArgs || !strings.Contains(res.Error.Message, want) {
			t.Errorf("%.80s: %v, want %q", args, res.Error, want)
		}
		if res := call(e, "s", "todo_read", `{}`); res.Content != "[ ] kept" {
			t.Errorf("%.80s: the list became %q", args, res.Content)
		}
	}
}

// An agent that another one called has a list of its own, also beside one that works for the same agent.
func TestAListForEachDelegate(t *testing.T) {
	delegate, err := tongs.New(tongs.Def[todo.Input, string]{
		Spec: tongs.Spec{Name: "delegate", Description: "Calls.", Needs: tongs.Execute, Default: tongs.PreApproved},
		Run: func(ctx context.Context, env *tongs.Env, in todo.Input) (string, error) {
			args, _ := json.Marshal(in)
			env.Caller.Call(ctx, &tongs.Call{Tool: "todo_write", Args: args})
			return env.Caller.Call(ctx, &tongs.Call{Tool: "todo_read"}).Content, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, delegate)
	call(e, "s", "todo_write", `{"items":[{"content":"mine","status":"pending"}]}`)
	if res := call(e, "s", "delegate", `{"items":[{"content":"theirs","status":"pending"}]}`); res.Content != "[ ] theirs" {
		t.Errorf("the delegate sees %q", res.Content)
	}
	if res := call(e, "s", "todo_read", `{}`); res.Content != "[ ] mine" {
		t.Errorf("the caller sees %q", res.Content)
	}
}

// A caller that may touch no file has todos all the same, and a tool without permissions gets no files for that.
func TestWithoutZones(t *testing.T) {
	e := newEngine(t)
	c := e.Within(tongs.Scope{Agent: "a", Zones: []tongs.Zone{}})
	if res := call(c, "s", "todo_write", `{"items":[{"content":"a","status":"pending"}]}`); !res.OK() {
		t.Error(res.Error)
	}
}

func Example() {
	list, _ := todo.Tools()
	e, _ := engine.New(engine.Options{Tools: list})
	res := e.Call(context.Background(), &tongs.Call{Tool: "todo_write", Args: json.RawMessage(
		`{"items":[{"content":"Read the code","status":"completed"},{"content":"Fix it","status":"in_progress","activeForm":"Fixing it"}]}`)})
	fmt.Println(res.Title)
	fmt.Println(res.Content)
	// Output:
	// 1 of 2 done
	// [x] Read the code
	// [>] Fixing it
}
