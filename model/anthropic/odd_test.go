package anthropic_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/anthropic"
	"github.com/tongs-ai/tongs/model/modeltest"
)

func TestOddAnswers(t *testing.T) {
	block := func(kind string) string {
		return `{"type":"content_block_start","index":0,"content_block":{"type":"` + kind + `","id":"a","name":"f","data":"zzz"}}`
	}
	delta := func(d string) string { return `{"type":"content_block_delta","index":0,"delta":` + d + `}` }
	const stop, end = `{"type":"content_block_stop","index":0}`, `{"type":"message_stop"}`
	for name, test := range map[string]struct {
		events  []string
		parts   int
		partial bool
	}{
		"nothing":                    {nil, 0, true},
		"only the end":               {[]string{end}, 0, false},
		"no JSON":                    {[]string{"{", end}, 0, true},
		"a kind that is not known":   {[]string{block("server_tool_use"), delta(`{"type":"input_json_delta","partial_json":"{"}`), stop, end}, 0, false},
		"an event that is not known": {[]string{`{"type":"new_event","index":3}`, end}, 0, false},
		"a delta without a block":    {[]string{`{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"x"}}`, end}, 0, false},
		"a delta of another kind":    {[]string{block("text"), delta(`{"type":"input_json_delta","partial_json":"{"}`), end}, 0, true},
		"hidden thinking":            {[]string{block("redacted_thinking"), stop, end}, 1, false},
		"a call without arguments":   {[]string{block("tool_use"), stop, end}, 1, false},
		"a call without its end":     {[]string{block("tool_use"), delta(`{"type":"input_json_delta","partial_json":"{"}`)}, 0, true},
		"an overload":                {[]string{block("text"), delta(`{"type":"text_delta","text":"a"}`), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, 1, true},
		"no reason, whole call":      {[]string{block("tool_use"), stop}, 1, true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range test.events {
				io.WriteString(w, "data: "+e+"\n\n") //nolint:errcheck // a test
			}
		}))
		m, err := anthropic.New(anthropic.Options{Model: "m", BaseURL: server.URL + "/v1/"})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Turn(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "x"}}}}}, nil)
		server.Close()
		e, _ := errors.AsType[*model.Error](err)
		if resp == nil || len(resp.Message.Parts) != test.parts || test.partial != (e != nil && e.Partial && e.Retry) || !test.partial && err != nil {
			t.Errorf("%s: %+v, %#v", name, resp, err)
		}
		if name == "an overload" && e.Status != 529 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestThinkingAndCache(t *testing.T) {
	temperature := 0.2
	for name, test := range map[string]struct {
		opt         anthropic.Options
		has, hasNot string
	}{
		"a budget":  {anthropic.Options{Thinking: 20000}, `"thinking":{"type":"enabled","budget_tokens":20000}`, `"temperature"`},
		"an effort": {anthropic.Options{Effort: "low"}, `"output_config":{"effort":"low"}`, `"temperature"`},
		"cached":    {anthropic.Options{}, `"cache_control":{"type":"ephemeral"}`, `"thinking"`},
		"no cache":  {anthropic.Options{NoCache: true}, `"temperature":0.2`, `"cache_control"`},
	} {
		s := modeltest.ServeScript(t, modeltest.Anthropic, `turns: [{text: hi}]`)
		test.opt.Model, test.opt.Key, test.opt.BaseURL = "m", modeltest.Key, s.BaseURL()
		m, err := anthropic.New(test.opt)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Turn(t.Context(), &model.Request{System: "s", Temperature: &temperature, Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "x"}}}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := string(s.Requests()[0].Body)
		if !strings.Contains(body, test.has) || strings.Contains(body, test.hasNot) {
			t.Errorf("%s: %s", name, body)
		}
	}
	if _, err := anthropic.New(anthropic.Options{}); err == nil {
		t.Error("no model, and no error")
	}
}

func ExampleNew() {
	m, err := anthropic.New(anthropic.Options{Model: "claude-sonnet-4-5", Key: "sk-ant-..."})
	fmt.Println(m != nil, err)
	// Output: true <nil>
}
