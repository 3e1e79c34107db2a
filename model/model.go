// Package model is how Tongs speaks with language models: one interface with one method, and a message shape that every
// provider's wire format can be read from and written to. The providers are in packages below it.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
)

// Model answers. Implementations are safe for concurrent use.
type Model interface {
	// Turn sends the conversation and returns the model's next message, whole. While it arrives, its pieces go to
	// stream, in order, never two at a time and never after Turn returned; stream may be nil. A turn that was cut off
	// returns what arrived together with an *Error whose Partial is true.
	Turn(ctx context.Context, req *Request, stream func(Delta)) (*Response, error)
}

// Request is one turn.
type Request struct {
	System   string
	Messages []Message
	// Tools are what the model may call. A provider lowers their schemas to what it accepts; Lost in the response says what
	// that cost.
	Tools []*tongs.Spec
	// Output, where it is not nil, is the schema that the final text must be JSON of.
	Output *jsonschema.Schema
	// MaxTokens bounds the answer; 0 is the provider's default.
	MaxTokens int
	// Temperature nil is the provider's default.
	Temperature *float64
}

// Role says who speaks.
type Role string

// The roles. Results of calls are parts of a user's message.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is what one side said, in order.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one of its fields.
type Part struct {
	Text     string    `json:"text,omitempty"`
	Thinking *Thinking `json:"thinking,omitempty"`
	Image    *Image    `json:"image,omitempty"`
	Call     *Call     `json:"call,omitempty"`
	Result   *Result   `json:"result,omitempty"`
}

// Thinking is what a model thought before it spoke. Opaque is handed back to the same provider unchanged.
type Thinking struct {
	Text   string          `json:"text,omitempty"`
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// Image is a picture, such as image/png.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// Call is a request of the model to run a tool. Args are as the model wrote them: they may not even be JSON.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
	// Opaque belongs to the provider and goes back unchanged.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// Result answers a call.
type Result struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Text   string  `json:"text"`
	Images []Image `json:"images,omitempty"`
	Failed bool    `json:"failed,omitempty"`
}

// Delta is a piece of a message that arrives: one of its fields.
type Delta struct {
	Text     string
	Thinking string
	// Call names a call that the model began; its arguments are in the response.
	Call string
}

// Response is a whole turn.
type Response struct {
	Message Message
	Stop    Stop
	Usage   Usage
	// Model is the name under which the provider answered.
	Model string
	// Lost are what lowering the schemas cost, a sentence each.
	Lost []string
}

// Stop says why a turn ended.
type Stop string

// The reasons.
const (
	StopEnd    Stop = "end"
	StopCalls  Stop = "calls"
	StopLength Stop = "length"
	StopRefuse Stop = "refuse"
)

// Usage counts tokens. Input includes what was read from a cache.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Error is a turn that failed. Its text never holds a key.
type Error struct {
	Provider string
	// Status is that of HTTP, 0 where there was no answer.
	Status  int
	Message string
	// Retry says that the same request may succeed later, After how long the provider wants us to wait, where it said so.
	Retry bool
	After time.Duration
	// Partial says that the answer was cut off.
	Partial bool
	// TooLong says that the conversation does not fit the model.
	TooLong bool
	Err     error
}

// Error says what failed.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s answered %d: %s", e.Provider, e.Status, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Provider, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable returns the error where the same request may succeed later, else nil.
func Retryable(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e.Retry {
		return e
	}
	return nil
}

// Text returns the text parts of a message, joined.
func (m Message) Text() (text string) {
	for _, p := range m.Parts {
		text += p.Text
	}
	return text
}

// Calls returns the calls in a message, in order.
func (m Message) Calls() (calls []Call) {
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}
