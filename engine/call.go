package engine

import (
	"context"
	"errors"

	"github.com/tongs-ai/tongs"
)

// maxNeeds is how often a running tool may meet something that nobody decided, before the call fails.
const maxNeeds = 4

// call is the walk: every call takes these stages in this order, wherever it comes from. A new stage is a line here and a
// method of walk. Every early return passes close, which writes how the call ended.
//
// There are two ways back to validate: a person edited the arguments, or the running tool met something undecided.
func (e *Engine) call(ctx context.Context, c *caller, call *tongs.Call) (res *tongs.Result) {
	w := e.newWalk(c, call)
	if err := w.open(ctx); err != nil {
		return tongs.Failure(err) // a call that leaves no trace does not run
	}
	defer func() { res = w.close(res, recover()) }()

	if err := w.lookup(ctx); err != nil {
		return failure(ctx, err)
	}
	for needs := 0; ; {
		if err := w.validate(); err != nil {
			return failure(ctx, err)
		}
		if err := w.makePlan(ctx); err != nil {
			return failure(ctx, err)
		}
		if err := w.decide(ctx); err != nil {
			return failure(ctx, err)
		}
		if left, err := w.join(ctx); err != nil {
			return failure(ctx, err)
		} else if left != nil { // a person approved what an identical call did
			return left
		}
		edited, err := w.ask(ctx)
		if err != nil {
			return failure(ctx, err)
		}
		if edited { // a person changed the arguments: decide about the new ones
			continue
		}
		result, err := w.run(ctx)
		err = w.settle(ctx, result, err)
		need, undecided := errors.AsType[*tongs.Need](err)
		if !undecided {
			return w.fit(result, err)
		}
		if needs++; needs > maxNeeds {
			return failure(ctx, needError(need))
		}
		w.addNeed(need) // plan again with what the tool met
	}
}

// failure is the result of a call that a stage stopped. An internal error after the caller cancelled is reported as cancelled.
func failure(ctx context.Context, err error) *tongs.Result {
	if ctx.Err() != nil && tongs.CodeOf(err) == tongs.CodeInternal {
		err = contextError(ctx, 0)
	}
	return tongs.Failure(err)
}

// needError is the failure of a call that met something undecided more than maxNeeds times.
func needError(need *tongs.Need) error {
	code, next := tongs.CodePermissionDenied, "split it into smaller calls"
	for _, e := range need.Effects {
		if e.Version != "" {
			code, next = tongs.CodeStaleFile, "try again when nothing else changes it"
		}
	}
	return tongs.Errorf(code, "gave up after %d attempts: %s; %s", maxNeeds+1, need.Reason, next)
}
