package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// responsesReader makes an answer of the events.
type responsesReader struct {
	client *wire.Client
	answer *wire.Answer
	tools  *dialect.Set
	// items are what arrives, by its index.
	items map[int]*wire.Block
}

type responsesEvent struct {
	Type     string          `json:"type"`
	Index    int             `json:"output_index"`
	Delta    string          `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response *response       `json:"response"`
}

type response struct {
	Model      string          `json:"model"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Details struct {
			Cached     int64 `json:"cached_tokens"`
			CacheWrite int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

type outputItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

func (r *responsesReader) event(raw wire.Event) error {
	if string(raw.Data) == "[DONE]" {
		return nil
	}
	var e responsesEvent
	if err := json.Unmarshal(raw.Data, &e); err != nil {
		return fmt.Errorf("an event is no JSON as documented: %w", err)
	}
	switch e.Type {
	case "error":
		return r.client.Broken(raw.Data)
	case "response.failed":
		return r.failed(&e)
	case "response.created", "response.in_progress":
		r.take(e.Response)
	case "response.output_item.added":
		return r.added(&e)
	case "response.output_item.done":
		return r.done(&e)
	case "response.output_text.delta":
		r.piece(e.Index, wire.Text, e.Delta)
	case "response.refusal.delta":
		r.piece(e.Index, wire.Text, e.Delta)
		r.answer.Stop = model.StopRefuse
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.piece(e.Index, wire.Thinking, e.Delta)
	case "response.function_call_arguments.delta":
		r.piece(e.Index, wire.Call, e.Delta)
	case "response.completed", "response.incomplete":
		r.end(e.Response)
		return wire.ErrDone
	}
	return nil
}

func (r *responsesReader) failed(e *responsesEvent) error {
	if e.Response == nil {
		return r.client.Broken(nil)
	}
	r.take(e.Response)
	body, err := json.Marshal(map[string]json.RawMessage{"error": e.Response.Error})
	if err != nil || len(e.Response.Error) == 0 {
		body = []byte(`{"error":{"message":"the provider failed without saying why"}}`)
	}
	return r.client.Broken(body)
}

func (r *responsesReader) take(resp *response) {
	if resp == nil {
		return
	}
	if resp.Model != "" {
		r.answer.Model = resp.Model
	}
	if u := resp.Usage; u != nil {
		r.answer.Usage = model.Usage{Input: u.Input, Output: u.Output, CacheRead: u.Details.Cached, CacheWrite: u.Details.CacheWrite}
	}
}

func (r *responsesReader) end(resp *response) {
	r.take(resp)
	r.answer.Ended = true
	if resp == nil || resp.Incomplete == nil {
		return
	}
	r.answer.Stop = model.StopLength
	if resp.Incomplete.Reason == "content_filter" {
		r.answer.Stop = model.StopRefuse
	}
}

func (r *responsesReader) added(e *responsesEvent) error {
	var it outputItem
	if err := json.Unmarshal(e.Item, &it); err != nil {
		return fmt.Errorf("an item is not as documented: %w", err)
	}
	r.begin(e.Index, &it)
	return nil
}

func (r *responsesReader) begin(index int, it *outputItem) *wire.Block {
	if b := r.items[index]; b != nil {
		return b
	}
	switch it.Type {
	case "message":
		r.items[index] = r.answer.Begin(wire.Text, "", "")
	case "reasoning":
		r.items[index] = r.answer.Begin(wire.Thinking, "", "")
	case "function_call":
		r.items[index] = r.answer.Begin(wire.Call, it.CallID, r.tools.Original(it.Name))
	}
	return r.items[index]
}

func (r *responsesReader) piece(index int, kind wire.Kind, piece string) {
	if b := r.items[index]; b != nil && b.Kind == kind && !b.Done {
		b.Add(piece)
	}
}

// done takes what the provider says that the item was. Text that did not arrive in pieces is streamed now.
func (r *responsesReader) done(e *responsesEvent) error {
	var it outputItem
	if err := json.Unmarshal(e.Item, &it); err != nil {
		return fmt.Errorf("an item is not as documented: %w", err)
	}
	b := r.begin(e.Index, &it)
	if b == nil || b.Done {
		return nil
	}
	switch it.Type {
	case "message":
		var text strings.Builder
		for _, c := range it.Content {
			text.WriteString(c.Text + c.Refusal)
			if c.Type == "refusal" {
				r.answer.Stop = model.StopRefuse
			}
		}
		whole(b, text.String())
	case "reasoning":
		var parts []string
		for _, s := range it.Summary {
			parts = append(parts, s.Text)
		}
		whole(b, strings.Join(parts, "\n\n"))
		b.Opaque = wire.Mark(responsesMark, e.Item)
	case "function_call":
		b.ID = it.CallID
		b.Set(r.tools.Args(b.Name, it.Arguments))
	}
	b.Done = true
	return nil
}

// whole sets a block to what it was, and streams what of it did not arrive in pieces.
func whole(b *wire.Block, text string) {
	if rest, ok := strings.CutPrefix(text, b.Said()); ok {
		b.Add(rest)
	}
	if text != "" {
		b.Set(text)
	}
}

// wholeResponse makes events of an answer that came at once.
func wholeResponse(answer []byte) ([]wire.Event, error) {
	var said struct {
		Status string            `json:"status"`
		Error  json.RawMessage   `json:"error"`
		Output []json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, err
	}
	kind := map[string]string{"completed": "response.completed", "incomplete": "response.incomplete", "failed": "response.failed"}[said.Status]
	if kind == "" && said.Output != nil {
		kind = "response.completed"
	}
	if kind == "" {
		return nil, fmt.Errorf("it has no output and no status")
	}
	var list []wire.Event
	for i, item := range said.Output {
		list = append(list, wire.JSONEvent(map[string]any{"type": "response.output_item.done", "output_index": i, "item": item}))
	}
	return append(list, wire.JSONEvent(map[string]any{"type": kind, "response": json.RawMessage(answer)})), nil
}
