package tongs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

type defIn struct {
	Name string `json:"name" jsonschema:"Whom." alias:"who"`
}

type defOut struct {
	Text string `json:"text"`
}

func defSpec() tongs.Spec {
	return tongs.Spec{Name: "greet", Description: "Greets.", Needs: tongs.Read}
}

func call[In, Out any](t *testing.T, run func(context.Context, *tongs.Env, In) (Out, error), args string) (*tongs.Result, error) {
	t.Helper()
	tool, err := tongs.New(tongs.Def[In, Out]{Spec: defSpec(), Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call(t.Context(), nil, &tongs.Call{Tool: "greet", Args: json.RawMessage(args)})
}

func TestNew(t *testing.T) {
	run := func(context.Context, *tongs.Env, defIn) (defOut, error) { return defOut{}, nil }
	tool, err := tongs.New(tongs.Def[defIn, defOut]{Spec: defSpec(), Run: run})
	if err != nil {
		t.Fatal(err)
	}
	spec := tool.Spec()
	if spec.Source.Kind != tongs.SourceBuiltin || spec.Input.Properties["name"] == nil || spec.ArgAliases["who"] != "name" ||
		spec.Output.Properties["text"] == nil || spec.DisplayName() != "greet" || tool.Spec() != spec {
		t.Errorf("the spec is %+v", spec)
	}
	if _, planner := tool.(tongs.Planner); planner {
		t.Error("a tool without a plan is a planner")
	}
	for want, change := range map[string]func(*tongs.Def[defIn, defOut]){
		`tool name ""`:       func(d *tongs.Def[defIn, defOut]) { d.Spec.Name = "" },
		`tool name "a b"`:    func(d *tongs.Def[defIn, defOut]) { d.Spec.Name = "a b" },
		"has no description": func(d *tongs.Def[defIn, defOut]) { d.Spec.Description = "" },
		"has no Run":         func(d *tongs.Def[defIn, defOut]) { d.Run = nil },
		`type "array", want object`: func(d *tongs.Def[defIn, defOut]) {
			d.Spec.Input = &jsonschema.Schema{Type: "array"}
		},
	} {
		def := tongs.Def[defIn, defOut]{Spec: defSpec(), Run: run}
		change(&def)
		if _, err := tongs.New(def); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	type bad struct {
		Size int `default:"x"`
	}
	if _, err := tongs.New(tongs.Def[bad, string]{Spec: defSpec(), Run: func(context.Context, *tongs.Env, bad) (string, error) {
		return "", nil
	}}); err == nil || !strings.Contains(err.Error(), "tool greet: input schema: type") {
		t.Errorf("got %v", err)
	}
	if _, err := tongs.New(tongs.Def[string, string]{Spec: defSpec(), Run: func(context.Context, *tongs.Env, string) (string, error) {
		return "", nil
	}}); err == nil {
		t.Error("arguments that are a string were taken")
	}
}

func TestDefinedCall(t *testing.T) {
	res, err := call(t, func(_ context.Context, _ *tongs.Env, in defIn) (defOut, error) {
		return defOut{"hello " + in.Name}, nil
	}, `{"name":"ada"}`)
	if err != nil || res.Content != `{"text":"hello ada"}` || string(res.Value) != res.Content {
		t.Errorf("got %+v, %v", res, err)
	}
	if out, err := tongs.ValueOf[defOut](res); err != nil || out.Text != "hello ada" {
		t.Errorf("got %v, %v", out, err)
	}
	res, err = call(t, func(context.Context, *tongs.Env, defIn) (string, error) { return "plain", nil }, `{"name":""}`)
	if err != nil || res.Content != "plain" || string(res.Value) != `"plain"` {
		t.Errorf("got %+v, %v", res, err)
	}
	_, err = call(t, func(context.Context, *tongs.Env, defIn) (string, error) { return "", nil }, `{"name":5}`)
	if tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("got %v", err)
	}
	_, err = call(t, func(context.Context, *tongs.Env, defIn) (any, error) { return func() {}, nil }, `{"name":""}`)
	if err == nil {
		t.Error("a value that is no JSON was taken")
	}
}

type page struct {
	Body string `json:"body"`
}

func (p page) Present(r *tongs.Result) {
	r.Title, r.Content = "Page", p.Body
	r.SetMeta("length", len(p.Body))
}

func TestDefinedCallPresents(t *testing.T) {
	res, err := call(t, func(context.Context, *tongs.Env, defIn) (page, error) { return page{"text"}, nil }, `{"name":""}`)
	if err != nil || res.Title != "Page" || res.Content != "text" || string(res.Value) != `{"body":"text"}` || res.Metadata["length"] != 4 {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestDefinedCallFails(t *testing.T) {
	fault := errors.New("disk on fire")
	if _, err := call(t, func(context.Context, *tongs.Env, defIn) (page, error) { return page{}, fault }, `{"name":""}`); !errors.Is(err, fault) {
		t.Errorf("got %v", err)
	}
	failed := func(out page) *tongs.Result {
		t.Helper()
		res, err := call(t, func(context.Context, *tongs.Env, defIn) (page, error) {
			return out, tongs.Errorf(tongs.CodeTimeout, "too slow")
		}, `{"name":""}`)
		if err != nil || res.OK() || res.Error.Code != tongs.CodeTimeout {
			t.Fatalf("got %+v, %v", res, err)
		}
		return res
	}
	if res := failed(page{}); res.Content != "" || res.Title != "" {
		t.Errorf("nothing was made, and the result is %+v", res)
	}
	if res := failed(page{"half"}); res.Content != "half" {
		t.Errorf("what was made until then is lost: %+v", res)
	}
}

func TestDefinedCallThatIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tool, err := tongs.New(tongs.Def[defIn, string]{Spec: defSpec(), Run: func(context.Context, *tongs.Env, defIn) (string, error) {
		t.Error("it ran")
		return "", nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Call(ctx, nil, &tongs.Call{Args: json.RawMessage(`{"name":""}`)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDefinedPlan(t *testing.T) {
	tool, err := tongs.New(tongs.Def[defIn, string]{
		Spec: defSpec(),
		Plan: func(_ context.Context, _ *tongs.View, in defIn) (*tongs.Plan, error) {
			return &tongs.Plan{Message: in.Name}, nil
		},
		Run: func(context.Context, *tongs.Env, defIn) (string, error) { return "", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	planner, ok := tool.(tongs.Planner)
	if !ok {
		t.Fatal("the tool is no planner")
	}
	plan, err := planner.Plan(t.Context(), nil, &tongs.Call{Args: json.RawMessage(`{"name":"ada"}`)})
	if err != nil || plan.Message != "ada" {
		t.Errorf("got %+v, %v", plan, err)
	}
	if _, err := planner.Plan(t.Context(), nil, &tongs.Call{Args: json.RawMessage(`{"name":1}`)}); tongs.CodeOf(err) != tongs.CodeInvalidArgs {
		t.Errorf("got %v", err)
	}
}

func TestLazy(t *testing.T) {
	made, err := tongs.New(tongs.Def[defIn, string]{Spec: defSpec(), Run: func(context.Context, *tongs.Env, defIn) (string, error) {
		return "", nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"greet": true, "other": false} {
		tool := tongs.Lazy(tongs.Spec{Name: name}, func(context.Context, tongs.InitContext) (tongs.Tool, error) { return made, nil })
		lazy, is := tool.(tongs.Initializer)
		if !is || tool.Spec().Name != name {
			t.Fatalf("%s is not lazy", name)
		}
		got, err := lazy.Init(t.Context(), tongs.InitContext{})
		if (err == nil) != ok || ok && got != made {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if _, err := tool.Call(t.Context(), nil, &tongs.Call{}); err == nil {
			t.Error("it was called before it was made")
		}
	}
	failing := tongs.Lazy(tongs.Spec{Name: "x"}, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		return nil, errors.New("no luck")
	})
	lazy, _ := failing.(tongs.Initializer)
	if _, err := lazy.Init(t.Context(), tongs.InitContext{}); err == nil || err.Error() != "no luck" {
		t.Errorf("got %v", err)
	}
}

type listOut struct {
	Names []string `json:"names"`
	Deep  []struct {
		More []int `json:"more"`
	} `json:"deep"`
	Raw []byte `json:"raw,omitempty"`
}

func TestNilSlicesAreEmptyArrays(t *testing.T) {
	made, err := tongs.New(tongs.Def[struct{}, listOut]{
		Spec: tongs.Spec{Name: "list", Description: "Lists."},
		Run: func(context.Context, *tongs.Env, struct{}) (listOut, error) {
			return listOut{Deep: make([]struct {
				More []int `json:"more"`
			}, 1)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := made.Call(t.Context(), nil, &tongs.Call{Args: []byte(`{}`)})
	if err != nil || string(res.Value) != `{"names":[],"deep":[{"more":[]}]}` {
		t.Errorf("%s, %v", res.Value, err)
	}
}

type shown struct{ n int }

func (s *shown) Present(r *tongs.Result) { r.Content = "by pointer" }

func TestPresenting(t *testing.T) {
	call := &tongs.Call{Args: []byte(`{}`)}
	run := func(tool tongs.Tool, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		res, err := tool.Call(t.Context(), nil, call)
		if err != nil {
			t.Fatal(err)
		}
		return res.Content
	}
	spec := tongs.Spec{Name: "x", Description: "Shows."}
	if got := run(tongs.New(tongs.Def[struct{}, shown]{Spec: spec, Run: func(context.Context, *tongs.Env, struct{}) (shown, error) { return shown{1}, nil }})); got != "by pointer" {
		t.Errorf("pointer receiver: %q", got)
	}
	if got := run(tongs.New(tongs.Def[struct{}, string]{Spec: spec, Run: func(context.Context, *tongs.Env, struct{}) (string, error) { return "", nil }})); got != "" {
		t.Errorf("empty string: %q", got)
	}
	if got := run(tongs.New(tongs.Def[struct{}, int]{Spec: spec, Run: func(context.Context, *tongs.Env, struct{}) (int, error) { return 5, nil }})); got != "5" {
		t.Errorf("number: %q", got)
	}
}

func TestFailureKeepsWhatWasMade(t *testing.T) {
	made, err := tongs.New(tongs.Def[struct{}, listOut]{
		Spec: tongs.Spec{Name: "list", Description: "Lists."},
		Run: func(context.Context, *tongs.Env, struct{}) (listOut, error) {
			return listOut{Names: []string{"half"}}, tongs.Errorf(tongs.CodeTimeout, "too slow")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := made.Call(t.Context(), nil, &tongs.Call{Args: []byte(`{}`)})
	if err != nil || res.Error.Code != tongs.CodeTimeout || string(res.Value) != `{"names":["half"],"deep":[]}` {
		t.Errorf("%+v, %v", res, err)
	}
}
