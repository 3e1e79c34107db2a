package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/attendance"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Late keeps changes whose question nobody answered before the call ended, and makes them when somebody does. It is the
// store of questions, too: an answer that comes through it is carried out, whoever gives it. It is safe for concurrent use.
type Late struct {
	*state.Questions
	log      audit.Log
	grants   policy.Book
	previews *approval.Previews
	// open opens the journal; closed must be called.
	open func() (j *journal.Journal, closed func() error, err error)
	// sessions tells which sessions are gone; present marks those of this process that changes wait for.
	sessions attendance.Room
	// waiting tells which questions calls wait for: they carry out the answers themselves.
	waiting attendance.Room
	mu      sync.Mutex
	present map[string]func()
	// locks is where the locks of files are that this user's processes share.
	locks string
	// rules finds the rules that changes must still be allowed by when they are made; nil makes none.
	rules *lateRules
}

var (
	_ approval.Store = (*Late)(nil)
	_ engine.Late    = (*Late)(nil)
)

// newLate makes one that opens the journal of a state directory when it needs it.
func newLate(db *state.DB, log audit.Log, previews *approval.Previews, stateDir string) *Late {
	return &Late{
		Questions: db.Questions(approval.Options{}), log: log, grants: db.Grants(), previews: previews,
		sessions: sessionsIn(stateDir), waiting: AttendanceIn(stateDir), locks: workspace.LockDirOr(stateDir),
		open: func() (*journal.Journal, func() error, error) {
			j, err := OpenJournal(stateDir, nil)
			if err != nil {
				return nil, nil, err
			}
			return j, j.Close, nil
		},
	}
}

// use makes it use a journal that is open already.
func (l *Late) use(j *journal.Journal) {
	l.open = func() (*journal.Journal, func() error, error) { return j, func() error { return nil }, nil }
}

// Park implements engine.Late.
func (l *Late) Park(ctx context.Context, p approval.Parked) error {
	if l.rules != nil {
		p.ConfigDir = l.rules.configDir
	}
	l.enter(p.Session)
	err := l.Questions.Park(ctx, p)
	if err == nil {
		return nil
	}
	j, closed, openErr := l.open()
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	_ = j.Unpark(receipt(&p)) // it expires, if not
	_ = closed()
	return err
}

// enter marks that a session is there, until leave is called or the process ends.
func (l *Late) enter(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.present == nil {
		l.present = map[string]func(){}
	}
	before := l.present[session]
	l.present[session] = l.sessions.Attend(session)
	if before != nil {
		before()
	}
}

// leave says that a session is gone: the next one of its client is told what becomes of its changes.
func (l *Late) leave(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := l.present[session]; left != nil {
		left()
		delete(l.present, session)
	}
}

// Find implements engine.Late.
func (l *Late) Find(ctx context.Context, key, session string) (*approval.Parked, error) {
	list, err := l.FindParked(ctx, key)
	for i := range list {
		if p := &list[i]; p.Session == session || l.sessions.Left(p.Session) {
			return p, err
		}
	}
	return nil, err
}

func receipt(p *approval.Parked) journal.Receipt {
	return journal.Receipt{ID: p.Parcel, Digest: p.Digest}
}

// Answer implements approval.Store. An approval of changes that wait makes them before it returns; if they cannot be made
// any more the error is approval.ErrNotMade. One that was interrupted is carried out by the next answer.
func (l *Late) Answer(ctx context.Context, typed string, a approval.Answer) error {
	q, err := l.Get(ctx, typed)
	if err != nil {
		return err
	}
	err = l.Questions.Answer(ctx, q.ID, a)
	if before, ok := errors.AsType[*approval.AnsweredError](err); err != nil && !(ok && before.Answer.Approved) {
		return err
	}
	p, lookErr := l.Parked(ctx, q.ID)
	if lookErr != nil || p == nil || p.State.Final() || l.waiting.Attended(q.ID) {
		return errors.Join(err, lookErr)
	}
	p, err = l.Settle(context.WithoutCancel(ctx), q.ID)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w; the answer is kept, and the same call tries again", approval.ErrNotMade, err)
	case p != nil && p.State == approval.Stale:
		return fmt.Errorf("%w: %s; when the agent makes the call again, it runs again and asks anew", approval.ErrNotMade, p.Why)
	}
	return nil
}

