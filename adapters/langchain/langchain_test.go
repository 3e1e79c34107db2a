package langchaintools_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/adapters"
	langchaintools "github.com/tongs-ai/tongs/adapters/langchain"
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

func TestTools(t *testing.T) {
	e, err := hands()
	if err != nil {
		t.Fatal(err)
	}
	tools := langchaintools.LangChain(adapters.Of(t.Context(), e))
	list := tools.Tools()
	if len(list) != 1 || list[0].Name() != "greet" || !strings.HasPrefix(list[0].Description(), "Greets somebody. Input: a JSON object valid against {") {
		t.Fatalf("%q, %q", list[0].Name(), list[0].Description())
	}
	for input, want := range map[string]string{
		`{"name": "Ada"}`:                   "hello Ada",
		"```json\n{\"name\": \"Ada\"}\n```": "hello Ada",
		"Ada":                               "hello Ada",
		` "Ada" `:                           "hello Ada",
		`{"name": "nobody"}`:                "Error: NO_MATCH: there is nobody",
		"":                                  "Error: INVALID_ARGS",
		`{"name": `:                         "Error: INVALID_ARGS",
	} {
		if got, err := list[0].Call(t.Context(), input); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, %v", input, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := list[0].Call(ctx, "Ada"); err == nil {
		t.Error("cancelled, and no error")
	}
}

func TestFunctions(t *testing.T) {
	e, err := hands()
	if err != nil {
		t.Fatal(err)
	}
	tools := langchaintools.LangChain(adapters.Of(t.Context(), e))
	functions, err := tools.Functions()
	if err != nil || len(functions) != 1 || functions[0].Function.Name != "greet" {
		t.Fatalf("%+v, %v", functions, err)
	}
	messages := tools.Run(t.Context(), []llms.ToolCall{
		{ID: "a", FunctionCall: &llms.FunctionCall{Name: "greet", Arguments: `{"name":"Ada"}`}},
		{ID: "b"},
		{ID: "c", FunctionCall: &llms.FunctionCall{Name: "greet", Arguments: `{"name":"nobody"}`}},
	})
	if len(messages) != 2 {
		t.Fatalf("%+v", messages)
	}
	first, ok := messages[0].Parts[0].(llms.ToolCallResponse)
	if !ok || first.ToolCallID != "a" || first.Content != "hello Ada" || messages[0].Role != llms.ChatMessageTypeTool {
		t.Errorf("%+v", messages[0])
	}
	if second, ok := messages[1].Parts[0].(llms.ToolCallResponse); !ok || !strings.HasPrefix(second.Content, "Error: NO_MATCH") {
		t.Errorf("%+v", messages[1])
	}
}

func ExampleLangChain() {
	hands, err := hands()
	if err != nil {
		fmt.Println(err)
		return
	}
	tools := langchaintools.LangChain(adapters.Of(context.Background(), hands)).Tools()
	said, err := tools[0].Call(context.Background(), `{"name": "Ada"}`)
	fmt.Println(said, err)
	// Output: hello Ada <nil>
}
