package open_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/modeltest"
	"github.com/tongs-ai/tongs/model/open"
)

// serveBody is a server that answers every request with the status, the content type and the body. None are sent where kind is
// empty.
func serveBody(t *testing.T, status int, kind, body string) (base string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = nil
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// A proxy may lose or change the content type of a stream.
func TestStreamsWithoutAContentType(t *testing.T) {
	for _, f := range modeltest.Formats {
		for _, kind := range []string{"", "text/plain; charset=utf-8", "application/json", "application/octet-stream"} {
			s := modeltest.ServeScript(t, f, `turns: [{text: hi there}]`)
			behind, err := url.Parse(s.BaseURL())
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				req, _ := http.NewRequestWithContext(r.Context(), r.Method, behind.Scheme+"://"+behind.Host+r.URL.RequestURI(), bytes.NewReader(body))
				req.Header = r.Header.Clone()
				resp, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					http.Error(w, err.Error(), http.StatusBadGateway)
					return
				}
				defer resp.Body.Close()
				w.Header()["Content-Type"] = nil
				if kind != "" {
					w.Header().Set("Content-Type", kind)
				}
				w.WriteHeader(resp.StatusCode)
				_, _ = io.Copy(w, resp.Body)
			}))
			m, err := open.Open(s.Spec(), open.Options{Getenv: env(), Key: modeltest.Key, BaseURL: proxy.URL + behind.Path})
			if err != nil {
				t.Fatal(err)
			}
			pieces := ""
			resp, err := m.Turn(t.Context(), hello(), func(d model.Delta) { pieces += d.Text })
			if err != nil || resp.Message.Text() != "hi there" || pieces != "hi there" {
				t.Errorf("%s as %q: %v, %v, pieces %q", f, kind, resp, err, pieces)
			}
			proxy.Close()
		}
	}
}

// wholeAnswers are those of servers that do not stream, each with a text and a call.
var wholeAnswers = map[string]string{
	"openai:m": `{"id":"1","object":"chat.completion","model":"m-1","error":null,"choices":[{"index":0,"message":{"role":"assistant","content":"hi",
		"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
		{"id":"c2","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}]},"finish_reason":"tool_calls"}],
		"usage":{"prompt_tokens":5,"completion_tokens":7}}`,
	"openai-responses:m": `{"id":"1","object":"response","status":"completed","model":"m-1","error":null,"incomplete_details":null,"output":[
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]},
		{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"path\":\"a\"}"},
		{"type":"function_call","call_id":"c2","name":"read","arguments":"{\"path\":\"b\"}"}],"usage":{"input_tokens":5,"output_tokens":7}}`,
	"anthropic:m": `{"id":"1","type":"message","role":"assistant","model":"m-1","content":[{"type":"text","text":"hi"},
		{"type":"tool_use","id":"c1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"c2","name":"read","input":{"path":"b"}}],
		"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":7}}`,
	"gemini:m": `{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"},{"functionCall":{"id":"c1","name":"read","args":{"path":"a"}}},
		{"functionCall":{"id":"c2","name":"read","args":{"path":"b"}}}]},"finishReason":"STOP"}],
		"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7},"modelVersion":"m-1"}`,
}

func TestAnswersThatComeAtOnce(t *testing.T) {
	for spec, body := range wholeAnswers {
		forms := []string{body}
		if spec == "gemini:m" {
			forms = append(forms, "["+body+"]")
		}
		for _, kind := range []string{"application/json", "text/plain", ""} {
			for _, form := range forms {
				base, asked := serveBody(t, 200, kind, form)
				m, err := open.Open(spec, open.Options{Getenv: env(), Key: "k-123456", BaseURL: base})
				if err != nil {
					t.Fatal(err)
				}
				pieces := ""
				resp, err := m.Turn(t.Context(), hello(), func(d model.Delta) { pieces += d.Text })
				if err != nil {
					t.Errorf("%s as %q: %v", spec, kind, err)
					continue
				}
				calls := resp.Message.Calls()
				if resp.Message.Text() != "hi" || pieces != "hi" || len(calls) != 2 || calls[1].ID != "c2" || !strings.Contains(string(calls[1].Args), `"b"`) ||
					resp.Stop != model.StopCalls && spec != "gemini:m" || resp.Usage.Input != 5 || resp.Usage.Output != 7 || resp.Model != "m-1" {
					t.Errorf("%s as %q: %+v, pieces %q", spec, kind, resp, pieces)
				}
				if asked.Load() != 1 {
					t.Errorf("%s: asked %d times", spec, asked.Load())
				}
			}
		}
	}
}

// What is no answer today is none in a minute: nobody asks again.
func TestWhatIsNoAnswerIsNotRetried(t *testing.T) {
	for spec := range wholeAnswers {
		for what, body := range map[string]string{
			"a page": "<html>log in</html>", "nothing": "", "another object": `{"hello":"world","error":null}`, "a list": `[1,2]`, "a number": "7",
			"broken JSON": `{"choices":[`, "another API's answer": `{"result":"hi"}`,
		} {
			for _, kind := range []string{"application/json", "text/html", ""} {
				base, _ := serveBody(t, 200, kind, body)
				m, err := open.Open(spec, open.Options{Getenv: env(), Key: "k-123456", BaseURL: base})
				if err != nil {
					t.Fatal(err)
				}
				if _, err = m.Turn(t.Context(), hello(), nil); err == nil || model.Retryable(err) != nil || !strings.Contains(err.Error(), "no event stream") {
					t.Errorf("%s, %s as %q: %v", spec, what, kind, err)
				}
			}
		}
	}
}

func TestAUsedUpQuotaIsNotRetried(t *testing.T) {
	gemini := func(quota, more string) string {
		return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.",
			"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + quota + `"}]}` + more + `]}}`
	}
	for what, test := range map[string]struct {
		status int
		body   string
		retry  bool
	}{
		"OpenAI":         {429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, false},
		"only a message": {429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details."}}`, false},
		"only a text":    {429, `{"error":"insufficient balance"}`, false},
		"in a 200":       {200, `{"error":{"message":"pay","code":"insufficient_quota"}}`, false},
		"a day's":        {429, gemini("GenerateRequestsPerDayPerProjectPerModel-FreeTier", `,{"retryDelay":"20s"}`), false},
		"a minute's":     {429, gemini("GenerateRequestsPerMinutePerProjectPerModel", `,{"retryDelay":"20s"}`), true},
		"a rate":         {429, `{"error":{"message":"slow down","type":"rate_limit_exceeded"}}`, true},
		"Anthropic":      {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, false},
		"paying":         {402, `{"error":{"message":"Insufficient Balance"}}`, false},
	} {
		for spec := range wholeAnswers {
			base, asked := serveBody(t, test.status, "application/json", test.body)
			m, err := open.Open(spec, open.Options{Getenv: env(), Key: "k-123456", BaseURL: base})
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Turn(t.Context(), hello(), nil)
			if err == nil || (model.Retryable(err) != nil) != test.retry || asked.Load() != 1 {
				t.Errorf("%s, %s: retry is %v after %d requests: %v", spec, what, model.Retryable(err) != nil, asked.Load(), err)
			}
		}
	}
}
