package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The forms of OTLP as JSON: names in lowerCamelCase, numbers of 64 bits as strings, IDs in hexadecimal.
type (
	object = map[string]any

	attribute struct{ key, value string }

	// span is one span, ended.
	span struct {
		trace        [16]byte
		id, parent   [8]byte
		name         string
		began, ended time.Time
		// failed is the code of the failure, empty where there is none.
		failed     string
		attributes []attribute
	}
)

const (
	spanInternal   = 1
	statusError    = 2
	cumulative     = 2
	scopeName      = "github.com/tongs-ai/tongs"
	callDuration   = "tongs.call.duration"
	stageDuration  = "tongs.stage.duration"
	droppedCounter = "tongs.telemetry.dropped"
)

func (a attribute) json() object {
	return object{"key": a.key, "value": object{"stringValue": strings.ToValidUTF8(a.value, "\uFFFD")}}
}

func attributes(list []attribute) []object {
	out := make([]object, 0, len(list))
	for _, a := range list {
		if a.value != "" {
			out = append(out, a.json())
		}
	}
	return out
}

func resource(attrs map[string]string) object {
	list := make([]attribute, 0, len(attrs))
	for _, key := range slices.Sorted(maps.Keys(attrs)) {
		list = append(list, attribute{key, attrs[key]})
	}
	return object{"attributes": attributes(list)}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func tracesOf(about map[string]string, spans []span) object {
	list := make([]object, len(spans))
	for i, s := range spans {
		o := object{
			"traceId": hex.EncodeToString(s.trace[:]), "spanId": hex.EncodeToString(s.id[:]), "name": s.name, "kind": spanInternal,
			"startTimeUnixNano": nanos(s.began), "endTimeUnixNano": nanos(s.ended), "attributes": attributes(s.attributes), "status": object{},
		}
		if s.parent != [8]byte{} {
			o["parentSpanId"] = hex.EncodeToString(s.parent[:])
		}
		if s.failed != "" {
			o["status"] = object{"code": statusError, "message": s.failed}
		}
		list[i] = o
	}
	return object{"resourceSpans": []object{{
		"resource": resource(about), "scopeSpans": []object{{"scope": object{"name": scopeName}, "spans": list}},
	}}}
}

// bounds are those of the histograms, in seconds.
var bounds = []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 300, 3600}

// seriesKey is a metric with the values of its labels.
type seriesKey struct{ name, a, b, c string }

// series is a histogram.
type series struct {
	count   int64
	sum     float64
	buckets []int64
}

// maxSeries bounds how many there are; the rest is counted together.
const maxSeries = 1000

func (t *Telemetry) observe(key seriesKey, seconds float64) {
	if t.set.Metrics == "" {
		return
	}
	s := t.series[key]
	if s == nil {
		if len(t.series) >= maxSeries {
			key = seriesKey{name: key.name, a: "other"}
		}
		if s = t.series[key]; s == nil {
			s = &series{buckets: make([]int64, len(bounds)+1)}
			t.series[key] = s
		}
	}
	s.count++
	s.sum += seconds
	at, _ := slices.BinarySearch(bounds, seconds)
	s.buckets[at]++
}

// metricsOf describes the metrics now.
func (t *Telemetry) metricsOf(now time.Time) object {
	points := map[string][]object{}
	keys := slices.SortedFunc(maps.Keys(t.series), func(x, y seriesKey) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	for _, key := range keys {
		s := t.series[key]
		labels := []attribute{{"tongs.stage", key.a}, {"error.type", key.b}}
		if key.name == callDuration {
			labels = []attribute{{"gen_ai.tool.name", key.a}, {"tongs.outcome", key.b}, {"error.type", key.c}}
		}
		buckets := make([]string, len(s.buckets))
		for i, n := range s.buckets {
			buckets[i] = strconv.FormatInt(n, 10)
		}
		points[key.name] = append(points[key.name], object{
			"attributes": attributes(labels), "startTimeUnixNano": nanos(t.began), "timeUnixNano": nanos(now),
			"count": strconv.FormatInt(s.count, 10), "sum": s.sum, "bucketCounts": buckets, "explicitBounds": bounds,
		})
	}
	list := []object{{
		"name": droppedCounter, "unit": "{span}", "description": "Spans that could not be sent.",
		"sum": object{"aggregationTemporality": cumulative, "isMonotonic": true, "dataPoints": []object{{
			"startTimeUnixNano": nanos(t.began), "timeUnixNano": nanos(now), "asInt": strconv.FormatInt(t.dropped, 10),
		}}},
	}}
	for name, text := range map[string]string{callDuration: "How long calls took, waiting included.", stageDuration: "How long the stages of the walk took."} {
		if len(points[name]) > 0 {
			list = append(list, object{
				"name": name, "unit": "s", "description": text, "histogram": object{"aggregationTemporality": cumulative, "dataPoints": points[name]},
			})
		}
	}
	return object{"resourceMetrics": []object{{
		"resource": resource(t.set.Resource), "scopeMetrics": []object{{"scope": object{"name": scopeName}, "metrics": list}},
	}}}
}

// attempts is how often a request is made that a collector asks to make again.
const attempts = 3

// send posts a message.
func (t *Telemetry) send(ctx context.Context, url string, body object) error {
	err := t.post(ctx, url, body)
	t.mu.Lock()
	t.failed = err
	t.mu.Unlock()
	return err
}

func (t *Telemetry) post(ctx context.Context, url string, body object) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if t.set.Gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(data)
		_ = w.Close()
		data = packed.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, t.set.Timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		again, err := t.once(ctx, url, data)
		if err == nil || !again || attempt == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(attempt) * 200 * time.Millisecond):
		}
	}
}

// once makes a request, and reports whether to make it again.
func (t *Telemetry) once(ctx context.Context, url string, data []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return false, err
	}
	headers := t.set.TraceHeaders
	if url == t.set.Metrics {
		headers = t.set.MetricHeaders
	}
	for key, value := range headers {
		req.Header.Set(key, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tongs")
	if t.set.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := t.client.Do(req)
	if err != nil {
		return ctx.Err() == nil, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("the collector at %s answered %s", req.URL.Redacted(), res.Status)
}
