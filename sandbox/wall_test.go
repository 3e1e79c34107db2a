package sandbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The time limit stands still while anybody holds it, and goes on with what was left.
func TestTimeLimitIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		over := make(chan time.Duration, 1)
		w := startWall(10*time.Second, func() { over <- time.Since(begun) })
		ctx := context.WithValue(t.Context(), wallKey{}, w)
		time.Sleep(4 * time.Second)
		first, second := Hold(ctx), Hold(ctx)
		time.Sleep(time.Minute)
		first()
		first() // once counts
		time.Sleep(time.Minute)
		second()
		if got := <-over; got != 2*time.Minute+10*time.Second {
			t.Errorf("over after %s", got)
		}
		Hold(ctx)() // it is over: nothing happens
	})
}

// Who still holds the time of a command that ended cannot start it again.
func TestHeldTimeOfACommandThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := false
		w := startWall(time.Second, func() { over = true })
		release := w.hold()
		w.stop()
		release()
		time.Sleep(time.Minute)
		if over {
			t.Error("the time limit of a command that ended was met")
		}
		Hold(t.Context())() // no limit at all
	})
}
