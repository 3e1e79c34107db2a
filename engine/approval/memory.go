package approval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
)

// maxOver is how many questions that are over a Memory keeps.
const maxOver = 1000

// Memory is a Store that lasts as long as the process.
type Memory struct {
	late  time.Duration
	scrub Scrubber

	mu sync.Mutex
	// all are in the order of their opening.
	all []*held
}

// held is a question and those who opened it.
type held struct {
	Question
	opens int
	clean bool
	// done is closed when the question is answered or withdrawn.
	done chan struct{}
}

// NewMemory returns an empty Memory.
func NewMemory(opts Options) *Memory {
	return &Memory{late: opts.LateOrDefault(), scrub: NewScrubber(opts)}
}

var _ Store = (*Memory)(nil)

// Open implements Store.
func (m *Memory) Open(ctx context.Context, q Question) (Question, error) {
	if err := ctx.Err(); err != nil {
		return q, err
	}
	if err := CheckNew(&q); err != nil {
		return q, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.tidy(now)
	pending := 0
	for _, h := range m.all {
		if h.StateAt(now) != Pending {
			continue
		}
		if h.Digest == q.Digest {
			h.opens++
			return h.copy(), nil
		}
		pending++
	}
	if err := CheckPending(pending); err != nil {
		return q, err
	}
	for q.ID == "" || m.index(q.ID) >= 0 {
		q.ID = NewID()
	}
	h := &held{Question: q, opens: 1, done: make(chan struct{})}
	m.all = append(m.all, h)
	return h.copy(), nil
}

// CheckNew reports what is missing in a question that is to be opened. It takes out an ID that cannot be kept.
func CheckNew(q *Question) error {
	if !ownID(q.ID) {
		q.ID = ""
	}
	switch {
	case q.Digest == "":
		return fmt.Errorf("question about %q has no digest", q.Tool)
	case q.Answer != nil || !q.Redeemed.IsZero() || !q.Withdrawn.IsZero():
		return fmt.Errorf("question about %q is answered or over before it is asked", q.Tool)
	case q.Expires.IsZero():
		return fmt.Errorf("question about %q does not say when it expires", q.Tool)
	}
	return nil
}

// maxPending is how many questions can wait at the same time: more, nobody answers.
const maxPending = 1000

// CheckPending refuses a further question where so many are pending. Every Store asks it.
func CheckPending(pending int) error {
	if pending < maxPending {
		return nil
	}
	return tongs.Errorf(tongs.CodeApprovalRequired,
		"%d questions wait for an answer already, and no more are taken; a person must answer some first", pending)
}

// copy returns the question so that nobody shares its answer.
func (h *held) copy() Question {
	q := h.Question
	if q.Answer != nil {
		a := *q.Answer
		q.Answer = &a
	}
	return q
}

// tidy scrubs questions that are over, and forgets the oldest of them.
func (m *Memory) tidy(now time.Time) {
	over := 0
	for _, h := range m.all {
		if Over(&h.Question, m.late, now) {
			over++
		}
	}
	m.all = slices.DeleteFunc(m.all, func(h *held) bool {
		if !Over(&h.Question, m.late, now) {
			return false
		}
		over--
		m.scrubOnce(h)
		return over >= maxOver
	})
}

func (m *Memory) scrubOnce(h *held) {
	if !h.clean {
		h.Question, h.clean = m.scrub.Scrub(h.Question), true
	}
}

func (m *Memory) index(id string) int {
	return slices.IndexFunc(m.all, func(h *held) bool { return h.ID == id })
}

// find returns the question that the ID means. The caller holds the lock.
func (m *Memory) find(typed string) (*held, error) {
	if i := m.index(typed); i >= 0 {
		return m.all[i], nil
	}
	ids := make([]string, len(m.all))
	for i, h := range m.all {
		ids[i] = h.ID
	}
	id, err := Resolve(typed, ids)
	if err != nil {
		return nil, err
	}
	return m.all[m.index(id)], nil
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, id string) (Question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(id)
	if err != nil {
		return Question{}, err
	}
	return h.copy(), nil
}

// List implements Store.
func (m *Memory) List(_ context.Context, pending bool) ([]Question, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	list := []Question{}
	for _, h := range slices.Backward(m.all) {
		if !pending || h.StateAt(now) == Pending {
			list = append(list, h.copy())
		}
	}
	return list, nil
}

// Answer implements Store.
func (m *Memory) Answer(_ context.Context, id string, a Answer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(id)
	if err != nil {
		return err
	}
	if a, err = Admit(&h.Question, a, time.Now()); err != nil {
		return err
	}
	h.Question.Answer = &a
	close(h.done)
	return nil
}

// Wait implements Store.
func (m *Memory) Wait(ctx context.Context, id string) (Question, error) {
	m.mu.Lock()
	h, err := m.find(id)
	if err != nil {
		m.mu.Unlock()
		return Question{}, err
	}
	expires := h.Expires
	m.mu.Unlock()
	expiry := time.NewTimer(time.Until(expires))
	defer expiry.Stop()
	select {
	case <-h.done:
	case <-expiry.C:
	case <-ctx.Done():
		return Question{}, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return h.copy(), nil
}

// Withdraw implements Store.
func (m *Memory) Withdraw(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(id)
	if err != nil {
		return err
	}
	now := time.Now()
	if h.StateAt(now) != Pending {
		return nil
	}
	if h.opens--; h.opens <= 0 {
		h.Withdrawn = now
		close(h.done)
	}
	return nil
}

// Redeem implements Store.
func (m *Memory) Redeem(_ context.Context, digest, id string) (Question, bool, error) {
	return m.take(func(q *Question, now time.Time) bool { return Redeemable(q, digest, id, m.late, now) })
}

// Outdated implements Store.
func (m *Memory) Outdated(_ context.Context, key, digest string) (Question, bool, error) {
	return m.take(func(q *Question, now time.Time) bool { return IsOutdated(q, key, digest, m.late, now) })
}

func (m *Memory) take(fits func(q *Question, now time.Time) bool) (Question, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for _, h := range slices.Backward(m.all) {
		if !fits(&h.Question, now) {
			continue
		}
		h.Redeemed = now
		whole := h.copy()
		m.scrubOnce(h)
		return whole, true, nil
	}
	return Question{}, false, nil
}
