package tongs

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Result is what a call came to. It is either a success or holds an Error; a failed call may still carry what it
// produced until then.
type Result struct {
	// Title is a short summary for lists.
	Title string `json:"title,omitempty"`
	// Content is what the model sees.
	Content string `json:"content"`
	// Display is what a person sees; empty means Content.
	Display string `json:"display,omitempty"`
	// Value is the structured result, valid against the spec's output schema.
	Value       json.RawMessage `json:"value,omitempty"`
	Metadata    map[string]any  `json:"metadata,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	Error       *Error          `json:"error,omitempty"`
}

// Attachment is binary content beside the text, such as an image. It holds its Data or names a file under /spill.
type Attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int64  `json:"size"`
	Data []byte `json:"data,omitempty"`
	Path string `json:"path,omitempty"`
}

// OK reports whether the call succeeded.
func (r *Result) OK() bool { return r.Error == nil }

// SetMeta sets one key of Metadata.
func (r *Result) SetMeta(key string, value any) {
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	r.Metadata[key] = value
}

// Failure returns the result of a call that failed with err. An error that is not an *Error is a fault of ours and
// becomes INTERNAL.
func Failure(err error) *Result {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = Errorf(CodeInternal, "%w", err)
	}
	return &Result{Content: e.Error(), Error: e, Metadata: map[string]any{"error": string(e.Code)}}
}

// ValueOf decodes the result's structured value, or returns its error.
func ValueOf[T any](r *Result) (v T, err error) {
	if r.Error != nil {
		return v, r.Error
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return v, fmt.Errorf("value of the result: %w", err)
	}
	return v, nil
}

// Presenter may be implemented by the Out type of a definition to fill in the result beyond its value: title,
// content, display, metadata, attachments. Without it a string is the content and anything else is shown as JSON.
type Presenter interface {
	Present(r *Result)
}
