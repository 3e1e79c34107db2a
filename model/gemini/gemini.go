// Package gemini speaks Google's Gemini API.
package gemini

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// DefaultBaseURL is where Google serves the API.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

const provider = "gemini"

// Options are how the API is reached and used. Model is required.
type Options struct {
	// Model is its name, such as gemini-2.5-pro.
	Model string
	// Key is the API key; it never appears in an error or an address. Empty sends none.
	Key string
	// BaseURL empty is DefaultBaseURL. It has no version at its end.
	BaseURL string
	// HTTP nil is a client over the default transport.
	HTTP *http.Client
	// Idle is how long the provider may say nothing, 0 five minutes.
	Idle time.Duration
	// Thoughts asks for summaries of what the model thinks, for models that think.
	Thoughts bool
}

// Model is a model of the API. It is safe for concurrent use.
type Model struct {
	opt    Options
	url    string
	client *wire.Client
}

var _ model.Model = (*Model)(nil)

// New returns the model.
func New(opt Options) (*Model, error) {
	opt.Model = strings.TrimPrefix(opt.Model, "models/")
	if opt.Model == "" {
		return nil, errors.New("gemini: no model is named; name one such as gemini-2.5-pro")
	}
	if opt.BaseURL == "" {
		opt.BaseURL = DefaultBaseURL
	}
	base := strings.TrimSuffix(strings.TrimRight(opt.BaseURL, "/"), "/v1beta")
	header := http.Header{}
	if opt.Key != "" {
		header.Set("X-Goog-Api-Key", opt.Key)
	}
	return &Model{
		opt: opt, url: base + "/v1beta/models/" + url.PathEscape(opt.Model) + ":streamGenerateContent?alt=sse",
		client: &wire.Client{Provider: provider, HTTP: opt.HTTP, Header: header, Secrets: []string{opt.Key}, Idle: opt.Idle, Whole: whole},
	}, nil
}

// newer reports whether the model is of the third generation or later, as far as its name tells. These want the
// signatures of their thoughts back, and take images in results and schemas of outputs beside tools.
func (m *Model) newer() bool {
	rest, ok := strings.CutPrefix(m.opt.Model, "gemini-")
	if !ok {
		return false
	}
	major, _, _ := strings.Cut(rest, "-")
	major, _, _ = strings.Cut(major, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 3
}

// Turn sends the conversation.
func (m *Model) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	tools := dialect.Tools(req.Tools, dialect.Gemini)
	body, lost := m.request(req, tools)
	r := &reader{client: m.client, answer: wire.NewAnswer(stream), tools: tools}
	begun, err := m.client.Stream(ctx, m.url, body, r.event)
	resp, err := r.answer.End(m.client, req.Messages, begun, err)
	if resp != nil {
		resp.Lost = lost
	}
	return resp, err
}
