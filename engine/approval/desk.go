package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
)

// DefaultExpire is how long a question can be answered where the desk does not say.
const DefaultExpire = 24 * time.Hour

// Desk asks questions. Its fields are not to be changed once it is in use; it is safe for concurrent use.
type Desk struct {
	// Store keeps the questions. Without one every question is refused.
	Store Store
	// Channels show each question, all at once; the first answer counts, also one that another process gives.
	Channels []Channel
	// Callers show it to whoever made the call. What must be asked they cannot approve, unless CallersApprove is set.
	Callers []CallerChannel
	// CallersApprove lets whoever made a call approve also what must be asked. Only the user's own configuration, or the
	// administrator's, may set it.
	CallersApprove bool
	// Wait is how long a call waits for an answer from elsewhere while no channel shows its question. Zero does not
	// wait: without a channel the call fails at once with APPROVAL_REQUIRED.
	Wait time.Duration
	// Later asks nobody: each call that would ask fails at once with APPROVAL_REQUIRED, and its question is kept for a person
	// to answer later.
	Later bool
	// Expire is how long a question can be answered; 0 is DefaultExpire. An expired question counts as refused.
	Expire time.Duration
	// Hint says how a person answers the question with this ID, for the APPROVAL_REQUIRED error; nil names the tongs
	// command.
	Hint func(id string) string
	// Previews keeps what is too long to stand in a question; nil keeps none.
	Previews *Previews
	// Check says what is wrong with a line that an approval would remember; nil takes any. An engine sets it. An answer with a
	// line that it refuses is none: the question is asked again and says why.
	Check func(line string) error
	// Attend is told that a call waits for the answer to the question with this ID, until it calls what it gets; nil tells nobody.
	Attend func(id string) (leave func())
}

// Ask asks the question and returns it with its answer, taken: the identical call will have to ask again. Equal
// questions that are asked at the same time are shown as one; a refusal answers all of them, and so does an approval
// of a scope beyond once, while an approval of one call serves one, and the others ask again.
//
// Where nobody can be asked it fails with APPROVAL_REQUIRED and the question stays open: the identical call, made
// again, redeems a late answer. When ctx ends it fails with CANCELLED and takes the question back. Every other error
// is a fault, and not an approval.
func (d *Desk) Ask(ctx context.Context, q Question) (Question, error) {
	if d.Store == nil {
		return q, tongs.Errorf(tongs.CodeApprovalRequired, "%s needs a person's approval, and there is no store of questions to ask through", q.Tool)
	}
	if len(q.Scopes) == 0 {
		q.Scopes = []Scope{Once}
	}
	if d.CallersApprove {
		q.Elsewhere = false
	}
	for {
		now := time.Now()
		expire := d.Expire
		if expire <= 0 {
			expire = DefaultExpire
		}
		q.Created, q.Expires = now, now.Add(expire)
		opened, err := d.Store.Open(ctx, q)
		if err != nil {
			return q, cancelled(ctx, q.Tool, err)
		}
		opened.Elsewhere = opened.Elsewhere || q.Elsewhere // it may have joined one of another desk
		opened.Asker = q.Asker
		if d.Later {
			return opened, later(opened)
		}
		if q.Opened != nil {
			q.Opened(ctx, opened)
		}
		answered, err := d.await(ctx, opened)
		if err != nil {
			return opened, err
		}
		if q.Answered != nil {
			done, err := q.Answered(context.WithoutCancel(ctx), answered)
			if done || err != nil {
				answered, _ = unanswered(answered)
				return answered, err
			}
		}
		if answered, ok := unanswered(answered); ok {
			return answered, nil
		}
		taken, ok, err := d.Store.Redeem(context.WithoutCancel(ctx), answered.Digest, answered.ID)
		unread := d.unread(taken.Answer)
		switch {
		case err != nil:
			return answered, fmt.Errorf("the answer to question %s cannot be taken: %w", answered.ID, err)
		case ok && unread != nil:
			q.Notes = append(slices.Clone(q.Notes), unusable(unread))
			continue
		case ok:
			return taken, nil
		case shared(answered.Answer):
			return answered, nil
		}
		const note = "an identical call was approved a moment ago; this is one more"
		if !slices.Contains(q.Notes, note) {
			q.Notes = append(slices.Clone(q.Notes), note)
		}
	}
}

