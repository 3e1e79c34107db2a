// Package telemetry sends what happens to calls to an OpenTelemetry collector: a trace of each call, with one span for it and
// one for each stage of its walk, and metrics of calls and stages. It speaks OTLP over HTTP, as JSON, and is configured by the
// standard environment variables.
//
// Arguments, results, paths and messages are not sent: names of tools, agents, sessions and stages are, with times and codes.
//
// A collector that is slow or gone costs calls nothing: what waits to be sent is bounded, and the rest is counted and dropped.
package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
)

// maxWaiting bounds the spans that wait to be sent, maxOpen the calls that are followed.
const (
	maxWaiting = 4096
	maxOpen    = 4096
)

// Telemetry follows the calls of an engine. It is safe for concurrent use. Close it to send what is left.
type Telemetry struct {
	set    Settings
	client *http.Client
	began  time.Time
	stop   chan struct{}
	ended  sync.Once
	over   sync.WaitGroup

	mu      sync.Mutex
	open    map[string]place
	spans   []span
	dropped int64
	series  map[seriesKey]*series
	failed  error
}

// place is where a running call is in its trace.
type place struct {
	trace  [16]byte
	span   [8]byte
	parent [8]byte
	began  time.Time
}

// New starts to send as the settings say. It returns nil, which does nothing, where they name no endpoint.
func New(set Settings) *Telemetry {
	if set.Traces == "" && set.Metrics == "" {
		return nil
	}
	t := &Telemetry{
		set: set.withDefaults(), began: time.Now(), stop: make(chan struct{}), open: map[string]place{}, series: map[seriesKey]*series{},
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second},
		},
	}
	t.over.Go(t.run)
	return t
}

// Observe takes an event of the engine. It never blocks.
func (t *Telemetry) Observe(e engine.Event) {
	if t == nil || e.Kind == engine.Updated {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case engine.Opened:
		t.begin(e.ID, e.Call)
	case engine.Staged:
		t.staged(e)
	case engine.Closed:
		t.end(e)
	}
}

func (t *Telemetry) begin(id string, call *tongs.Call) {
	if len(t.open) >= maxOpen {
		t.dropped++
		return
	}
	at := place{began: time.Now()}
	_, _ = rand.Read(at.span[:]) // it never fails
	if parent, ok := t.open[call.Parent]; ok && call.Parent != "" {
		at.trace, at.parent = parent.trace, parent.span
	} else {
		_, _ = rand.Read(at.trace[:])
	}
	t.open[id] = at
}

func (t *Telemetry) staged(e engine.Event) {
	code := ""
	if e.Err != nil {
		code = string(tongs.CodeOf(e.Err))
		if _, more := errors.AsType[*tongs.Need](e.Err); more {
			code = "NEED"
		}
	}
	t.observe(seriesKey{name: stageDuration, a: e.Stage, b: code}, e.Took.Seconds())
	at, ok := t.open[e.ID]
	if !ok {
		return
	}
	s := span{trace: at.trace, parent: at.span, name: e.Stage, began: e.Began, ended: e.Began.Add(e.Took), failed: code}
	_, _ = rand.Read(s.id[:])
	s.attributes = []attribute{{"tongs.stage", e.Stage}}
	if code != "" {
		s.attributes = append(s.attributes, attribute{"error.type", code})
	}
	t.keep(s)
}

func (t *Telemetry) end(e engine.Event) {
	code, outcome := "", "ok"
	if e.Result.Error != nil {
		code, outcome = string(e.Result.Error.Code), "error"
		if e.Result.Error.Code.Refused() {
			outcome = "refused"
		}
	}
	tool := e.Call.Tool
	if code == string(tongs.CodeUnknownTool) {
		tool = "unknown" // the name is a caller's choice
	}
	at, ok := t.open[e.ID]
	if !ok {
		return
	}
	delete(t.open, e.ID)
	now := time.Now()
	t.observe(seriesKey{name: callDuration, a: tool, b: outcome, c: code}, now.Sub(at.began).Seconds())
	s := span{
		trace: at.trace, id: at.span, parent: at.parent, name: "execute_tool " + tool, began: at.began, ended: now,
		attributes: []attribute{
			{"gen_ai.operation.name", "execute_tool"},
			{"gen_ai.tool.name", tool},
			{"gen_ai.tool.call.id", e.ID},
			{"tongs.session", e.Call.Session},
			{"tongs.agents", strings.Join(e.Call.Agents, " > ")},
			{"tongs.outcome", outcome},
		},
	}
	if code != "" {
		s.failed = code
		s.attributes = append(s.attributes, attribute{"error.type", code})
	}
	t.keep(s)
}

func (t *Telemetry) keep(s span) {
	if t.set.Traces == "" {
		return
	}
	if len(t.spans) >= maxWaiting {
		t.dropped++
		return
	}
	t.spans = append(t.spans, s)
}

// run sends what there is, every so often, until it is closed.
func (t *Telemetry) run() {
	traces, metrics := time.NewTicker(t.set.TraceEvery), time.NewTicker(t.set.MetricEvery)
	defer traces.Stop()
	defer metrics.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-traces.C:
			t.sendSpans(context.Background())
		case <-metrics.C:
			t.sendMetrics(context.Background())
		}
	}
}

// Close sends what is left, for as long as ctx lasts, and returns the last failure to send.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.ended.Do(func() { close(t.stop) })
	t.over.Wait()
	t.sendSpans(ctx)
	t.sendMetrics(ctx)
	t.client.CloseIdleConnections()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *Telemetry) sendSpans(ctx context.Context) {
	t.mu.Lock()
	spans := t.spans
	t.spans = nil
	t.mu.Unlock()
	if len(spans) == 0 || t.set.Traces == "" {
		return
	}
	if err := t.send(ctx, t.set.Traces, tracesOf(t.set.Resource, spans)); err != nil {
		t.mu.Lock()
		t.dropped += int64(len(spans))
		t.mu.Unlock()
	}
}

func (t *Telemetry) sendMetrics(ctx context.Context) {
	if t.set.Metrics == "" {
		return
	}
	t.mu.Lock()
	body := t.metricsOf(time.Now())
	t.mu.Unlock()
	_ = t.send(ctx, t.set.Metrics, body) // it is cumulative: the next one tells the same
}
