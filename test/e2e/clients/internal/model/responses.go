package model

import (
	"encoding/json"
	"strings"
)

// responses is the format of OpenAI's responses.
type responses struct{}

// responsesTool is a function, a namespace with functions, or a tool of another type.
type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"`
}

func (t *responsesTool) flatten(namespace string) []Tool {
	switch t.Type {
	case "function":
		return []Tool{{Name: t.Name, Namespace: namespace}}
	case "namespace":
		var all []Tool
		for _, inner := range t.Tools {
			all = append(all, inner.flatten(t.Name)...)
		}
		return all
	default:
		return []Tool{{Name: t.Name, Hosted: t.Type}}
	}
}

func (responses) read(body []byte) (*Request, error) {
	var in struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Tools  []responsesTool `json:"tools"`
		Input  json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &Request{Model: in.Model, Stream: in.Stream}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.flatten("")...)
	}
	var items []struct {
		Type   string          `json:"type"`
		ID     string          `json:"call_id"`
		Output json.RawMessage `json:"output"`
		Tools  []responsesTool `json:"tools"`
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return r, nil //nolint:nilerr // the input may be a plain text, without results
	}
	for _, item := range items {
		for _, t := range item.Tools { // what a search found
			r.Tools = append(r.Tools, t.flatten("")...)
		}
		if strings.HasSuffix(item.Type, "_output") {
			r.Results = append(r.Results, Result{ID: item.ID, Text: textOf(item.Output)})
		}
	}
	return r, nil
}

func (responses) write(w *events, r *Request, reply Reply) {
	item := object{
		"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": reply.Text, "annotations": []any{}}},
	}
	if c := reply.Call; c != nil {
		item = object{
			"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Tool.Name, "arguments": string(c.Args), "status": "completed",
		}
		if c.Tool.Namespace != "" {
			item["namespace"] = c.Tool.Namespace
		}
		if c.Tool.Hosted == "tool_search" {
			item = object{
				"type": "tool_search_call", "id": "ts_" + c.ID, "call_id": c.ID, "execution": "client", "arguments": c.Args, "status": "completed",
			}
		}
	}
	whole := object{
		"id": "resp_1", "object": "response", "created_at": 1, "model": r.Model, "status": "completed", "output": []any{item},
		"usage": object{
			"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": 10, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 20,
		},
	}
	if !r.Stream {
		w.whole(whole)
		return
	}
	begun := object{"id": "resp_1", "object": "response", "created_at": 1, "model": r.Model, "status": "in_progress", "output": []any{}}
	number := 0
	send := func(name string, data object) {
		data["type"], data["sequence_number"] = name, number
		number++
		w.send(name, data)
	}
	send("response.created", object{"response": begun})
	send("response.output_item.added", object{"output_index": 0, "item": item})
	if reply.Call == nil {
		send("response.output_text.delta", object{"output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": reply.Text})
	}
	send("response.output_item.done", object{"output_index": 0, "item": item})
	send("response.completed", object{"response": whole})
}
