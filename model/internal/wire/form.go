package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

// fields are what a line of an event stream begins with.
var fields = [][]byte{[]byte("data:"), []byte("event:"), []byte("id:"), []byte("retry:"), []byte(":")}

// open returns the events of an answer, in whatever form it comes: a stream, one without a content type, or the whole answer at
// once. An answer that is none of them is an error, which is the same the next time.
func (c *Client) open(resp *http.Response, body io.Reader) (func(yield func(Event) error) error, error) {
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
		return nil, c.Refusal(resp.StatusCode, resp.Header, said)
	}
	stream := func(r io.Reader) func(func(Event) error) error {
		return func(yield func(Event) error) error { return Events(r, yield) }
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return stream(body), nil
	}
	head := bufio.NewReaderSize(body, 4<<10)
	if streams(head) {
		return stream(head), nil
	}
	said, err := io.ReadAll(io.LimitReader(head, MaxEvent+1))
	switch {
	case err != nil:
		return func(func(Event) error) error { return err }, nil
	case len(said) > MaxEvent:
		return nil, c.Errorf(errTooMuch, "%v: over %d bytes", errTooMuch, MaxEvent)
	case refuses(said):
		return nil, c.Refusal(http.StatusOK, resp.Header, said)
	}
	list, err := c.whole(said)
	if err != nil {
		if kind == "" {
			kind = "no content type"
		}
		return nil, c.Errorf(nil, "the answer is no event stream but %s (%v); is the base URL that of an API? It begins: %s", kind, err, said)
	}
	return func(yield func(Event) error) error {
		for _, e := range list {
			if err := yield(e); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// streams reports whether a text begins as an event stream does.
func streams(r *bufio.Reader) bool {
	for {
		head, _ := r.Peek(1)
		if len(head) == 0 || head[0] != '\n' && head[0] != '\r' {
			break
		}
		_, _ = r.Discard(1)
	}
	for _, field := range fields {
		if head, _ := r.Peek(len(field)); bytes.Equal(head, field) {
			return true
		}
	}
	head, _ := r.Peek(3)
	return bytes.Equal(head, []byte("\xef\xbb\xbf"))
}

// refuses reports whether a body is an error, although its status is not one.
func refuses(body []byte) bool {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &said) == nil && len(said.Error) > 0 && string(said.Error) != "null"
}

var errForm = errors.New("it has not the form of an answer")

func (c *Client) whole(body []byte) ([]Event, error) {
	if c.Whole == nil || !json.Valid(body) {
		return nil, errForm
	}
	list, err := c.Whole(body)
	if err == nil && len(list) == 0 {
		err = errForm
	}
	return list, err
}

// JSONEvent is an event of a value.
func JSONEvent(v any) Event {
	data, err := json.Marshal(v)
	if err != nil { // of raw parts that are JSON already
		data = []byte("null")
	}
	return Event{Data: data}
}
