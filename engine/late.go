package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// Late keeps changes of programs that nobody decided before the call ended, until somebody does. Whoever approves the question makes
// them as they were shown; the call does not run again. It is safe for concurrent use, and across processes.
type Late interface {
	// Park keeps changes for a pending question. Where it fails, they are dropped. An answer that came meanwhile is
	// approval.ErrAnswered.
	Park(ctx context.Context, p approval.Parked) error
	// Find returns the newest that is kept for calls with a key, of the session itself or of one that is gone; nil where there
	// is none.
	Find(ctx context.Context, key, session string) (*approval.Parked, error)
	// Settle makes the changes of a question that was approved, once, and drops those of one that was refused or is over.
	// It returns where they stand then: Waiting where there is no answer yet, and nil where none are kept.
	Settle(ctx context.Context, question string) (*approval.Parked, error)
	// Reclaim forgets what is kept for a question that nobody carried out yet, for the call itself, which does so. Otherwise it
	// returns what became of it; nil where nothing was kept.
	Reclaim(ctx context.Context, question string) (*approval.Parked, error)
	// Take forgets what is kept for a question. Only one caller is told that it was there.
	Take(ctx context.Context, question string) (bool, error)
}

// Parcel names changes that an Outcome keeps for later, and what they must be like.
type Parcel struct{ ID, Digest string }

// maxRecorded is the size of a result that is kept for an identical call.
const maxRecorded = 4 << 20

// callKey identifies the call as its caller made it. The parts of the roots that it may touch are part of it, since whoever makes
// it again is told what it returned.
func (d *decision) callKey() string {
	owner := "session " + d.call.Session
	if d.call.Client != "" {
		owner = "client " + d.call.Client
	}
	for _, z := range d.caller.zones() {
		owner += fmt.Sprintf("\n%q %t", z.Path.String(), z.Writable)
	}
	return approval.CallKey(approval.Subject{
		Tool: d.spec.Name, Source: d.spec.Source, Args: d.call.Args, Roots: d.engine.roots, Dir: d.dir.String(), Agents: d.call.Agents,
	}, owner)
}

// join finds out whether an identical call left changes that nobody decided in time. If they wait, so does this call, and does not
// run; if they were made, it returns what that call returned. It returns nil where the call is one like any other.
func (w *walk) join(ctx context.Context) (*tongs.Result, error) {
	d, late := &w.decision, w.engine.opt.Late
	runs := slices.ContainsFunc(d.effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute })
	if late == nil || !runs || w.key != "" || w.call.DryRun {
		return nil, nil
	}
	w.key = d.callKey()
	p, err := late.Find(ctx, w.key, w.call.Session)
	if err != nil || p == nil {
		return nil, err
	}
	return w.joinParked(ctx, p)
}

// joinParked is join with changes that an identical call left.
func (w *walk) joinParked(ctx context.Context, p *approval.Parked) (res *tongs.Result, err error) {
	defer w.stage("join")(&err)
	if !p.State.Final() {
		if p, err = w.await(ctx, p); err != nil {
			return nil, err
		}
	}
	return w.recorded(ctx, p)
}

// await waits for the answer about changes that an identical call left.
func (w *walk) await(ctx context.Context, p *approval.Parked) (*approval.Parked, error) {
	d := &w.decision
	d.question = p.Question
	began := time.Now()
	defer func() { d.waited += time.Since(began) }()
	d.sink.update(tongs.Update{Title: "waiting for approval", Waiting: p.Question})
	if _, err := w.engine.opt.Approval.Join(ctx, p.Question, d.info()); err != nil {
		if tongs.CodeOf(err) == tongs.CodeApprovalRequired {
			err = waits(err)
		}
		return nil, d.refuse(err)
	}
	return w.engine.opt.Late.Settle(ctx, p.Question)
}

// recorded returns what an identical call left, once; nil has the call run.
func (w *walk) recorded(ctx context.Context, p *approval.Parked) (*tongs.Result, error) {
	if p == nil {
		return nil, nil
	}
	if !p.State.Final() {
		return nil, tongs.Errorf(tongs.CodeApprovalRequired, "the changes of question %s still wait; make the same call again", p.Question)
	}
	if taken, err := w.engine.opt.Late.Take(ctx, p.Question); err != nil || !taken {
		return nil, err
	}
	d := &w.decision
	switch p.State {
	case approval.Denied:
		d.question, d.answered = p.Question, p.By
		return nil, d.refuse(dropped(denied(&approval.Answer{Reason: p.Why})))
	case approval.Stale:
		w.again = "a person approved the changes of an earlier run, and they were not made: " + p.Why
		d.notes = append(slices.Clip(d.notes), w.again)
		return nil, nil
	case approval.Made:
	default:
		return nil, nil
	}
	var res tongs.Result
	if err := json.Unmarshal(p.Result, &res); err != nil {
		return nil, fmt.Errorf("the result of the call whose changes were approved cannot be read: %w", err)
	}
	d.question, d.answered = p.Question, p.By
	d.verdict.By = "question " + p.Question + " was approved, and its changes were made"
	if err := d.intent(d.effects); err != nil {
		return nil, err
	}
	w.settled = &tongs.Settled{Changes: p.Changed}
	res.SetMeta("recorded", map[string]string{"question": p.Question, "call": p.Call})
	return w.fit(&res, nil), nil
}

