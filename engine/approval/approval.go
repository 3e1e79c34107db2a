// Package approval asks people about calls that need approval. A question is durable, identified by a digest of exactly what was asked, answered
// once, and by whoever is first: a terminal, the console, another process, an MCP client or a Go callback.
package approval

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tongs-ai/tongs"
)

// Question is a call that waits for a person.
type Question struct {
	ID string `json:"id"`
	// Digest identifies what is asked: source, arguments, effects with versions, roots and agent chain.
	Digest string `json:"digest"`
	// Key identifies the call that asks, whatever it would do in the state that it meets.
	Key     string   `json:"key,omitempty"`
	Call    string   `json:"call"`
	Session string   `json:"session,omitempty"`
	Agents  []string `json:"agents,omitempty"`
	Tool    string   `json:"tool"`
	Title   string   `json:"title,omitempty"`
	// Source is where the tool comes from.
	Source tongs.Source    `json:"source"`
	Args   json.RawMessage `json:"args"`
	// Reason is the agent's own word; Message says what the call would do; Why says which rule made it a question.
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message"`
	Why     string     `json:"why"`
	Kind    tongs.Kind `json:"kind"`
	// Effects are what the call would do, the gravest first, and of equal ones those that are asked about first.
	Effects []tongs.Effect `json:"effects"`
	// Preview is usually a unified diff.
	Preview string `json:"preview,omitempty"`
	// PreviewBytes is the size of the whole preview, where Preview is the beginning of one that Previews keeps.
	PreviewBytes int64 `json:"previewBytes,omitempty"`
	// Changes are what a call already did to a copy of the files: the question is which of them to keep. There may be
	// more of them than are listed here; ChangeCount is how many.
	Changes     []tongs.Change `json:"changes,omitempty"`
	ChangeCount int            `json:"changeCount,omitempty"`
	// Notes are what a person should know first: that the call ran before and changed something, a version that
	// changed since it was approved.
	Notes []string `json:"notes,omitempty"`
	// Scopes are the scopes that an approval may have, the narrowest first; Remember are the patterns that a wider
	// one would save, as a person may edit them.
	Scopes   []Scope  `json:"scopes"`
	Remember []string `json:"remember,omitempty"`
	// RememberFiles are the patterns for the same on every file of the workspace, for an approval of the scope session;
	// empty where that cannot be approved.
	RememberFiles []string `json:"rememberFiles,omitempty"`
	Workspace     string   `json:"workspace,omitempty"`
	// Offer is a command that would make a rule of what a person approved several times; empty where there is none.
	Offer string `json:"offer,omitempty"`
	// Elsewhere is set where something must be asked: whoever made the call can refuse it, and cannot approve it.
	Elsewhere bool      `json:"elsewhere,omitempty"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	// Asker is the call that asks. Equal questions of several calls are one, so that it may be another than Call. It is not kept.
	Asker tongs.CallInfo `json:"-"`
	// Late is set where changes of the call wait. Once the call has ended, an approval makes them at once, and they need no other call.
	Late *Late `json:"late,omitempty"`
	// Opened is told when the question can be answered, before it is shown. Answered is told when it was, and reports whether
	// nothing is left to take: the answer was carried out already. Neither is kept; nil is told nothing.
	Opened   func(ctx context.Context, q Question)                        `json:"-"`
	Answered func(ctx context.Context, q Question) (done bool, err error) `json:"-"`
	// Answer is nil while the question is pending.
	Answer *Answer `json:"answer,omitempty"`
	// Redeemed is when a call took the answer, Withdrawn when the last call that asked gave up before there was one.
	Redeemed  time.Time `json:"redeemed,omitzero"`
	Withdrawn time.Time `json:"withdrawn,omitzero"`
}

// State is where a question stands.
type State string

// The states of a question.
const (
	Pending   State = "pending"
	Answered  State = "answered"
	Expired   State = "expired"
	Withdrawn State = "withdrawn"
)

// StateAt returns where the question stands at a time.
func (q *Question) StateAt(now time.Time) State {
	switch {
	case q.Answer != nil:
		return Answered
	case !q.Withdrawn.IsZero():
		return Withdrawn
	case !now.Before(q.Expires):
		return Expired
	default:
		return Pending
	}
}

// Scope is how far an approval reaches.
type Scope string

// The scopes of an approval.
const (
	Once    Scope = "once"
	Session Scope = "session"
	Always  Scope = "always"
)

// Answer is what a person said.
type Answer struct {
	Approved bool  `json:"approved"`
	Scope    Scope `json:"scope,omitempty"`
	// Args are edited arguments; empty means as asked.
	Args json.RawMessage `json:"args,omitempty"`
	// Keep are the changes to keep, in the answer to a question about changes, by the path they are shown with, a directory
	// standing for all below it; nil means all of them.
	Keep []string `json:"keep,omitempty"`
	// Remember replaces the patterns that the question proposed.
	Remember []string `json:"remember,omitempty"`
	// Reason is passed on to the model.
	Reason string `json:"reason,omitempty"`
	// Channel and By say how and by whom it was answered.
	Channel string    `json:"channel"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
	// ByCaller says that the answer came from whoever made the call. The desk sets it.
	ByCaller bool `json:"byCaller,omitempty"`
}