// Reclaim implements engine.Late.
func (l *Late) Reclaim(ctx context.Context, question string) (*approval.Parked, error) {
	j, closed, err := l.open()
	if err != nil {
		return nil, err
	}
	defer closed()
	turn, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	release, err := j.LockApplying(turn)
	if err != nil {
		return nil, fmt.Errorf("another process is making changes that waited: %w", err)
	}
	p, err := l.Parked(ctx, question)
	if err == nil && p != nil && p.State == approval.Waiting {
		if err = l.Unpark(ctx, question); err == nil {
			_ = j.Unpark(receipt(p)) // it expires, if not
		}
		p = nil
	}
	release()
	if err != nil || p == nil || p.State.Final() {
		return p, err
	}
	return l.Settle(ctx, question) // somebody was cut off
}

// Settle implements engine.Late.
func (l *Late) Settle(ctx context.Context, question string) (*approval.Parked, error) {
	p, err := l.Parked(ctx, question)
	if err != nil || p == nil || p.State.Final() {
		return p, err
	}
	j, closed, err := l.open()
	if err != nil {
		return p, err
	}
	defer closed()
	turn, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	release, err := j.LockApplying(turn)
	if err != nil {
		return p, fmt.Errorf("another process is making changes that waited: %w", err)
	}
	defer release()
	if p, err = l.Parked(ctx, question); err != nil || p == nil || p.State.Final() {
		return p, err // another process was first
	}
	q, err := l.Get(ctx, question)
	if err != nil {
		return p, err
	}
	switch q.StateAt(time.Now()) {
	case approval.Pending:
		return p, nil
	case approval.Answered:
	default:
		return l.end(ctx, j, p, func(p *approval.Parked) { p.State, p.Why = approval.Lapsed, "nobody answered in time" })
	}
	by := strings.TrimSuffix(q.Answer.Channel+":"+q.Answer.By, ":")
	if !q.Answer.Approved {
		return l.end(ctx, j, p, func(p *approval.Parked) { p.State, p.Why, p.By = approval.Denied, q.Answer.Reason, by })
	}
	return l.apply(ctx, &applying{Late: l, j: j, q: &q, p: p, by: by, call: id.New("c")})
}

// end gives parked changes a final state, and removes them from the journal.
func (l *Late) end(ctx context.Context, j *journal.Journal, p *approval.Parked, change func(*approval.Parked)) (*approval.Parked, error) {
	ended, _, err := l.Advance(ctx, p.Question, change)
	if err != nil {
		return p, err
	}
	l.previews.Drop(p.Question)
	_ = j.Unpark(receipt(p)) // it expires, if not
	return ended, nil
}

// applying is one attempt to make changes that were approved. It has the lock.
type applying struct {
	*Late
	j    *journal.Journal
	q    *approval.Question
	p    *approval.Parked
	by   string
	call string // of the row
}

// apply makes the changes under a row of its own. What cannot be recorded is not made.
func (l *Late) apply(ctx context.Context, a *applying) (*approval.Parked, error) {
	ctx = context.WithoutCancel(ctx)
	began := time.Now()
	err := l.log.Open(ctx, &audit.Row{
		Call: a.call, Session: a.q.Session, Agents: a.q.Agents, Tool: a.q.Tool, Started: began, Args: a.q.Args,
		Reason: "a late approval of the changes of call " + a.q.Call, PID: os.Getpid(), Workspace: a.q.Workspace,
	})
	if err != nil {
		return a.p, fmt.Errorf("the audit log could not be written: %w", err)
	}
	closing := &audit.Closing{Outcome: audit.OutcomeOK, Title: a.q.Message}
	defer func() {
		closing.Total = time.Since(began)
		_ = l.log.Close(ctx, a.call, closing) // the changes are made, and the journal tells of them
	}()
	err = l.log.Intent(ctx, a.call, &audit.Intent{
		Tool: a.q.Tool, Source: a.q.Source, Effects: a.q.Effects, Decision: tongs.Ask, By: "late answer to question " + a.q.ID,
		Copy: true, Question: a.q.ID, Answered: a.by,
	})
	if err != nil {
		closing.Outcome, closing.Error = audit.OutcomeError, "the decision could not be logged"
		return a.p, fmt.Errorf("the audit log could not be written: %w", err)
	}
	changed, err := a.make(ctx)
	if cannot, ok := errors.AsType[*cannotError](err); ok {
		closing.Outcome, closing.Code, closing.Error = audit.OutcomeRefused, tongs.CodeStaleFile, cannot.Error()
		return l.end(ctx, a.j, a.p, func(p *approval.Parked) {
			p.State, p.Why, p.By, p.Call = approval.Stale, cannot.Error(), a.by, a.call
		})
	}
	if err != nil {
		closing.Outcome, closing.Code, closing.Error = audit.OutcomeError, tongs.CodeOf(err), err.Error()
		return a.p, err
	}
	closing.Output = int64(len(a.p.Result))
	return l.end(ctx, a.j, a.p, func(p *approval.Parked) {
		p.State, p.By, p.Call, p.Entry, p.Changed = approval.Made, a.by, a.call, changed.Entry, changed
	})
}

