package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tongs-ai/tongs/model"
)

// How often and how long a turn is tried again.
const (
	maxAttempts = 8
	firstWait   = time.Second / 2
	longestWait = time.Minute
	// patience is how long a provider may have us wait.
	patience = 10 * time.Minute
)

// recover returns nil where the turn should be tried again, after it waited as long as it must, and otherwise why not.
func (x *run) recover(ctx context.Context, err error, attempt int) error {
	failed, told := errors.AsType[*model.Error](err)
	if ctx.Err() != nil || !told {
		return err
	}
	if failed.TooLong {
		if attempt > maxAttempts || !x.talk.shrink() {
			return fmt.Errorf("the conversation is too long for the model, and nothing is left to shorten: %w", err)
		}
		x.event(Event{Type: EventRetry, Text: "the conversation was too long; old results are shortened"})
		return nil
	}
	if !failed.Retry && !failed.Partial {
		return err
	}
	if attempt >= maxAttempts {
		return fmt.Errorf("gave up after %d attempts: %w", attempt, err)
	}
	wait := backOff(attempt)
	if failed.After > 0 {
		wait = failed.After
	}
	if wait > patience {
		return fmt.Errorf("the provider wants us to wait %s: %w", wait.Round(time.Second), err)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return fmt.Errorf("the provider wants us to wait %s, and the time limit is sooner: %w", wait.Round(time.Second), err)
	}
	x.event(Event{Type: EventRetry, Text: err.Error(), Wait: wait})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// backOff doubles from half a second to a minute, give or take a quarter, so that workers that failed together do not come
// back together.
func backOff(attempt int) time.Duration {
	wait := min(longestWait, firstWait<<min(attempt-1, 10))
	return wait*3/4 + rand.N(wait/2+1)
}
