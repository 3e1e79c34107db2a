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
