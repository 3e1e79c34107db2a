package sandbox

import (
	"context"
	"sync"
	"time"
)

// wall is the time limit of a command. It stands still while somebody holds it. A nil one is no limit.
type wall struct {
	mu    sync.Mutex
	timer *time.Timer
	ends  time.Time
	left  time.Duration
	holds int
	over  bool
}

// startWall calls f once d has passed.
func startWall(d time.Duration, f func()) *wall {
	return &wall{timer: time.AfterFunc(d, f), ends: time.Now().Add(d)}
}

// stop ends it: nothing is called any more, whoever still holds it.
func (w *wall) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

// hold stops the time until what it returns is called, by everybody who held it.
func (w *wall) hold() (release func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds == 0 {
		if !w.timer.Stop() {
			return func() {} // it is over
		}
		w.left = time.Until(w.ends)
	}
	w.holds++
	return sync.OnceFunc(w.release)
}

func (w *wall) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds--; w.holds == 0 && !w.over {
		w.ends = time.Now().Add(w.left)
		w.timer.Reset(w.left)
	}
}

type wallKey struct{}

// Hold stops the time limit of the command that a connection comes from, until what it returns is called: a person is asked, and
// how long that takes is not for the command to answer for. The context is that of Network.Serve, or made from it.
func Hold(ctx context.Context) (release func()) {
	w, _ := ctx.Value(wallKey{}).(*wall)
	return w.hold()
}
