package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/internal/secrets"
	"github.com/tongs-ai/tongs/model"
)

// DefaultIdle is how long a provider may say nothing. Models on a small machine read a long prompt for minutes.
const DefaultIdle = 5 * time.Minute

// maxErrorBody bounds what is read of an answer that is no stream.
const maxErrorBody = 256 << 10

// Client sends requests to one provider. It is safe for concurrent use.
type Client struct {
	// Provider names it in errors.
	Provider string
	// HTTP nil is a client over the default transport. Its redirects are not followed: they would carry the key along.
	HTTP *http.Client
	// Header is sent with each request. Secrets, the values in it that nobody may see, are taken out of errors.
	Header  http.Header
	Secrets []string
	// Idle zero is DefaultIdle.
	Idle time.Duration
	// Whole makes events of an answer that came at once, as servers send it that cannot stream. Its error says that it is no answer.
	Whole func(answer []byte) ([]Event, error)
}

// ErrDone is returned by a reader of events whose answer is whole. What still comes is read for a moment, so that the
// connection can be used again; what goes wrong with it does not matter any more.
var ErrDone = errors.New("the answer is whole")

// afterDone is that moment.
const afterDone = time.Second

var (
	errIdle     = errors.New("the provider said nothing for too long")
	errRedirect = errors.New("redirected")
)

// Stream posts the body as JSON and hands the events of the answer to event, in order, until they end or event returns
// an error. Begun reports whether the answer had begun, so that an error means that it was cut off. Each error is an
// *model.Error, or what event returned.
func (c *Client) Stream(ctx context.Context, target string, body any, event func(Event) error) (begun bool, err error) {
	payload, err := encode(body)
	if err != nil {
		return false, c.Errorf(err, "the request cannot be written as JSON: %v", err)
	}
	idle := c.Idle
	if idle <= 0 {
		idle = DefaultIdle
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(idle, func() { cancel(errIdle) })
	defer watch.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(payload))
	if err != nil {
		return false, c.Errorf(nil, "the address %q cannot be used: set another base URL", target)
	}
	for name, values := range c.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.client().Do(req)
	if err != nil {
		return false, c.transport(ctx, err, idle)
	}
	defer resp.Body.Close()
	answer := &watched{r: resp.Body, watch: watch, idle: idle}
	events, err := c.open(resp, answer)
	if err != nil {
		return false, err
	}
	done := false
	err = events(func(e Event) error {
		err := event(e)
		if errors.Is(err, ErrDone) {
			done, answer.idle, err = true, afterDone, nil
			watch.Reset(afterDone)
		}
		return err
	})
	switch {
	case done && (err == nil || answer.err != nil):
		return true, nil
	case ctx.Err() != nil && answer.err != nil:
		return true, c.transport(ctx, answer.err, idle)
	case answer.err != nil && errors.Is(err, answer.err):
		return true, c.transport(ctx, err, idle)
	case errors.Is(err, errTooMuch):
		return true, c.Errorf(err, "%v", err)
	}
	return true, err
}

func (c *Client) client() *http.Client {
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		return fmt.Errorf("%w to %s", errRedirect, req.URL.Redacted())
	}
	return &client
}

// watched pushes the end of the patience back with each read.
type watched struct {
	r     io.Reader
	watch *time.Timer
	idle  time.Duration
	err   error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.watch.Reset(w.idle)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		w.err = err
	}
	return n, err
}

// transport makes an error of a request that got no answer, or of an answer that broke off.
func (c *Client) transport(ctx context.Context, err error, idle time.Duration) *model.Error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errIdle):
		e := c.Errorf(errIdle, "nothing came for %v", idle)
		e.Retry = true
		return e
	case cause != nil:
		return c.Errorf(cause, "%v", cause)
	case errors.Is(err, errRedirect):
		return c.Errorf(nil, "%v; requests are not sent on, since they carry a key: set that base URL if it is right", redirect(err))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	e := c.Errorf(err, "%v", err)
	e.Retry = true
	return e
}

func redirect(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Errorf returns an error of the provider, without its keys.
func (c *Client) Errorf(cause error, format string, args ...any) *model.Error {
	return &model.Error{Provider: c.Provider, Message: c.Clean(fmt.Sprintf(format, args...)), Err: cause}
}

// Clean returns text fit for an error: no keys, no control characters, not too long.
func (c *Client) Clean(text string) string {
	for _, s := range c.Secrets {
		if len(s) < 4 {
			continue
		}
		text = strings.ReplaceAll(text, s, "[key]")
		if q := url.QueryEscape(s); q != s {
			text = strings.ReplaceAll(text, q, "[key]")
		}
	}
	return excerpt((*secrets.Redactor)(nil).Text(text))
}

// excerpt returns the head of what somebody else said, as one line.
func excerpt(said string) string {
	const limit = 1000
	text := strings.ToValidUTF8(said[:min(len(said), 4*limit)], "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit]) + "…"
	}
	if text == "" {
		return "(nothing)"
	}
	return text
}

// encode writes JSON without escaping what only matters in HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
