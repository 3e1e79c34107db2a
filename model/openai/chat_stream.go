package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// chatReader makes an answer of the chunks.
type chatReader struct {
	client *wire.Client
	answer *wire.Answer
	tools  *dialect.Set
	calls  []*chatting
	think  *wire.Block
	back   thought
	// reason says that a reason to stop arrived: the answer is whole, even if the end mark does not come.
	reason bool
}

// chatting is a call that arrives.
type chatting struct {
	index int
	id    string
	extra json.RawMessage
	block *wire.Block
	// args are kept until the name is known.
	args string
}

type chunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta  chatDelta `json:"delta"`
		Finish string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached     int64 `json:"cached_tokens"`
			CacheWrite int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type chatDelta struct {
	Content          *string           `json:"content"`
	Refusal          string            `json:"refusal"`
	Reasoning        string            `json:"reasoning"`
	ReasoningContent string            `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
		Extra json.RawMessage `json:"extra_content"`
	} `json:"tool_calls"`
}

func (r *chatReader) event(raw wire.Event) error {
	data := bytes.TrimSpace(raw.Data)
	if len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		r.answer.Ended = true
		return wire.ErrDone
	}
	if raw.Name == "error" {
		return r.client.Broken(data)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("a chunk is no JSON as documented: %w", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return r.client.Broken(data)
	}
	if c.Model != "" {
		r.answer.Model = c.Model
	}
	if u := c.Usage; u != nil {
		r.answer.Usage = model.Usage{Input: u.Prompt, Output: u.Completion, CacheRead: u.Details.Cached, CacheWrite: u.Details.CacheWrite}
	}
	if len(c.Choices) == 0 {
		return nil
	}
	if err := r.delta(&c.Choices[0].Delta); err != nil {
		return err
	}
	if reason := c.Choices[0].Finish; reason != "" {
		r.reason, r.answer.Stop = true, chatStop(reason, r.answer.Stop)
	}
	return nil
}

func (r *chatReader) delta(d *chatDelta) error {
	r.thinking(d)
	if d.Refusal != "" {
		r.answer.Last(wire.Text).Add(d.Refusal)
		r.answer.Stop = model.StopRefuse
	}
	if d.Content != nil && *d.Content != "" {
		r.answer.Last(wire.Text).Add(*d.Content)
	}
	for _, t := range d.ToolCalls {
		args, err := argsOf(t.Function.Arguments)
		if err != nil {
			return err
		}
		c := r.call(t.Index, t.ID)
		if len(t.Extra) > 0 {
			c.extra = t.Extra
		}
		c.args += args
		if c.block == nil && t.Function.Name != "" {
			c.block = r.answer.Begin(wire.Call, c.id, r.tools.Original(t.Function.Name))
		}
		if c.block != nil {
			c.block.Add(c.args)
			c.args = ""
		}
	}
	return nil
}

// argsOf returns a piece of arguments: a string, or, as some servers have it, the object itself.
func argsOf(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] != '"' {
		return string(raw), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// call returns the call that a piece belongs to. The index tells, where it is there; servers that number every call 0
// give each an ID of its own.
func (r *chatReader) call(index *int, id string) *chatting {
	for i := len(r.calls) - 1; i >= 0; i-- {
		c := r.calls[i]
		same := index == nil || c.index == *index
		switch {
		case id != "" && c.id == id && same:
			return c
		case id == "" && same:
			return c
		case id != "" && c.id == "" && same && index != nil:
			c.id = id
			if c.block != nil {
				c.block.ID = id
			}
			return c
		}
	}
	c := &chatting{index: len(r.calls), id: id}
	if index != nil {
		c.index = *index
	}
	r.calls = append(r.calls, c)
	return c
}

func (r *chatReader) thinking(d *chatDelta) {
	piece := d.ReasoningContent
	if piece == "" {
		piece = d.Reasoning
	}
	if piece == "" && len(d.ReasoningDetails) == 0 {
		return
	}
	if r.think == nil {
		r.think = r.answer.Begin(wire.Thinking, "", "")
	}
	r.back.Reasoning += d.Reasoning
	r.back.ReasoningContent += d.ReasoningContent
	r.back.ReasoningDetails = append(r.back.ReasoningDetails, d.ReasoningDetails...)
	r.think.Add(piece)
}

// finish closes what has no end of its own. Err is that of the stream.
func (r *chatReader) finish(err error) {
	if err == nil && r.reason {
		r.answer.Ended = true
	}
	if r.think != nil {
		if len(r.back.ReasoningDetails) > 0 {
			r.back.Reasoning, r.back.ReasoningContent = "", ""
		}
		r.think.Opaque = wire.Mark(chatMark, r.back)
	}
	for _, c := range r.calls {
		if c.block == nil {
			continue
		}
		if len(c.extra) > 0 {
			c.block.Opaque = wire.Mark(chatMark, thought{Extra: c.extra})
		}
		c.block.Done = r.answer.Ended && r.answer.Stop != model.StopLength
		c.block.Set(r.tools.Args(c.block.Name, c.block.Said()))
	}
}

func chatStop(reason string, now model.Stop) model.Stop {
	switch reason {
	case "length":
		return model.StopLength
	case "content_filter":
		return model.StopRefuse
	case "tool_calls", "function_call":
		return model.StopCalls
	}
	if now == model.StopRefuse {
		return now
	}
	return model.StopEnd
}

// wholeChat makes events of an answer that came at once: its message is one piece.
func wholeChat(answer []byte) ([]wire.Event, error) {
	var said map[string]json.RawMessage
	var choices []map[string]json.RawMessage
	if err := json.Unmarshal(answer, &said); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(said["choices"], &choices); err != nil || len(choices) == 0 || len(choices[0]["message"]) == 0 {
		return nil, fmt.Errorf("it has no choices with a message")
	}
	choices[0]["delta"] = choices[0]["message"]
	delete(choices[0], "message")
	data, err := json.Marshal(choices[:1])
	if err != nil {
		return nil, err
	}
	said["choices"] = data
	return []wire.Event{wire.JSONEvent(said), {Data: []byte("[DONE]")}}, nil
}
