package state

import "sync"

// bell wakes those in this process who wait for a question.
type bell struct {
	mu   sync.Mutex
	ring chan struct{}
}

// nextRing returns a channel that is closed at the next ring.
func (b *bell) nextRing() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil {
		b.ring = make(chan struct{})
	}
	return b.ring
}

// ringBell wakes everybody who heard before.
func (b *bell) ringBell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring != nil {
		close(b.ring)
		b.ring = nil
	}
}
