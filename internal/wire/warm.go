package wire

import (
	"context"
	"time"
)

// warmAfter is how long a program lives before it compiles anything beforehand: one that is asked a single thing does not.
const warmAfter = 3 * time.Second

// startWarming compiles the standard library beforehand, in the background, and returns what ends that.
func (s *System) startWarming() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-time.After(warmAfter):
		case <-ctx.Done():
			return
		}
		if err := s.Confined.Warm(ctx); err != nil && ctx.Err() == nil && s.host.Warn != nil {
			s.host.Warn(err.Error())
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
