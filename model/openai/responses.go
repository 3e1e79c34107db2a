package openai

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// responsesMark marks what this format wants back.
const responsesMark = "openai-responses"

// Responses is a model of the Responses API. It is safe for concurrent use. Nothing is kept at the provider: each turn
// sends the whole conversation, with the model's reasoning in the form that only the provider can read.
type Responses struct {
	opt    Options
	client *wire.Client
}

var _ model.Model = (*Responses)(nil)

// NewResponses returns a model of the Responses API.
func NewResponses(opt Options) (*Responses, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	return &Responses{opt: opt, client: opt.client(wholeResponse)}, nil
}

// Turn sends the conversation.
func (m *Responses) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	tools := dialect.Tools(req.Tools, m.opt.dialect())
	body, lost := m.request(req, tools)
	r := &responsesReader{client: m.client, answer: wire.NewAnswer(stream), tools: tools, items: map[int]*wire.Block{}}
	begun, err := m.client.Stream(ctx, m.opt.BaseURL+"/responses", body, r.event)
	resp, err := r.answer.End(m.client, req.Messages, begun, err)
	if resp != nil {
		resp.Lost = lost
	}
	return resp, err
}

type responsesRequest struct {
	Model        string           `json:"model"`
	Instructions string           `json:"instructions,omitempty"`
	Input        []any            `json:"input"`
	Tools        []specs.Function `json:"tools,omitempty"`
	Temperature  *float64         `json:"temperature,omitempty"`
	MaxOutput    int              `json:"max_output_tokens,omitempty"`
	Reasoning    *reasoning       `json:"reasoning,omitempty"`
	Text         *textFormat      `json:"text,omitempty"`
	Include      []string         `json:"include,omitempty"`
	Store        bool             `json:"store"`
	Stream       bool             `json:"stream"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type textFormat struct {
	Format *jsonSchema `json:"format"`
}

type item struct {
	Type      string        `json:"type"`
	Role      string        `json:"role,omitempty"`
	Content   []contentPart `json:"content,omitempty"`
	CallID    string        `json:"call_id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Arguments string        `json:"arguments,omitempty"`
}

// output is a result; what it says is a string or parts, and may be empty.
type output struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"`
}

type contentPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

func (m *Responses) request(req *model.Request, tools *dialect.Set) (*responsesRequest, []string) {
	lost := slices.Clone(tools.Lost)
	out := &responsesRequest{
		Model: m.opt.Model, Instructions: req.System, Temperature: req.Temperature, Stream: true,
		MaxOutput: req.MaxTokens, Input: []any{},
	}
	if req.MaxTokens > 0 {
		out.MaxOutput = max(req.MaxTokens, 16) // the API takes no less
	}
	if m.reasons() {
		out.Include = []string{"reasoning.encrypted_content"}
		out.Reasoning = &reasoning{Effort: m.opt.Effort, Summary: "auto"}
	}
	out.Tools = specs.Responses(tools)
	for i := range out.Tools {
		m.opt.shorten(&out.Tools[i], &lost)
	}
	if req.Output != nil {
		schema, strict, cost := dialect.Output(req.Output, dialect.OpenAI)
		lost = append(lost, cost...)
		out.Text = &textFormat{&jsonSchema{Type: "json_schema", Name: "output", Schema: schema, Strict: strict}}
	}
	for _, said := range wire.Talk(responsesMark, req.Messages) {
		if said.Role == model.Assistant {
			out.Input = append(out.Input, assistantItems(said, tools)...)
		} else {
			out.Input = append(out.Input, userItems(said)...)
		}
	}
	return out, lost
}

// reasons reports whether the model reasons, as far as its name tells: others refuse to be asked for their reasoning.
func (m *Responses) reasons() bool {
	name := m.opt.Model[strings.LastIndex(m.opt.Model, "/")+1:]
	for _, plain := range []string{"gpt-4", "gpt-3", "chatgpt-4o"} {
		if strings.HasPrefix(name, plain) {
			return false
		}
	}
	return m.opt.official() || m.opt.Effort != ""
}

func assistantItems(said model.Message, tools *dialect.Set) (items []any) {
	for _, p := range said.Parts {
		switch {
		case p.Thinking != nil:
			var own json.RawMessage
			if wire.Marked(responsesMark, p.Thinking.Opaque, &own) {
				items = append(items, own)
			}
		case p.Call != nil:
			args := tools.Forth(p.Call.Name, wire.Object(p.Call.Args))
			items = append(items, item{
				Type: "function_call", CallID: p.Call.ID, Name: tools.Wire(p.Call.Name), Arguments: string(args),
			})
		default:
			items = append(items, item{Type: "message", Role: "assistant", Content: []contentPart{{Type: "output_text", Text: p.Text}}})
		}
	}
	return items
}

func userItems(said model.Message) (items []any) {
	var parts []contentPart
	for _, p := range said.Parts {
		switch {
		case p.Result != nil:
			items = append(items, output{Type: "function_call_output", CallID: p.Result.ID, Output: outputOf(p.Result)})
		case p.Image != nil:
			parts = append(parts, contentPart{Type: "input_image", ImageURL: wire.DataURL(p.Image)})
		default:
			parts = append(parts, contentPart{Type: "input_text", Text: p.Text})
		}
	}
	if len(parts) > 0 {
		items = append(items, item{Type: "message", Role: "user", Content: parts})
	}
	return items
}

// outputOf returns what a call came to: a string, or parts where there are images.
func outputOf(r *model.Result) any {
	text := wire.FailedText(r)
	if len(r.Images) == 0 {
		return text
	}
	var parts []contentPart
	if text != "" {
		parts = append(parts, contentPart{Type: "input_text", Text: text})
	}
	for i := range r.Images {
		parts = append(parts, contentPart{Type: "input_image", ImageURL: wire.DataURL(&r.Images[i])})
	}
	return parts
}
