package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/question"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// watcher shows each pending question once.
type watcher struct {
	*Printer
	*terminal.Asker
	store  approval.Store
	format string
	seen   map[string]bool
	// attended reports whether a call waits for the answer to a question.
	attended func(id string) bool
	began    time.Time
	told     bool
}

// Watch shows questions as they arrive and has a person answer them, until ctx ends. Of those that no call waited for any more when it
// began it shows only the number.
func (p *Printer) Watch(
	ctx context.Context, ask *terminal.Asker, store approval.Store, format string, attended func(id string) bool,
) error {
	ask.Abandoned = func(id string) bool { return !attended(id) }
	w := watcher{
		Printer: p, Asker: ask, store: store, format: format, seen: map[string]bool{}, attended: attended, began: time.Now(),
	}
	return w.run(ctx)
}

// watchEvery is how often the store is looked at.
const watchEvery = 300 * time.Millisecond

func (w *watcher) run(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	if w.format == "text" {
		fmt.Fprintln(w.Err, "Watching for questions; Ctrl-C ends.")
	}
	for {
		questions, err := w.store.List(ctx, true)
		if err != nil && ctx.Err() == nil {
			return err
		}
		left := 0
		for i := len(questions) - 1; i >= 0; i-- { // the oldest first
			q := questions[i]
			if w.seen[q.ID] {
				continue
			}
			if w.format == "text" && q.Created.Before(w.began) && !w.attended(q.ID) { // its client is gone, or gave up
				if !w.told {
					left++
				}
				continue
			}
			w.seen[q.ID] = true
			if err := w.one(ctx, q); err != nil {
				return err
			}
		}
		if w.told = true; left > 0 {
			fmt.Fprintf(w.Err, "No call waits any more for %s; see 'tongs approvals list'.\n", terminal.Plural(left, "older question"))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (w *watcher) one(ctx context.Context, q approval.Question) error {
	if w.format == "json" {
		return w.JSON(q)
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // somebody else may answer first
		_, _ = w.store.Wait(asking, q.ID)
		stop()
	}()
	answer, err := w.Ask(asking, q)
	switch {
	case ctx.Err() != nil || errors.Is(err, terminal.ErrCancelled):
		return nil
	case err != nil && asking.Err() == nil:
		return err
	case err == nil && answer == nil: // no terminal
		_, err := fmt.Fprintf(w.Out, "%s  %s\n", terminal.Clean(q.ID), question.Summary(&q))
		return err
	case answer != nil:
		if err := w.store.Answer(ctx, q.ID, *answer); err != nil {
			fmt.Fprintf(w.Err, "tongs: %s\n", terminal.Clean(err.Error()))
		} else if !w.attended(q.ID) {
			fmt.Fprintln(w.Err, "Its call no longer waited for the answer.")
		}
	}
	return nil
}
