package model

import "encoding/json"

// chat is the format of OpenAI's chat completions, which most providers understand.
type chat struct{}

func (chat) read(body []byte) (*Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			ID      string          `json:"tool_call_id"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function Tool `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &Request{Model: in.Model, Stream: in.Stream}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function)
	}
	for _, m := range in.Messages {
		if m.Role == "tool" {
			r.Results = append(r.Results, Result{ID: m.ID, Text: textOf(m.Content)})
		}
	}
	return r, nil
}

func (chat) write(w *events, r *Request, reply Reply) {
	message, reason := object{"role": "assistant", "content": reply.Text}, "stop"
	if c := reply.Call; c != nil {
		message["tool_calls"] = []any{object{
			"index": 0, "id": c.ID, "type": "function", "function": object{"name": c.Tool.Name, "arguments": string(c.Args)},
		}}
		message["content"], reason = nil, "tool_calls"
	}
	usage := object{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
	envelope := func(kind, part string, value object, reason any) object {
		return object{
			"id": "chatcmpl-1", "object": kind, "created": 1, "model": r.Model, "usage": usage,
			"choices": []any{object{"index": 0, part: value, "finish_reason": reason}},
		}
	}
	if !r.Stream {
		w.whole(envelope("chat.completion", "message", message, reason))
		return
	}
	w.send("", envelope("chat.completion.chunk", "delta", message, nil))
	w.send("", envelope("chat.completion.chunk", "delta", object{}, reason))
	w.send("", "[DONE]")
}
