package engine

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
)

// ask settles what decide left open and records the decision. It returns the arguments that a person approved instead of
// those asked about; then nothing is settled yet.
func (d *decision) ask(ctx context.Context) (edited json.RawMessage, err error) {
	defer d.stage("ask")(&err)
	if d.personWrote {
		d.personWrote = false
		d.approved = append(slices.Clip(d.approved), d.writtenByPerson()...)
	}
	open, contact, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	if d.deferred || d.onCopy {
		d.verdict.By += "; runs on a copy, and what it changes is decided then"
	}
	if len(open) == 0 {
		return nil, d.intent(d.effects)
	}
	answer, err := d.answer(ctx, d.newQuestion(open))
	if err != nil {
		return nil, d.refuse(err)
	}
	d.answered = strings.TrimSuffix(answer.Channel+":"+answer.By, ":")
	if !answer.Approved {
		return nil, d.refuse(denied(answer))
	}
	if contact {
		d.approved = append(slices.Clip(d.approved), open...)
	} else {
		d.approved = append(slices.Clip(d.approved), d.effects...)
	}
	d.sent = nil
	if len(answer.Args) > 0 {
		d.personWrote = d.late
		return answer.Args, nil
	}
	if err := d.remember(ctx, open, answer); err != nil {
		return nil, err
	}
	return nil, d.intent(d.effects)
}

// open are the effects that somebody is asked about before the call runs. Contact says that these are hosts only, and that the
// call then runs on a copy.
func (d *decision) open(ctx context.Context) (open []tongs.Effect, contact bool, err error) {
	rest, err := d.withoutLater(ctx)
	if err != nil {
		return nil, false, err
	}
	open = rest.unanswered()
	if d.deferred = len(open) > 0 && rest.defers(ctx); d.deferred || len(open) == 0 {
		return nil, false, nil
	}
	hosts, contact, err := rest.contacts(ctx)
	d.asksFor(&rest.verdict)
	if err != nil || !contact {
		return open, false, err
	}
	d.deferred = true
	return hosts, true, nil
}

// withoutLater is the decision without what is asked about later: itself where that is nothing.
func (d *decision) withoutLater(ctx context.Context) (*decision, error) {
	if !slices.ContainsFunc(d.unanswered(), d.askedLater) {
		return d, nil
	}
	rest := *d
	rest.effects, rest.needed = nil, nil
	for _, e := range d.effects {
		if !d.askedLater(e) {
			rest.effects = append(rest.effects, e)
		}
	}
	for _, e := range d.needed {
		if slices.ContainsFunc(rest.effects, e.SameTarget) {
			rest.needed = append(rest.needed, e)
		}
	}
	return &rest, rest.judge(ctx)
}

// asksFor has the question, and what is remembered of its answer, be about a verdict on some of the effects.
func (d *decision) asksFor(some *policy.Verdict) {
	v := &d.verdict
	v.By, v.Reason, v.Rememberable, v.SessionOnly, v.RulesDigest = some.By, some.Reason, some.Rememberable, some.SessionOnly, some.RulesDigest
}

// askedLater reports whether an effect is asked about by what comes of it: a change of a protected name, by a program that runs on a copy.
// There the program may make it; and whoever is asked then sees it. A secret is shown to nobody before.
func (d *decision) askedLater(e tongs.Effect) bool {
	if !d.onCopy || len(d.sent) > 0 || !d.spec.Source.BuiltIn() || !e.ByName() || e.Unknown || e.Kind != tongs.EffectWrite && e.Kind != tongs.EffectDelete {
		return false
	}
	files := d.engine.opt.Workspace
	_, protected := files.Protected(e.Path)
	_, secret := files.Secret(e.Path)
	return protected && !secret
}

// unanswered are the effects that somebody must still be asked about. A call that already changed something and would
// run again is a new question, whatever was decided before.
func (d *decision) unanswered() []tongs.Effect {
	if len(d.sent) > 0 {
		return d.effects
	}
	if d.verdict.Decision == tongs.PreApproved {
		return nil
	}
	open := d.verdict.Asked(d.effects)
	if len(d.approved) > 0 { // what comes with an approved effect was shown with it, or is a new question
		for _, e := range d.effects {
			if e.Incidental && !slices.ContainsFunc(open, e.Same) {
				open = append(open, e)
			}
		}
	}
	open = slices.DeleteFunc(open, func(e tongs.Effect) bool { return slices.ContainsFunc(d.approved, e.Same) })
	return open
}

// answer returns what a person said: earlier, about exactly this call, or now.
func (d *decision) answer(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // nobody is asked on behalf of a caller who gave up
	}
	began := time.Now()
	defer func() { d.waited += time.Since(began) }()
	earlier, err := d.engine.opt.Approval.Redeem(ctx, q.Digest, d.call.Ticket)
	if err != nil {
		return nil, err
	}
	if d.late = earlier != nil; d.late {
		d.question = earlier.ID
		return d.allowed(q, earlier.Answer)
	}
	if err := d.outdated(ctx, &q); err != nil {
		return nil, err
	}
	if d.plan.Preview != nil { // only now: a diff nobody looks at is not made
		if q.Preview, err = d.preview(ctx); err != nil {
			return nil, err
		}
		d.keepWhole(ctx, &q)
	}
	q.Offer = d.offer(ctx, &q)
	d.question = q.ID
	d.sink.update(tongs.Update{Title: "waiting for approval", Waiting: q.ID})
	asked, err := d.engine.opt.Approval.Ask(ctx, q)
	if tongs.CodeOf(err) != tongs.CodeApprovalRequired { // else somebody may still want to read it
		d.engine.opt.Approval.Previews.Drop(q.ID)
	}
	if err != nil {
		return nil, err
	}
	d.question = asked.ID
	return d.allowed(q, asked.Answer)
}

