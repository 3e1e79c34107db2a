package open_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/modeltest"
	"github.com/tongs-ai/tongs/model/open"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, ok := strings.CutPrefix(p, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func hello() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "hello"}}}}}
}

func TestEveryFormatByItsName(t *testing.T) {
	for _, f := range modeltest.Formats {
		s := modeltest.ServeScript(t, f, `turns: [{text: hi}]`)
		m, err := open.Open(s.Spec(), open.Options{Getenv: env(s.Env()...)})
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := m.Turn(t.Context(), hello(), nil); err != nil || resp.Message.Text() != "hi" {
			t.Errorf("%s: %v, %v", f, resp, err)
		}
		// Options win over the environment.
		m, err = open.Open(s.Spec(), open.Options{Getenv: env("OPENAI_API_KEY=x", "ANTHROPIC_API_KEY=x", "GEMINI_API_KEY=x"), Key: modeltest.Key, BaseURL: s.BaseURL()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Turn(t.Context(), hello(), nil); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestLocalServersNeedNoKey(t *testing.T) {
	var path, auth string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n")
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for name, getenv := range map[string]func(string) string{
		"ollama:llama3.2:3b": env("OLLAMA_HOST=" + host), "vllm:m": env("VLLM_BASE_URL=" + server.URL + "/v1/"), "lmstudio:m": env("LMSTUDIO_BASE_URL=" + server.URL + "/v1"),
		"openai:m": env("OPENAI_BASE_URL=" + server.URL + "/v1"), "xml+ollama:m": env("OLLAMA_BASE_URL=" + server.URL + "/v1"),
	} {
		m, err := open.Open(name, open.Options{Getenv: getenv})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Turn(t.Context(), hello(), nil)
		if err != nil || resp.Message.Text() != "hi" || path != "/v1/chat/completions" || auth != "" {
			t.Errorf("%s: %v, %v, %s, %q", name, resp, err, path, auth)
		}
	}
}

func TestScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b.yaml")
	if err := os.WriteFile(path, []byte("turns: [{text: hi}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := open.Open("script:"+path, open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := m.Turn(t.Context(), hello(), nil); err != nil || resp.Message.Text() != "hi" {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	for name, test := range map[string]struct {
		env  string
		want string
	}{
		"":                      {"", "not named as provider:model"},
		"claude-sonnet-4-5":     {"", "not named as provider:model"},
		"openai:":               {"", "not named as provider:model"},
		"antropic:claude":       {"", "did you mean anthropic?"},
		"zzz:claude":            {"", "there are anthropic, openai"},
		"anthropic:claude":      {"", "set ANTHROPIC_API_KEY"},
		"gemini:gemini-2.5-pro": {"", "set GEMINI_API_KEY or GOOGLE_API_KEY"},
		"openai:gpt":            {"OPENAI_BASE_URL=localhost:8080", "no http or https URL"},
		"ollama:x":              {"OLLAMA_HOST=http://", "no http or https URL"},
		"script:/nowhere":       {"", "no such file"},
	} {
		if _, err := open.Open(name, open.Options{Getenv: env(test.env)}); err == nil || !strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "cannot find") {
			t.Errorf("%q: %v, want %q", name, err, test.want)
		}
	}
}

func TestCompatible(t *testing.T) {
	for _, test := range []struct {
		patterns []string
		name     string
		want     bool
	}{
		{nil, "anything", true},
		{[]string{"*"}, "openrouter:meta/llama-3", true},
		{[]string{"anthropic:*"}, "anthropic:claude-sonnet-4-5", true},
		{[]string{"anthropic:*"}, "openai:gpt-5", false},
		{[]string{"openai:gpt-4?", " anthropic:*haiku* "}, "anthropic:claude-haiku-4-5", true},
		{[]string{"openai:gpt-4?"}, "openai:gpt-4o", true},
		{[]string{"openai:gpt-4?"}, "openai:gpt-4", false},
		{[]string{"ollama:*"}, "xml+ollama:phi", true},
		{[]string{"xml+*"}, "ollama:phi", false},
		{[]string{"*a*a*a*a*a*a*a*a*b"}, strings.Repeat("a", 5000), false},
		{[]string{""}, "x", false},
		{[]string{"a*"}, "a", true},
	} {
		if got := open.Compatible(test.patterns, test.name); got != test.want {
			t.Errorf("%q, %.40s: %v", test.patterns, test.name, got)
		}
	}
}

func ExampleOpen() {
	_, err := open.Open("antrhopic:claude-sonnet-4-5", open.Options{})
	fmt.Println(err)
	// Output: there is no provider "antrhopic" for the model "antrhopic:claude-sonnet-4-5"; did you mean anthropic?
}
