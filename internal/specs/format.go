// Package specs renders the specs of tools, once for everybody: [Full] is our own form, [Compact] the one that MCP clients
// are served, and [Chat], [Messages] and [Declarations] are those that model providers are sent. The command line, the MCP
// server, the snapshots of tests and the providers of models all use these.
package specs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model/dialect"
)

// Formats returns the names that [Format] knows.
func Formats() []string {
	return []string{"json", "openai", "openai-flat", "openai-responses", "anthropic", "gemini", "mcp"}
}

// Format returns the definitions of the tools in a named form, ready to be encoded as JSON:
//
//	openai            the tools of a Chat Completions request
//	openai-flat       their functions alone: name, description, parameters
//	openai-responses  the tools of a request of the Responses API
//	anthropic         the tools of a Messages request
//	gemini            the tools of a generateContent request
//	mcp               the tools of a tools/list result, by name, as the MCP server lists them
//	json              our own form, with everything that a spec says
//
// The same specs always give the same JSON.
func Format(format string, specs []*tongs.Spec) (any, error) {
	switch format {
	case "openai":
		return Chat(dialect.Tools(specs, dialect.OpenAI)), nil
	case "openai-flat":
		return functions(dialect.Tools(specs, dialect.OpenAI)), nil
	case "openai-responses":
		return Responses(dialect.Tools(specs, dialect.OpenAI)), nil
	case "anthropic":
		return Messages(dialect.Tools(specs, dialect.Anthropic)), nil
	case "gemini":
		return []GeminiTools{{Declarations(dialect.Tools(specs, dialect.Gemini))}}, nil
	case "mcp":
		list := each(specs, Compact)
		slices.SortStableFunc(list, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
		return list, nil
	case "json":
		return each(specs, Full), nil
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

// Definition is a spec in our own form, with everything that it says.
type Definition struct {
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

// Full returns a spec in our own form.
func Full(s *tongs.Spec) *Definition {
	source := s.Source
	if source.Kind == "" {
		source.Kind = tongs.SourceBuiltin
	}
	return &Definition{
		Name: s.Name, Title: s.Title, Description: s.Description, Aliases: s.Aliases, ArgAliases: s.ArgAliases,
		Toolset: s.Toolset, Source: source, Permissions: permissions{s.Needs, s.Optional}, Default: s.Default,
		Hints: hints(s.Hints), Control: s.Control, Input: inputOf(s), Output: s.Output,
	}
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
