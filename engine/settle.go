package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// Programs runs the programs of one run of a tool. The tool has it as its Commands, and the engine asks it in the end what
// they did.
type Programs interface {
	tongs.Commands
	// End ends the programs that are still in the foreground, starts no more, and returns what all of them did; nil where
	// there is nothing to decide or to tell. It is called once, when the tool has returned or was left behind and the permit
	// is dead. On an error, and where ctx ended, nothing that they did on a copy is kept.
	End(ctx context.Context) (Outcome, error)
}

// Outcome is what the programs of a run did, once they are gone. Nothing of it is kept unless Keep is told so. It is for one
// goroutine.
type Outcome interface {
	// Changes are what is to be decided, with notes that a person should know besides. Those that have Held set were made
	// directly and taken away; all others are on one copy. The engine sets Protected, and in Held why one is not kept.
	Changes(ctx context.Context) (changes []tongs.Change, notes []string, err error)
	// Identify sets the versions of changes on the copy. It and Preview are called only when somebody is asked. Whole writes
	// all of what the preview begins, and is nil where the preview is all.
	Identify(ctx context.Context, changes []tongs.Change) error
	Preview(ctx context.Context, changes []tongs.Change) (text string, whole func(context.Context, io.Writer) error, err error)
	// Show has Settled tell what a dry run changed.
	Show(ctx context.Context) error
	// Keep makes changes: those of the copy all together or not at all, and held names each in its place.
	Keep(ctx context.Context, keep []tongs.Change) error
	// Park keeps all changes of the copy until a time, for when somebody decides. The parcel is all that gets them back.
	Park(ctx context.Context, until time.Time) (Parcel, error)
	// Drop drops everything that was not kept; why is for names that nobody was asked about. It can be called more than once.
	Drop(why string)
	// Settled tells what became of it.
	Settled() *tongs.Settled
}

// settle decides what the programs of the run did, once the tool is done and they are gone. What they did on a copy is dropped
// where the call was cancelled or timed out, its tool failed unexpectedly, or it is to be run again. It takes what the tool
// returned, and returns the error of the call.
func (w *walk) settle(ctx context.Context, res *tongs.Result, err error) error {
	r := w.running
	if w.running = nil; r == nil {
		return err
	}
	w.settled = nil
	defer func() { w.sent = append(w.sent, r.changed...) }()
	o, refused := r.programs.End(ctx)
	if o == nil {
		return cmp.Or(refused, err)
	}
	defer o.Drop("the call failed")
	failed := err
	if err == nil && res != nil && res.Error != nil {
		failed = res.Error
	}
	_, again := errors.AsType[*tongs.Need](err)
	switch {
	case again:
		w.leaveHeld(o)
		return err
	case r.stopped:
		o.Drop("the call ended before anybody could be asked")
		if s := o.Settled(); failed == nil && s != nil && s.Changes != nil { // it says that it did what was dropped
			err = contextError(r.ctx, w.call.Timeout)
		}
	case refused == nil && (failed == nil || tongs.CodeOf(failed) != tongs.CodeInternal):
		if w.waiting = false; failed == nil || tongs.CodeOf(failed) != tongs.CodeTimeout {
			w.returned = func() *tongs.Result { return w.finished(res, err) }
		}
		refused = w.settleOutcome(ctx, o)
		w.returned = nil
	}
	o.Drop("the command failed, or what it did was declined")
	w.settled = o.Settled()
	if w.made != nil {
		if w.settled == nil {
			w.settled = &tongs.Settled{}
		}
		w.settled.Changes, w.made = w.made, nil
	}
	if w.waiting && w.settled != nil && w.settled.Changes != nil {
		c := w.settled.Changes
		c.Waiting, c.Dropped = c.Dropped, ""
	}
	if failed != nil && tongs.CodeOf(failed) == tongs.CodeTimeout {
		return err // that it took too long is said first
	}
	return cmp.Or(refused, err)
}

// whyAgain is why names stay held that a run made which is repeated.
const whyAgain = "the call was run again before anybody was asked"

// leaveHeld remembers the names that stay held after a run that is repeated, so that the result tells of them.
func (w *walk) leaveHeld(o Outcome) {
	o.Drop(whyAgain)
	if s := o.Settled(); s != nil {
		for _, h := range s.Held {
			if h.Why == whyAgain { // about the others somebody was told
				w.held = append(w.held, h)
			}
		}
	}
}

// settleOutcome decides the changes on the copy and, if they are not refused, the names that were made directly.
func (w *walk) settleOutcome(ctx context.Context, o Outcome) (err error) {
	defer w.stage("settle")(&err)
	defer func() {
		if err != nil && ctx.Err() != nil && tongs.CodeOf(err) == tongs.CodeInternal {
			err = contextError(ctx, 0)
		}
	}()
	if w.call.DryRun {
		return o.Show(ctx)
	}
	changes, notes, err := o.Changes(ctx)
	if err != nil {
		return err
	}
	var made, planted []tongs.Change
	for _, c := range changes {
		if c.Held != nil {
			planted = append(planted, c)
		} else {
			made = append(made, c)
		}
	}
	if err := w.keepChanges(ctx, o, made, notes); err != nil || len(planted) == 0 {
		return err
	}
	return w.settlePlanted(ctx, o, planted)
}

