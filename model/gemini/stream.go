package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// reader makes an answer of the chunks.
type reader struct {
	client *wire.Client
	answer *wire.Answer
	tools  *dialect.Set
}

type chunk struct {
	Error      json.RawMessage `json:"error"`
	Candidates []struct {
		Content content `json:"content"`
		Finish  string  `json:"finishReason"`
		Message string  `json:"finishMessage"`
	} `json:"candidates"`
	Feedback *struct {
		Block string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int64 `json:"promptTokenCount"`
		ToolPrompt int64 `json:"toolUsePromptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
	} `json:"usageMetadata"`
	Model string `json:"modelVersion"`
}

func (r *reader) event(raw wire.Event) error {
	var c chunk
	if err := json.Unmarshal(raw.Data, &c); err != nil {
		return fmt.Errorf("a chunk is no JSON as documented: %w", err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return r.client.Broken(raw.Data)
	}
	if c.Model != "" {
		r.answer.Model = c.Model
	}
	if u := c.Usage; u != nil {
		r.answer.Usage = model.Usage{Input: u.Prompt + u.ToolPrompt, Output: u.Candidates + u.Thoughts, CacheRead: u.Cached}
	}
	if c.Feedback != nil && c.Feedback.Block != "" {
		r.answer.Stop, r.answer.Ended = model.StopRefuse, true
	}
	if len(c.Candidates) == 0 {
		return nil
	}
	for i := range c.Candidates[0].Content.Parts {
		r.part(&c.Candidates[0].Content.Parts[i])
	}
	return r.finish(c.Candidates[0].Finish, c.Candidates[0].Message)
}

func (r *reader) part(p *part) {
	switch {
	case p.Call != nil:
		b := r.answer.Begin(wire.Call, p.Call.ID, r.tools.Original(p.Call.Name))
		b.Set(r.tools.Args(b.Name, string(p.Call.Args)))
		b.Opaque, b.Done = wire.Mark(provider, back{Signature: p.Signature, Unnamed: p.Call.ID == ""}), true
	case p.Text != nil && p.Thought:
		r.answer.Last(wire.Thinking).Add(*p.Text)
	case p.Text != nil:
		if *p.Text != "" {
			r.answer.Last(wire.Text).Add(*p.Text)
		}
		if p.Signature != "" {
			b := r.answer.Begin(wire.Thinking, "", "")
			b.Opaque, b.Done = wire.Mark(provider, back{Signature: p.Signature, Text: *p.Text != ""}), true
		}
	}
}

func (r *reader) finish(reason, message string) error {
	switch reason {
	case "", "FINISH_REASON_UNSPECIFIED":
		return nil
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		e := r.client.Errorf(nil, "the model wrote a call that cannot be read (%s) %s", reason, message)
		e.Retry = true
		return e
	case "STOP":
		r.answer.Stop = model.StopEnd
	case "MAX_TOKENS":
		r.answer.Stop = model.StopLength
	default: // safety, recitation, prohibited content and the like
		r.answer.Stop = model.StopRefuse
	}
	r.answer.Ended = true
	return wire.ErrDone
}

// whole makes events of an answer that came at once: one chunk, or a list of them.
func whole(answer []byte) (list []wire.Event, err error) {
	chunks := []json.RawMessage{answer}
	if answer = bytes.TrimSpace(answer); answer[0] == '[' {
		if err := json.Unmarshal(answer, &chunks); err != nil {
			return nil, err
		}
	}
	for _, data := range chunks {
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, err
		}
		if len(c.Candidates) > 0 || c.Feedback != nil || c.Usage != nil {
			list = append(list, wire.Event{Data: data})
		}
	}
	return list, nil
}
