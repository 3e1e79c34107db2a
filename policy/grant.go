package policy

import (
	"context"
	"time"

	"github.com/tongs-ai/tongs"
)

// Scope is how long an approval is remembered.
type Scope string

// The scopes of a grant.
const (
	ScopeSession Scope = "session"
	ScopeAlways  Scope = "always"
)

// Grant is a remembered approval. It answers an ask only where its key is the call's and it covers every effect.
type Grant struct {
	ID    string `json:"id"`
	Scope Scope  `json:"scope"`
	Key   Key    `json:"key"`
	// Covers are the effects it answers for.
	Covers []Cover `json:"covers"`
	// RulesDigest is that of the rules that matched when it was given; the grant lapses when they change.
	RulesDigest string    `json:"rulesDigest"`
	By          string    `json:"by"`
	At          time.Time `json:"at"`
}

// Key is the identity of what a grant is for.
type Key struct {
	Tool   string       `json:"tool"`
	Source tongs.Source `json:"source"`
	// Roots identifies the workspace and its zones.
	Roots string `json:"roots"`
	// Session is empty for a grant of scope always.
	Session string `json:"session,omitempty"`
	// Agents is the chain on whose behalf the call is made; a grant to one agent is not a grant to another.
	Agents []string `json:"agents,omitempty"`
}

// Cover is one line of a grant: the kind of effect and the targets, as a pattern of the same form as a rule's.
type Cover struct {
	Kind    tongs.EffectKind `json:"kind"`
	Pattern string           `json:"pattern"`
	// Version binds an execute effect to the content of the program.
	Version tongs.Version `json:"version,omitempty"`
}

// Book keeps grants. Implementations are safe for concurrent use.
type Book interface {
	// Find returns the grants whose key fits: scope always, or the same session.
	Find(ctx context.Context, key Key) ([]Grant, error)
	Add(ctx context.Context, g Grant) error
	// List returns every grant, newest first.
	List(ctx context.Context) ([]Grant, error)
	// Revoke removes a grant and reports whether there was one.
	Revoke(ctx context.Context, id string) (bool, error)
}
