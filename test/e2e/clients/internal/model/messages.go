package model

import "encoding/json"

// messages is the format of Anthropic's messages.
type messages struct{}

// block is a block of a message's content. A result may itself have blocks, among them references to tools.
type block struct {
	Type    string          `json:"type"`
	ID      string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	Failed  bool            `json:"is_error"`
	Text    string          `json:"text"`
}

func (messages) read(body []byte) (*Request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Tools    []Tool `json:"tools"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &Request{Model: in.Model, Stream: in.Stream, Tools: in.Tools}
	for _, m := range in.Messages {
		var blocks []block
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // plain text
		}
		for _, b := range blocks {
			if b.Type == "tool_result" {
				r.Results = append(r.Results, Result{ID: b.ID, Text: textOf(b.Content), Failed: b.Failed})
			}
		}
	}
	return r, nil
}

func (messages) write(w *events, r *Request, reply Reply) {
	content, reason := object{"type": "text", "text": reply.Text}, "end_turn"
	begun, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": reply.Text}
	if c := reply.Call; c != nil {
		content, reason = object{"type": "tool_use", "id": c.ID, "name": c.Tool.Name, "input": c.Args}, "tool_use"
		begun = object{"type": "tool_use", "id": c.ID, "name": c.Tool.Name, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(c.Args)}
	}
	usage := object{"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": r.Model, "usage": usage,
		"content": []any{content}, "stop_reason": reason, "stop_sequence": nil,
	}
	if !r.Stream {
		w.whole(message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	send := func(name string, data object) {
		data["type"] = name
		w.send(name, data)
	}
	send("message_start", object{"message": message})
	send("content_block_start", object{"index": 0, "content_block": begun})
	send("content_block_delta", object{"index": 0, "delta": delta})
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{})
}
