package main

import "github.com/tongs-ai/tongs"

// printDefinitions prints the tools in the form that a provider or a protocol expects.
func (a *app) printDefinitions(format string, specs []*tongs.Spec) error {
	list := make([]any, 0, len(specs))
	for _, s := range specs {
		list = append(list, definition(format, s))
	}
	switch format {
	case "gemini":
		return a.json([]any{map[string]any{"functionDeclarations": list}})
	case "mcp":
		return a.json(map[string]any{"tools": list})
	}
	return a.json(list)
}

func definition(format string, s *tongs.Spec) any {
	switch format {
	case "openai":
		return struct {
			Type     string `json:"type"`
			Function any    `json:"function"`
		}{"function", struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Parameters  any    `json:"parameters"`
		}{s.Name, s.Description, s.Input}}
	case "anthropic":
		return struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			InputSchema any    `json:"input_schema"`
		}{s.Name, s.Description, s.Input}
	case "gemini":
		return struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Parameters  any    `json:"parametersJsonSchema"`
		}{s.Name, s.Description, s.Input}
	case "mcp":
		return mcpDefinition(s)
	}
	return specJSON(s)
}

func mcpDefinition(s *tongs.Spec) any {
	t := struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description"`
		InputSchema  any             `json:"inputSchema"`
		OutputSchema any             `json:"outputSchema,omitempty"`
		Annotations  map[string]bool `json:"annotations"`
	}{Name: s.Name, Title: s.Title, Description: s.Description, InputSchema: s.Input, Annotations: map[string]bool{
		"readOnlyHint": s.Hints.ReadOnly, "destructiveHint": s.Hints.Destructive,
		"idempotentHint": s.Hints.Idempotent, "openWorldHint": s.Hints.OpenWorld,
	}}
	// MCP wants an object as the structured result.
	if s.Output != nil && s.Output.Type == "object" {
		t.OutputSchema = s.Output
	}
	return t
}
