package live

import (
	"context"
	"time"
)

// SetSettle sets how old a change must be to be told from the next one, for a file system that is known.
func (s *Service) SetSettle(d time.Duration) { s.settle = d }

// Reindex indexes what is searched directly, now.
func (s *Service) Reindex(ctx context.Context, top string) error {
	return s.root(top).reindex(ctx, true)
}

// Sweep looks at every file, now.
func (s *Service) Sweep(ctx context.Context, top string) error {
	r := s.root(top)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refresh(ctx, true)
}

// Sweeps returns how often every file was looked at.
func (s *Service) Sweeps(top string) int {
	r := s.root(top)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sweeps
}

// BecomeStrict gives up watching, as when watches are used up.
func (s *Service) BecomeStrict(top string) {
	r := s.root(top)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.becomeStrict("a test wants it")
}

// Expire lets it seem that nobody asked for a root for a long time, and waits until it was dropped.
func (s *Service) Expire(top string) {
	r := s.root(top)
	r.used.Store(0)
	r.wake <- struct{}{}
	<-r.ctx.Done()
}