// unread says why what an answer would remember cannot be read, nil where it can.
func (d *Desk) unread(a *Answer) error {
	if a == nil || !a.Approved || d.Check == nil {
		return nil
	}
	for _, line := range a.Remember {
		if err := d.Check(line); err != nil {
			return fmt.Errorf("%w: the rule %w", ErrInvalid, err)
		}
	}
	return nil
}

// unusable tells a person who is asked again why.
func unusable(err error) string { return "the last answer could not be used: " + err.Error() }

// shared reports whether an answer holds for every call that asked.
func shared(a *Answer) bool { return !a.Approved || a.Scope != Once && len(a.Args) == 0 }

// unanswered turns a question that ended without an answer into a refused one.
func unanswered(q Question) (Question, bool) {
	if q.Answer != nil {
		return q, false
	}
	q.Answer = &Answer{Channel: string(Expired), At: q.Expires, Reason: "nobody answered in time"}
	if !q.Withdrawn.IsZero() {
		q.Answer = &Answer{Channel: string(Withdrawn), At: q.Withdrawn, Reason: "the question was withdrawn"}
	}
	return q, true
}

// reply is what a channel returned.
type reply struct {
	from   Channel
	tries  int
	answer *Answer
	caller bool
	err    error
}

// maxTries is how often a channel shows a question whose answers cannot be used.
const maxTries = 3

// asCaller makes a channel of one to the caller, for a moment: who answered is noted beside it.
type asCaller struct{ CallerChannel }

func (c asCaller) Ask(ctx context.Context, q Question) (*Answer, error) { return c.AskCaller(ctx, q) }

// await shows an open question and returns it when it is no longer pending.
func (d *Desk) await(ctx context.Context, q Question) (Question, error) {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	if d.Attend != nil {
		defer d.Attend(q.ID)()
	}
	showing := len(d.Channels) + len(d.Callers)
	replies := make(chan reply, showing)
	ask := func(c Channel, caller bool, q Question, tries int) {
		r := show(asking, c, q)
		r.from, r.caller, r.tries = c, caller, tries
		replies <- r
	}
	for _, c := range d.Channels {
		go ask(c, false, q, 1)
	}
	for _, c := range d.Callers {
		go ask(asCaller{c}, true, q, 1)
	}
	over := make(chan reply, 1)
	var ended Question
	go func() {
		var err error
		ended, err = d.Store.Wait(asking, q.ID)
		over <- reply{err: err}
	}()
	patience := time.NewTimer(d.Wait)
	defer patience.Stop()
	waited, answered := d.Wait <= 0, false
	var faults []error
	for {
		switch {
		case ctx.Err() != nil: // also where a channel gave up because its person ended the call
			return q, d.giveUp(ctx, q)
		case showing == 0 && waited && !answered:
			return q, d.required(q, faults)
		}
		select {
		case r := <-over:
			if ctx.Err() != nil {
				return q, d.giveUp(ctx, q)
			}
			if r.err != nil {
				return q, fmt.Errorf("the answer to question %s cannot be read: %w", q.ID, r.err)
			}
			stop()
			settle(replies, showing)
			return ended, nil
		case r := <-replies:
			showing--
			fault, err := d.take(ctx, q, r)
			if err != nil {
				return q, err
			}
			if fault != nil {
				faults = append(faults, fault)
			}
			if r.answer != nil && errors.Is(fault, ErrInvalid) && !errors.Is(fault, errOwnCall) && r.tries < maxTries {
				again := q
				again.Notes = append(slices.Clone(q.Notes), unusable(fault))
				showing++
				go ask(r.from, r.caller, again, r.tries+1)
			}
			answered = answered || r.answer != nil && fault == nil // Wait tells by whom
		case <-patience.C:
			waited = true
		case <-ctx.Done():
			return q, d.giveUp(ctx, q)
		}
	}
}

// grace is how long a channel has to take its question off the screen before the call goes on.
const grace = 250 * time.Millisecond

// settle waits until the channels that still show the question returned, but no longer than grace.
func settle(replies <-chan reply, showing int) {
	timeout := time.NewTimer(grace)
	defer timeout.Stop()
	for ; showing > 0; showing-- {
		select {
		case <-replies:
		case <-timeout.C:
			return
		}
	}
}

