package wire

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/tongs-ai/tongs/model"
)

// Kind is what a block of an answer is.
type Kind int

// The kinds.
const (
	Text Kind = iota
	Thinking
	Call
)

// Answer puts an answer together while it arrives.
type Answer struct {
	Stop  model.Stop
	Usage model.Usage
	// Model is the name under which the provider answered.
	Model string
	// Ended says that the provider ended the answer. What ends without it was cut off.
	Ended bool

	stream func(model.Delta)
	blocks []*Block
}

// NewAnswer returns an answer whose pieces go to stream, which may be nil.
func NewAnswer(stream func(model.Delta)) *Answer {
	if stream == nil {
		stream = func(model.Delta) {}
	}
	return &Answer{stream: stream}
}

// Block is a piece of an answer that arrives: text, thinking, or a call.
type Block struct {
	Kind     Kind
	ID, Name string
	// Opaque is what the provider wants back.
	Opaque json.RawMessage
	// Done says that it arrived whole. A call that did not is no call.
	Done bool

	text   strings.Builder
	answer *Answer
}

// Begin adds a block. Of a call, name is known.
func (a *Answer) Begin(kind Kind, id, name string) *Block {
	b := &Block{Kind: kind, ID: id, Name: name, answer: a}
	a.blocks = append(a.blocks, b)
	if kind == Call {
		a.stream(model.Delta{Call: name})
	}
	return b
}

// Last returns the last block where it is of the kind, else a new one.
func (a *Answer) Last(kind Kind) *Block {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].Kind == kind && !a.blocks[n-1].Done {
		return a.blocks[n-1]
	}
	return a.Begin(kind, "", "")
}

// Add appends what arrived: text, thinking, or the arguments of a call.
func (b *Block) Add(piece string) {
	if piece == "" {
		return
	}
	b.text.WriteString(piece)
	switch b.Kind {
	case Text:
		b.answer.stream(model.Delta{Text: piece})
	case Thinking:
		b.answer.stream(model.Delta{Thinking: piece})
	}
}

// Set replaces what arrived by what the provider says it was.
func (b *Block) Set(whole string) {
	b.text.Reset()
	b.text.WriteString(whole)
}

// Said returns what arrived so far.
func (b *Block) Said() string { return b.text.String() }

// End returns the response. Before is the conversation so far; begun and err are what Client.Stream returned.
func (a *Answer) End(c *Client, before []model.Message, begun bool, err error) (*model.Response, error) {
	if !begun {
		return nil, err
	}
	resp := &model.Response{Message: a.message(err == nil && a.Ended), Stop: a.Stop, Usage: a.Usage, Model: a.Model}
	Unique(&resp.Message, before)
	switch calls := len(resp.Message.Calls()) > 0; {
	case calls && resp.Stop != model.StopLength && resp.Stop != model.StopRefuse:
		resp.Stop = model.StopCalls
	case !calls && resp.Stop == model.StopCalls, resp.Stop == "":
		resp.Stop = model.StopEnd
	}
	if err == nil && a.Ended {
		return resp, nil
	}
	e, ok := errors.AsType[*model.Error](err)
	switch {
	case err == nil:
		e = c.Errorf(nil, "the answer broke off before its end")
		e.Retry = true
	case !ok:
		e = c.Errorf(err, "the answer is not in the provider's format: %v", err)
		e.Retry = true
	}
	e.Partial = true
	return resp, e
}

// message returns what arrived. Of an answer that was cut off, or that ended for its length, calls count only where they
// arrived whole.
func (a *Answer) message(whole bool) model.Message {
	m := model.Message{Role: model.Assistant}
	for _, b := range a.blocks {
		switch said := b.Said(); {
		case b.Kind == Text && said != "":
			m.Parts = append(m.Parts, model.Part{Text: said})
		case b.Kind == Thinking && (said != "" || len(b.Opaque) > 0):
			m.Parts = append(m.Parts, model.Part{Thinking: &model.Thinking{Text: said, Opaque: b.Opaque}})
		case b.Kind == Call && (b.Done || whole && a.Stop != model.StopLength):
			if strings.TrimSpace(said) == "" {
				said = "{}"
			}
			m.Parts = append(m.Parts, model.Part{Call: &model.Call{ID: b.ID, Name: b.Name, Args: said, Opaque: b.Opaque}})
		}
	}
	return m
}
