package console

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
)

// metrics serves what the log tells, in the text format of Prometheus, to those who are logged in or bring the token.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	known := s.opt.MetricsToken != "" && strings.EqualFold(scheme, "Bearer") && same(strings.TrimSpace(token), s.opt.MetricsToken)
	if !known && !s.logins.authorised(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="tongs"`)
		http.Error(w, "the bearer token is missing or wrong; 'tongs serve' shows it when it starts", http.StatusUnauthorized)
		return
	}
	stats, err := s.tally.get(r.Context(), s.opt.Audit)
	if err != nil {
		http.Error(w, "the log cannot be read", http.StatusInternalServerError)
		return
	}
	pending, err := s.opt.Questions.List(r.Context(), true)
	if err != nil {
		http.Error(w, "the questions cannot be read", http.StatusInternalServerError)
		return
	}
	var p exposition
	p.calls(stats)
	_, _, running := s.hub.live.counts()
	p.one("tongs_calls_running", "gauge", "Calls of this process that run now.", float64(running))
	p.one("tongs_questions_pending", "gauge", "Questions that wait for an answer.", float64(len(pending)))
	viewers, dropped := s.hub.counts()
	p.one("tongs_console_viewers", "gauge", "Streams of events that are open.", float64(viewers))
	p.one("tongs_console_dropped_total", "counter", "Messages that slow viewers were not sent.", float64(dropped))
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	p.one("go_memstats_heap_alloc_bytes", "gauge", "Bytes of memory in use.", float64(memory.HeapAlloc))
	p.one("go_goroutines", "gauge", "Goroutines that exist.", float64(runtime.NumGoroutine()))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(p.Bytes())
}

// exposition is metrics in the text format.
type exposition struct{ bytes.Buffer }

func (p *exposition) head(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *exposition) one(name, kind, help string, value float64) {
	p.head(name, kind, help)
	fmt.Fprintf(p, "%s %v\n", name, value)
}

// label writes a label's value as the format wants it.
func label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

func (p *exposition) calls(t []tallied) {
	p.head("tongs_calls_total", "counter", "Calls in the log, by tool and outcome.")
	for _, c := range t {
		fmt.Fprintf(p, "tongs_calls_total{tool=%s,outcome=%s,code=%s} %d\n", label(c.tool), label(c.outcome), label(c.code), c.calls)
	}
	for _, m := range []struct {
		name, help string
		value      func(tallied) float64
	}{
		{"tongs_run_seconds_total", "Time that tools ran.", func(c tallied) float64 { return c.ran.Seconds() }},
		{"tongs_approval_wait_seconds_total", "Time that calls waited for a person.", func(c tallied) float64 { return c.waited.Seconds() }},
		{"tongs_output_bytes_total", "Bytes that calls produced.", func(c tallied) float64 { return float64(c.output) }},
		{"tongs_shown_bytes_total", "Bytes of them that models were given.", func(c tallied) float64 { return float64(c.shown) }},
	} {
		p.head(m.name, "counter", m.help)
		for _, c := range t {
			fmt.Fprintf(p, "%s{tool=%s,outcome=%s,code=%s} %v\n", m.name, label(c.tool), label(c.outcome), label(c.code), m.value(c))
		}
	}
}

// maxTools bounds how many series there are: the names of tools that do not exist are a caller's choice.
const maxTools = 500

func sortTally(list []tallied) {
	slices.SortFunc(list, func(a, b tallied) int {
		return strings.Compare(a.tool+"\x00"+a.outcome+"\x00"+a.code, b.tool+"\x00"+b.outcome+"\x00"+b.code)
	})
}
