// Package langchaintools offers the tools of Tongs to programs that use langchaingo: as tools of its agents, and as
// functions of its models.
package langchaintools

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/tongs-ai/tongs/adapters"
	"github.com/tongs-ai/tongs/model/dialect"
)

// Tools are a set in langchaingo's types. They are safe for concurrent use.
type Tools struct{ tools *adapters.Tools }

// LangChain returns the set for langchaingo.
func LangChain(set adapters.Set) *Tools { return &Tools{adapters.Lower(set, dialect.OpenAI)} }

// Tools returns the tools for agents.
func (t *Tools) Tools() (list []tools.Tool) {
	for i := range t.tools.Tools {
		list = append(list, &Tool{t.tools, &t.tools.Tools[i]})
	}
	return list
}

// Functions returns the definitions for models that call functions.
func (t *Tools) Functions() (list []llms.Tool, err error) {
	for i := range t.tools.Tools {
		schema, err := adapters.Object(&t.tools.Tools[i])
		if err != nil {
			return nil, err
		}
		f := &llms.FunctionDefinition{Name: t.tools.Tools[i].Name, Description: t.tools.Tools[i].Description, Parameters: schema}
		list = append(list, llms.Tool{Type: "function", Function: f})
	}
	return list, nil
}

// Run runs calls in their order, and returns a message for each answer.
func (t *Tools) Run(ctx context.Context, calls []llms.ToolCall) (messages []llms.MessageContent) {
	for _, c := range calls {
		if c.FunctionCall == nil {
			continue
		}
		r := t.tools.Run(ctx, c.ID, c.FunctionCall.Name, c.FunctionCall.Arguments)
		text := r.Text
		if r.Failed {
			text = "Error: " + text
		}
		messages = append(messages, llms.MessageContent{
			Role:  llms.ChatMessageTypeTool,
			Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: c.ID, Name: c.FunctionCall.Name, Content: text}},
		})
	}
	return messages
}

// Tool is one tool for agents.
type Tool struct {
	tools *adapters.Tools
	tool  *dialect.Tool
}

var _ tools.Tool = (*Tool)(nil)

// Name returns the name.
func (t *Tool) Name() string { return t.tool.Name }

// Description says what the tool does and what its input looks like, since agents know nothing else of it.
func (t *Tool) Description() string {
	schema, err := json.Marshal(t.tool.Schema)
	if err != nil {
		return t.tool.Description
	}
	return strings.TrimSpace(t.tool.Description + " Input: a JSON object valid against " + string(schema))
}

// Call runs the tool. Input is a JSON object; for a tool with one argument of text it may be that text. Failures are
// answers, so that the agent can do something about them; an error is only the end of ctx.
func (t *Tool) Call(ctx context.Context, input string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r := t.tools.Run(ctx, "", t.tool.Name, t.args(input))
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if r.Failed {
		return "Error: " + r.Text, nil
	}
	return r.Text, nil
}

func (t *Tool) args(input string) string {
	trimmed := strings.TrimSpace(input)
	if strings.HasPrefix(trimmed, "```") {
		trimmed = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(trimmed, "```"), "json"), "```"))
	}
	if trimmed == "" || strings.HasPrefix(trimmed, "{") {
		return trimmed
	}
	name, ok := only(t.tool.Schema)
	if !ok {
		return trimmed
	}
	b, err := json.Marshal(map[string]string{name: strings.Trim(trimmed, `"`)})
	if err != nil {
		return trimmed
	}
	return string(b)
}

// only returns the one argument that text can be meant for: the only required one, or the only one there is.
func only(s *jsonschema.Schema) (string, bool) {
	if s == nil {
		return "", false
	}
	names := s.Required
	if len(names) == 0 && len(s.Properties) == 1 {
		for name := range s.Properties {
			names = []string{name}
		}
	}
	if len(names) != 1 || s.Properties[names[0]] == nil || s.Properties[names[0]].Type != "string" {
		return "", false
	}
	return names[0], true
}
