package openai

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// chatMark marks what this format wants back.
const chatMark = "openai-chat"

// Chat is a model of the Chat Completions API. It is safe for concurrent use.
type Chat struct {
	opt    Options
	client *wire.Client
}

var _ model.Model = (*Chat)(nil)

// NewChat returns a model of the Chat Completions API of OpenAI or of a compatible server.
func NewChat(opt Options) (*Chat, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	return &Chat{opt: opt, client: opt.client(wholeChat)}, nil
}

// Turn sends the conversation.
func (c *Chat) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	tools := dialect.Tools(req.Tools, c.opt.dialect())
	body, lost := c.request(req, tools)
	r := &chatReader{client: c.client, answer: wire.NewAnswer(stream), tools: tools}
	begun, err := c.client.Stream(ctx, c.opt.BaseURL+"/chat/completions", body, r.event)
	r.finish(err)
	resp, err := r.answer.End(c.client, req.Messages, begun, err)
	if resp != nil {
		resp.Lost = lost
	}
	return resp, err
}

type chatRequest struct {
	Model         string           `json:"model"`
	Messages      []chatMessage    `json:"messages"`
	Tools         []specs.ChatTool `json:"tools,omitempty"`
	Temperature   *float64         `json:"temperature,omitempty"`
	MaxTokens     int              `json:"max_tokens,omitempty"`
	MaxCompletion int              `json:"max_completion_tokens,omitempty"`
	Effort        string           `json:"reasoning_effort,omitempty"`
	Format        *responseFormat  `json:"response_format,omitempty"`
	Stream        bool             `json:"stream"`
	StreamOptions streamOptions    `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type   string      `json:"type"`
	Schema *jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Type   string             `json:"type,omitempty"`
	Name   string             `json:"name"`
	Schema *jsonschema.Schema `json:"schema"`
	Strict bool               `json:"strict"`
}

type chatMessage struct {
	Role string `json:"role"`
	// Content is a string or parts.
	Content    any        `json:"content,omitempty"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	// What some servers want back of a model's thinking.
	Reasoning        string            `json:"reasoning,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type chatPart struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function chatFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (c *Chat) request(req *model.Request, tools *dialect.Set) (*chatRequest, []string) {
	lost := slices.Clone(tools.Lost)
	out := &chatRequest{
		Model: c.opt.Model, Temperature: req.Temperature, Effort: c.opt.Effort,
		Stream: true, StreamOptions: streamOptions{IncludeUsage: true},
	}
	if c.opt.official() {
		out.MaxCompletion = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	out.Tools = specs.Chat(tools)
	for i := range out.Tools {
		c.opt.shorten(&out.Tools[i].Function, &lost)
	}
	if req.Output != nil {
		schema, strict, cost := dialect.Output(req.Output, dialect.OpenAI)
		lost = append(lost, cost...)
		out.Format = &responseFormat{"json_schema", &jsonSchema{Name: "output", Schema: schema, Strict: strict}}
	}
	if req.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: req.System})
	}
	for _, said := range wire.Talk(chatMark, req.Messages) {
		if said.Role == model.Assistant {
			out.Messages = append(out.Messages, chatAssistant(said, tools))
		} else {
			out.Messages = append(out.Messages, chatUser(said)...)
		}
	}
	return out, lost
}

// thought is what comes back of thinking, and of a call.
type thought struct {
	Reasoning        string            `json:"reasoning,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	Extra            json.RawMessage   `json:"extra_content,omitempty"`
}

func chatAssistant(said model.Message, tools *dialect.Set) chatMessage {
	m := chatMessage{Role: "assistant"}
	if text := said.Text(); text != "" {
		m.Content = text
	}
	for _, p := range said.Parts {
		var own thought
		switch {
		case p.Thinking != nil && wire.Marked(chatMark, p.Thinking.Opaque, &own):
			m.Reasoning += own.Reasoning
			m.ReasoningContent += own.ReasoningContent
			m.ReasoningDetails = append(m.ReasoningDetails, own.ReasoningDetails...)
		case p.Call != nil:
			wire.Marked(chatMark, p.Call.Opaque, &own)
			args := tools.Forth(p.Call.Name, wire.Object(p.Call.Args))
			m.ToolCalls = append(m.ToolCalls, chatCall{
				ID: p.Call.ID, Type: "function", Extra: own.Extra,
				Function: chatFunction{Name: tools.Wire(p.Call.Name), Arguments: string(args)},
			})
		}
	}
	if len(m.ToolCalls) == 0 {
		m.ReasoningContent = "" // servers that send it refuse it back, except beside calls, where they demand it
	}
	if m.Content == nil && m.ToolCalls == nil {
		m.Content = ""
	}
	return m
}

// chatUser returns the messages of a user's one: each result is its own. Images in results, which the format does not
// have, follow as the user's.
func chatUser(said model.Message) (messages []chatMessage) {
	var parts []chatPart
	for _, p := range said.Parts {
		switch {
		case p.Result != nil:
			r := p.Result
			messages = append(messages, chatMessage{Role: "tool", ToolCallID: r.ID, Content: wire.FailedText(r)})
			if len(r.Images) > 0 {
				parts = append(parts, chatPart{Type: "text", Text: "What the call of " + r.Name + " showed:"})
			}
			for i := range r.Images {
				parts = append(parts, chatImage(&r.Images[i]))
			}
		case p.Image != nil:
			parts = append(parts, chatImage(p.Image))
		default:
			parts = append(parts, chatPart{Type: "text", Text: p.Text})
		}
	}
	if len(parts) == 0 {
		return messages
	}
	if text, ok := onlyText(parts); ok {
		return append(messages, chatMessage{Role: "user", Content: text})
	}
	return append(messages, chatMessage{Role: "user", Content: parts})
}

// onlyText returns the parts as one string where they are nothing else: not every server takes parts.
func onlyText(parts []chatPart) (string, bool) {
	var texts []string
	for _, p := range parts {
		if p.Image != nil {
			return "", false
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n"), true
}

func chatImage(i *model.Image) chatPart {
	return chatPart{Type: "image_url", Image: &imageURL{wire.DataURL(i)}}
}
