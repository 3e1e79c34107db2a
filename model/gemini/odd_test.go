package gemini_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/gemini"
)

func turn(t *testing.T, req *model.Request, events ...string) (resp *model.Response, body string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			io.WriteString(w, "data: "+e+"\n\n") //nolint:errcheck // a test
		}
	}))
	defer server.Close()
	m, err := gemini.New(gemini.Options{Model: "models/gemini-3-x", BaseURL: server.URL + "/v1beta", Thoughts: true})
	if err != nil {
		t.Fatal(err)
	}
	resp, err = m.Turn(t.Context(), req, nil)
	return resp, body, err
}

func hello() *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "x"}}}}}
}

func parts(list, finish string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + list + `]},"finishReason":"` + finish + `"}]}`
}

func TestOddAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		events  []string
		stop    model.Stop
		partial bool
		calls   int
	}{
		"nothing":                    {nil, model.StopEnd, true, 0},
		"no JSON":                    {[]string{"{"}, model.StopEnd, true, 0},
		"a blocked prompt":           {[]string{`{"promptFeedback":{"blockReason":"SAFETY"}}`}, model.StopRefuse, false, 0},
		"safety":                     {[]string{parts(`{"text":"a"}`, "SAFETY")}, model.StopRefuse, false, 0},
		"a reason that is not known": {[]string{parts(`{"text":"a"}`, "NEW_REASON")}, model.StopRefuse, false, 0},
		"a malformed call":           {[]string{parts(``, "MALFORMED_FUNCTION_CALL")}, model.StopEnd, true, 0},
		"no content":                 {[]string{`{"candidates":[{"finishReason":"STOP"}]}`}, model.StopEnd, false, 0},
		"calls without IDs":          {[]string{parts(`{"functionCall":{"name":"f"}},{"functionCall":{"name":"f","args":{}}}`, "STOP")}, model.StopCalls, false, 2},
		"an error":                   {[]string{`{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`}, model.StopEnd, true, 0},
		"a part that is not known":   {[]string{parts(`{"executableCode":{"code":"x"}}`, "STOP")}, model.StopEnd, false, 0},
	} {
		resp, _, err := turn(t, hello(), test.events...)
		e, _ := errors.AsType[*model.Error](err)
		if resp == nil || resp.Stop != test.stop || test.partial != (e != nil && e.Partial && e.Retry) || !test.partial && err != nil || len(resp.Message.Calls()) != test.calls {
			t.Errorf("%s: %+v, %#v", name, resp, err)
			continue
		}
		if c := resp.Message.Calls(); len(c) == 2 && (c[0].ID == c[1].ID || c[0].Args != "{}") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// What the API gave no ID gets none back, and signatures stand where they stood.
func TestWhatComesBack(t *testing.T) {
	req := hello()
	resp, _, err := turn(t, req, parts(`{"text":"hm","thought":true},{"text":"I look.","thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"Y2FsbA=="},{"functionCall":{"id":"own","name":"g"}}`, "STOP"))
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.Message.Calls()
	req.Messages = append(req.Messages, resp.Message, model.Message{Role: model.User, Parts: []model.Part{
		{Result: &model.Result{ID: calls[0].ID, Name: "f", Text: "1"}}, {Result: &model.Result{ID: calls[1].ID, Name: "g", Text: "bad", Failed: true}},
	}})
	resp, body, err := turn(t, req, parts(`{"text":"done"},{"text":"","thoughtSignature":"ZW5k"}`, "STOP"))
	if err != nil || resp.Message.Text() != "done" {
		t.Fatal(resp, err)
	}
	want := `{"role":"model","parts":[{"text":"I look.","thoughtSignature":"c2ln"},{"thoughtSignature":"Y2FsbA==","functionCall":{"name":"f","args":{"a":1}}},{"functionCall":{"id":"own","name":"g","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}},{"functionResponse":{"id":"own","name":"g","response":{"error":"bad"}}}]}`
	if !strings.Contains(body, want) {
		t.Errorf("sent %s\nwant %s", body, want)
	}
	req.Messages = append(req.Messages, resp.Message, hello().Messages[0])
	if _, body, err = turn(t, req, parts(`{"text":"x"}`, "STOP")); err != nil || !strings.Contains(body, `[{"text":"done"},{"text":"","thoughtSignature":"ZW5k"}]`) {
		t.Errorf("%v, %s", err, body)
	}
}

func TestNoModel(t *testing.T) {
	if _, err := gemini.New(gemini.Options{}); err == nil {
		t.Error("no model, and no error")
	}
}

func ExampleNew() {
	m, err := gemini.New(gemini.Options{Model: "gemini-2.5-pro", Key: "AIza..."})
	fmt.Println(m != nil, err)
	// Output: true <nil>
}
