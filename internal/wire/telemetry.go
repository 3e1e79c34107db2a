package wire

import (
	"context"
	"os"
	"time"

	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/telemetry"
)

// flushTime is how long the end of a command waits for a collector.
const flushTime = 2 * time.Second

// addTelemetry has calls traced where the environment names a collector. What is wrong with that stops no call.
func (s *System) addTelemetry(opt *engine.Options) {
	set, err := telemetry.FromEnv(os.Getenv, s.host.Version)
	if err != nil {
		s.host.warn("no telemetry is sent: " + err.Error())
		return
	}
	if s.telemetry = telemetry.New(set); s.telemetry == nil {
		return
	}
	watch := opt.Observe
	opt.Observe = func(e engine.Event) {
		s.telemetry.Observe(e)
		if watch != nil {
			watch(e)
		}
	}
}

// endTelemetry sends what is left.
func (s *System) endTelemetry() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	_ = s.telemetry.Close(ctx) // nobody can do anything about it here
}
