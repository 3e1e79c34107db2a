// Package openaitools offers the tools of Tongs to programs that use OpenAI's own library: their definitions in its
// types, and the calls that a model made, run and answered.
package openaitools

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tongs-ai/tongs/adapters"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
)

// Tools are a set in OpenAI's types. They are safe for concurrent use.
type Tools struct {
	tools   *adapters.Tools
	schemas []map[string]any
}

// OpenAI returns the set for OpenAI's library.
func OpenAI(set adapters.Set) (*Tools, error) { return tools(set, dialect.OpenAI) }

// Strict is OpenAI, with schemas that the provider enforces wherever they can be said in what it can enforce.
func Strict(set adapters.Set) (*Tools, error) { return tools(set, dialect.OpenAIStrict) }

func tools(set adapters.Set, d dialect.Dialect) (*Tools, error) {
	t := &Tools{tools: adapters.Lower(set, d)}
	for i := range t.tools.Tools {
		schema, err := adapters.Object(&t.tools.Tools[i])
		if err != nil {
			return nil, err
		}
		t.schemas = append(t.schemas, schema)
	}
	return t, nil
}

// Lost says what of the tools OpenAI could not be told, a sentence each.
func (t *Tools) Lost() []string { return t.tools.Lost }

// Chat returns the definitions for chat completions.
func (t *Tools) Chat() (params []openai.ChatCompletionToolUnionParam) {
	for i, tool := range t.tools.Tools {
		f := shared.FunctionDefinitionParam{Name: tool.Name, Parameters: t.schemas[i]}
		if tool.Description != "" {
			f.Description = param.NewOpt(tool.Description)
		}
		if tool.Strict {
			f.Strict = param.NewOpt(true)
		}
		params = append(params, openai.ChatCompletionFunctionTool(f))
	}
	return params
}

// RunChat runs the calls of a message in their order, and returns the messages that answer them. Images, which answers
// cannot hold, follow as a user's message.
func (t *Tools) RunChat(ctx context.Context, calls []openai.ChatCompletionMessageToolCallUnion) (messages []openai.ChatCompletionMessageParamUnion) {
	var images []openai.ChatCompletionContentPartUnionParam
	for _, c := range calls {
		r := t.run(ctx, c.ID, c.Function.Name, c.Function.Arguments)
		messages = append(messages, openai.ToolMessage(text(r), c.ID))
		for i := range r.Images {
			url := openai.ChatCompletionContentPartImageImageURLParam{URL: dataURL(&r.Images[i])}
			images = append(images, openai.ImageContentPart(url))
		}
	}
	if len(images) > 0 {
		messages = append(messages, openai.UserMessage(images))
	}
	return messages
}

// Responses returns the definitions for the Responses API.
func (t *Tools) Responses() (params []responses.ToolUnionParam) {
	for i, tool := range t.tools.Tools {
		f := &responses.FunctionToolParam{Name: tool.Name, Parameters: t.schemas[i], Strict: param.NewOpt(tool.Strict)}
		if tool.Description != "" {
			f.Description = param.NewOpt(tool.Description)
		}
		params = append(params, responses.ToolUnionParam{OfFunction: f})
	}
	return params
}

// RunResponses runs the calls among the output of a response in their order, and returns the items that answer them.
func (t *Tools) RunResponses(ctx context.Context, output []responses.ResponseOutputItemUnion) (items responses.ResponseInputParam) {
	for _, item := range output {
		if item.Type != "function_call" {
			continue
		}
		call := item.AsFunctionCall()
		r := t.run(ctx, call.CallID, call.Name, call.Arguments)
		answer := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(call.CallID)}
		if len(r.Images) == 0 {
			answer.Output.OfString = param.NewOpt(text(r))
		} else {
			answer.Output.OfResponseFunctionCallOutputItemArray = parts(r)
		}
		items = append(items, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &answer})
	}
	return items
}

func parts(r *model.Result) (list responses.ResponseFunctionCallOutputItemListParam) {
	list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputText: &responses.ResponseInputTextContentParam{Text: text(r)}})
	for i := range r.Images {
		image := &responses.ResponseInputImageContentParam{ImageURL: param.NewOpt(dataURL(&r.Images[i]))}
		list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: image})
	}
	return list
}

func (t *Tools) run(ctx context.Context, id, name, args string) *model.Result {
	return t.tools.Run(ctx, id, name, args)
}

// text is what a result says; the formats have no flag for failures.
func text(r *model.Result) string {
	if r.Failed {
		return "Error: " + r.Text
	}
	return r.Text
}

func dataURL(i *model.Image) string {
	return fmt.Sprintf("data:%s;base64,%s", i.MIME, base64.StdEncoding.EncodeToString(i.Data))
}
