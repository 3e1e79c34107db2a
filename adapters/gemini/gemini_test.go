package geminitools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/adapters"
	geminitools "github.com/tongs-ai/tongs/adapters/gemini"
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
	tools, err := geminitools.Gemini(adapters.Of(t.Context(), e))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, tools.Tools(), `"name":"greet"`, `"description":"Greets somebody."`, `"type":"OBJECT"`, `"required":["name"]`, `"type":"STRING"`)
	content := &genai.Content{Role: "model", Parts: []*genai.Part{
		{Text: "I greet."},
		nil,
		{FunctionCall: &genai.FunctionCall{ID: "a", Name: "greet", Args: map[string]any{"name": "Ada"}}},
		{FunctionCall: &genai.FunctionCall{Name: "greet", Args: map[string]any{"name": "nobody"}}},
		{FunctionCall: &genai.FunctionCall{Name: "greet"}},
	}}
	answer := tools.Run(t.Context(), content)
	if answer == nil || answer.Role != genai.RoleUser || len(answer.Parts) != 3 {
		t.Fatalf("answer: %+v", answer)
	}
	wants(t, answer, `"id":"a"`, `"output":"hello Ada"`, `"error":"NO_MATCH: there is nobody"`, `INVALID_ARGS`)
	if tools.Run(t.Context(), nil) != nil || tools.Run(t.Context(), &genai.Content{}) != nil {
		t.Error("no calls, and an answer")
	}
	none, err := geminitools.Gemini(adapters.Set{})
	if err != nil || none.Tools() != nil {
		t.Errorf("no tools: %v, %v", none.Tools(), err)
	}
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

func ExampleGemini() {
	hands, err := hands()
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := geminitools.Gemini(adapters.Of(context.Background(), hands))
	if err != nil {
		fmt.Println(err)
		return
	}
	config := &genai.GenerateContentConfig{Tools: tools.Tools()}
	fmt.Println(config.Tools[0].FunctionDeclarations[0].Name)
	// With the answer of client.Models.GenerateContent(ctx, model, contents, config):
	// contents = append(contents, answer.Candidates[0].Content, tools.Run(ctx, answer.Candidates[0].Content))

	// Output: greet
}