// show asks one channel. A panic is a fault of the channel, and no answer.
func show(ctx context.Context, c Channel, q Question) (r reply) {
	defer func() {
		if p := recover(); p != nil {
			r = reply{err: fmt.Errorf("the channel panicked: %v", p)}
		}
	}()
	answer, err := c.Ask(ctx, q)
	if err != nil {
		return reply{err: err}
	}
	return reply{answer: answer}
}

// take hands a channel's answer to the store. Fault is why it is no answer; err ends the asking.
func (d *Desk) take(ctx context.Context, q Question, r reply) (fault, err error) {
	if r.err != nil || r.answer == nil {
		return r.err, nil
	}
	a := *r.answer
	if a.ByCaller = r.caller; a.Approved && a.ByCaller && q.Elsewhere {
		return errOwnCall, nil
	}
	if err := d.unread(&a); err != nil {
		return err, nil
	}
	err = d.Store.Answer(ctx, q.ID, a)
	switch {
	case err == nil, errors.Is(err, ErrAnswered), errors.Is(err, ErrExpired), errors.Is(err, ErrWithdrawn), errors.Is(err, ErrNotMade):
		return nil, nil
	case errors.Is(err, ErrInvalid):
		return err, nil
	default:
		return nil, cancelled(ctx, q.Tool, fmt.Errorf("the answer to question %s cannot be kept: %w", q.ID, err))
	}
}

// giveUp takes the question back after ctx ended.
func (d *Desk) giveUp(ctx context.Context, q Question) error {
	why := cancelled(ctx, q.Tool, ctx.Err())
	if err := d.Store.Withdraw(context.WithoutCancel(ctx), q.ID); err != nil {
		return errors.Join(why, fmt.Errorf("question %s stays open: %w", q.ID, err))
	}
	return why
}

func cancelled(ctx context.Context, tool string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return tongs.Errorf(tongs.CodeCancelled, "the call of %s was cancelled while it waited for approval: %w", tool, err)
}

// required is the error of a call that no channel answered.
func (d *Desk) required(q Question, faults []error) error {
	hint := "Approve it with \"tongs approvals approve " + q.ID + "\", then make the same call again"
	if d.Hint != nil {
		hint = d.Hint(q.ID)
	}
	why := "needs a person's approval"
	if q.Elsewhere && len(d.Callers) > 0 {
		why = "must be approved by a person outside of the client that made the call"
	}
	err := tongs.Errorf(tongs.CodeApprovalRequired, "%s %s (question %s). %s.",
		q.Tool, why, q.ID, hint).With("question", q.ID).With("expires", q.Expires).With("hint", hint)
	if len(faults) > 0 {
		err = err.With("channels", errors.Join(faults...).Error())
	}
	return err
}

// later is the error of a call that nobody is asked about now. It says what the agent can do.
func later(q Question) error {
	const hint = "Go on with what needs no approval, and tell the person at the end which questions wait"
	return tongs.Errorf(tongs.CodeApprovalRequired, "%s needs a person's approval, and nobody is asked now (approval.ask: later). %s "+
		"Question %s is kept; a person sees it with 'tongs approvals list'. %s.", q.Tool, q.Why, q.ID, hint).
		With("question", q.ID).With("expires", q.Expires).With("hint", hint)
}

// Redeem takes the answer that was given to the identical call after that stopped waiting: with the question's ID as
// a ticket, or for any call of this digest in the late-answer time. It returns nil where there is none, and each answer
// once; the answer may be a refusal.
func (d *Desk) Redeem(ctx context.Context, digest, ticket string) (*Question, error) {
	if d.Store == nil {
		return nil, nil
	}
	q, ok, err := d.Store.Redeem(ctx, digest, ticket)
	if err != nil || !ok || d.unread(q.Answer) != nil {
		return nil, err
	}
	return &q, nil
}

// Callback makes a channel of a function.
func Callback(ask func(ctx context.Context, q Question) (Answer, error)) Channel {
	return callback(ask)
}

type callback func(ctx context.Context, q Question) (Answer, error)

// Ask implements Channel.
func (c callback) Ask(ctx context.Context, q Question) (*Answer, error) {
	if c == nil {
		return nil, nil
	}
	a, err := c(ctx, q)
	if err != nil {
		return nil, err
	}
	if a.Channel == "" {
		a.Channel = "callback"
	}
	return &a, nil
}
