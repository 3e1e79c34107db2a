package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/model"
)

type anthropicCodec struct{}

type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   int                `json:"max_tokens"`
	System      []anthropicBlock   `json:"system"`
	Messages    []anthropicMessage `json:"messages"`
	Stream      bool               `json:"stream"`
	Temperature *float64           `json:"temperature"`
	Thinking    *anthropicThinking `json:"thinking"`
	Output      *anthropicOutput   `json:"output_config"`
	Tools       []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
		Cache       json.RawMessage `json:"cache_control"`
	} `json:"tools"`
}

type anthropicThinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type anthropicOutput struct {
	Effort string           `json:"effort"`
	Format *anthropicFormat `json:"format"`
}

type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Input     json.RawMessage  `json:"input"`
	ToolUseID string           `json:"tool_use_id"`
	Content   []anthropicBlock `json:"content"`
	IsError   bool             `json:"is_error"`
	Thinking  string           `json:"thinking"`
	Signature string           `json:"signature"`
	Data      string           `json:"data"`
	Cache     json.RawMessage  `json:"cache_control"`
}

func (anthropicCodec) decode(s *Server, r *http.Request, body []byte) (*model.Request, error) {
	if r.URL.Path != "/v1/messages" {
		return nil, &model.Error{Status: 404, Message: "there is no " + r.URL.Path}
	}
	if err := checkKey(r.Header.Get("X-Api-Key")); err != nil {
		return nil, err
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return nil, errors.New("anthropic-version: header is required")
	}
	var in anthropicRequest
	if err := strictly(body, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Model == "" || !in.Stream || in.MaxTokens <= 0:
		return nil, errors.New("model, max_tokens and stream are required")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 1):
		return nil, errors.New("temperature: range: 0..1")
	case in.Thinking != nil && (in.Temperature != nil || in.Thinking.Type == "enabled" && (in.Thinking.Budget < 1024 || in.Thinking.Budget >= in.MaxTokens)):
		return nil, errors.New("thinking: no temperature, and 1024 <= budget_tokens < max_tokens")
	case strings.Count(string(body), `"cache_control"`) > 4:
		return nil, errors.New("a maximum of 4 blocks with cache_control may be provided")
	}
	out := &model.Request{MaxTokens: in.MaxTokens, Temperature: in.Temperature}
	for _, b := range in.System {
		out.System += b.Text
	}
	if in.Output != nil && in.Output.Format != nil {
		if err := closedObjects(in.Output.Format.Schema, "output_config.format.schema"); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for _, t := range in.Tools {
		spec, err := toolOf(t.Name, t.Description, t.Schema, seen)
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, spec)
	}
	return out, anthropicTalk(s, &in, out)
}

func anthropicTalk(s *Server, in *anthropicRequest, out *model.Request) error {
	role := "assistant"
	var waiting pending
	for i, m := range in.Messages {
		if m.Role == role || m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("messages.%d: the roles must alternate between user and assistant, beginning with user; this is %q",
				i, m.Role)
		}
		role = m.Role
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: the content is empty", i)
		}
		said := model.Message{Role: model.Role(m.Role)}
		results, thought := true, ""
		for j, b := range m.Content {
			if b.Type != "tool_result" {
				results = false
			} else if !results {
				return fmt.Errorf("messages.%d: tool_result blocks must come first", i)
			}
			if b.Signature != "" {
				thought = b.Signature
			}
			if b.Type == "tool_use" && !s.signedBy(b.Name, b.Input, thought) {
				return fmt.Errorf("messages.%d: the thinking that was before %s must come back unchanged", i, b.Name)
			}
			p, err := anthropicPart(&b, m.Role, &waiting)
			if err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
			}
			said.Parts = append(said.Parts, p)
		}
		if m.Role == "user" {
			if err := waiting.none(); err != nil {
				return fmt.Errorf("messages.%d: %w", i, err)
			}
		}
		out.Messages = append(out.Messages, said)
	}
	if role != "user" {
		return errors.New("messages: the last one must be the user's, and there must be one")
	}
	names(out.Messages)
	return nil
}

