package live

import (
	"context"
	"time"

	"github.com/tongs-ai/tongs/internal/search/index"
	"github.com/tongs-ai/tongs/internal/search/regex"
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

// UpToDate brings a root up to date, as for a search that began then.
func (s *Service) UpToDate(top string, asked time.Time) error {
	r := s.root(top)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.upToDate(asked)
}

// Narrowed returns of how many files a search reads only parts.
func (s *Service) Narrowed(ctx context.Context, t Tree, m *regex.Matcher) (n int) {
	q, usable := index.For(m)
	s.within(ctx, &t, func(r *root, d *dir) { n = len(r.candidates(r.view(ctx, d, &t), q, usable).known) })
	return n
}
