package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/openai"
)

// serve answers each request with the events.
func serve(t *testing.T, events ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			io.WriteString(w, "data: "+e+"\n\n") //nolint:errcheck // a test
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func request() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "x"}}}}}
}

func delta(d, finish string) string {
	if finish == "" {
		finish = "null"
	} else {
		finish = `"` + finish + `"`
	}
	return `{"choices":[{"delta":` + d + `,"finish_reason":` + finish + `}]}`
}

func chat(t *testing.T, events ...string) (*model.Response, error) {
	t.Helper()
	m, err := openai.NewChat(openai.Options{Model: "m", BaseURL: serve(t, events...)})
	if err != nil {
		t.Fatal(err)
	}
	return m.Turn(t.Context(), request(), nil)
}

// Compatible servers differ in how they stream calls.
func TestCallsAsServersStreamThem(t *testing.T) {
	call := func(index, id, name, args string) string {
		parts := []string{`"type":"function"`, fmt.Sprintf(`"function":{%s}`, strings.Join(fields("name", name, "arguments", args), ","))}
		if index != "" {
			parts = append(parts, `"index":`+index)
		}
		return delta(`{"tool_calls":[{`+strings.Join(append(parts, fields("id", id)...), ",")+`}]}`, "")
	}
	for name, events := range map[string][]string{
		"by index":              {call("0", "a", "f", ""), call("0", "", "", `{\"x\":`), call("1", "b", "g", `{}`), call("0", "", "", `1}`)},
		"without index":         {call("", "a", "f", `{\"x\":`), call("", "", "", `1}`), call("", "b", "g", `{}`)},
		"all of index 0":        {call("0", "a", "f", `{\"x\":1}`), call("0", "b", "g", `{}`)},
		"the ID each time":      {call("0", "a", "f", `{\"x\":`), call("0", "a", "", `1}`), call("1", "b", "g", `{}`)},
		"the ID later":          {call("0", "", "f", `{\"x\":`), call("0", "a", "", `1}`), call("1", "b", "g", `{}`)},
		"the name later":        {call("0", "a", "", `{\"x\":`), call("0", "", "f", `1}`), call("1", "b", "g", "")},
		"an object as argument": {delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}},{"index":1,"id":"b","function":{"name":"g"}}]}`, "")},
	} {
		for end, tail := range map[string][]string{"done": {delta(`{}`, "tool_calls"), "[DONE]"}, "no mark": {delta(`{}`, "stop")}} {
			resp, err := chat(t, append(events, tail...)...)
			if err != nil {
				t.Errorf("%s, %s: %v", name, end, err)
				continue
			}
			calls := resp.Message.Calls()
			if len(calls) != 2 || calls[0].ID != "a" || calls[0].Name != "f" || calls[0].Args != `{"x":1}` || calls[1].ID != "b" || calls[1].Name != "g" || calls[1].Args != "{}" || resp.Stop != model.StopCalls {
				t.Errorf("%s, %s: %+v, %s", name, end, calls, resp.Stop)
			}
		}
	}
}

func fields(pairs ...string) (out []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, `"`+pairs[i]+`":"`+pairs[i+1]+`"`)
		}
	}
	return out
}

func TestOddAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		events  []string
		text    string
		partial bool
		calls   int
	}{
		"no JSON":                   {[]string{delta(`{"content":"a"}`, ""), `{"choices":[`}, "a", true, 0},
		"other JSON":                {[]string{`{"choices":7}`}, "", true, 0},
		"a list":                    {[]string{`[]`}, "", true, 0},
		"an end without a reason":   {[]string{delta(`{"content":"a"}`, "")}, "a", true, 0},
		"nothing":                   {nil, "", true, 0},
		"only the mark":             {[]string{"[DONE]"}, "", false, 0},
		"no choices":                {[]string{`{"choices":[]}`, `{}`, delta(`{"content":"a"}`, "stop")}, "a", false, 0},
		"two calls of one ID":       {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, "tool_calls")}, "", false, 2},
		"calls without IDs":         {[]string{delta(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":1,"function":{"name":"f","arguments":"{}"}}]}`, "tool_calls")}, "", false, 2},
		"a call without a name":     {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}`, "stop")}, "", false, 0},
		"a call cut for its length": {[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`, "length")}, "", false, 0},
		"an error by the way":       {[]string{delta(`{"content":"a"}`, ""), `{"error":{"message":"boom","code":502}}`}, "a", true, 0},
	} {
		resp, err := chat(t, test.events...)
		e, _ := errors.AsType[*model.Error](err)
		if resp == nil || resp.Message.Text() != test.text || test.partial != (e != nil && e.Partial) || !test.partial && err != nil {
			t.Errorf("%s: %+v, %v", name, resp, err)
			continue
		}
		calls := resp.Message.Calls()
		if len(calls) != test.calls || len(calls) == 2 && calls[0].ID == calls[1].ID {
			t.Errorf("%s: %+v", name, calls)
		}
	}
}