// Store keeps questions. Implementations are safe for concurrent use, and durable ones across processes. Where they
// take an ID, its unique start or end will do. An unknown ID is a *NotFoundError.
type Store interface {
	// Open adds the question, or joins the pending one of the same digest and returns that. It gives a new question an
	// ID where it has none of the right form or one that is taken.
	Open(ctx context.Context, q Question) (Question, error)
	Get(ctx context.Context, id string) (Question, error)
	// List returns the questions, newest first, only the pending ones where pending is set.
	List(ctx context.Context, pending bool) ([]Question, error)
	// Answer answers a pending question. The first answer wins: it fails with an *AnsweredError, carrying that, and with
	// ErrExpired, ErrWithdrawn, and, for an answer that the question does not allow, ErrInvalid.
	Answer(ctx context.Context, id string, a Answer) error
	// Wait returns the question once it is no longer pending, or ctx's error.
	Wait(ctx context.Context, id string) (Question, error)
	// Withdraw takes back one Open. A pending question is withdrawn when every one of them was taken back.
	Withdraw(ctx context.Context, id string) error
	// Redeem takes the answer of an answered question for use by the identical call. It succeeds once per question.
	// With an ID (a ticket) it takes that question's, else that of the newest question of the digest that was
	// answered less than the late-answer time ago. The question it returns is whole; what the store keeps of it from
	// then on is without secrets.
	Redeem(ctx context.Context, digest, id string) (Question, bool, error)
	// Outdated takes the newest approval of a call with this key that Redeem would return for another digest: the call was
	// approved, and does something else by now. Nobody can use that approval then.
	Outdated(ctx context.Context, key, digest string) (Question, bool, error)
}

// Channel shows a question to a person, and blocks while it is shown. Implementations are safe for concurrent use.
type Channel interface {
	// Ask returns the answer, nil where it cannot show the question, and an error where that failed: neither is an
	// answer. When ctx is cancelled somebody else answered, or nobody wants to know any more, and it returns soon.
	Ask(ctx context.Context, q Question) (*Answer, error)
}

// CallerChannel shows a question to whoever made the call, such as an MCP client, which may be the agent itself. It is
// not a Channel, so that a desk cannot mistake one for the other: what comes from it is marked as the caller's own word.
type CallerChannel interface {
	// AskCaller is as [Channel].Ask; whoever made the call is found by q.Asker. A question with Elsewhere set cannot be approved by the answer.
	AskCaller(ctx context.Context, q Question) (*Answer, error)
}