// keepChanges decides what programs did to a copy, and keeps it. What was free since it could be undone, and turns out not to
// be, is decided again.
func (w *walk) keepChanges(ctx context.Context, o Outcome, made []tongs.Change, notes []string) error {
	for range maxNeeds {
		keep, err := w.decideChanges(ctx, o, made, notes)
		if err == nil && len(keep) > 0 {
			err = o.Keep(ctx, keep)
		}
		need, again := errors.AsType[*tongs.Need](err)
		if !again {
			return err
		}
		w.unkept = append(w.unkept, need.Effects...)
		w.decision.notes = append(slices.Clip(w.decision.notes), need.Reason)
	}
	return dropped(tongs.Errorf(tongs.CodeStaleFile, "gave up after %d attempts to keep the changes", maxNeeds))
}

// decideChanges decides what programs did to a copy, and returns what of it is kept.
func (w *walk) decideChanges(ctx context.Context, o Outcome, changes []tongs.Change, notes []string) (keep []tongs.Change, err error) {
	if len(changes) == 0 {
		return nil, nil
	}
	d := w.decision
	asked, shown, err := d.judgeChanges(ctx, changes)
	d.effects = shown
	switch {
	case err != nil:
		return nil, d.refuse(err)
	case !asked:
		return changes, d.intent(shown)
	}
	if err := o.Identify(ctx, changes); err != nil {
		return nil, err
	}
	d.plan = &tongs.Plan{Message: w.decision.plan.Message}
	d.plan.Preview = func(ctx context.Context) (text string, err error) {
		text, d.plan.Whole, err = o.Preview(ctx, changes)
		return text, err
	}
	d.verdict.Rememberable = false
	q := d.newOutcomeQuestion(changes, notes)
	d.keepEarly(o, &q, changes)
	answer, err := d.answer(ctx, q)
	if tongs.CodeOf(err) == tongs.CodeApprovalRequired {
		answer, err = d.park(ctx, o, &q, err)
	} else if err != nil {
		err = d.giveUp(err)
	}
	if err != nil {
		return nil, d.refuse(err)
	}
	d.answered = strings.TrimSuffix(answer.Channel+":"+answer.By, ":")
	w.decision.answered = d.answered
	switch p := d.carriedOut; {
	case !answer.Approved:
		return nil, d.refuse(dropped(denied(answer)))
	case p != nil && p.State != approval.Made:
		return nil, d.refuse(dropped(tongs.Errorf(tongs.CodeStaleFile, "a person approved the changes, and they were not made: %s", p.Why)))
	case p != nil:
		w.made = p.Changed
		return nil, d.intent(shown)
	}
	if err := d.rememberRecorded(ctx, answer); err != nil {
		return nil, err
	}
	return kept(changes, answer.Keep), d.intent(shown)
}

// settlePlanted decides protected names that programs made where there were none, all of them in one question. Those that are
// refused stay held, and the call goes on.
func (w *walk) settlePlanted(ctx context.Context, o Outcome, planted []tongs.Change) error {
	more := tongs.More{Reason: "the command made protected names where there were none; they are held until you decide"}
	for _, c := range planted {
		more.Effects = append(more.Effects, tongs.Effect{
			Kind: tongs.EffectWrite, Path: c.Path, Version: c.Version, MustAsk: c.Protected != "", Steers: c.Protected == "",
			Why: "a command made it where there was none",
		})
	}
	more.Preview = func(ctx context.Context) (string, error) {
		text, _, err := o.Preview(ctx, planted)
		return text, err
	}
	_, err := w.extend(ctx, more)
	if err == nil {
		return o.Keep(ctx, planted)
	}
	for _, c := range planted {
		c.Held.Why = err.Error()
		if e, ok := err.(*tongs.Error); ok {
			c.Held.Question, _ = e.Details["question"].(string)
		}
	}
	return nil
}

// dropPrograms drops what programs did in a run that ended unexpectedly.
func (w *walk) dropPrograms() {
	if r := w.running; r != nil && r.programs != nil {
		w.running = nil
		if o, _ := r.programs.End(w.always); o != nil {
			o.Drop("the call failed")
		}
	}
}

// tellSettled adds to a result what became of what the programs of the call did.
func (w *walk) tellSettled(res *tongs.Result) {
	if len(w.held) > 0 {
		all := tongs.Settled{}
		if w.settled != nil {
			all = *w.settled
		}
		all.Held = append(slices.Clip(w.held), all.Held...)
		w.settled = &all
	}
	if w.settled == nil {
		return
	}
	notes := programoutput.Settled(w.settled)
	if len(notes) > 0 {
		res.Content = programoutput.Remark(res.Content, notes...)
		if res.Display != "" {
			res.Display = programoutput.Remark(res.Display, notes...)
		}
	}
	res.SetMeta("settled", w.settled)
}
