package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
)

// event is one event as it came over the wire.
type event struct {
	name, id string
	data     json.RawMessage
}

// follow opens a stream of events, from the given entry on, and returns what reads the next.
func (s *stand) follow(ctx context.Context, path, since string) func() (event, error) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", s.web.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range s.cookies {
		req.AddCookie(c)
	}
	req.Header.Set(keyHeader, s.key)
	if since != "" {
		req.Header.Set("Last-Event-ID", since)
	}
	res, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("events: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	lines := bufio.NewReaderSize(res.Body, 1<<20)
	return func() (e event, err error) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return e, err
			}
			line = strings.TrimSuffix(line, "\n")
			switch key, value, _ := strings.Cut(line, ": "); {
			case key == "event":
				e.name = value
			case key == "id":
				e.id = value
			case key == "data":
				e.data = json.RawMessage(value)
			case line == "" && e.name != "":
				return e, nil
			}
		}
	}
}

// until reads events up to the first that fits.
func until(t *testing.T, next func() (event, error), fits func(event) bool) event {
	t.Helper()
	for {
		e, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if fits(e) {
			return e
		}
	}
}

func named(name string) func(event) bool { return func(e event) bool { return e.name == name } }

// A viewer that comes back is told what it missed, once and in order; one that was away for too long, or saw another log, is
// told to look again.
func TestEventsResume(t *testing.T) {
	s := newStand(t)
	ctx, cancel := context.WithCancel(t.Context())
	next := s.follow(ctx, "/api/events", "")
	hello := until(t, next, named("hello"))
	if hello.id != "" && hello.id != "0" {
		t.Errorf("an empty log has the entry %q", hello.id)
	}
	s.call("print", `{"text":"one"}`)
	last := ""
	until(t, next, func(e event) bool {
		if e.name == "entries" {
			last = e.id
		}
		return last == "3"
	})
	cancel()
	for range 3 {
		s.call("print", `{"text":"missed"}`)
	}
	next = s.follow(t.Context(), "/api/events", last)
	want := int64(4)
	for want <= 12 {
		e := until(t, next, named("entries"))
		var entries []logEntry
		if err := json.Unmarshal(e.data, &entries); err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if entry.Seq != want {
				t.Fatalf("entry %d came, %d was next", entry.Seq, want)
			}
			want++
		}
	}
	for _, since := range []string{"999", "-5"} {
		e := until(t, s.follow(t.Context(), "/api/events", since), func(e event) bool { return e.name == "summary" || e.name == "hello" })
		if e.id != "12" {
			t.Errorf("since %s: %s with the entry %s", since, e.name, e.id)
		}
	}
	if res, _ := s.do("GET", "/api/events", nil, func(r *http.Request) { r.Header.Set("Last-Event-ID", "x") }); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a wrong Last-Event-ID: %d", res.StatusCode)
	}
}

