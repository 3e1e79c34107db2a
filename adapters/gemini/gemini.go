// Package geminitools offers the tools of Tongs to programs that use Google's own library for Gemini: their definitions
// in its types, and the calls that a model made, run and answered.
package geminitools

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"

	"github.com/tongs-ai/tongs/adapters"
	"github.com/tongs-ai/tongs/model/dialect"
)

// Tools are a set in the types of Google's library. They are safe for concurrent use.
type Tools struct {
	tools     *adapters.Tools
	functions []*genai.FunctionDeclaration
}

// Gemini returns the set for Google's library.
func Gemini(set adapters.Set) (*Tools, error) {
	t := &Tools{tools: adapters.Lower(set, dialect.Gemini)}
	for _, tool := range t.tools.Tools {
		f := &genai.FunctionDeclaration{Name: tool.Name, Description: tool.Description}
		if tool.Schema != nil {
			b, err := json.Marshal(tool.Schema)
			if err == nil {
				err = json.Unmarshal(b, &f.Parameters)
			}
			if err != nil {
				return nil, fmt.Errorf("the schema of %s: %w", tool.Name, err)
			}
		}
		t.functions = append(t.functions, f)
	}
	return t, nil
}

// Lost says what of the tools Gemini could not be told, a sentence each.
func (t *Tools) Lost() []string { return t.tools.Lost }

// Tools returns the definitions, for GenerateContentConfig.Tools.
func (t *Tools) Tools() []*genai.Tool {
	if len(t.functions) == 0 {
		return nil
	}
	return []*genai.Tool{{FunctionDeclarations: append([]*genai.FunctionDeclaration{}, t.functions...)}}
}

// Run runs the calls of a content in their order, and returns the content that answers them, nil where it has none.
func (t *Tools) Run(ctx context.Context, content *genai.Content) *genai.Content {
	if content == nil {
		return nil
	}
	var parts, images []*genai.Part
	for _, p := range content.Parts {
		if p == nil || p.FunctionCall == nil {
			continue
		}
		args, err := json.Marshal(p.FunctionCall.Args)
		if err != nil || p.FunctionCall.Args == nil {
			args = []byte("{}")
		}
		r := t.tools.Run(ctx, p.FunctionCall.ID, p.FunctionCall.Name, string(args))
		said := map[string]any{"output": r.Text}
		if r.Failed {
			said = map[string]any{"error": r.Text}
		}
		answer := genai.NewPartFromFunctionResponse(r.Name, said)
		answer.FunctionResponse.ID = p.FunctionCall.ID
		parts = append(parts, answer)
		for _, i := range r.Images {
			images = append(images, genai.NewPartFromBytes(i.Data, i.MIME))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return genai.NewContentFromParts(append(parts, images...), genai.RoleUser)
}
