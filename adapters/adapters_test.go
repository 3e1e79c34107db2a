package adapters_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/adapters"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/model/dialect"
)

type greetIn struct {
	Name string `json:"name"`
}

// shot is a result with a picture and a file.
type shot struct{ Done bool }

func (shot) Present(r *tongs.Result) {
	r.Content = "here"
	r.Attachments = []tongs.Attachment{{Name: "a.png", MIME: "image/png", Size: 3, Data: []byte("png")}, {Name: "log", MIME: "text/plain", Size: 9, Path: "/spill/log"}}
}

func hands(tb testing.TB) *engine.Engine {
	tb.Helper()
	greet, err := tongs.New(tongs.Def[greetIn, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Greets somebody.", Default: tongs.PreApproved},
		Run: func(_ context.Context, _ *tongs.Env, in greetIn) (string, error) {
			if in.Name == "nobody" {
				return "", tongs.Errorf(tongs.CodeFileNotFound, "there is nobody")
			}
			return "hello " + in.Name, nil
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	look, err := tongs.New(tongs.Def[struct{}, shot]{
		Spec: tongs.Spec{Name: "look", Description: "Looks.", Default: tongs.PreApproved},
		Run:  func(context.Context, *tongs.Env, struct{}) (shot, error) { return shot{true}, nil },
	})
	if err != nil {
		tb.Fatal(err)
	}
	e, err := engine.New(engine.Options{Tools: []tongs.Tool{greet, look}})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestRun(t *testing.T) {
	tools := adapters.Lower(adapters.Of(t.Context(), hands(t)), dialect.OpenAIStrict)
	for name, test := range map[string]struct {
		tool, args, want string
		failed           bool
		images           int
	}{
		"fine":         {"greet", `{"name":"Ada"}`, "hello Ada", false, 0},
		"a failure":    {"greet", `{"name":"nobody"}`, "there is nobody", true, 0},
		"no arguments": {"look", "", "here\n[log, text/plain, 9 bytes, at /spill/log]", false, 1},
		"wrong":        {"greet", `{}`, "INVALID_ARGS", true, 0},
		"no JSON":      {"greet", `{"name":`, "INVALID_ARGS", true, 0},
		"no such tool": {"gret", `{}`, "UNKNOWN_TOOL", true, 0},
	} {
		r := tools.Run(t.Context(), "id", test.tool, test.args)
		if r.ID != "id" || r.Name != test.tool || r.Failed != test.failed || !strings.Contains(r.Text, test.want) || len(r.Images) != test.images {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := adapters.Lower(adapters.Set{}, dialect.OpenAI).Run(t.Context(), "", "x", ""); !r.Failed {
		t.Errorf("a set without a caller: %+v", r)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if r := tools.Run(ctx, "", "greet", `{"name":"Ada"}`); !r.Failed {
		t.Errorf("cancelled: %+v", r)
	}
}

func ExampleOf() {
	greet, err := tongs.New(tongs.Def[greetIn, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Greets somebody.", Default: tongs.PreApproved},
		Run:  func(_ context.Context, _ *tongs.Env, in greetIn) (string, error) { return "hello " + in.Name, nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	hands, err := engine.New(engine.Options{Tools: []tongs.Tool{greet}})
	if err != nil {
		fmt.Println(err)
		return
	}
	tools := adapters.Lower(adapters.Of(context.Background(), hands), dialect.OpenAI)
	fmt.Println(tools.Run(context.Background(), "call_1", "greet", `{"name": "Ada"}`).Text)
	// Output: hello Ada
}
