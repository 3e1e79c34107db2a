package anthropictools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/adapters"
	anthropictools "github.com/tongs-ai/tongs/adapters/anthropic"
	"github.com/tongs-ai/tongs/engine"
)

// hands is an engine with one tool.
func hands() (*engine.Engine, error) {
	type in struct {
		Name string `json:"name" jsonschema:"Whom."`
	}
	greet, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "greet", Description: "Greets somebody.", Default: tongs.PreApproved},
		Run: func(_ context.Context, _ *tongs.Env, in in) (string, error) {
			if in.Name == "nobody" {
				return "", tongs.Errorf(tongs.CodeNoMatch, "there is nobody")
			}
			return "hello " + in.Name, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return engine.New(engine.Options{Tools: []tongs.Tool{greet}})
}

func TestDefinitionsAndCalls(t *testing.T) {
	e, err := hands()
	if err != nil {
		t.Fatal(err)
	}
	tools, err := anthropictools.Anthropic(adapters.Of(t.Context(), e))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, tools.Params(), `"name":"greet"`, `"description":"Greets somebody."`, `"type":"object"`, `"required":["name"]`, `"additionalProperties":false`, `"properties":{"name":{`)
	var message anthropic.Message
	err = json.Unmarshal([]byte(`{"role":"assistant","content":[{"type":"text","text":"I greet."},
		{"type":"tool_use","id":"a","name":"greet","input":{"name":"Ada"}},
		{"type":"tool_use","id":"b","name":"greet","input":{"name":"nobody"}}]}`), &message)
	if err != nil {
		t.Fatal(err)
	}
	blocks := tools.Run(t.Context(), message.Content)
	if len(blocks) != 2 || len(tools.Lost()) != 0 {
		t.Errorf("%d answers, lost %q", len(blocks), tools.Lost())
	}
	wants(t, blocks, `"tool_use_id":"a"`, `hello Ada`, `"is_error":false`, `"tool_use_id":"b"`, `there is nobody`, `"is_error":true`)
}

func wants(t *testing.T, v any, words ...string) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range words {
		if !strings.Contains(string(b), w) {
			t.Errorf("%s is not in %s", w, b)
		}
	}
}

func ExampleAnthropic() {
	hands, err := hands()
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := anthropictools.Anthropic(adapters.Of(context.Background(), hands))
	if err != nil {
		fmt.Println(err)
		return
	}
	params := anthropic.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 1024, Tools: tools.Params()}
	fmt.Println(params.Tools[0].OfTool.Name)
	// With the answer of client.Messages.New(ctx, params):
	// params.Messages = append(params.Messages, answer.ToParam(), anthropic.NewUserMessage(tools.Run(ctx, answer.Content)...))

	// Output: greet
}
