package telemetry_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/telemetry"
)

// collector takes what is sent to it.
type collector struct {
	mu      sync.Mutex
	bodies  map[string][]byte
	headers http.Header
	answers []int // statuses of the next requests; then 200
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	data, _ := io.ReadAll(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) > 0 {
		w.WriteHeader(c.answers[0])
		c.answers = c.answers[1:]
		return
	}
	if c.bodies == nil {
		c.bodies = map[string][]byte{}
	}
	c.bodies[r.URL.Path], c.headers = data, r.Header
}

func (c *collector) got(t *testing.T, path string, into any) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := json.Unmarshal(c.bodies[path], into); err != nil {
		t.Fatalf("%s: %v: %s", path, err, c.bodies[path])
	}
}

type pair struct {
	Key   string
	Value struct{ StringValue string }
}

type traces struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []pair }
		ScopeSpans []struct {
			Spans []struct {
				TraceID, SpanID, ParentSpanID, Name string
				Kind                                int
				StartTimeUnixNano, EndTimeUnixNano  string
				Attributes                          []pair
				Status                              struct {
					Code    int
					Message string
				}
			}
		}
	}
}

type metrics struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct {
				Name      string
				Histogram struct {
					AggregationTemporality int
					DataPoints             []struct {
						Count          string
						BucketCounts   []string
						ExplicitBounds []float64
						Attributes     []pair
					}
				}
			}
		}
	}
}

type in struct {
	Secret string `json:"secret"`
	Inner  bool   `json:"inner,omitempty"`
}

// walking returns an engine with a tool that may call itself, observed.
func walking(t *testing.T, observe func(engine.Event)) *engine.Engine {
	t.Helper()
	tool, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "work", Description: "Works.", Default: tongs.PreApproved},
		Run: func(ctx context.Context, env *tongs.Env, v in) (string, error) {
			if v.Inner {
				env.Caller.Call(ctx, &tongs.Call{Tool: "work", Args: []byte(`{"secret":"hunter2"}`)})
			}
			return "hunter2", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{Tools: []tongs.Tool{tool}, Observe: observe})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// A collector gets a trace for each call, with its stages and the calls inside it, and metrics of both; no arguments and no
// results.
func TestCallsAreTraced(t *testing.T) {
	c := &collector{answers: []int{503}}
	web := httptest.NewServer(c)
	defer web.Close()
	set, err := telemetry.FromEnv(env(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": web.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b", "OTEL_SERVICE_NAME": "mine",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
	}), "1.2")
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.New(set)
	e := walking(t, tel.Observe)
	e.Call(t.Context(), &tongs.Call{ID: "c_1", Tool: "work", Args: []byte(`{"secret":"hunter2","inner":true}`), Agents: []string{"a", "b"}})
	e.Call(t.Context(), &tongs.Call{ID: "c_2", Tool: "no-such-tool-hunter2", Args: []byte(`{}`)})
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tr traces
	c.got(t, "/v1/traces", &tr)
	var names []string
	ids := map[string]string{}
	spans := tr.ResourceSpans[0].ScopeSpans[0].Spans
	for _, s := range spans {
		names = append(names, s.Name)
		if s.Name == "execute_tool work" {
			ids[s.SpanID] = s.TraceID
		}
		if len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.Kind != 1 || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("span %+v", s)
		}
	}
	want := "lookup validate plan decide ask lookup validate plan decide ask run execute_tool work run execute_tool work lookup execute_tool unknown"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("spans %s\nwant %s", got, want)
	}
	inside := 0
	for _, s := range spans {
		if trace, ok := ids[s.ParentSpanID]; ok && s.Name == "execute_tool work" && trace == s.TraceID {
			inside++
		}
	}
	if inside != 1 {
		t.Errorf("%d calls are inside another", inside)
	}
	if last := spans[len(spans)-1]; last.Status.Code != 2 || last.Status.Message != "UNKNOWN_TOOL" || last.ParentSpanID != "" {
		t.Errorf("the failed call is %+v", last)
	}
	var m metrics
	c.got(t, "/v1/metrics", &m)
	counts := map[string]int{}
	for _, metric := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		for _, p := range metric.Histogram.DataPoints {
			counts[metric.Name]++
			if len(p.BucketCounts) != len(p.ExplicitBounds)+1 || metric.Histogram.AggregationTemporality != 2 {
				t.Errorf("%s: %+v", metric.Name, p)
			}
		}
	}
	if counts["tongs.call.duration"] != 2 || counts["tongs.stage.duration"] != 7 {
		t.Errorf("series %v", counts)
	}
	if c.headers.Get("X-Key") != "a b" || !strings.Contains(fmt.Sprint(tr.ResourceSpans[0].Resource.Attributes), "mine") {
		t.Errorf("headers %v, resource %v", c.headers, tr.ResourceSpans[0].Resource)
	}
	for path, body := range c.bodies {
		if strings.Contains(string(body), "hunter2") {
			t.Errorf("%s holds arguments, results or what a caller made up", path)
		}
	}
}

// A collector that does not answer holds up no call, and what cannot be sent is dropped.
func TestSlowCollector(t *testing.T) {
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer web.Close()
	defer close(release)
	tel := telemetry.New(telemetry.Settings{Traces: web.URL, TraceEvery: time.Millisecond, Timeout: 50 * time.Millisecond})
	e := walking(t, tel.Observe)
	for range 2000 {
		if res := e.Call(t.Context(), &tongs.Call{Tool: "work", Args: []byte(`{"secret":"x"}`)}); !res.OK() {
			t.Fatal(res.Content)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tel.Close(ctx); err == nil {
		t.Error("nothing was said of what was not sent")
	}
}

func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		env    map[string]string
		traces string
		fails  string
	}{
		{map[string]string{}, "", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/x"}, "http://c/x", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, "", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, "", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "http://c/v1/traces", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "", "http/json"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4317"}, "", "URL"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon"}, "", "milliseconds"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, "", "gzip"},
	} {
		set, err := telemetry.FromEnv(env(c.env), "")
		if set.Traces != c.traces || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%v: %q, %v", c.env, set.Traces, err)
		}
	}
	if tel := telemetry.New(telemetry.Settings{}); tel != nil || tel.Close(t.Context()) != nil {
		t.Error("nothing to send to, and something runs")
	}
}

func ExampleNew() {
	set, err := telemetry.FromEnv(func(string) string { return "" }, "1.0")
	if err != nil {
		fmt.Println(err)
	}
	tel := telemetry.New(set) // nil where no endpoint is named
	defer tel.Close(context.Background())
	options := engine.Options{}
	if tel != nil {
		options.Observe = tel.Observe
	}
	fmt.Println(options.Observe == nil)
	// Output: true
}
