package specs

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs/model/dialect"
)

// ChatTool is a tool of OpenAI's Chat Completions; a Function with its Type set is one of the Responses API.
type ChatTool struct {
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function is a function of OpenAI's.
type Function struct {
	Type        string             `json:"type,omitempty"`
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Parameters  *jsonschema.Schema `json:"parameters"`
	Strict      *bool              `json:"strict,omitempty"`
}

// Chat returns the tools of a Chat Completions request.
func Chat(set *dialect.Set) []ChatTool {
	list := make([]ChatTool, len(set.Tools))
	for i, t := range set.Tools {
		list[i] = ChatTool{"function", Function{Name: t.Name, Description: t.Description, Parameters: t.Schema}}
		if t.Strict {
			list[i].Function.Strict = &t.Strict
		}
	}
	return list
}

// functions returns the functions of a Chat Completions request without what is around them.
func functions(set *dialect.Set) []Function {
	list := []Function{}
	for _, t := range Chat(set) {
		list = append(list, Function{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	return list
}

// Responses returns the tools of a request of the Responses API, where an absent strict means true.
func Responses(set *dialect.Set) []Function {
	list := make([]Function, len(set.Tools))
	for i, t := range set.Tools {
		list[i] = Function{Type: "function", Name: t.Name, Description: t.Description, Parameters: t.Schema, Strict: &t.Strict}
	}
	return list
}

// AnthropicTool is a tool of a Messages request.
type AnthropicTool struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Schema      *jsonschema.Schema `json:"input_schema"`
	Cache       *CacheControl      `json:"cache_control,omitempty"`
}

// CacheControl marks where what Anthropic caches of a request ends.
type CacheControl struct {
	Type string `json:"type"`
}

// Messages returns the tools of a Messages request.
func Messages(set *dialect.Set) []AnthropicTool {
	list := make([]AnthropicTool, len(set.Tools))
	for i, t := range set.Tools {
		list[i] = AnthropicTool{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return list
}

// GeminiTools are the tools of a generateContent request.
type GeminiTools struct {
	Functions []GeminiFunction `json:"functionDeclarations"`
}

// GeminiFunction is a function declaration. It has no parameters where the tool takes no arguments: Gemini refuses an object
// without properties.
type GeminiFunction struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Parameters  *jsonschema.Schema `json:"parameters,omitempty"`
}

// Declarations returns the function declarations of a generateContent request.
func Declarations(set *dialect.Set) []GeminiFunction {
	list := make([]GeminiFunction, len(set.Tools))
	for i, t := range set.Tools {
		list[i] = GeminiFunction{Name: t.Name, Description: t.Description, Parameters: t.Schema}
	}
	return list
}