// cannotError is why changes cannot be made, now or later.
type cannotError struct{ why string }

func (e *cannotError) Error() string { return e.why }

// lockWait is how long it waits for others who change the same files. Then the changes go on waiting.
const lockWait = time.Minute

// maxTold is how many changes a result tells of.
const maxTold = 30

// make makes the changes, unless an attempt that was cut off made them.
func (a *applying) make(ctx context.Context) (*tongs.Changed, error) {
	if a.q.Late == nil || a.q.Late.Digest != a.p.Digest {
		return nil, &cannotError{"the changes that wait are not those that the question is about"}
	}
	w, err := changeset.OpenParked(a.j, receipt(a.p))
	if err != nil {
		return nil, &cannotError{err.Error()}
	}
	keep, err := a.keep(w)
	if err != nil {
		return nil, err
	}
	line, names, left, err := w.Summary(keep)
	if err != nil {
		return nil, &cannotError{err.Error()}
	}
	changed := &tongs.Changed{Made: line, Paths: names, Entry: a.p.Entry}
	if len(names) > maxTold {
		changed.Paths = append(names[:maxTold:maxTold], fmt.Sprintf("and %d more", len(names)-maxTold))
	}
	if left > 0 {
		changed.Dropped = fmt.Sprintf("%d paths", left)
	}
	if a.p.State == approval.Applying {
		_ = a.j.Recover() // what cannot be taken back refuses the transaction
		if a.j.Made(a.p.Entry) {
			return changed, nil
		}
	}
	if err := a.rules.allow(a.q, a.p, changedRoots(w)); err != nil {
		return nil, err
	}
	if err := a.remember(ctx); err != nil {
		return nil, err
	}
	entry, err := a.commit(ctx, w, keep)
	if err != nil {
		return nil, err
	}
	changed.Entry = entry.ID
	return changed, nil
}

// remember keeps an approval that reaches further than these changes. What cannot be remembered is not made either.
func (a *applying) remember(ctx context.Context) error {
	grant, err := engine.GrantOf(a.p, a.q.Answer, a.by)
	if err != nil {
		return &cannotError{err.Error()}
	}
	if grant == nil {
		return nil
	}
	if err := a.grants.Add(ctx, *grant); err != nil {
		return fmt.Errorf("the approval could not be remembered: %w", err)
	}
	return nil
}

// keep are the paths of the changes that the person keeps; nil are all.
func (a *applying) keep(w *changeset.Waiting) (keep []string, err error) {
	if a.q.Answer.Keep == nil {
		return nil, nil
	}
	for _, p := range w.Changes() {
		for _, kept := range a.q.Answer.Keep {
			if approval.Keeps(kept, tongs.Change{Path: p}) {
				keep = append(keep, p.String())
				break
			}
		}
	}
	if len(keep) == 0 {
		return nil, &cannotError{"none of the changes that wait is among those to keep"}
	}
	return keep, nil
}

// commit makes the changes in one transaction, while nobody else changes the paths. Before anything is changed the claim is
// kept, with the entry by which the next attempt knows whether this one succeeded.
func (a *applying) commit(ctx context.Context, w *changeset.Waiting, keep []string) (*journal.Entry, error) {
	paths, err := w.Paths(keep)
	if err != nil {
		return nil, &cannotError{err.Error()}
	}
	head := w.Head()
	hosts := make([]string, len(paths))
	for i, p := range paths {
		hosts[i] = filepath.Join(head.Roots[p.Root], filepath.FromSlash(p.Rel))
	}
	turn, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := workspace.LockHosts(turn, a.locks, hosts...)
	if err != nil {
		return nil, fmt.Errorf("a call is changing the same files: %w", err)
	}
	defer unlock()
	head.Call = a.call
	entry, err := w.Commit(ctx, head, keep, func(entry string) error {
		p, advanced, err := a.Advance(ctx, a.p.Question, func(p *approval.Parked) {
			p.State, p.Entry, p.Call = approval.Applying, entry, a.call
		})
		if err == nil && (p == nil || !advanced) {
			err = errors.New("another process made these changes, or dropped them")
		}
		return err
	})
	if conflict, ok := errors.AsType[*journal.ConflictError](err); ok {
		return nil, &cannotError{conflict.Error()}
	}
	return entry, err
}
