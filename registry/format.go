package registry

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

// Formats returns the names that [Format] knows.
func Formats() []string { return []string{"json", "openai", "anthropic", "gemini", "mcp"} }

// Format returns the definitions of the tools as a provider wants them, ready to be encoded as JSON:
//
//	openai     the tools of a Chat Completions request
//	anthropic  the tools of a Messages request
//	gemini     the tools of a generateContent request, reduced to the keywords that Gemini knows
//	mcp        the tools of a tools/list result
//	json       our own form, with everything that a spec says
//
// The same specs always give the same JSON.
func Format(format string, specs []*tongs.Spec) (any, error) {
	switch format {
	case "openai":
		return each(specs, func(s *tongs.Spec) any {
			return openAITool{Type: "function", Function: openAIFunction{s.Name, s.Description, inputOf(s)}}
		}), nil
	case "anthropic":
		return each(specs, func(s *tongs.Spec) any { return anthropicTool{s.Name, s.Description, inputOf(s)} }), nil
	case "gemini":
		return []geminiTool{{FunctionDeclarations: each(specs, geminiFunctionOf)}}, nil
	case "mcp":
		return each(specs, func(s *tongs.Spec) any { return mcpToolOf(s) }), nil
	case "json":
		return each(specs, func(s *tongs.Spec) any { return definitionOf(s) }), nil
	default:
		return nil, fmt.Errorf("format %q is not one of %s", format, strings.Join(Formats(), ", "))
	}
}

func each[T any](specs []*tongs.Spec, convert func(*tongs.Spec) T) []T {
	list := make([]T, len(specs))
	for i, spec := range specs {
		list[i] = convert(spec)
	}
	return list
}

// inputOf returns the input schema; providers want one, and with properties, also for a tool that takes no arguments.
func inputOf(s *tongs.Spec) *jsonschema.Schema {
	if s.Input == nil {
		return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	}
	if s.Input.Properties == nil && s.Input.Type == "object" {
		input := *s.Input
		input.Properties = map[string]*jsonschema.Schema{}
		return &input
	}
	return s.Input
}

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Parameters  *jsonschema.Schema `json:"parameters"`
}

type anthropicTool struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	InputSchema *jsonschema.Schema `json:"input_schema"`
}

type mcpTool struct {
	Name         string             `json:"name"`
	Title        string             `json:"title,omitempty"`
	Description  string             `json:"description"`
	InputSchema  *jsonschema.Schema `json:"inputSchema"`
	OutputSchema *jsonschema.Schema `json:"outputSchema,omitempty"`
	Annotations  mcpAnnotations     `json:"annotations"`
}

// mcpAnnotations are all written out: what is absent means true for some of them.
type mcpAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	DestructiveHint bool   `json:"destructiveHint"`
	IdempotentHint  bool   `json:"idempotentHint"`
	OpenWorldHint   bool   `json:"openWorldHint"`
}

func mcpToolOf(s *tongs.Spec) mcpTool {
	t := mcpTool{
		Name: s.Name, Title: s.Title, Description: s.Description, InputSchema: inputOf(s),
		Annotations: mcpAnnotations{s.Title, s.Hints.ReadOnly, s.Hints.Destructive, s.Hints.Idempotent, s.Hints.OpenWorld},
	}
	if s.Output != nil && s.Output.Type == "object" { // MCP knows structured results that are objects only
		t.OutputSchema = s.Output
	}
	return t
}

// definition is a spec in our own form.
type definition struct {
	Name        string             `json:"name"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description"`
	Aliases     []string           `json:"aliases,omitempty"`
	ArgAliases  map[string]string  `json:"argAliases,omitempty"`
	Toolset     string             `json:"toolset,omitempty"`
	Source      tongs.Source       `json:"source"`
	Permissions permissions        `json:"permissions"`
	Default     tongs.Decision     `json:"default"`
	Hints       hints              `json:"hints"`
	Control     bool               `json:"control,omitempty"`
	Input       *jsonschema.Schema `json:"input"`
	Output      *jsonschema.Schema `json:"output,omitempty"`
}

type permissions struct {
	Required tongs.Permissions `json:"required"`
	Optional tongs.Permissions `json:"optional"`
}

type hints struct {
	ReadOnly    bool `json:"readOnly"`
	Destructive bool `json:"destructive"`
	Idempotent  bool `json:"idempotent"`
	OpenWorld   bool `json:"openWorld"`
}

func definitionOf(s *tongs.Spec) definition {
	source := s.Source
	if source.Kind == "" {
		source.Kind = tongs.SourceBuiltin
	}
	return definition{
		Name: s.Name, Title: s.Title, Description: s.Description, Aliases: s.Aliases, ArgAliases: s.ArgAliases,
		Toolset: s.Toolset, Source: source, Permissions: permissions{s.Needs, s.Optional}, Default: s.Default,
		Hints: hints(s.Hints), Control: s.Control, Input: inputOf(s), Output: s.Output,
	}
}
