package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/stack"
)

// errTimeout is why a call ends whose time is over. To tools it is a deadline like any other.
var errTimeout = fmt.Errorf("time-out of the call: %w", context.DeadlineExceeded)

// errNoReturn is what comes of a tool that ended its goroutine.
var errNoReturn = errors.New("the tool ended without returning")

// run calls the tool with what was decided, and nothing else. A tool that does not return when it is cancelled is
// left behind, with an Env that is dead.
func (w *walk) run(ctx context.Context) (res *tongs.Result, err error) {
	defer w.stage("run")(&err)
	if ctx.Err() != nil {
		return nil, contextError(ctx, 0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &running{walk: w, ctx: ctx, life: life{Context: w.always}}
	defer r.life.end()
	if w.call.Timeout > 0 {
		r.timer = startTimer(w.call.Timeout, func() { cancel(errTimeout) })
		defer r.timer.stop()
	}
	w.running = r
	env := w.env(r)
	call := w.toolCall()
	began, waited := time.Now(), w.waited
	res, err = await(ctx, w.engine.opt.Grace, func() (res *tongs.Result, err error) {
		defer w.guard("running", &err)
		return w.tool.Call(ctx, env, call)
	})
	r.stopped = ctx.Err() != nil
	if r.stopped && res == nil && (err == nil || tongs.CodeOf(err) == tongs.CodeInternal) {
		err = contextError(ctx, w.call.Timeout)
	}
	cancel(nil)
	r.life.end()
	r.changed = r.ended()
	w.ran += time.Since(began) - (w.waited - waited)
	return res, err
}

// await runs code of a tool and returns what that returns. After ctx ended it waits for the grace only: what does not
// return then is left behind, with what it was given.
func await[T any](ctx context.Context, grace time.Duration, run func() (T, error)) (value T, err error) {
	type returned struct {
		value T
		err   error
	}
	done := make(chan returned, 1)
	go func() {
		r := returned{err: errNoReturn}
		defer func() { done <- r }()
		stack.Grow8(0)
		r.value, r.err = run()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-patience.C:
		return value, context.Cause(ctx)
	}
}

// contextError says why a context ended, as the caller should see it.
func contextError(ctx context.Context, timeout time.Duration) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTimeout):
		return tongs.Errorf(tongs.CodeTimeout, "timed out after %s", timeout)
	case errors.Is(cause, context.DeadlineExceeded):
		return tongs.Errorf(tongs.CodeTimeout, "the caller's deadline passed")
	default:
		return tongs.Errorf(tongs.CodeCancelled, "cancelled by the caller")
	}
}

// fit turns what the tool returned into the result: checked against its schema and marked with what the walk did to
// the call. Close bounds it, like every other result.
func (w *walk) fit(res *tongs.Result, err error) *tongs.Result {
	res = w.finished(res, err)
	w.tellSettled(res)
	if res.Error != nil {
		res.SetMeta("error", string(res.Error.Code))
		res.Content = strings.TrimSuffix(res.Error.Error()+"\n"+res.Content, "\n")
	}
	if len(w.repaired) > 0 {
		res.SetMeta("repaired", w.repaired)
	}
	if by := w.decision.answered; by != "" {
		res.SetMeta("approvedBy", by)
	}
	if res.Title == "" {
		res.Title = w.spec.DisplayName()
	}
	return res
}

// ownMetadata are the keys of metadata that this package and workers set: what runs elsewhere cannot.
var ownMetadata = []string{
	"approvedBy", "attachmentLeftOut", "auditError", "call", "edited", "observeError", "onResultError", "recorded", "repaired", "settled",
	"valueLeftOut", "worker",
}

// finished is what the tool returned, or a copy of it with the error that it failed with.
func (w *walk) finished(res *tongs.Result, err error) *tongs.Result {
	own := tongs.Result{}
	if res != nil {
		own = *res
		own.Metadata = maps.Clone(res.Metadata)
	}
	if !w.spec.Source.BuiltIn() && w.spec.Source.Kind != tongs.SourceWorker {
		maps.DeleteFunc(own.Metadata, func(key string, _ any) bool { return slices.Contains(ownMetadata, key) })
	}
	if err != nil {
		own.Error = tongs.Failure(err).Error
	}
	if own.Error == nil && len(own.Value) > 0 {
		if err := w.engine.validator.CheckOutput(w.spec, own.Value); err != nil {
			own.Error = tongs.Errorf(tongs.CodeInternal, "%s returned a value that does not fit its own schema: %w", w.spec.Name, err)
			own.Content, own.Value = "", nil
		}
	}
	if own.Content == "" {
		own.Content = w.streamed()
	}
	return &own
}

// streamed is the content of a result that left it to the streams.
func (w *walk) streamed() string {
	var parts []string
	for _, name := range []string{"stdout", "stderr"} {
		if s := w.streams[name]; s != nil && s.Size() > 0 {
			parts = append(parts, s.Excerpt())
		}
	}
	return strings.Join(parts, "\n")
}

// timer is a time-out that can be held while a person is asked.
type timer struct {
	t    *time.Timer
	ends time.Time
}

func startTimer(d time.Duration, f func()) *timer {
	return &timer{t: time.AfterFunc(d, f), ends: time.Now().Add(d)}
}

func (t *timer) stop() { t.t.Stop() }

// hold stops the time-out and returns what lets it go on.
func (t *timer) hold() (release func()) {
	if t == nil || !t.t.Stop() {
		return func() {}
	}
	left := time.Until(t.ends)
	return func() {
		t.ends = time.Now().Add(left)
		t.t.Reset(left)
	}
}
