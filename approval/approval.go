// Package approval asks a person. A question is durable, identified by a digest of exactly what was asked, answered
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
	Digest  string   `json:"digest"`
	Call    string   `json:"call"`
	Session string   `json:"session,omitempty"`
	Agents  []string `json:"agents,omitempty"`
	Tool    string   `json:"tool"`
	Title   string   `json:"title,omitempty"`
	// Source is where the tool comes from.
	Source tongs.Source    `json:"source"`
	Args   json.RawMessage `json:"args"`
	// Reason is the agent's own word; Message says what the call would do; Why says which rule made it a question.
	Reason  string         `json:"reason,omitempty"`
	Message string         `json:"message"`
	Why     string         `json:"why"`
	Kind    tongs.Kind     `json:"kind"`
	Effects []tongs.Effect `json:"effects"`
	// Preview is usually a unified diff.
	Preview string `json:"preview,omitempty"`
	// Notes are what a person should know first: that the call ran before and changed something, a version that
	// changed since it was approved.
	Notes []string `json:"notes,omitempty"`
	// Scopes are the scopes that an approval may have, the narrowest first; Remember are the patterns that a wider
	// one would save, as a person may edit them.
	Scopes    []Scope   `json:"scopes"`
	Remember  []string  `json:"remember,omitempty"`
	Workspace string    `json:"workspace,omitempty"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	// Answer is nil while the question is pending.
	Answer *Answer `json:"answer,omitempty"`
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
	// Remember replaces the patterns that the question proposed.
	Remember []string `json:"remember,omitempty"`
	// Reason is passed on to the model.
	Reason string `json:"reason,omitempty"`
	// Channel and By say how and by whom it was answered.
	Channel string    `json:"channel"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
}

// Store keeps questions. Implementations are safe for concurrent use, and durable ones across processes.
type Store interface {
	// Open adds the question, or returns the pending one of the same digest.
	Open(ctx context.Context, q Question) (Question, error)
	Get(ctx context.Context, id string) (Question, error)
	// List returns the questions, newest first, only the pending ones where pending is set.
	List(ctx context.Context, pending bool) ([]Question, error)
	// Answer answers a pending question. It fails with ErrAnswered, carrying the first answer, and with ErrExpired.
	Answer(ctx context.Context, id string, a Answer) error
	// Wait returns the question once it is answered or expired, or ctx's error.
	Wait(ctx context.Context, id string) (Question, error)
	// Redeem takes the answer of an answered question for use by the identical call. It succeeds once per question.
	// With an ID (a ticket) it takes that question's, else that of the newest question of the digest that was
	// answered less than the late-answer time ago.
	Redeem(ctx context.Context, digest, id string) (Question, bool, error)
}

// Channel shows a question to a person. It returns nil without an error where it cannot show it.
type Channel interface {
	Ask(ctx context.Context, q Question) (*Answer, error)
}