// Output comes while the call runs, to those who want it, and progress to everybody.
func TestOutputComesWhileTheCallRuns(t *testing.T) {
	s := newStand(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watching := s.follow(t.Context(), "/api/events?call=c_w", "")
	other := s.follow(t.Context(), "/api/events", "")
	until(t, watching, named("hello"))
	until(t, other, named("hello"))
	over := make(chan *tongs.Result, 1)
	go func() { over <- s.engine.Call(ctx, &tongs.Call{ID: "c_w", Tool: "wait"}) }()
	out := until(t, watching, named("output"))
	if !strings.Contains(string(out.data), `"text":"waiting\n"`) {
		t.Errorf("output %s", out.data)
	}
	until(t, other, func(e event) bool {
		if e.name == "output" {
			t.Errorf("output that nobody wanted: %s", e.data)
		}
		return e.name == "progress" && strings.Contains(string(e.data), `"total":4`)
	})
	cancel()
	<-over
	until(t, watching, func(e event) bool { return e.name == "progress" && strings.Contains(string(e.data), `"ended":true`) })
}

// Questions are told as they come and go, with who answered, also where another process asks or answers.
func TestQuestionsAreTold(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	next := s.follow(t.Context(), "/api/events", "")
	until(t, next, named("questions"))
	q, over := s.ask("edit", `{"path":"a.txt","oldString":"one","newString":"two"}`)
	until(t, next, func(e event) bool { return e.name == "questions" && strings.Contains(string(e.data), q.ID) })
	if err := s.desk.Store.Answer(t.Context(), q.ID, answerOf("terminal", "somebody")); err != nil {
		t.Fatal(err)
	}
	<-over
	e := until(t, next, func(e event) bool { return e.name == "questions" && strings.Contains(string(e.data), `"ended":[{`) })
	if !strings.Contains(string(e.data), `"by":"somebody"`) {
		t.Errorf("the end of the question: %s", e.data)
	}
}

// A viewer that does not read gets a summary instead of what it missed; nobody waits for it.
func TestSlowViewersGetASummary(t *testing.T) {
	v := &viewer{wake: make(chan struct{}, 1)}
	for i := range maxWaiting {
		if !v.offer([]byte("x")) {
			t.Fatalf("message %d was dropped", i)
		}
	}
	if v.offer([]byte("x")) {
		t.Error("one message too many was kept")
	}
	if queue, skipped, _ := v.take(); len(queue) != 0 || skipped != maxWaiting+1 {
		t.Errorf("%d wait, %d were left out", len(queue), skipped)
	}
	if !v.offer(make([]byte, maxWaitingBytes)) || v.offer([]byte("x")) {
		t.Error("the bytes that wait are not bounded")
	}
}

// What calls print is kept within bounds, its end first.
func TestOutputIsBounded(t *testing.T) {
	var l live
	l.init()
	c := &liveCall{}
	for i := range 5000 {
		c.update(tongs.Update{Stream: []string{"stdout", "stderr"}[i%2], Text: strings.Repeat("ä", 500)})
	}
	c.update(tongs.Update{Stream: "stdout", Text: strings.Repeat("b", 3*maxTail) + "\nthe end\n"})
	kept := 0
	for _, p := range c.parts {
		kept += len(p.Text)
	}
	if kept > maxTail || c.total-c.from != int64(kept) || c.lastLine() != "the end" {
		t.Errorf("%d bytes are kept, from %d of %d; the last line is %.20q", kept, c.from, c.total, c.lastLine())
	}
	from, parts := c.since(c.total - 4)
	if from != c.total-4 || parts[0].Text != "end\n" {
		t.Errorf("the end is %v at %d", parts, from)
	}
	c = &liveCall{}
	c.update(tongs.Update{Stream: "stdout", Text: "äöü"})
	if from, parts := c.since(3); from != 4 || parts[0].Text != "ü" {
		t.Errorf("from the middle of a character: %v at %d", parts, from)
	}
}

// Fifty viewers watch calls that come as fast as they can: each sees every call, or a summary. TONGS_CONSOLE_LOAD=1m makes it a
// minute of 500 calls a second.
func TestFiftyViewers(t *testing.T) {
	s := newStand(t)
	calls, every := 250, time.Duration(0)
	if text := os.Getenv("TONGS_CONSOLE_LOAD"); text != "" {
		length, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		calls, every = int(length/(2*time.Millisecond)), 2*time.Millisecond
	}
	const viewers = 50
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen, summaries := 0, 0
	for i := range viewers {
		next := s.follow(t.Context(), "/api/events", "")
		until(t, next, named("hello"))
		wg.Go(func() {
			closed, skipped, head := 0, 0, int64(0)
			for head < int64(3*calls) {
				e, err := next()
				if err != nil {
					t.Errorf("viewer %d: %v", i, err)
					return
				}
				switch e.name {
				case "entries":
					closed += bytes.Count(e.data, []byte(`"kind":"close"`))
					head, _ = strconv.ParseInt(e.id, 10, 64)
				case "summary":
					skipped++
				}
			}
			if closed != calls && skipped == 0 {
				t.Errorf("viewer %d saw %d calls of %d, and no summary", i, closed, calls)
			}
			mu.Lock()
			defer mu.Unlock()
			seen, summaries = seen+closed, summaries+skipped
		})
	}
	s.follow(t.Context(), "/api/events", "") // one that never reads
	began, peak := time.Now(), uint64(0)
	for i := range calls {
		s.call("print", `{"text":"some output\n"}`)
		if every > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(i) * every)))
		}
		if i%500 == 499 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	took := time.Since(began)
	wg.Wait()
	t.Logf("%d calls in %s (%.0f a second) with %d viewers, who saw %d of %d calls and %d summaries; heap at most %d MB",
		calls, took.Round(time.Millisecond), float64(calls)/took.Seconds(), viewers, seen, viewers*calls, summaries, peak>>20)
	if _, dropped := s.hub.counts(); every > 0 && dropped == 0 {
		t.Error("what the viewer that never reads was sent is not bounded")
	}
	if rows, err := s.db.Audit().Rows(t.Context(), audit.Filter{Outcome: audit.OutcomeOK}); err != nil || len(rows) != calls {
		t.Errorf("%d calls are in the log, %v", len(rows), err)
	}
}

// BenchmarkObserve is what a call pays for being watched.
func BenchmarkObserve(b *testing.B) {
	h := NewHub()
	e := eventOpened("c_1")
	for b.Loop() {
		h.Observe(e)
	}
}
