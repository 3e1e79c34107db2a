// Package openai speaks OpenAI's two formats: Chat Completions, which Ollama, vLLM, LM Studio, OpenRouter and many others
// understand too, and Responses.
package openai

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// DefaultBaseURL is where OpenAI serves its APIs.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options are how an API is reached and used. Model is required.
type Options struct {
	// Model is its name, such as gpt-5 or llama3.2.
	Model string
	// Key is the API key; it never appears in an error. Empty sends none, for servers that need none.
	Key string
	// BaseURL empty is DefaultBaseURL. It has the version at its end: http://localhost:11434/v1.
	BaseURL string
	// Provider names the server in errors; empty is "openai".
	Provider string
	// HTTP nil is a client over the default transport.
	HTTP *http.Client
	// Idle is how long the provider may say nothing, 0 five minutes.
	Idle time.Duration
	// Strict has the provider keep the arguments of calls within the tools' schemas, as far as those can be said in
	// the part of JSON Schema that it can enforce. Few compatible servers know it.
	Strict bool
	// Effort is how hard a model that reasons tries, such as "low" or "high"; empty leaves it to the model.
	Effort string
}

func (o *Options) complete() error {
	if o.Model == "" {
		return errors.New("openai: no model is named; name one such as gpt-5")
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	if o.Provider == "" {
		o.Provider = "openai"
	}
	return nil
}

func (o *Options) client(whole func([]byte) ([]wire.Event, error)) *wire.Client {
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	return &wire.Client{Provider: o.Provider, HTTP: o.HTTP, Header: header, Secrets: []string{o.Key}, Idle: o.Idle, Whole: whole}
}

// official reports whether the server is OpenAI's own, whose rules are stricter and newer than those of others.
func (o *Options) official() bool {
	u, err := url.Parse(o.BaseURL)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com"))
}

// maxDescription is the longest description of a tool that OpenAI accepts.
const maxDescription = 1024

// dialect returns the form of the schemas of tools.
func (o *Options) dialect() dialect.Dialect {
	if o.Strict {
		return dialect.OpenAIStrict
	}
	return dialect.OpenAI
}

// shorten cuts the description of a tool where the server would refuse it.
func (o *Options) shorten(f *specs.Function, lost *[]string) {
	r := []rune(f.Description)
	if len(r) <= maxDescription || !o.official() {
		return
	}
	*lost = append(*lost, f.Name+": the description is cut after 1024 characters")
	f.Description = string(r[:maxDescription-1]) + "…"
}
