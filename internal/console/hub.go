package console

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/internal/question"
)

// Hub passes on what happens to those who watch. What calls do is read from the log, so that those of every process are
// seen, and each in the order of the log; what running calls of this process print and report comes from their engine.
// It keeps a bounded end of that, and what the last calls came to.
//
// Nothing is read from the log while nobody watches, and nobody who watches can hold up a call.
type Hub struct {
	live live
	// session is that of the calls which are made from the console: nobody else can name it.
	session string

	// pumping is held while news are gathered, and while somebody starts to watch.
	pumping sync.Mutex
	source  source
	last    int64 // the newest entry that was passed on
	pending map[string]pendingQuestion
	asked   time.Time // when the questions were looked at

	mu      sync.Mutex
	viewers map[*viewer]struct{}
	closed  bool
	wake    chan struct{}
	// counts for /metrics.
	dropped int64
}

// source is where the hub looks for news.
type source struct {
	log       audit.Log
	questions approval.Store
	poll      time.Duration
}

// NewHub returns a hub. Put its Observe into the options of an engine.
func NewHub() *Hub {
	h := &Hub{
		session: id.New("console"), viewers: map[*viewer]struct{}{}, wake: make(chan struct{}, 1), pending: map[string]pendingQuestion{},
	}
	h.live.init()
	return h
}

// Observe takes an event of the engine. It never blocks.
func (h *Hub) Observe(e engine.Event) {
	h.live.observe(e)
	if e.Kind != engine.Staged {
		h.wakeSoon()
	}
}

// wakeSoon has the hub look for news soon.
func (h *Hub) wakeSoon() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// follow passes on news from the source until ctx ends.
func (h *Hub) follow(ctx context.Context, src source) {
	h.pumping.Lock()
	h.source = src
	h.pumping.Unlock()
	go h.run(ctx, src.poll)
}

// breath is the least time between two looks: what happens meanwhile is passed on together.
const breath = 40 * time.Millisecond

func (h *Hub) run(ctx context.Context, poll time.Duration) {
	defer h.close()
	for {
		var tick <-chan time.Time
		if h.watched() {
			tick = time.After(poll)
		}
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-tick:
		}
		if h.watched() {
			h.pump(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(breath):
		}
	}
}

func (h *Hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers) > 0
}

// batch is how many entries are passed on together.
const batch = 500

// pump gathers the news and passes them on.
func (h *Hub) pump(ctx context.Context) {
	h.pumping.Lock()
	defer h.pumping.Unlock()
	h.pumpEntries(ctx)
	h.pumpQuestions(ctx)
	h.pumpLive()
}

func (h *Hub) pumpEntries(ctx context.Context) {
	follower, ok := h.source.log.(audit.Follower)
	if !ok {
		return
	}
	for range 10 { // what is left comes with the next look
		entries, err := follower.After(ctx, h.last, batch)
		if err != nil || len(entries) == 0 {
			return // a log that cannot be read now is read again soon
		}
		h.last = entries[len(entries)-1].Seq
		h.broadcast(entriesMessage(entries), nil)
		if len(entries) < batch {
			return
		}
	}
}

