package telemetry

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Settings say where to send to. The zero value sends nothing.
type Settings struct {
	// Traces and Metrics are URLs; empty sends none of them.
	Traces, Metrics string
	// Headers go with every request of a kind.
	TraceHeaders, MetricHeaders map[string]string
	// Gzip compresses requests.
	Gzip bool
	// Timeout bounds a request: 10 s.
	Timeout time.Duration
	// TraceEvery and MetricEvery are how often is sent: 5 s and 60 s.
	TraceEvery, MetricEvery time.Duration
	// Resource are attributes of the program.
	Resource map[string]string
}

func (s Settings) withDefaults() Settings {
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{{&s.Timeout, 10 * time.Second}, {&s.TraceEvery, 5 * time.Second}, {&s.MetricEvery, time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	return s
}

// FromEnv reads the standard variables (OTEL_EXPORTER_OTLP_*, OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and others) with
// getenv. It fails for what is not known here: another protocol than OTLP over HTTP, a URL or a number that is none.
func FromEnv(getenv func(string) string, version string) (Settings, error) {
	set := Settings{Resource: map[string]string{"service.name": "tongs", "service.version": version}}
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return Settings{}, nil
	}
	env := reader{get: getenv}
	set.Traces, set.TraceHeaders = env.signal("TRACES", "v1/traces")
	set.Metrics, set.MetricHeaders = env.signal("METRICS", "v1/metrics")
	if set.Traces == "" && set.Metrics == "" {
		return Settings{}, env.err
	}
	switch compression := getenv("OTEL_EXPORTER_OTLP_COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		set.Gzip = true
	default:
		env.fail("OTEL_EXPORTER_OTLP_COMPRESSION", compression, "write gzip or none")
	}
	set.Timeout = env.milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT")
	set.TraceEvery = env.milliseconds("OTEL_BSP_SCHEDULE_DELAY")
	set.MetricEvery = env.milliseconds("OTEL_METRIC_EXPORT_INTERVAL")
	for key, value := range env.pairs("OTEL_RESOURCE_ATTRIBUTES") {
		set.Resource[key] = value
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		set.Resource["service.name"] = name
	}
	if env.err != nil {
		return Settings{}, env.err
	}
	return set, nil
}

// reader reads variables, and keeps the first that is wrong.
type reader struct {
	get func(string) string
	err error
}

func (r *reader) fail(name, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is %q; %s", name, value, want)
	}
}

// signal returns where one kind of data goes, and its headers.
func (r *reader) signal(kind, path string) (string, map[string]string) {
	if exporter := r.get("OTEL_" + kind + "_EXPORTER"); exporter != "" && exporter != "otlp" {
		return "", nil // "none", or one that is not ours
	}
	endpoint := r.get("OTEL_EXPORTER_OTLP_" + kind + "_ENDPOINT")
	name := "OTEL_EXPORTER_OTLP_" + kind + "_ENDPOINT"
	if endpoint == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		if endpoint = r.get(name); endpoint == "" {
			return "", nil
		}
		endpoint = strings.TrimSuffix(endpoint, "/") + "/" + path
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.fail(name, r.get(name), "write a URL such as http://127.0.0.1:4318")
		return "", nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + kind + "_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := r.get(name); protocol {
		case "http/json", "http/protobuf": // a collector takes both at the same address
			return endpoint, r.headers(kind)
		case "":
		default:
			r.fail(name, protocol, "only http/json is spoken here")
			return "", nil
		}
	}
	return endpoint, r.headers(kind)
}

func (r *reader) headers(kind string) map[string]string {
	all := r.pairs("OTEL_EXPORTER_OTLP_HEADERS")
	for key, value := range r.pairs("OTEL_EXPORTER_OTLP_" + kind + "_HEADERS") {
		all[key] = value
	}
	return all
}

// pairs reads key=value, separated by commas, with values as in URLs.
func (r *reader) pairs(name string) map[string]string {
	list := map[string]string{}
	for part := range strings.SplitSeq(r.get(name), ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			continue
		}
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
			list[strings.TrimSpace(key)] = plain
		}
	}
	return list
}

func (r *reader) milliseconds(name string) time.Duration {
	text := r.get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		r.fail(name, text, "write a number of milliseconds")
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
