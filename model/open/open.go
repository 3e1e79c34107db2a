// Package open finds a model by its name: "anthropic:claude-sonnet-4-5", "openai:gpt-5", "ollama:llama3.2",
// "script:demo.yaml". Keys and addresses come from the environment.
package open

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/internal/nearest"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/anthropic"
	"github.com/tongs-ai/tongs/model/gemini"
	"github.com/tongs-ai/tongs/model/openai"
	"github.com/tongs-ai/tongs/model/script"
	"github.com/tongs-ai/tongs/model/xmltools"
)

// Options are what the name does not say. The zero value takes everything from the environment.
type Options struct {
	// Getenv nil is os.Getenv.
	Getenv func(string) string
	// BaseURL and Key, where they are set, win over the environment.
	BaseURL, Key string
	// HTTP nil is a client over the default transport.
	HTTP *http.Client
	// Idle is how long a provider may say nothing, 0 five minutes.
	Idle time.Duration
	// Effort is how hard a model that reasons tries, such as "low" or "high"; empty leaves it to the model.
	Effort string
	// Strict has OpenAI enforce the schemas of tools.
	Strict bool
}

// provider is one that can be named.
type provider struct {
	name string
	// keys and urls are the variables that are looked at, the first one that is set wins.
	keys, urls []string
	// base is where it is without being told, empty the default of its package.
	base string
	// needsKey says that nothing works there without a key, as long as it is at its own address.
	needsKey bool
	open     func(p *provider, name, key, base string, opt *Options) (model.Model, error)
}

func providers() []*provider {
	chat := func(p *provider, name, key, base string, opt *Options) (model.Model, error) {
		return openai.NewChat(openai.Options{
			Model: name, Key: key, BaseURL: base, Provider: p.name, HTTP: opt.HTTP, Idle: opt.Idle, Strict: opt.Strict, Effort: opt.Effort,
		})
	}
	return []*provider{
		{name: "anthropic", keys: []string{"ANTHROPIC_API_KEY"}, urls: []string{"ANTHROPIC_BASE_URL"}, needsKey: true, open: openAnthropic},
		{name: "openai", keys: []string{"OPENAI_API_KEY"}, urls: []string{"OPENAI_BASE_URL"}, needsKey: true, open: chat},
		{name: "openai-responses", keys: []string{"OPENAI_API_KEY"}, urls: []string{"OPENAI_BASE_URL"}, needsKey: true, open: openResponses},
		{name: "gemini", keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, urls: []string{"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"}, needsKey: true, open: openGemini},
		{name: "openrouter", keys: []string{"OPENROUTER_API_KEY"}, urls: []string{"OPENROUTER_BASE_URL"}, base: "https://openrouter.ai/api/v1", needsKey: true, open: chat},
		{name: "ollama", keys: []string{"OLLAMA_API_KEY"}, urls: []string{"OLLAMA_BASE_URL", "OLLAMA_HOST"}, base: "http://127.0.0.1:11434/v1", open: chat},
		{name: "lmstudio", keys: []string{"LMSTUDIO_API_KEY"}, urls: []string{"LMSTUDIO_BASE_URL"}, base: "http://127.0.0.1:1234/v1", open: chat},
		{name: "vllm", keys: []string{"VLLM_API_KEY"}, urls: []string{"VLLM_BASE_URL"}, base: "http://127.0.0.1:8000/v1", open: chat},
		{name: "script", open: openScript},
	}
}

// xmlPrefix marks a model without calls of its own, which is spoken with in XML.
const xmlPrefix = "xml+"

// Providers are the names before the colon.
func Providers() (names []string) {
	for _, p := range providers() {
		names = append(names, p.name)
	}
	return names
}