func anthropicPart(b *anthropicBlock, role string, waiting *pending) (p model.Part, err error) {
	allowed := map[string]string{"user": "text image tool_result", "assistant": "text thinking redacted_thinking tool_use", "result": "text image"}
	if !slices.Contains(strings.Fields(allowed[role]), b.Type) {
		return p, fmt.Errorf("%s is not allowed in a message of the %s", b.Type, role)
	}
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return p, errors.New("text content blocks must be non-empty")
		}
		p.Text = b.Text
	case "thinking":
		if b.Signature != anthropicSignature(b.Thinking) {
			return p, errors.New("invalid signature in thinking block")
		}
		p.Thinking = &model.Thinking{Text: b.Thinking}
	case "redacted_thinking":
		p.Thinking = &model.Thinking{}
	case "image":
		if b.Source == nil || b.Source.Type != "base64" {
			return p, errors.New("an image has no source")
		}
		p.Image, err = imageOf(b.Source.MediaType, b.Source.Data)
	case "tool_use":
		if !toolName.MatchString(b.Name) || len(b.Input) == 0 || b.Input[0] != '{' {
			return p, errors.New("a tool_use needs a name and an input that is an object")
		}
		p.Call = &model.Call{ID: b.ID, Name: b.Name, Args: string(b.Input)}
		err = waiting.call(b.ID)
	case "tool_result":
		p.Result = &model.Result{ID: b.ToolUseID, Failed: b.IsError}
		if err = waiting.result(b.ToolUseID); err == nil {
			err = anthropicResult(b, p.Result)
		}
	default:
		err = fmt.Errorf("the type %q is not known", b.Type)
	}
	return p, err
}

func anthropicResult(b *anthropicBlock, r *model.Result) error {
	for _, c := range b.Content {
		part, err := anthropicPart(&c, "result", nil)
		if err != nil {
			return err
		}
		r.Text += part.Text
		if part.Image != nil {
			r.Images = append(r.Images, *part.Image)
		}
	}
	if b.IsError && r.Text == "" {
		return errors.New("content cannot be empty if is_error is true")
	}
	return nil
}

func anthropicSignature(thinking string) string { return "signature of " + thinking }

func (anthropicCodec) encode(s *Server, w *events, resp *model.Response, cut bool) {
	u := resp.Usage
	send := func(kind string, v object) {
		v["type"] = kind
		w.send(kind, v)
	}
	send("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": resp.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{
			"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
			"cache_creation_input_tokens": u.CacheWrite, "output_tokens": 1,
		},
	}})
	send("ping", object{})
	thought := ""
	for i, p := range resp.Message.Parts {
		last := cut && i == len(resp.Message.Parts)-1
		if p.Thinking != nil {
			thought = anthropicSignature(p.Thinking.Text)
		}
		anthropicSend(i, &p, last, send)
		if p.Call != nil {
			s.remember(p.Call.Name, json.RawMessage(p.Call.Args), thought)
		}
	}
	if cut {
		return
	}
	reasons := map[model.Stop]string{model.StopCalls: "tool_use", model.StopLength: "max_tokens", model.StopRefuse: "refusal", model.StopEnd: "end_turn"}
	send("message_delta", object{"delta": object{"stop_reason": reasons[resp.Stop], "stop_sequence": nil}, "usage": object{"output_tokens": u.Output}})
	send("message_stop", object{})
}

// anthropicSend streams one block; the last one of an answer that is cut off has no end.
func anthropicSend(i int, p *model.Part, last bool, send func(string, object)) {
	delta := func(kind, field, value string) {
		send("content_block_delta", object{"index": i, "delta": object{"type": kind, field: value}})
	}
	start := func(block object) { send("content_block_start", object{"index": i, "content_block": block}) }
	switch {
	case p.Thinking != nil:
		start(object{"type": "thinking", "thinking": "", "signature": ""})
		for _, piece := range pieces(p.Thinking.Text) {
			delta("thinking_delta", "thinking", piece)
		}
		delta("signature_delta", "signature", anthropicSignature(p.Thinking.Text))
	case p.Call != nil:
		start(object{"type": "tool_use", "id": p.Call.ID, "name": p.Call.Name, "input": object{}})
		delta("input_json_delta", "partial_json", "")
		for _, piece := range pieces(p.Call.Args) {
			delta("input_json_delta", "partial_json", piece)
		}
	default:
		start(object{"type": "text", "text": ""})
		for _, piece := range pieces(p.Text) {
			delta("text_delta", "text", piece)
		}
	}
	if !last {
		send("content_block_stop", object{"index": i})
	}
}

func (anthropicCodec) failure(e *model.Error) (any, string) {
	kinds := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 529: "overloaded_error",
	}
	kind := kinds[e.Status]
	if kind == "" {
		kind = "api_error"
	}
	message := e.Message
	if e.TooLong {
		message = "prompt is too long: 210000 tokens > 200000 maximum"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"}, "error"
}
