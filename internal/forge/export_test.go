package forge

import "time"

// Settle sets how old a change must be before its time counts, for tests that cannot wait.
func (s *Set) Settle(d time.Duration) { s.settles = d }

// Watching reports whether changes are heard of rather than looked for.
func (s *Set) Watching() bool {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	return s.watch != nil
}
