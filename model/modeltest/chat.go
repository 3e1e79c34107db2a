package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

type chatCodec struct{}

type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	Temperature         *float64        `json:"temperature"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Effort              string          `json:"reasoning_effort"`
	Format              *responseFormat `json:"response_format"`
	Tools               []struct {
		Type     string       `json:"type"`
		Function functionTool `json:"function"`
	} `json:"tools"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type   string        `json:"type"`
	Schema *schemaFormat `json:"json_schema"`
}

type schemaFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

func (f *functionTool) spec(seen map[string]bool) (*tongs.Spec, error) {
	if f.Strict != nil && *f.Strict {
		if err := strict(f.Parameters, f.Name); err != nil {
			return nil, err
		}
	}
	return toolOf(f.Name, f.Description, f.Parameters, seen)
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	Reasoning  string          `json:"reasoning_content"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type chatPart struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func (chatCodec) decode(s *Server, r *http.Request, body []byte) (*model.Request, error) {
	if r.URL.Path != "/v1/chat/completions" {
		return nil, &model.Error{Status: 404, Message: "there is no " + r.URL.Path}
	}
	if err := checkKey(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); err != nil {
		return nil, err
	}
	var in chatRequest
	if err := strictly(body, &in); err != nil {
		return nil, err
	}
	if in.Model == "" || !in.Stream || in.StreamOptions == nil || !in.StreamOptions.IncludeUsage || len(in.Messages) == 0 {
		return nil, errors.New("model, messages, stream and stream_options.include_usage are expected")
	}
	if in.MaxTokens != 0 && in.MaxCompletionTokens != 0 {
		return nil, errors.New("max_tokens and max_completion_tokens exclude each other")
	}
	if f := in.Format; f != nil {
		if f.Type != "json_schema" || f.Schema == nil || f.Schema.Name == "" {
			return nil, errors.New("response_format is not as documented")
		}
		if f.Schema.Strict {
			if err := strict(f.Schema.Schema, "response_format"); err != nil {
				return nil, err
			}
		}
	}
	out := &model.Request{MaxTokens: max(in.MaxTokens, in.MaxCompletionTokens), Temperature: in.Temperature}
	seen := map[string]bool{}
	for _, t := range in.Tools {
		spec, err := t.Function.spec(seen)
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, spec)
	}
	var waiting pending
	for i, m := range in.Messages {
		if err := chatTake(s, &m, out, &waiting); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	names(out.Messages)
	return out, waiting.none()
}

func chatTake(s *Server, m *chatMessage, out *model.Request, waiting *pending) error {
	if m.Role != "tool" {
		if err := waiting.none(); err != nil {
			return err
		}
	}
	parts, err := chatContent(m.Content)
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		for _, p := range parts {
			out.System += p.Text
		}
		return nil
	case "user":
		if len(parts) == 0 {
			return errors.New("a user says nothing")
		}
		add(out, model.User, parts...)
	case "tool":
		if err := waiting.result(m.ToolCallID); err != nil {
			return err
		}
		r := &model.Result{ID: m.ToolCallID}
		for _, p := range parts {
			if p.Image != nil {
				return errors.New("a result cannot hold images")
			}
			r.Text += p.Text
		}
		failed(r)
		add(out, model.User, model.Part{Result: r})
	case "assistant":
		return chatAssistant(s, m, parts, out, waiting)
	default:
		return fmt.Errorf("the role %q is not known", m.Role)
	}
	return nil
}

func chatAssistant(s *Server, m *chatMessage, parts []model.Part, out *model.Request, waiting *pending) error {
	if len(parts) == 0 && len(m.ToolCalls) == 0 {
		return errors.New("an assistant needs content or tool_calls")
	}
	if m.Reasoning != "" {
		parts = append([]model.Part{{Thinking: &model.Thinking{Text: m.Reasoning}}}, parts...)
	}
	for _, c := range m.ToolCalls {
		if c.Type != "function" || !toolName.MatchString(c.Function.Name) || !json.Valid([]byte(c.Function.Arguments)) {
			return fmt.Errorf("the call %s is not as documented: %s", c.Function.Name, c.Function.Arguments)
		}
		if err := waiting.call(c.ID); err != nil {
			return err
		}
		if !s.signedBy(c.Function.Name, json.RawMessage(c.Function.Arguments), m.Reasoning) {
			return fmt.Errorf("reasoning_content beside %s must come back as it was", c.Function.Name)
		}
		parts = append(parts, model.Part{Call: &model.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments}})
	}
	out.Messages = append(out.Messages, model.Message{Role: model.Assistant, Parts: parts})
	return nil
}

// failed tells a failed result by what it says, where the format has no flag.
func failed(r *model.Result) { r.Text, r.Failed = strings.CutPrefix(r.Text, "Error: ") }

// add adds parts to the last message where it is of the role, else to a new one.
func add(out *model.Request, role model.Role, parts ...model.Part) {
	if n := len(out.Messages); n > 0 && out.Messages[n-1].Role == role {
		out.Messages[n-1].Parts = append(out.Messages[n-1].Parts, parts...)
		return
	}
	out.Messages = append(out.Messages, model.Message{Role: role, Parts: parts})
}

func chatContent(raw json.RawMessage) (parts []model.Part, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil, nil
		}
		return []model.Part{{Text: text}}, nil
	}
	var list []chatPart
	if err := strictly(raw, &list); err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	for _, p := range list {
		switch {
		case p.Type == "text" && p.Text != "":
			parts = append(parts, model.Part{Text: p.Text})
		case p.Type == "image_url" && p.Image != nil:
			image, err := imageURL(p.Image.URL)
			if err != nil {
				return nil, err
			}
			parts = append(parts, model.Part{Image: image})
		default:
			return nil, fmt.Errorf("content: a part of type %q is not as documented", p.Type)
		}
	}
	return parts, nil
}

func (chatCodec) encode(s *Server, w *events, resp *model.Response, cut bool) {
	chunk := func(delta object, reason any) {
		w.send("", object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": resp.Model, "usage": nil,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": reason}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	thought, index := "", 0
	for _, p := range resp.Message.Parts {
		switch {
		case p.Thinking != nil:
			thought += p.Thinking.Text
			for _, piece := range pieces(p.Thinking.Text) {
				chunk(object{"reasoning_content": piece}, nil)
			}
		case p.Call != nil:
			call := func(v object) { v["index"] = index; chunk(object{"tool_calls": []any{v}}, nil) }
			call(object{"id": p.Call.ID, "type": "function", "function": object{"name": p.Call.Name, "arguments": ""}})
			for _, piece := range pieces(p.Call.Args) {
				call(object{"function": object{"arguments": piece}})
			}
			s.remember(p.Call.Name, json.RawMessage(p.Call.Args), thought)
			index++
		default:
			for _, piece := range pieces(p.Text) {
				chunk(object{"content": piece}, nil)
			}
		}
	}
	if cut {
		return
	}
	reasons := map[model.Stop]string{model.StopCalls: "tool_calls", model.StopLength: "length", model.StopRefuse: "content_filter", model.StopEnd: "stop"}
	chunk(object{}, reasons[resp.Stop])
	u := resp.Usage
	w.send("", object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": resp.Model, "choices": []any{},
		"usage": object{
			"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"prompt_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		},
	})
	w.raw("data: [DONE]\n\n")
}

func (chatCodec) failure(e *model.Error) (any, string) { return openaiFailure(e), "" }

func openaiFailure(e *model.Error) object {
	kinds := map[int]string{400: "invalid_request_error", 401: "invalid_request_error", 429: "rate_limit_exceeded"}
	kind, code, message := kinds[e.Status], any(nil), e.Message
	if kind == "" {
		kind = "server_error"
	}
	if e.TooLong {
		code, message = "context_length_exceeded", "Your input exceeds the context window of this model."
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}
