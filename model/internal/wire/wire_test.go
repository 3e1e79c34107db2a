package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs/model"
)

func collect(tb testing.TB, r io.Reader) ([]Event, error) {
	tb.Helper()
	var list []Event
	err := Events(r, func(e Event) error {
		list = append(list, Event{e.Name, bytes.Clone(e.Data)})
		return nil
	})
	return list, err
}

func TestEvents(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"one":                    {"data: a\n\n", `[{"" "a"}]`},
		"named":                  {"event: x\ndata: a\n\n", `[{"x" "a"}]`},
		"several lines":          {"data: a\ndata:b\ndata\n\n", `[{"" "a\nb\n"}]`},
		"comments, other fields": {": hi\nid: 1\nretry: 5\ndata: a\n\n:\n\n", `[{"" "a"}]`},
		"CRLF":                   {"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", `[{"x" "a"} {"" "b"}]`},
		"CR":                     {"event: x\rdata: a\r\rdata: b\r\r", `[{"x" "a"} {"" "b"}]`},
		"a byte order mark":      {"\xef\xbb\xbfdata: a\n\n", `[{"" "a"}]`},
		"a name without data":    {"event: x\n\ndata: a\n\n", `[{"" "a"}]`},
		"cut off":                {"data: a\n\ndata: b\n", `[{"" "a"}]`},
		"cut off in a line":      {"data: a\n\ndata: b", `[{"" "a"}]`},
		"one space is taken":     {"data:  a\n\n", `[{"" " a"}]`},
		"nothing":                {"", `[]`},
		"empty data is data":     {"data:\n\n", `[{"" ""}]`},
		"colons in data":         {"data: {\"a\": 1}\n\n", `[{"" "{\"a\": 1}"}]`},
	} {
		for _, r := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in))} {
			list, err := collect(t, r)
			got := "["
			for i, e := range list {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprintf("{%q %q}", e.Name, e.Data)
			}
			if got += "]"; err != nil || got != test.want {
				t.Errorf("%s: %s, %v; want %s", name, got, err, test.want)
			}
		}
	}
}

// endless repeats a line for ever.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := copy(p, e)
	for n > 0 && n < len(p) {
		m := copy(p[n:], e)
		n += m
		if m < len(e) {
			break
		}
	}
	return n, nil
}

