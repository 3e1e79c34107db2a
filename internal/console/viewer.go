package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
)

// The bounds of what waits for one viewer. Who is slower than that gets a summary instead.
const (
	maxWaiting      = 256
	maxWaitingBytes = 2 << 20
)

// viewer is one stream of events.
type viewer struct {
	// call is the one whose output it wants, empty for none.
	call string

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	skipped int
	over    bool
	wake    chan struct{}
}

// offer adds a message, or drops all that wait for a summary where there are too many. It reports whether it was kept.
func (v *viewer) offer(m []byte) (kept bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	kept = len(v.queue) < maxWaiting && v.bytes+len(m) <= maxWaitingBytes
	if kept {
		v.queue, v.bytes = append(v.queue, m), v.bytes+len(m)
	} else {
		v.skipped += len(v.queue) + 1
		v.queue, v.bytes = nil, 0
	}
	select {
	case v.wake <- struct{}{}:
	default:
	}
	return kept
}

func (v *viewer) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// take returns what waits, how many messages were left out before it, and whether there will be more.
func (v *viewer) take() (queue [][]byte, skipped int, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	queue, skipped = v.queue, v.skipped
	v.queue, v.bytes, v.skipped = nil, 0, 0
	return queue, skipped, v.over
}

// join adds a viewer, and returns the newest entry that it is not told of, with the questions that wait.
func (h *Hub) join(ctx context.Context, call string) (*viewer, int64, questionNews, error) {
	h.pumping.Lock()
	defer h.pumping.Unlock()
	news := questionNews{Pending: []pendingQuestion{}, Ended: []endedQuestion{}}
	list, err := h.source.questions.List(ctx, true)
	if err != nil {
		return nil, 0, news, err
	}
	for _, q := range list {
		news.Pending = append(news.Pending, summarized(q))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, 0, news, errors.New("the server is shutting down")
	}
	if len(h.viewers) == 0 { // nobody looked for a while
		if follower, ok := h.source.log.(audit.Follower); ok {
			if h.last, err = follower.Last(ctx); err != nil {
				return nil, 0, news, err
			}
		}
		clear(h.pending)
		for _, q := range news.Pending {
			h.pending[q.ID] = q
		}
	}
	v := &viewer{call: call, wake: make(chan struct{}, 1)}
	h.viewers[v] = struct{}{}
	h.wakeSoon()
	return v, h.last, news, nil
}

func (h *Hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
}

// message writes an event; id 0 leaves it without one.
func message(event string, id int64, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // what is told is made of plain fields and JSON that was read before
		data = []byte("null")
	}
	m := make([]byte, 0, len(data)+64)
	if id > 0 {
		m = append(strconv.AppendInt(append(m, "id: "...), id, 10), '\n')
	}
	m = append(append(append(m, "event: "...), event...), "\ndata: "...)
	return append(append(m, data...), "\n\n"...)
}

// eventQuery selects what is streamed.
type eventQuery struct {
	Call string `query:"call" doc:"the call whose output is wanted as it comes"`
}

// maxResume is how many entries a viewer that comes back is told of one by one.
const maxResume = 5000

// beat is how often a stream that is silent shows that it is alive.
const beat = 15 * time.Second

// writeTime is how long one write may take before the viewer counts as gone.
const writeTime = 30 * time.Second

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	in, err := decodeQuery[eventQuery](r)
	since := int64(-1)
	if text := r.Header.Get("Last-Event-ID"); err == nil && text != "" {
		since, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil {
		writeError(w, tongs.Errorf(tongs.CodeInvalidArgs, "Last-Event-ID: %w", err))
		return
	}
	v, head, news, err := s.hub.join(r.Context(), in.Call)
	if err != nil {
		writeError(w, err)
		return
	}
	defer s.hub.leave(v)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	out := &stream{w: w, control: http.NewResponseController(w)}
	s.resume(r.Context(), out, since, head)
	out.write(message("questions", 0, news))
	out.follow(r.Context(), v)
}

// resume tells a viewer what it missed since it was last here.
func (s *Server) resume(ctx context.Context, out *stream, since, head int64) {
	follower, ok := s.opt.Audit.(audit.Follower)
	switch {
	case !ok || since < 0 || since == head:
		out.write(message("hello", head, struct{}{}))
	case since > head || head-since > maxResume: // another log, or too long ago
		out.write(message("summary", head, summary{Skipped: int(max(head-since, 0))}))
	default:
		for since < head {
			entries, err := follower.After(ctx, since, int(min(batch, head-since)))
			if err != nil || len(entries) == 0 || entries[0].Seq != since+1 {
				out.write(message("summary", head, summary{Skipped: int(head - since)}))
				return
			}
			since = entries[len(entries)-1].Seq
			out.write(entriesMessage(entries))
		}
	}
}

// summary tells a viewer that it was not told of everything, so that it looks again.
type summary struct {
	Skipped int `json:"skipped"`
}

// stream writes events. After a failure it writes no more.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	failed  error
}

func (o *stream) write(messages ...[]byte) {
	if o.failed != nil {
		return
	}
	_ = o.control.SetWriteDeadline(time.Now().Add(writeTime)) // what cannot have one is no connection
	for _, m := range messages {
		if _, err := o.w.Write(m); err != nil {
			o.failed = err
			return
		}
	}
	o.failed = o.control.Flush()
}

// follow writes what comes for the viewer, until it or the server is gone.
func (o *stream) follow(ctx context.Context, v *viewer) {
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for o.failed == nil {
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			o.write([]byte(": still here\n\n"))
			continue
		case <-v.wake:
		}
		queue, skipped, over := v.take()
		if skipped > 0 {
			o.write([]byte(fmt.Sprintf("event: summary\ndata: {\"skipped\":%d}\n\n", skipped)))
		}
		o.write(queue...)
		if over {
			return
		}
	}
}
