package engine

import (
	"context"
	"errors"

	"github.com/tongs-ai/tongs"
)

// maxNeeds is how often a running tool may meet something that nobody decided.
const maxNeeds = 4

// run is the walk. Every call from every surface takes it, whole; a new stage is a line here and a method of walk.
// Every early return passes close, which writes how the call ended.
func (e *Engine) run(ctx context.Context, c *caller, call *tongs.Call) (res *tongs.Result) {
	w := e.walk(c, call)
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
		edited, err := w.ask(ctx)
		if err != nil {
			return failure(ctx, err)
		}
		if edited { // a person approved other arguments: they walk like any others
			continue
		}
		result, err := w.execute(ctx)
		need, undecided := errors.AsType[*tongs.Need](err)
		if !undecided {
			return w.fit(result, err)
		}
		if needs++; needs > maxNeeds {
			return failure(ctx, needError(need))
		}
		w.add(need) // the only way back
	}
}

// failure is the result of a call that a stage stopped. Where the caller gave up, that is why.
func failure(ctx context.Context, err error) *tongs.Result {
	if ctx.Err() != nil && tongs.CodeOf(err) == tongs.CodeInternal {
		err = ended(ctx, 0)
	}
	return tongs.Failure(err)
}

// needError is what a call ends with that met something undecided once too often.
func needError(need *tongs.Need) error {
	code := tongs.CodePermissionDenied
	for _, e := range need.Effects {
		if e.Version != "" {
			code = tongs.CodeStaleFile
		}
	}
	return tongs.Errorf(code, "gave up after %d attempts: %s; try again when it is quiet", maxNeeds+1, need.Reason)
}
