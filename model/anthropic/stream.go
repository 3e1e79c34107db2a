package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// reader makes an answer of the events.
type reader struct {
	client *wire.Client
	answer *wire.Answer
	tools  *dialect.Set
	blocks map[int]*wire.Block
	// signature is that of the thinking that arrives.
	signature string
}

type usage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
}

type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	Block struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		Data     string          `json:"data"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		JSON      string `json:"partial_json"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

func (r *reader) event(raw wire.Event) error {
	if raw.Name == "error" {
		return r.client.Broken(raw.Data)
	}
	var e event
	if err := json.Unmarshal(raw.Data, &e); err != nil {
		return fmt.Errorf("an event is no JSON: %w", err)
	}
	switch e.Type {
	case "error":
		return r.client.Broken(raw.Data)
	case "message_start":
		r.answer.Model = e.Message.Model
		r.count(e.Message.Usage)
	case "content_block_start":
		r.begin(&e)
	case "content_block_delta":
		return r.delta(&e)
	case "content_block_stop":
		r.stop(e.Index)
	case "message_delta":
		r.count(e.Usage)
		r.answer.Stop = stopOf(e.Delta.Stop)
	case "message_stop":
		r.answer.Ended = true
		return wire.ErrDone
	}
	return nil
}

func (r *reader) begin(e *event) {
	switch b := &e.Block; b.Type {
	case "text":
		r.blocks[e.Index] = r.answer.Begin(wire.Text, "", "")
		r.blocks[e.Index].Add(b.Text)
	case "thinking":
		r.signature = ""
		r.blocks[e.Index] = r.answer.Begin(wire.Thinking, "", "")
		r.blocks[e.Index].Add(b.Thinking)
	case "redacted_thinking":
		block := r.answer.Begin(wire.Thinking, "", "")
		block.Opaque = wire.Mark(provider, map[string]string{"type": "redacted_thinking", "data": b.Data})
		block.Done = true
	case "tool_use":
		block := r.answer.Begin(wire.Call, b.ID, r.tools.Original(b.Name))
		r.blocks[e.Index] = block
		if len(b.Input) > 2 && b.Input[0] == '{' {
			block.Set(string(b.Input))
		}
	}
}

func (r *reader) delta(e *event) error {
	b := r.blocks[e.Index]
	if b == nil {
		return nil // of a kind that we did not ask for
	}
	switch d := &e.Delta; {
	case d.Type == "text_delta" && b.Kind == wire.Text:
		b.Add(d.Text)
	case d.Type == "thinking_delta" && b.Kind == wire.Thinking:
		b.Add(d.Thinking)
	case d.Type == "signature_delta" && b.Kind == wire.Thinking:
		r.signature += d.Signature
	case d.Type == "input_json_delta" && b.Kind == wire.Call:
		b.Add(d.JSON)
	case d.Type == "text_delta", d.Type == "thinking_delta", d.Type == "input_json_delta":
		return fmt.Errorf("a %s came for a block of another kind", d.Type)
	}
	return nil
}

func (r *reader) stop(index int) {
	b := r.blocks[index]
	if b == nil || b.Done {
		return
	}
	b.Done = true
	switch b.Kind {
	case wire.Thinking:
		b.Opaque = wire.Mark(provider, map[string]string{"type": "thinking", "thinking": b.Said(), "signature": r.signature})
	case wire.Call:
		b.Set(r.tools.Args(b.Name, b.Said()))
	}
}

// count takes the counts that an event has; later ones are totals that replace earlier ones.
func (r *reader) count(u usage) {
	at := &r.answer.Usage
	fresh := at.Input - at.CacheRead - at.CacheWrite
	for to, from := range map[*int64]*int64{&fresh: u.Input, &at.Output: u.Output, &at.CacheRead: u.CacheRead, &at.CacheWrite: u.CacheWrite} {
		if from != nil {
			*to = *from
		}
	}
	at.Input = fresh + at.CacheRead + at.CacheWrite
}

func stopOf(reason string) model.Stop {
	switch reason {
	case "tool_use":
		return model.StopCalls
	case "max_tokens", "model_context_window_exceeded":
		return model.StopLength
	case "refusal":
		return model.StopRefuse
	default:
		return model.StopEnd
	}
}

// whole makes events of an answer that came at once.
func whole(answer []byte) ([]wire.Event, error) {
	var said struct {
		Type    string            `json:"type"`
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
		Usage   json.RawMessage   `json:"usage"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, err
	}
	if said.Type != "message" {
		return nil, fmt.Errorf("its type is %.40q, not message", said.Type)
	}
	list := []wire.Event{wire.JSONEvent(map[string]any{"type": "message_start", "message": json.RawMessage(answer)})}
	for i, block := range said.Content {
		var signed struct {
			Signature string `json:"signature"`
		}
		if err := json.Unmarshal(block, &signed); err != nil {
			return nil, err
		}
		list = append(list, wire.JSONEvent(map[string]any{"type": "content_block_start", "index": i, "content_block": block}))
		if signed.Signature != "" {
			list = append(list, wire.JSONEvent(map[string]any{
				"type": "content_block_delta", "index": i, "delta": map[string]string{"type": "signature_delta", "signature": signed.Signature},
			}))
		}
		list = append(list, wire.JSONEvent(map[string]any{"type": "content_block_stop", "index": i}))
	}
	end := map[string]any{"type": "message_delta", "delta": map[string]string{"stop_reason": said.Stop}}
	if len(said.Usage) > 0 {
		end["usage"] = said.Usage
	}
	return append(list, wire.JSONEvent(end), wire.JSONEvent(map[string]string{"type": "message_stop"})), nil
}