// Open returns the model of that name, provider:model. With "xml+" before it, tools are called in XML, for a model that
// has no calls of its own.
func Open(name string, opt Options) (model.Model, error) {
	getenv := opt.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	rest, xml := strings.CutPrefix(name, xmlPrefix)
	prefix, id, ok := strings.Cut(rest, ":")
	if !ok || id == "" {
		return nil, fmt.Errorf("the model %q is not named as provider:model, such as anthropic:claude-sonnet-4-5; the providers are %s",
			name, strings.Join(Providers(), ", "))
	}
	i := slices.IndexFunc(providers(), func(p *provider) bool { return p.name == prefix })
	if i < 0 {
		return nil, unknown(prefix, name)
	}
	p := providers()[i]
	key := cmp.Or(opt.Key, first(getenv, p.keys))
	base, err := p.address(cmp.Or(opt.BaseURL, first(getenv, p.urls)))
	if err != nil {
		return nil, err
	}
	if p.needsKey && key == "" && base == p.base {
		return nil, fmt.Errorf("there is no key for %s: set %s, or the address of a server that needs none in %s",
			p.name, strings.Join(p.keys, " or "), strings.Join(p.urls, " or "))
	}
	m, err := p.open(p, id, key, base, &opt)
	if err != nil || !xml {
		return m, err
	}
	return xmltools.New(m), nil
}

func unknown(prefix, name string) error {
	if near := nearest.Words(prefix, Providers(), 1); len(near) > 0 {
		return fmt.Errorf("there is no provider %q for the model %q; did you mean %s?", prefix, name, near[0])
	}
	return fmt.Errorf("there is no provider %q for the model %q; there are %s", prefix, name, strings.Join(Providers(), ", "))
}

func first(getenv func(string) string, names []string) string {
	for _, name := range names {
		if v := strings.TrimSpace(getenv(name)); v != "" {
			return v
		}
	}
	return ""
}

// address returns where the provider is. OLLAMA_HOST may be a host and a port only; 0.0.0.0 is where a server listens, not
// where one reaches it.
func (p *provider) address(said string) (string, error) {
	if said == "" {
		return p.base, nil
	}
	if p.name == "ollama" {
		if !strings.Contains(said, "://") {
			said = "http://" + said
		}
		said = strings.Replace(said, "://0.0.0.0", "://127.0.0.1", 1)
	}
	u, err := url.Parse(said)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("the address of %s is no http or https URL; write one such as https://example.com/v1", p.name)
	}
	if p.name == "ollama" {
		if u.Port() == "" && u.Scheme == "http" {
			u.Host += ":11434"
		}
		if strings.Trim(u.Path, "/") == "" {
			u.Path = "/v1"
		}
		return u.String(), nil
	}
	return said, nil
}

func openAnthropic(_ *provider, name, key, base string, opt *Options) (model.Model, error) {
	return anthropic.New(anthropic.Options{Model: name, Key: key, BaseURL: base, HTTP: opt.HTTP, Idle: opt.Idle, Effort: opt.Effort})
}

func openResponses(p *provider, name, key, base string, opt *Options) (model.Model, error) {
	return openai.NewResponses(openai.Options{
		Model: name, Key: key, BaseURL: base, Provider: p.name, HTTP: opt.HTTP, Idle: opt.Idle, Strict: opt.Strict, Effort: opt.Effort,
	})
}

func openGemini(_ *provider, name, key, base string, opt *Options) (model.Model, error) {
	return gemini.New(gemini.Options{Model: name, Key: key, BaseURL: base, HTTP: opt.HTTP, Idle: opt.Idle, Thoughts: opt.Effort != ""})
}

func openScript(_ *provider, name, _, _ string, _ *Options) (model.Model, error) {
	return script.Open(name)
}

// Compatible reports whether the name of a model matches one of the patterns, in which * stands for any text and ? for one
// character: "anthropic:*", "openai:gpt-5*". No patterns match every name. How tools are called (xml+) does not count,
// unless the pattern says it.
func Compatible(patterns []string, name string) bool {
	if len(patterns) == 0 {
		return true
	}
	plain := strings.TrimPrefix(name, xmlPrefix)
	for _, p := range patterns {
		if p = strings.TrimSpace(p); like(p, plain) || like(p, name) {
			return true
		}
	}
	return false
}

// like matches by going back to the last star only, so that no pattern takes long.
func like(pattern, name string) bool {
	p, n, star, mark := []rune(pattern), []rune(name), -1, 0
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
