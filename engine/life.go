package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// life is a context that ends when it is told to. It is what context.WithCancel returns, but a part of the run that it is
// for: nearly no run has anybody wait for its channel, and making one more context was a twentieth of running a tool.
type life struct {
	context.Context // has the values, and does not end
	over            atomic.Bool

	mu   sync.Mutex
	done chan struct{} // nil until somebody wants it
}

// end ends it. It can be called more than once.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over.Swap(true) && l.done != nil {
		close(l.done)
	}
}

// Err implements context.Context.
func (l *life) Err() error {
	if l.over.Load() {
		return context.Canceled
	}
	return nil
}

// Done implements context.Context.
func (l *life) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.over.Load() {
			close(l.done)
		}
	}
	return l.done
}