func TestEventsAreBounded(t *testing.T) {
	for name, r := range map[string]io.Reader{"a line": endless("x"), "an event": endless("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"), "the stream": endless(": ping\n\n")} {
		n := 0
		if err := bounded(r, 1<<16, 1<<20, func(Event) error { n++; return nil }); !errors.Is(err, errTooMuch) || n != 0 {
			t.Errorf("%s without end: %v, %d events", name, err, n)
		}
	}
	stop := errors.New("enough")
	if err := Events(endless("data: x\n\n"), func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the reader: %v", err)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\n")
	f.Add("event: x\r\ndata: a\rdata: b\n\r\n")
	f.Add("\xef\xbb\xbf:x\n\ndata\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := collect(t, strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		byByte, err := collect(t, iotest.OneByteReader(strings.NewReader(in)))
		if err != nil || fmt.Sprint(whole) != fmt.Sprint(byByte) {
			t.Errorf("%q is %q at once and %q by bytes (%v)", in, whole, byByte, err)
		}
		lf, err := collect(t, strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")))
		if err != nil || fmt.Sprint(whole) != fmt.Sprint(lf) {
			t.Errorf("%q is %q, with plain ends of lines %q (%v)", in, whole, lf, err)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	in := strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n", 1000)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if err := Events(strings.NewReader(in), func(Event) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAnswersThatAreNoStream(t *testing.T) {
	for name, test := range map[string]struct {
		status            int
		kind, body, wants string
		retry             bool
	}{
		"a page":                    {200, "text/html", "<html>Welcome</html>", "no event stream but text/html", false},
		"no type":                   {200, "", "", "is no event stream", false},
		"JSON":                      {200, "application/json", `{"choices":[]}`, "no event stream but application/json", false},
		"an error by JSON":          {200, "application/json", `{"error":{"message":"too busy","type":"overloaded_error"}}`, "answered 529: too busy", true},
		"a status without a body":   {502, "text/html", "", "answered 502: bad gateway", true},
		"a page with a status":      {503, "text/html", "<h1>Down\x1b[31m\x00 for &amp; now</h1>", "answered 503: <h1>Down[31m for &amp; now</h1>", true},
		"a plain error":             {404, "application/json", `{"error":"model 'x' not found"}`, "answered 404: model 'x' not found", false},
		"a message":                 {400, "application/json", `{"message":"bad","code":"x"}`, "answered 400: bad", false},
		"a list":                    {429, "application/json", `[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]`, "answered 429: quota", true},
		"a quota that is used up":   {429, "application/json", `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`, "answered 429: pay", false},
		"a conflict":                {409, "application/json", `{}`, "answered 409: {}", true},
		"a raw message of upstream": {400, "application/json", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"too hot"}}}`, "Provider returned error: too hot", false},
		"a very long error":         {400, "text/plain", strings.Repeat("x ", 1<<20), "x …", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if test.kind != "" {
				w.Header().Set("Content-Type", test.kind)
			}
			w.WriteHeader(test.status)
			io.WriteString(w, test.body) //nolint:errcheck // a test
		}))
		c := &Client{Provider: "p"}
		begun, err := c.Stream(t.Context(), server.URL, map[string]int{}, func(Event) error { return nil })
		server.Close()
		e, ok := errors.AsType[*model.Error](err)
		if begun || !ok || !strings.Contains(e.Error(), test.wants) || e.Retry != test.retry || len(e.Error()) > 6000 {
			t.Errorf("%s: %v, %#v; want %q", name, begun, err, test.wants)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request was sent on") }))
	defer target.Close()
	for _, status := range []int{301, 302, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(target.URL+"/x", status))
		c := &Client{Provider: "p", Header: http.Header{"X-Api-Key": {"secret-key"}}}
		_, err := c.Stream(t.Context(), server.URL, 1, nil)
		server.Close()
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Retry || !strings.Contains(e.Message, target.URL) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(nil)
	url := server.URL
	server.Close()
	c := &Client{Provider: "p", Secrets: []string{"sesame-street"}}
	_, err := c.Stream(t.Context(), url+"/?key=sesame-street", 1, nil)
	if e := model.Retryable(err); e == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("nobody listens: %#v", err)
	}
	for _, bad := range []string{"http://[::1", "nowhere", "ftp://host/x", "http:///x"} {
		if _, err := c.Stream(t.Context(), bad, 1, nil); err == nil {
			t.Errorf("%s is no address, but %v", bad, err)
		}
	}
	if _, err := c.Stream(t.Context(), url, func() {}, nil); err == nil || model.Retryable(err) != nil {
		t.Errorf("what is no JSON: %v", err)
	}
}

// silent is a transport whose answers begin and then say nothing.
type silent struct{ first string }

func (s silent) RoundTrip(req *http.Request) (*http.Response, error) {
	r, w := io.Pipe()
	context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
	go io.WriteString(w, s.first) //nolint:errcheck // a test
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r, Request: req}, nil
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{Provider: "p", HTTP: &http.Client{Transport: silent{"data: a\n\ndata: "}}, Idle: time.Minute}
		n, start := 0, time.Now()
		begun, err := c.Stream(t.Context(), "http://p.test", 1, func(Event) error { n++; return nil })
		e := model.Retryable(err)
		if !begun || n != 1 || e == nil || !strings.Contains(e.Message, "1m0s") || time.Since(start) != time.Minute {
			t.Errorf("%v, %d events, %v after %v", begun, n, err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Stream(ctx, "http://p.test", 1, func(Event) error { return nil }); !errors.Is(err, context.DeadlineExceeded) || model.Retryable(err) != nil {
			t.Errorf("a deadline of the caller: %v", err)
		}
	})
}

// An answer that is whole is not lost to a connection that nobody closes, or that breaks.
func TestWholeAnswersNeedNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{Provider: "p", HTTP: &http.Client{Transport: silent{"data: a\n\ndata: b\n\n"}}}
		n, start := 0, time.Now()
		begun, err := c.Stream(t.Context(), "http://p.test", 1, func(Event) error {
			if n++; n == 1 {
				return ErrDone
			}
			return nil
		})
		if !begun || err != nil || n != 2 || time.Since(start) != afterDone {
			t.Errorf("%v, %v, %d events after %v", begun, err, n, time.Since(start))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", " 0.5 ", 500 * time.Millisecond},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:35 GMT", 30 * time.Second},
		{"Retry-After", "Fri, 02 Jan 2026 03:04:01 GMT", 0},
		{"Retry-After", "Fri, 02 Jan 2099 03:04:01 GMT", 24 * time.Hour},
		{"Retry-After", "200000", 24 * time.Hour},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After", "", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
	} {
		if got := RetryAfter(http.Header{test.name: {test.value}}, now); got != test.want {
			t.Errorf("%s: %s is %v, want %v", test.name, test.value, got, test.want)
		}
	}
	c := &Client{}
	e := c.Refusal(429, nil, []byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x","details":[{"@type":"y"},{"retryDelay":"39s"}]}}`))
	if e.After != 39*time.Second {
		t.Errorf("a delay in the body: %v", e.After)
	}
}

func TestTooLong(t *testing.T) {
	c := &Client{}
	for _, body := range []string{
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215000 tokens > 200000 maximum"}}`,
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000","code":"context_length_exceeded"}}`,
		`{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}`,
		`{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`,
		`{"error":"the request exceeds the available context size, try increasing it"}`,
		`{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
	} {
		if e := c.Refusal(400, nil, []byte(body)); !e.TooLong || e.Retry {
			t.Errorf("%s: %+v", body, e)
		}
	}
	for _, body := range []string{`{"error":{"message":"max_tokens: 1000000 > 64000, which is the maximum allowed number of output tokens"}}`, `{"error":{"message":"invalid temperature"}}`} {
		if e := c.Refusal(400, nil, []byte(body)); e.TooLong {
			t.Errorf("%s counts as too long", body)
		}
	}
}
