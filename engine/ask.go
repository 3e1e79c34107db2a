package engine

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/approval"
	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/policy"
)

// ask settles what decide left open and records the decision. It reports whether a person approved other arguments
// than those asked about; then nothing is settled yet.
func (w *walk) ask(ctx context.Context, effects []tongs.Effect) (edited bool, err error) {
	defer w.stage("ask")(&err)
	open := w.unanswered(effects)
	if w.deferred = len(open) > 0 && w.defers(ctx); w.deferred || w.onCopy {
		w.verdict.By += "; runs on a copy, and what it changes is decided then"
	}
	if len(open) == 0 || w.deferred {
		return false, w.intent(effects)
	}
	question := w.newQuestion(effects, open)
	answer, err := w.answer(ctx, question)
	if err != nil {
		return false, w.refuse(effects, err)
	}
	w.answered = strings.TrimSuffix(answer.Channel+":"+answer.By, ":")
	if !answer.Approved {
		return false, w.refuse(effects, denied(answer))
	}
	w.approved = append(w.approved, effects...)
	w.sent = nil
	if len(answer.Args) > 0 {
		w.call.Args = answer.Args
		w.notes = append(w.notes, "the arguments were edited by the person who approved the call")
		return true, nil
	}
	if err := w.remember(ctx, open, answer); err != nil {
		return false, err
	}
	return false, w.intent(effects)
}

// unanswered are the effects that somebody must still be asked about. A call that already changed something and would
// run again is a new question, whatever was decided before.
func (w *walk) unanswered(effects []tongs.Effect) []tongs.Effect {
	if len(w.sent) > 0 {
		return effects
	}
	if w.verdict.Decision == tongs.PreApproved {
		return nil
	}
	open := w.verdict.Asked(effects)
	if len(w.approved) > 0 { // what comes with an approved effect was shown with it, or is a new question
		for _, e := range effects {
			if e.Incidental && !slices.ContainsFunc(open, e.Same) {
				open = append(open, e)
			}
		}
	}
	open = slices.DeleteFunc(open, func(e tongs.Effect) bool { return slices.ContainsFunc(w.approved, e.Same) })
	return open
}

// answer returns what a person said: earlier, about exactly this call, or now.
func (w *walk) answer(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // nobody is asked on behalf of a caller who gave up
	}
	began := time.Now()
	defer func() { w.waited += time.Since(began) }()
	earlier, err := w.engine.opt.Approval.Redeem(ctx, q.Digest, w.call.Ticket)
	if err != nil {
		return nil, err
	}
	if earlier != nil {
		w.question = earlier.ID
		return w.allowed(q, earlier.Answer)
	}
	if w.plan.Preview != nil { // only now: a diff nobody looks at is not made
		if q.Preview, err = w.preview(ctx); err != nil {
			return nil, err
		}
		w.keepWhole(ctx, &q)
	}
	w.question = q.ID
	w.sink.update(tongs.Update{Title: "waiting for approval", Waiting: q.ID})
	asked, err := w.engine.opt.Approval.Ask(ctx, q)
	if tongs.CodeOf(err) != tongs.CodeApprovalRequired { // else somebody may still want to read it
		w.engine.opt.Approval.Previews.Drop(q.ID)
	}
	if err != nil {
		return nil, err
	}
	w.question = asked.ID
	return w.allowed(q, asked.Answer)
}

// allowed refuses an approval of what must be asked that came from whoever made the call. The desk takes none; this is
// for one that was given to the same question elsewhere, under other rules.
func (w *walk) allowed(q approval.Question, a *approval.Answer) (*approval.Answer, error) {
	if a.Approved && a.ByCaller && q.Elsewhere && !w.engine.opt.Approval.CallersApprove {
		return nil, tongs.Errorf(tongs.CodeApprovalRequired,
			"%s must be approved by a person outside of the client that made the call, and was approved in a client; make the call again, and answer elsewhere", q.Tool)
	}
	return a, nil
}

// must reports whether there is something among the effects that must be asked, and that nobody approved yet.
func (w *walk) must(effects []tongs.Effect) bool {
	for i, e := range effects {
		marked := e.MustAsk || i < len(w.verdict.Effects) && w.verdict.Effects[i].Step == policy.StepMustAsk
		if marked && (len(w.sent) > 0 || !slices.ContainsFunc(w.approved, e.Same)) {
			return true
		}
	}
	return false
}

// keepWhole keeps what the preview of a question leaves out, so that a person can page through all of it.
func (w *walk) keepWhole(ctx context.Context, q *approval.Question) {
	whole := w.plan.Whole
	if whole == nil {
		return
	}
	size, err := w.engine.opt.Approval.Previews.Keep(q.ID, func(out io.Writer) (err error) {
		defer w.guard("making a preview", &err)
		return whole(ctx, out)
	})
	if err != nil {
		q.Notes = append(q.Notes, "the preview is not whole, and the rest could not be kept: "+err.Error())
		return
	}
	q.PreviewBytes = size
}