// allowed refuses an approval of what must be asked that came from whoever made the call. The desk takes none; this is
// for one that was given to the same question elsewhere, under other rules.
func (d *decision) allowed(q approval.Question, a *approval.Answer) (*approval.Answer, error) {
	if a.Approved && a.ByCaller && q.Elsewhere && !d.engine.opt.Approval.CallersApprove {
		return nil, tongs.Errorf(tongs.CodeApprovalRequired,
			"%s must be approved by a person outside of the client that made the call, and was approved in a client; make the call again, and answer elsewhere", q.Tool)
	}
	return a, nil
}

// writtenByPerson are the effects of arguments that a person wrote in a late answer, which nobody is asked about again: there would be
// no end to it, since the call is made with other arguments. What must be asked was not shown, and is.
func (d *decision) writtenByPerson() (effects []tongs.Effect) {
	for i, e := range d.effects {
		if !d.marked(i) {
			effects = append(effects, e)
		}
	}
	return effects
}

// marked reports whether the numbered effect must be asked.
func (d *decision) marked(i int) bool {
	return d.effects[i].MustAsk || i < len(d.verdict.Effects) && d.verdict.Effects[i].Step == policy.StepMustAsk
}

// must reports whether there is something among the effects that must be asked, and that nobody approved yet.
func (d *decision) must() bool {
	for i, e := range d.effects {
		if d.marked(i) && (len(d.sent) > 0 || !slices.ContainsFunc(d.approved, e.Same)) {
			return true
		}
	}
	return false
}

// keepWhole keeps what the preview of a question leaves out, so that a person can page through all of it.
func (d *decision) keepWhole(ctx context.Context, q *approval.Question) {
	whole := d.plan.Whole
	if whole == nil {
		return
	}
	size, err := d.engine.opt.Approval.Previews.Keep(q.ID, func(out io.Writer) (err error) {
		defer d.guard("making a preview", &err)
		return whole(ctx, out)
	})
	if err != nil {
		q.Notes = append(q.Notes, "the preview is not whole, and the rest could not be kept: "+err.Error())
		return
	}
	q.PreviewBytes = size
}

func (d *decision) preview(ctx context.Context) (string, error) {
	show := d.plan.Preview
	return await(ctx, d.engine.opt.Grace, func() (text string, err error) {
		defer d.guard("making a preview", &err)
		return show(ctx)
	})
}

func (d *decision) newQuestion(open []tongs.Effect) approval.Question {
	q := approval.Question{
		ID: approval.NewID(), Call: d.call.ID, Asker: d.info(), Session: d.call.Session, Agents: d.call.Agents, Tool: d.spec.Name,
		Title: d.spec.DisplayName(), Source: d.spec.Source, Args: d.call.Args, Reason: d.call.Reason,
		Message: d.message(), Why: d.verdict.Reason, Kind: d.kind(), Effects: approval.ByGravity(askedFirst(d.effects, open)),
		Notes: slices.Clone(d.notes), Scopes: []approval.Scope{approval.Once}, Created: time.Now(), Elsewhere: d.must(),
	}
	for _, what := range d.sent {
		q.Notes = append(q.Notes, "the call ran before and already "+what+"; it would run again")
	}
	if d.engine.opt.Workspace != nil {
		q.Workspace = d.engine.opt.Workspace.Dir()
	}
	if d.verdict.Rememberable && len(d.sent) == 0 {
		if q.Scopes = append(q.Scopes, approval.Session); !d.verdict.SessionOnly {
			q.Scopes = append(q.Scopes, approval.Always)
		}
		q.Remember, q.RememberFiles = lines(policy.Propose(open)), lines(policy.ProposeFiles(open))
	}
	subject := approval.Subject{
		Tool: d.spec.Name, Source: d.spec.Source, Args: d.call.Args, Effects: d.effects, Roots: d.engine.roots,
		Dir: d.dir.String(), Agents: d.call.Agents, Rerun: d.sent,
	}
	q.Digest, q.Key = approval.Digest(subject), approval.CallKey(subject, "")
	return q
}

// askedFirst returns the effects, those first that somebody must be asked about.
func askedFirst(effects, open []tongs.Effect) []tongs.Effect {
	asked := make(map[string]bool, len(open))
	for _, e := range open {
		asked[e.String()] = true
	}
	sorted := make([]tongs.Effect, 0, len(effects))
	var rest []tongs.Effect
	for _, e := range effects {
		if asked[e.String()] {
			sorted = append(sorted, e)
		} else {
			rest = append(rest, e)
		}
	}
	return append(sorted, rest...)
}

func lines(covers []policy.Cover) (list []string) {
	for _, cover := range covers {
		list = append(list, cover.String())
	}
	return list
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
func (d *decision) message() string {
	if d.met != "" {
		return d.met
	}
	if d.plan.Message != "" && (len(d.needed) == 0 || d.deferred) {
		return told(d.plan)
	}
	what := make([]string, len(d.effects))
	for i, e := range d.effects {
		what[i] = e.String()
	}
	return d.spec.DisplayName() + " would " + strings.Join(what, ", ")
}

// told is the message of a plan with what it can tell besides.
func told(plan *tongs.Plan) string {
	if len(plan.Tells) == 0 {
		return plan.Message
	}
	return plan.Message + " (would " + strings.Join(plan.Tells, "; ") + ")"
}

// kind is the plan's, or that of the gravest effect.
func (d *decision) kind() tongs.Kind {
	if d.plan.Kind != "" {
		return d.plan.Kind
	}
	kind := tongs.KindRead
	for _, e := range d.effects {
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