// logEntry is one entry as pages get it: they put the rows together.
type logEntry struct {
	Seq  int64           `json:"seq"`
	Row  int64           `json:"row"`
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

func entriesMessage(entries []audit.Entry) []byte {
	list := make([]logEntry, len(entries))
	for i, e := range entries {
		list[i] = logEntry{e.Seq, e.Row, e.Kind.String(), e.Data}
	}
	return message("entries", entries[len(entries)-1].Seq, list)
}

// pendingQuestion is what a page knows of a question without opening it.
type pendingQuestion struct {
	ID      string `json:"id"`
	Call    string `json:"call"`
	Tool    string `json:"tool"`
	Title   string `json:"title"`
	Message string `json:"message"`
	// What is the question in one line, the gravest effect first; Where is who asks, and in which workspace.
	What    string     `json:"what"`
	Where   string     `json:"where,omitempty"`
	Kind    tongs.Kind `json:"kind"`
	Agents  []string   `json:"agents,omitempty"`
	Session string     `json:"session,omitempty"`
	Changes int        `json:"changes,omitempty"`
	Created time.Time  `json:"created"`
	Expires time.Time  `json:"expires"`
}

func summarized(q approval.Question) pendingQuestion {
	return pendingQuestion{
		What: question.What(&q), Where: question.Of(&q).Headline.Where(),
		ID: q.ID, Call: q.Call, Tool: q.Tool, Title: q.Title, Message: q.Message, Kind: q.Kind, Agents: q.Agents,
		Session: q.Session, Changes: q.ChangeCount, Created: q.Created, Expires: q.Expires,
	}
}

// endedQuestion is a question that is no longer pending, and who answered it.
type endedQuestion struct {
	ID     string           `json:"id"`
	State  approval.State   `json:"state"`
	Answer *approval.Answer `json:"answer,omitempty"`
}

// questionNews are the questions that wait, the newest first, and those that waited a moment ago.
type questionNews struct {
	Pending []pendingQuestion `json:"pending"`
	Ended   []endedQuestion   `json:"ended"`
}

// questionsEvery is how often the questions are looked at, at most.
const questionsEvery = 200 * time.Millisecond

func (h *Hub) pumpQuestions(ctx context.Context) {
	if time.Since(h.asked) < questionsEvery {
		return
	}
	h.asked = time.Now()
	list, err := h.source.questions.List(ctx, true)
	if err != nil {
		return // read again soon
	}
	news := questionNews{Pending: []pendingQuestion{}, Ended: []endedQuestion{}}
	now := make(map[string]pendingQuestion, len(list))
	changed := len(list) != len(h.pending)
	for _, q := range list {
		short, known := h.pending[q.ID]
		if !known {
			short, changed = summarized(q), true
		}
		now[q.ID] = short
		news.Pending = append(news.Pending, short)
	}
	for id := range h.pending {
		if _, still := now[id]; still {
			continue
		}
		changed = true
		if q, err := h.source.questions.Get(ctx, id); err == nil {
			news.Ended = append(news.Ended, endedQuestion{ID: id, State: q.StateAt(time.Now()), Answer: shortAnswer(q.Answer)})
		}
	}
	h.pending = now
	if changed {
		h.broadcast(message("questions", 0, news), nil)
	}
}

// shortAnswer is an answer without the arguments.
func shortAnswer(a *approval.Answer) *approval.Answer {
	if a == nil {
		return nil
	}
	return &approval.Answer{Approved: a.Approved, Scope: a.Scope, Reason: a.Reason, Channel: a.Channel, By: a.By, At: a.At}
}

// pumpLive passes on what running calls print and report.
func (h *Hub) pumpLive() {
	open := map[string]bool{}
	h.mu.Lock()
	for v := range h.viewers {
		if v.call != "" {
			open[v.call] = true
		}
	}
	h.mu.Unlock()
	progress, outputs := h.live.newOutput(open)
	if len(progress) > 0 {
		h.broadcast(message("progress", 0, progress), nil)
	}
	for _, out := range outputs {
		h.broadcast(message("output", 0, out), func(v *viewer) bool { return v.call == out.Call })
	}
}

// broadcast hands a message to the viewers that want it.
func (h *Hub) broadcast(m []byte, wants func(*viewer) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range h.viewers {
		if wants == nil || wants(v) {
			if !v.offer(m) {
				h.dropped++
			}
		}
	}
}

func (h *Hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for v := range h.viewers {
		v.end()
	}
}

// askAgain has the questions looked at with the next news.
func (h *Hub) askAgain() {
	h.pumping.Lock()
	h.asked = time.Time{}
	h.pumping.Unlock()
	h.wakeSoon()
}

// counts are for /metrics.
func (h *Hub) counts() (viewers int, dropped int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers), h.dropped
}