func TestOddResponses(t *testing.T) {
	item := func(kind, item string) string {
		return `{"type":"response.output_item.` + kind + `","output_index":0,"item":` + item + `}`
	}
	for name, test := range map[string]struct {
		events  []string
		text    string
		partial bool
		stop    model.Stop
	}{
		"text in one piece":       {[]string{item("done", `{"type":"message","content":[{"type":"output_text","text":"hi"}]}`), `{"type":"response.completed","response":{}}`}, "hi", false, model.StopEnd},
		"a refusal":               {[]string{item("added", `{"type":"message"}`), `{"type":"response.refusal.delta","output_index":0,"delta":"no"}`, `{"type":"response.completed"}`}, "no", false, model.StopRefuse},
		"an item of another kind": {[]string{item("added", `{"type":"web_search_call"}`), `{"type":"response.output_text.delta","output_index":0,"delta":"x"}`, `{"type":"response.completed"}`}, "", false, model.StopEnd},
		"a delta for nothing":     {[]string{`{"type":"response.output_text.delta","output_index":9,"delta":"x"}`, `{"type":"response.completed"}`}, "", false, model.StopEnd},
		"failed":                  {[]string{`{"type":"response.failed","response":{"error":{"code":"server_error","message":"boom"}}}`}, "", true, model.StopEnd},
		"failed without a word":   {[]string{`{"type":"response.failed"}`}, "", true, model.StopEnd},
		"an item that is none":    {[]string{item("added", `7`)}, "", true, model.StopEnd},
		"a call without its end":  {[]string{item("added", `{"type":"function_call","call_id":"a","name":"f"}`), `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{"}`}, "", true, model.StopEnd},
	} {
		m, err := openai.NewResponses(openai.Options{Model: "m", BaseURL: serve(t, test.events...)})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Turn(t.Context(), request(), nil)
		e, _ := errors.AsType[*model.Error](err)
		if resp == nil || resp.Message.Text() != test.text || test.partial != (e != nil && e.Partial) || resp.Stop != test.stop || len(resp.Message.Calls()) != 0 {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

func TestLongDescriptionsAreCutForOpenAIOnly(t *testing.T) {
	spec := &tongs.Spec{Name: "t", Description: strings.Repeat("ä", 1500), Input: &jsonschema.Schema{Type: "object"}}
	for base, lost := range map[string]int{"": 1, "http://127.0.0.1:1/v1": 0} {
		// The transport shows the request and answers nothing.
		var body string
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(r.Body)
			body = string(b)
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader("data: [DONE]\n\n"))}, err
		})}
		m, err := openai.NewChat(openai.Options{Model: "m", BaseURL: base, HTTP: client})
		if err != nil {
			t.Fatal(err)
		}
		req := request()
		req.Tools, req.MaxTokens = []*tongs.Spec{spec}, 50
		resp, err := m.Turn(t.Context(), req, nil)
		if err != nil || len(resp.Lost) != lost || strings.Contains(body, "max_completion_tokens") != (lost == 1) {
			t.Errorf("%q: %v, %v, %.200s", base, resp, err, body)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNoModel(t *testing.T) {
	if _, err := openai.NewChat(openai.Options{}); err == nil {
		t.Error("a chat without a model")
	}
	if _, err := openai.NewResponses(openai.Options{}); err == nil {
		t.Error("responses without a model")
	}
}

func ExampleNewChat() {
	m, err := openai.NewChat(openai.Options{Model: "llama3.2", BaseURL: "http://127.0.0.1:11434/v1", Provider: "ollama"})
	fmt.Println(m != nil, err)
	// Output: true <nil>
}

func ExampleNewResponses() {
	m, err := openai.NewResponses(openai.Options{Model: "gpt-5", Key: "sk-...", Effort: "low"})
	fmt.Println(m != nil, err)
	// Output: true <nil>
}
