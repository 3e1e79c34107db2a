// Package anthropictools offers the tools of Tongs to programs that use Anthropic's own library: their definitions in its
// types, and the calls that a model made, run and answered.
package anthropictools

import (
	"context"
	"encoding/base64"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/tongs-ai/tongs/adapters"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
)

// Tools are a set in Anthropic's types. They are safe for concurrent use.
type Tools struct {
	tools  *adapters.Tools
	params []anthropic.ToolUnionParam
}

// Anthropic returns the set for Anthropic's library.
func Anthropic(set adapters.Set) (*Tools, error) {
	t := &Tools{tools: adapters.Lower(set, dialect.Anthropic)}
	for i := range t.tools.Tools {
		tool := &t.tools.Tools[i]
		schema, err := adapters.Object(tool)
		if err != nil {
			return nil, err
		}
		in := anthropic.ToolInputSchemaParam{Properties: schema["properties"], Required: tool.Schema.Required, ExtraFields: map[string]any{}}
		for word, value := range schema {
			if word != "type" && word != "properties" && word != "required" {
				in.ExtraFields[word] = value
			}
		}
		param := anthropic.ToolParam{Name: tool.Name, InputSchema: in}
		if tool.Description != "" {
			param.Description = anthropic.String(tool.Description)
		}
		t.params = append(t.params, anthropic.ToolUnionParam{OfTool: &param})
	}
	return t, nil
}

// Lost says what of the tools Anthropic could not be told, a sentence each.
func (t *Tools) Lost() []string { return t.tools.Lost }

// Params returns the definitions.
func (t *Tools) Params() []anthropic.ToolUnionParam {
	return append([]anthropic.ToolUnionParam{}, t.params...)
}

// Run runs the calls of a message in their order, and returns the blocks that answer them, for one user's message.
func (t *Tools) Run(ctx context.Context, content []anthropic.ContentBlockUnion) (blocks []anthropic.ContentBlockParamUnion) {
	for _, b := range content {
		if b.Type != "tool_use" {
			continue
		}
		r := t.tools.Run(ctx, b.ID, b.Name, string(b.Input))
		blocks = append(blocks, anthropic.ContentBlockParamUnion{OfToolResult: answer(r)})
	}
	return blocks
}

func answer(r *model.Result) *anthropic.ToolResultBlockParam {
	out := &anthropic.ToolResultBlockParam{ToolUseID: r.ID, IsError: anthropic.Bool(r.Failed)}
	if r.Text != "" {
		out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfText: &anthropic.TextBlockParam{Text: r.Text}})
	}
	for _, i := range r.Images {
		source := anthropic.Base64ImageSourceParam{MediaType: anthropic.Base64ImageSourceMediaType(i.MIME), Data: base64.StdEncoding.EncodeToString(i.Data)}
		image := &anthropic.ImageBlockParam{Source: anthropic.ImageBlockParamSourceUnion{OfBase64: &source}}
		out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: image})
	}
	return out
}
