package console

import (
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
)

// The bounds of what is kept of calls: of the output of each, of all that ended, and of how many there are.
const (
	maxTail    = 256 << 10
	maxKept    = 48 << 20
	maxEnded   = 1000
	maxRunning = 4096
	maxOutput  = 64 << 10 // of one event
	maxLine    = 200
)

// live is what this process knows of its calls, beside the log: the end of their output while they run, and what the last
// ones came to. It is bounded.
type live struct {
	mu    sync.Mutex
	calls map[string]*liveCall
	// ended are those that are over, oldest first, and kept their size.
	ended []string
	kept  int
	dirty map[string]struct{}
	// opened and closed count calls, for /metrics.
	opened, closed int64
	// expected are calls that somebody waits for to be in the log.
	expected map[string]chan struct{}
}

// expect returns a channel that is closed when the call is in the log. Forget it, whether or not that happened.
func (l *live) expect(id string) (opened <-chan struct{}, forget func()) {
	heard := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected[id] = heard
	return heard, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.expected, id)
	}
}

// liveCall is one call of this process.
type liveCall struct {
	parts []part
	// from is the place of the first part in the whole output, total its end, told what was passed on.
	from, total, told int64
	title, waiting    string
	done, of          float64
	result            *tongs.Result
	size              int
}

// part is a piece of output.
type part struct {
	Stream string `json:"stream"`
	Text   string `json:"text"`
}

func (l *live) init() {
	l.calls, l.dirty, l.expected = map[string]*liveCall{}, map[string]struct{}{}, map[string]chan struct{}{}
}

func (l *live) observe(e engine.Event) {
	if e.Kind == engine.Staged {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case engine.Opened:
		l.opened++
		if heard := l.expected[e.ID]; heard != nil {
			close(heard)
			delete(l.expected, e.ID)
		}
		if len(l.calls)-len(l.ended) < maxRunning {
			l.calls[e.ID] = &liveCall{}
		}
	case engine.Updated:
		if c := l.calls[e.ID]; c != nil && c.result == nil {
			c.update(e.Update)
			l.dirty[e.ID] = struct{}{}
		}
	case engine.Closed:
		l.closed++
		l.end(e.ID, e.Result)
	}
}

func (c *liveCall) update(u tongs.Update) {
	if u.Title != "" {
		c.title = bounded(u.Title)
	}
	c.waiting = u.Waiting
	if u.Done != 0 || u.Total != 0 {
		c.done, c.of = u.Done, u.Total
	}
	if u.Text == "" {
		return
	}
	text := u.Text
	c.total += int64(len(text))
	if len(text) > maxTail {
		text = strings.Clone(text[len(text)-maxTail:])
		c.parts, c.from = nil, c.total-int64(len(text))
	}
	// Small pieces are put together, so that a program that prints single letters does not fill memory with bookkeeping.
	if n := len(c.parts); n > 0 && c.parts[n-1].Stream == u.Stream && len(c.parts[n-1].Text)+len(text) <= 1<<10 {
		c.parts[n-1].Text += text
	} else {
		c.parts = append(c.parts, part{u.Stream, text})
	}
	for c.total-c.from > maxTail && len(c.parts) > 1 {
		c.from += int64(len(c.parts[0].Text))
		c.parts = c.parts[1:]
	}
}

func bounded(text string) string {
	if len(text) > maxLine {
		return strings.ToValidUTF8(text[:maxLine], "") + "..."
	}
	return text
}

// end keeps what a call came to, and forgets the oldest where there are too many.
func (l *live) end(id string, res *tongs.Result) {
	c := l.calls[id]
	if c == nil || c.result != nil {
		return
	}
	own := *res
	own.Metadata = maps.Clone(res.Metadata)
	c.result, c.waiting = &own, ""
	c.size = len(own.Content) + len(own.Display) + len(own.Value) + int(c.total-c.from)
	for _, a := range own.Attachments {
		c.size += len(a.Data)
	}
	l.kept += c.size
	l.ended = append(l.ended, id)
	l.dirty[id] = struct{}{}
	for len(l.ended) > 0 && (len(l.ended) > maxEnded || l.kept > maxKept) {
		oldest := l.ended[0]
		l.ended = l.ended[1:]
		if gone := l.calls[oldest]; gone != nil {
			l.kept -= gone.size
			delete(l.calls, oldest)
			delete(l.dirty, oldest)
		}
	}
}

