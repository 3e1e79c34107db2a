// Package anthropic speaks Anthropic's Messages API.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// DefaultBaseURL is where Anthropic serves its API.
const DefaultBaseURL = "https://api.anthropic.com"

const (
	provider = "anthropic"
	version  = "2023-06-01"
	// defaultMax is sent where nobody bounds the answer, since the API wants a bound.
	defaultMax = 16384
)

// Options are how the API is reached and used. Model is required.
type Options struct {
	// Model is its name, such as claude-sonnet-4-5.
	Model string
	// Key is the API key; it never appears in an error. Empty sends none, for servers that need none.
	Key string
	// BaseURL empty is DefaultBaseURL. It has no /v1 at its end.
	BaseURL string
	// HTTP nil is a client over the default transport.
	HTTP *http.Client
	// Idle is how long the provider may say nothing, 0 five minutes.
	Idle time.Duration
	// Thinking is how many tokens the model may think before it speaks; 0 leaves it to the model.
	Thinking int
	// Effort is how hard the model tries, such as "low" or "high", for models that take that; empty leaves it to them.
	Effort string
	// NoCache leaves out the marks that let the provider read the unchanged beginning of a conversation from a cache.
	NoCache bool
}

// Model is a model of the API. It is safe for concurrent use.
type Model struct {
	opt    Options
	client *wire.Client
}

var _ model.Model = (*Model)(nil)

// New returns the model.
func New(opt Options) (*Model, error) {
	if opt.Model == "" {
		return nil, errors.New("anthropic: no model is named; name one such as claude-sonnet-4-5")
	}
	if opt.BaseURL == "" {
		opt.BaseURL = DefaultBaseURL
	}
	opt.BaseURL = strings.TrimSuffix(strings.TrimRight(opt.BaseURL, "/"), "/v1")
	header := http.Header{"Anthropic-Version": {version}}
	if opt.Key != "" {
		header["X-Api-Key"] = []string{opt.Key}
	}
	return &Model{opt: opt, client: &wire.Client{
		Provider: provider, HTTP: opt.HTTP, Header: header, Secrets: []string{opt.Key}, Idle: opt.Idle, Whole: whole,
	}}, nil
}

// Turn sends the conversation.
func (m *Model) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	tools := dialect.Tools(req.Tools, dialect.Anthropic)
	body, lost := m.request(req, tools)
	r := &reader{client: m.client, answer: wire.NewAnswer(stream), tools: tools, blocks: map[int]*wire.Block{}}
	begun, err := m.client.Stream(ctx, m.opt.BaseURL+"/v1/messages", body, r.event)
	resp, err := r.answer.End(m.client, req.Messages, begun, err)
	if resp != nil {
		resp.Lost = lost
	}
	return resp, err
}
