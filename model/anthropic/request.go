package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

type request struct {
	Model       string                `json:"model"`
	MaxTokens   int                   `json:"max_tokens"`
	System      []block               `json:"system,omitempty"`
	Messages    []message             `json:"messages"`
	Tools       []specs.AnthropicTool `json:"tools,omitempty"`
	Temperature *float64              `json:"temperature,omitempty"`
	Thinking    *thinking             `json:"thinking,omitempty"`
	Output      *outputConfig         `json:"output_config,omitempty"`
	Stream      bool                  `json:"stream"`
}

type message struct {
	Role    model.Role `json:"role"`
	Content []any      `json:"content"`
}

// block is a text, an image, a call or a result.
type block struct {
	Type      string              `json:"type"`
	Text      string              `json:"text,omitempty"`
	Source    *source             `json:"source,omitempty"`
	ID        string              `json:"id,omitempty"`
	Name      string              `json:"name,omitempty"`
	Input     json.RawMessage     `json:"input,omitempty"`
	ToolUseID string              `json:"tool_use_id,omitempty"`
	Content   []block             `json:"content,omitempty"`
	IsError   bool                `json:"is_error,omitempty"`
	Cache     *specs.CacheControl `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitempty"`
}

type outputConfig struct {
	Effort string  `json:"effort,omitempty"`
	Format *format `json:"format,omitempty"`
}

type format struct {
	Type   string             `json:"type"`
	Schema *jsonschema.Schema `json:"schema"`
}

func (m *Model) request(req *model.Request, tools *dialect.Set) (*request, []string) {
	lost := slices.Clone(tools.Lost)
	out := &request{Model: m.opt.Model, MaxTokens: req.MaxTokens, Temperature: req.Temperature, Stream: true}
	if out.MaxTokens <= 0 {
		out.MaxTokens = defaultMax
	}
	system := req.System
	if req.Output != nil {
		schema, enforced, cost := dialect.Output(req.Output, dialect.Anthropic)
		lost = append(lost, cost...)
		if enforced {
			out.Output = &outputConfig{Format: &format{Type: "json_schema", Schema: schema}}
		} else {
			system = wire.InWords(system, req.Output)
		}
	}
	lost = m.think(out, lost)
	out.Tools = specs.Messages(tools)
	if system != "" {
		out.System = []block{{Type: "text", Text: system}}
	}
	for _, said := range wire.Talk(provider, req.Messages) {
		if content := contentOf(said, tools); len(content) > 0 {
			out.Messages = append(out.Messages, message{Role: said.Role, Content: content})
		}
	}
	if !m.opt.NoCache {
		out.cache()
	}
	return out, lost
}

// think asks the model to think, as far as somebody wants that. A model that thinks takes no temperature.
func (m *Model) think(out *request, lost []string) []string {
	switch {
	case m.opt.Thinking > 0:
		out.Thinking = &thinking{Type: "enabled", Budget: max(m.opt.Thinking, 1024)}
		out.MaxTokens = max(out.MaxTokens, out.Thinking.Budget+1024)
	case m.opt.Effort != "":
		out.Thinking = &thinking{Type: "adaptive"}
		if out.Output == nil {
			out.Output = &outputConfig{}
		}
		out.Output.Effort = m.opt.Effort
	}
	if out.Thinking != nil && out.Temperature != nil {
		out.Temperature = nil
		lost = append(lost, "the temperature is not sent, since the model thinks")
	}
	return lost
}

// cache marks the end of what stays the same (tools and system prompt) and the end of the conversation so far.
func (r *request) cache() {
	mark := &specs.CacheControl{Type: "ephemeral"}
	switch {
	case len(r.System) > 0:
		r.System[len(r.System)-1].Cache = mark
	case len(r.Tools) > 0:
		r.Tools[len(r.Tools)-1].Cache = mark
	}
	if len(r.Messages) == 0 {
		return
	}
	last := r.Messages[len(r.Messages)-1].Content
	if b, ok := last[len(last)-1].(block); ok {
		b.Cache = mark
		last[len(last)-1] = b
	}
}

func contentOf(said model.Message, tools *dialect.Set) (content []any) {
	for _, p := range said.Parts {
		switch {
		case p.Thinking != nil:
			var own json.RawMessage
			if said.Role == model.Assistant && wire.Marked(provider, p.Thinking.Opaque, &own) {
				content = append(content, own)
			}
		case p.Call != nil:
			input := tools.Forth(p.Call.Name, wire.Object(p.Call.Args))
			content = append(content, block{Type: "tool_use", ID: p.Call.ID, Name: tools.Wire(p.Call.Name), Input: input})
		case p.Result != nil:
			content = append(content, resultOf(p.Result))
		case p.Image != nil:
			content = append(content, imageOf(p.Image))
		default:
			content = append(content, block{Type: "text", Text: p.Text})
		}
	}
	return content
}

func resultOf(r *model.Result) block {
	out := block{Type: "tool_result", ToolUseID: r.ID, IsError: r.Failed}
	text := r.Text
	if text == "" && r.Failed {
		text = "The call failed."
	}
	if text != "" {
		out.Content = append(out.Content, block{Type: "text", Text: text})
	}
	for i := range r.Images {
		out.Content = append(out.Content, imageOf(&r.Images[i]))
	}
	return out
}

func imageOf(i *model.Image) block {
	return block{Type: "image", Source: &source{Type: "base64", MediaType: i.MIME, Data: wire.Base64(i.Data)}}
}