// outdated finds out whether somebody approved the same call in another state, and says why it asks again.
func (d *decision) outdated(ctx context.Context, q *approval.Question) error {
	store := d.engine.opt.Approval.Store
	if store == nil {
		return nil
	}
	old, ok, err := store.Outdated(ctx, q.Key, q.Digest)
	if err != nil || !ok {
		return err
	}
	why := "it would do something else by now"
	for _, e := range d.effects {
		changed := func(was tongs.Effect) bool { return was.SameTarget(e) && was.Version != e.Version }
		if e.Kind.OnPath() && slices.ContainsFunc(old.Effects, changed) {
			why = e.Path.String() + " changed since"
			break
		}
	}
	d.again = fmt.Sprintf("a person approved this call (question %s), and it asks again: %s", old.ID, why)
	q.Notes = append(q.Notes, d.again)
	return nil
}

// park keeps what programs did on the copy for a question that nobody answered while the call waited. Required is the error
// that says so. Where somebody answered meanwhile it returns that.
func (d *decision) park(ctx context.Context, o Outcome, q *approval.Question, required error) (*approval.Answer, error) {
	id, expires := waitingQuestion(required)
	var err error
	if id == "" || id != d.early {
		err = d.keepFor(ctx, o, id, expires)
	}
	switch {
	case err == nil:
		d.waiting = true
		return nil, waits(required)
	case errors.Is(err, approval.ErrAnswered):
		earlier, err := d.engine.opt.Approval.Redeem(ctx, q.Digest, id)
		if err == nil && earlier != nil {
			d.question = earlier.ID
			return d.allowed(*q, earlier.Answer)
		}
		return nil, exactly(dropped(cmp.Or(err, required)))
	}
	return nil, exactly(dropped(required))
}

// keepFor keeps what programs did on the copy, with all that is needed to make it without them, for a question.
func (d *decision) keepFor(ctx context.Context, o Outcome, question string, expires time.Time) error {
	late, returned := d.engine.opt.Late, d.returned
	if late == nil || returned == nil || question == "" || d.key == "" {
		return errors.New("the call leaves nothing that could be kept")
	}
	whole := returned()
	d.tellEdited(whole)
	result, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	if len(result) > maxRecorded {
		return errors.New("the result is too large to be kept")
	}
	grounds, err := d.groundsOfCall()
	if err != nil {
		return err
	}
	var grant json.RawMessage
	if g := d.recordedGrant(); g != nil {
		if grant, err = json.Marshal(g); err != nil {
			return err
		}
	}
	parcel, err := o.Park(ctx, expires)
	if err != nil {
		return err
	}
	return late.Park(ctx, approval.Parked{
		Question: question, Key: d.key, Session: d.call.Session, Parcel: parcel.ID, Digest: parcel.Digest, Grounds: grounds,
		Grant: grant, Result: result, Expires: expires,
	})
}

// The bounds of what is kept already while somebody is asked: reading more would hold up the question.
const maxEarlyPaths, maxEarlyBytes = 1000, 16 << 20

// keepEarly has what programs did kept as soon as somebody is asked, so that an answer counts although this process was killed while it
// waited. While it waits, it carries out the answer itself, from the copy.
func (d *decision) keepEarly(o Outcome, q *approval.Question, changes []tongs.Change) {
	size := int64(0)
	for _, c := range changes {
		size += c.After
	}
	if d.engine.opt.Late == nil || len(changes) > maxEarlyPaths || size > maxEarlyBytes {
		return
	}
	q.Opened = func(ctx context.Context, opened approval.Question) {
		if d.early = ""; d.keepFor(ctx, o, opened.ID, opened.Expires) == nil {
			d.early = opened.ID
		}
	}
	q.Answered = func(ctx context.Context, answered approval.Question) (bool, error) {
		p, err := d.reclaim(ctx)
		d.carriedOut = p
		return p != nil, err
	}
}

// reclaim takes back what is kept for the question that was asked. It returns what became of it where somebody carried out the answer.
func (d *decision) reclaim(ctx context.Context) (*approval.Parked, error) {
	question := d.early
	if d.early = ""; question == "" {
		return nil, nil
	}
	p, err := d.engine.opt.Late.Reclaim(ctx, question)
	if err == nil && p != nil {
		_, err = d.engine.opt.Late.Take(ctx, question)
	}
	return p, err
}

// giveUp takes back what is kept for a question that the call no longer waits for, and returns the error of the call. It tells of the
// changes where somebody made them meanwhile.
func (d *decision) giveUp(err error) error {
	p, failed := d.reclaim(d.always)
	switch e, ok := errors.AsType[*tongs.Error](err); {
	case failed != nil && ok:
		e.Message += "; whether its changes were kept is not known: " + failed.Error()
		return err
	case failed != nil:
		return errors.Join(err, failed)
	case p != nil && p.State == approval.Made:
		d.made = p.Changed
		return err
	}
	return dropped(err)
}

// waitingQuestion is the question that an APPROVAL_REQUIRED is about, and when it expires.
func waitingQuestion(err error) (id string, expires time.Time) {
	e, ok := errors.AsType[*tongs.Error](err)
	if !ok {
		return "", expires
	}
	id, _ = e.Details["question"].(string)
	expires, _ = e.Details["expires"].(time.Time)
	return id, expires
}

// waits says that an approval makes the changes as they are.
func waits(err error) error {
	if e, ok := err.(*tongs.Error); ok {
		e.Message = strings.TrimSuffix(e.Message, ".") + ". Its changes wait: an approval makes them exactly as they were shown, without " +
			"running it again, and the same call then returns this result"
	}
	return err
}