// progress is a sign of life of a running call.
type progress struct {
	Call  string `json:"call"`
	Title string `json:"title,omitempty"`
	// Line is the last one that it printed, Bytes how much it printed.
	Line    string  `json:"line,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	Done    float64 `json:"done,omitempty"`
	Total   float64 `json:"total,omitempty"`
	Waiting string  `json:"waiting,omitempty"`
	Ended   bool    `json:"ended,omitempty"`
}

// outputNews is output of a call: Parts begin at From in the whole of it, which has Total bytes so far.
type outputNews struct {
	Call  string `json:"call"`
	From  int64  `json:"from"`
	Total int64  `json:"total"`
	Parts []part `json:"parts"`
}

// maxProgress is how many calls are told of at a time; the rest is told of soon.
const maxProgress = 200

// newOutput returns what running calls printed and reported since the last time, the output only of those that are open.
func (l *live) newOutput(open map[string]bool) ([]progress, []outputNews) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []progress
	var outputs []outputNews
	for id := range l.dirty {
		if len(list) >= maxProgress {
			break
		}
		delete(l.dirty, id)
		c := l.calls[id]
		if c == nil {
			continue
		}
		list = append(list, progress{
			Call: id, Title: c.title, Line: c.lastLine(), Bytes: c.total, Done: c.done, Total: c.of, Waiting: c.waiting, Ended: c.result != nil,
		})
		if open[id] && c.told < c.total {
			from, parts := c.since(max(c.told, c.total-maxOutput))
			outputs = append(outputs, outputNews{Call: id, From: from, Total: c.total, Parts: parts})
		}
		c.told = c.total
	}
	return list, outputs
}

// lastLine is the last line that is not empty.
func (c *liveCall) lastLine() string {
	for i := len(c.parts) - 1; i >= 0; i-- {
		text := strings.TrimRight(c.parts[i].Text, "\r\n ")
		if text == "" {
			continue
		}
		text = text[strings.LastIndexAny(text, "\r\n")+1:]
		return bounded(text)
	}
	return ""
}

// since returns the output from a place on, which it moves to where a character begins.
func (c *liveCall) since(from int64) (int64, []part) {
	at, out := c.from, []part{}
	if from < at {
		from = at
	}
	for _, p := range c.parts {
		end := at + int64(len(p.Text))
		if end > from {
			text := p.Text
			if from > at {
				text = text[from-at:]
				for len(text) > 0 && !utf8.RuneStart(text[0]) {
					text, from = text[1:], from+1
				}
			}
			out = append(out, part{p.Stream, text})
		}
		at = end
	}
	return from, out
}

// snapshot is what is known of a call now.
type snapshot struct {
	output  outputNews
	state   progress
	result  *tongs.Result
	running bool
}

func (l *live) look(id string) (snapshot, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	if c == nil {
		return snapshot{}, false
	}
	from, parts := c.since(c.from)
	return snapshot{
		output: outputNews{Call: id, From: from, Total: c.total, Parts: parts}, result: c.result, running: c.result == nil,
		state: progress{Call: id, Title: c.title, Bytes: c.total, Done: c.done, Total: c.of, Waiting: c.waiting, Ended: c.result != nil},
	}, true
}

// counts are for /metrics.
func (l *live) counts() (opened, closed, running int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened, l.closed, l.opened - l.closed
}

// tried are calls that were made from the console and still run.
type tried struct {
	mu    sync.Mutex
	calls map[string]func()
	wg    sync.WaitGroup
}

// begin keeps how a call is cancelled, until the returned function is called.
func (t *tried) begin(id string, cancel func()) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]func(){}
	}
	t.calls[id] = cancel
	t.wg.Add(1)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.calls, id)
		t.wg.Done()
	}
}

// cancel ends a call, and reports whether it was one of these.
func (t *tried) cancel(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	cancel := t.calls[id]
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}

// wait waits until none runs any more, but not for long: what does not end is left behind, as the engine does.
func (t *tried) wait() {
	over := make(chan struct{})
	go func() {
		t.wg.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(5 * time.Second):
	}
}

// has reports whether a call was made from the console and still runs.
func (t *tried) has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[id] != nil
}
