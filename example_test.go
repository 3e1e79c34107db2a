package tongs_test

import (
	"context"
	"fmt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
)

type greetIn struct {
	Name  string `json:"name" jsonschema:"who to greet"`
	Times int    `json:"times,omitempty" jsonschema:"how often" default:"1" max:"3"`
}

// A tool is defined, registered, validated, approved and called.
func Example() {
	greet, _ := tongs.New(tongs.Def[greetIn, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Greets somebody."},
		Run: func(ctx context.Context, env *tongs.Env, in greetIn) (string, error) {
			return fmt.Sprintf("hello %s, %d times", in.Name, in.Times), nil
		},
	})
	person := approval.Callback(func(ctx context.Context, q approval.Question) (approval.Answer, error) {
		fmt.Printf("%s %s?\n", q.Tool, q.Args)
		return approval.Answer{Approved: true}, nil
	})
	desk := &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{person}}
	hands, _ := engine.New(engine.Options{Tools: []tongs.Tool{greet}, Approval: desk})

	_, err := hands.Validate(context.Background(), "greet", []byte(`{"times": 9}`))
	fmt.Println(err)
	result := hands.Call(context.Background(), &tongs.Call{Tool: "greet", Args: []byte(`{"name": "Ada", "times": "2"}`)})
	fmt.Println(result.Content, result.Metadata["repaired"])
	// Output:
	// INVALID_ARGS: 2 arguments of greet are wrong:
	// - name: is required but missing, want string
	// - times: got 9, want integer up to 3
	// greet {"name":"Ada","times":2}?
	// hello Ada, 2 times [times: "2" was read as 2]
}
