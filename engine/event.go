package engine

import (
	"fmt"
	"time"

	"github.com/tongs-ai/tongs"
)

// EventKind says what an event tells.
type EventKind uint8

// The kinds of event. A call has one Opened, any number of Staged and Updated, and one Closed.
const (
	Opened  EventKind = iota + 1 // the call was written to the log
	Staged                       // a stage of the walk ended
	Updated                      // a sign of life of the running tool
	Closed                       // the call ended, and its row with it
)

// Event is something that happened to a call on its walk.
type Event struct {
	Kind EventKind
	// ID is that of the call.
	ID string
	// Call is the call as it is at that moment, nil for Updated. It must not be changed or kept.
	Call *tongs.Call
	// Stage is what ended, as docs/architecture.md names it: "lookup", "validate", "plan", "decide", "ask", "run", and
	// "settle" where programs did something. It began at Began and took Took; Err is why it stopped the call, or a *tongs.Need.
	Stage string
	Began time.Time
	Took  time.Duration
	Err   error
	// Update is what the tool told.
	Update tongs.Update
	// Result is what the call came to. It must not be changed or kept; what it points to may be.
	Result *tongs.Result
}

// tell passes an event on. An observer that panics ends neither the call nor the process.
func (w *walk) tell(e Event) {
	if w.engine.opt.Observe == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			w.unobserved.Store(fmt.Sprint(p))
		}
	}()
	e.ID = w.call.ID
	w.engine.opt.Observe(e)
}

// stage, called where a stage begins, returns what tells that it ended. Calls that are only judged are not told of.
func (w *walk) stage(name string) func(*error) {
	if w.engine.opt.Observe == nil || w.always == nil {
		return func(*error) {}
	}
	began := time.Now()
	return func(err *error) {
		w.tell(Event{Kind: Staged, Call: w.call, Stage: name, Began: began, Took: time.Since(began), Err: *err})
	}
}

// observed is the sink of a call: its caller's, and the observer.
func (w *walk) observed(send func(tongs.Update)) func(tongs.Update) {
	if w.engine.opt.Observe == nil {
		return send
	}
	return func(u tongs.Update) {
		w.tell(Event{Kind: Updated, Update: u})
		if send != nil {
			send(u)
		}
	}
}
