package openaitools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/adapters"
	openaitools "github.com/tongs-ai/tongs/adapters/openai"
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

func tools(t *testing.T, of func(adapters.Set) (*openaitools.Tools, error)) *openaitools.Tools {
	t.Helper()
	e, err := hands()
	if err != nil {
		t.Fatal(err)
	}
	tools, err := of(adapters.Of(t.Context(), e))
	if err != nil {
		t.Fatal(err)
	}
	return tools
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

func TestDefinitions(t *testing.T) {
	loose, strict := tools(t, openaitools.OpenAI), tools(t, openaitools.Strict)
	wants(t, loose.Chat(), `"type":"function"`, `"name":"greet"`, `"description":"Greets somebody."`, `"required":["name"]`)
	wants(t, strict.Chat(), `"strict":true`, `"additionalProperties":false`)
	wants(t, loose.Responses(), `"type":"function"`, `"name":"greet"`, `"strict":false`)
	wants(t, strict.Responses(), `"strict":true`)
	if len(loose.Lost()) != 0 {
		t.Errorf("lost: %q", loose.Lost())
	}
}

func TestCalls(t *testing.T) {
	tools := tools(t, openaitools.OpenAI)
	var message openai.ChatCompletionMessage
	err := json.Unmarshal([]byte(`{"role":"assistant","tool_calls":[
		{"id":"a","type":"function","function":{"name":"greet","arguments":"{\"name\":\"Ada\"}"}},
		{"id":"b","type":"function","function":{"name":"greet","arguments":"{\"name\":\"nobody\"}"}}]}`), &message)
	if err != nil {
		t.Fatal(err)
	}
	answers := tools.RunChat(t.Context(), message.ToolCalls)
	wants(t, answers, `"tool_call_id":"a"`, `hello Ada`, `"tool_call_id":"b"`, `Error: NO_MATCH: there is nobody`)

	var resp responses.Response
	err = json.Unmarshal([]byte(`{"output":[{"type":"message","role":"assistant","content":[]},
		{"type":"function_call","call_id":"c","name":"greet","arguments":"{\"name\":\"Ada\"}"},
		{"type":"function_call","call_id":"d","name":"made_up","arguments":"{}"}]}`), &resp)
	if err != nil {
		t.Fatal(err)
	}
	items := tools.RunResponses(t.Context(), resp.Output)
	if len(items) != 2 {
		t.Errorf("%d answers", len(items))
	}
	wants(t, items, `"type":"function_call_output"`, `"call_id":"c"`, `hello Ada`, `"call_id":"d"`, `UNKNOWN_TOOL`)
}

func ExampleOpenAI() {
	hands, err := hands()
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := openaitools.OpenAI(adapters.Of(context.Background(), hands))
	if err != nil {
		fmt.Println(err)
		return
	}
	params := openai.ChatCompletionNewParams{Model: "gpt-5", Tools: tools.Chat()}
	fmt.Println(params.Tools[0].OfFunction.Function.Name)
	// With the answer of client.Chat.Completions.New(ctx, params):
	// params.Messages = append(params.Messages, tools.RunChat(ctx, answer.Choices[0].Message.ToolCalls)...)

	// Output: greet
}