func (w *walk) preview(ctx context.Context) (string, error) {
	show := w.plan.Preview
	return await(ctx, w.engine.opt.Grace, func() (text string, err error) {
		defer w.guard("making a preview", &err)
		return show(ctx)
	})
}

func (w *walk) newQuestion(effects, open []tongs.Effect) approval.Question {
	q := approval.Question{
		ID: approval.NewID(), Call: w.call.ID, Asker: w.info(), Session: w.call.Session, Agents: w.call.Agents, Tool: w.spec.Name,
		Title: w.spec.DisplayName(), Source: w.spec.Source, Args: w.call.Args, Reason: w.call.Reason,
		Message: w.message(effects), Why: w.verdict.Reason, Kind: w.kind(effects), Effects: effects,
		Notes: slices.Clone(w.notes), Scopes: []approval.Scope{approval.Once}, Created: time.Now(), Elsewhere: w.must(effects),
	}
	for _, what := range w.sent {
		q.Notes = append(q.Notes, "the call ran before and already "+what+"; it would run again")
	}
	if w.engine.opt.Workspace != nil {
		q.Workspace = w.engine.opt.Workspace.Dir()
	}
	if w.verdict.Rememberable && len(w.sent) == 0 {
		if q.Scopes = append(q.Scopes, approval.Session); !w.verdict.SessionOnly {
			q.Scopes = append(q.Scopes, approval.Always)
		}
		for _, cover := range policy.Propose(open) {
			q.Remember = append(q.Remember, cover.String())
		}
	}
	q.Digest = approval.Digest(approval.Subject{
		Tool: w.spec.Name, Source: w.spec.Source, Args: w.call.Args, Effects: effects, Roots: w.engine.roots,
		Dir: w.dir.String(), Agents: w.call.Agents, Rerun: w.sent,
	})
	return q
}

// remember keeps an approval that reaches further than this call.
func (w *walk) remember(ctx context.Context, open []tongs.Effect, a *approval.Answer) error {
	if a.Scope != approval.Session && a.Scope != approval.Always {
		return nil
	}
	covers := policy.Propose(open)
	if len(a.Remember) > 0 {
		covers = nil
		for _, line := range a.Remember {
			cover, err := policy.ParseCover(line)
			if err != nil {
				return tongs.Errorf(tongs.CodeInvalidArgs, "the call was not run, since what should be remembered cannot be read: %w", err)
			}
			covers = append(covers, cover)
		}
	}
	grant := policy.Grant{
		ID: id.New("g"), Scope: policy.Scope(a.Scope), Key: w.grantKey(), Covers: covers,
		RulesDigest: w.verdict.RulesDigest, By: w.answered, At: time.Now(),
	}
	if grant.Scope == policy.ScopeAlways {
		grant.Key.Session = ""
	}
	if err := w.engine.opt.Grants.Add(ctx, grant); err != nil {
		return fmt.Errorf("the approval could not be remembered: %w", err)
	}
	return nil
}

func (w *walk) grantKey() policy.Key {
	return policy.Key{Tool: w.spec.Name, Source: w.spec.Source, Roots: w.engine.roots, Session: w.call.Session, Agents: w.call.Agents}
}

func denied(a *approval.Answer) error {
	err := tongs.Errorf(tongs.CodeDenied, "a person declined the call")
	if a.Reason != "" {
		err.Message += ": " + a.Reason
		err = err.With("reason", a.Reason)
	}
	return err
}

// message says what the call would do, in the tool's words or made from the effects.
func (w *walk) message(effects []tongs.Effect) string {
	if w.plan.Message != "" && len(w.needed) == 0 {
		return w.plan.Message
	}
	what := make([]string, len(effects))
	for i, e := range effects {
		what[i] = e.String()
	}
	return w.spec.DisplayName() + " would " + strings.Join(what, ", ")
}

// kind is the plan's, or that of the gravest effect.
func (w *walk) kind(effects []tongs.Effect) tongs.Kind {
	if w.plan.Kind != "" {
		return w.plan.Kind
	}
	kind := tongs.KindRead
	for _, e := range effects {
		switch e.Kind {
		case tongs.EffectDelete:
			return tongs.KindDestructive
		case tongs.EffectExecute:
			kind = tongs.KindExecute
		case tongs.EffectWrite, tongs.EffectNetwork:
			if kind == tongs.KindRead {
				kind = tongs.KindWrite
			}
		}
	}
	return kind
}
