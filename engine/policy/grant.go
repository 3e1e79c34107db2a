package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// Fits reports whether the grant was given for what key identifies. A grant of scope session fits its session only,
// and none where the call has no session.
func (g Grant) Fits(key Key) bool {
	k := g.Key
	if k.Tool != key.Tool || k.Source != key.Source || k.Roots != key.Roots || !slices.Equal(k.Agents, key.Agents) {
		return false
	}
	switch g.Scope {
	case ScopeAlways:
		return true
	case ScopeSession:
		return k.Session != "" && k.Session == key.Session
	default:
		return false
	}
}

// Covering reports whether one of the grant's covers is for the effect. Instructions for agents are covered for a session,
// each file by its own name.
func (g Grant) Covering(e tongs.Effect) bool {
	return slices.ContainsFunc(g.Covers, func(c Cover) bool {
		return c.Covers(e) && (!e.Steers || g.Scope == ScopeSession && c.Pattern == escapeGlob(e.Path.String()))
	})
}

// Validate says what is wrong with a grant that somebody would add to a book.
func (g Grant) Validate() error {
	switch {
	case g.ID == "":
		return errors.New("a grant needs an ID")
	case g.Scope != ScopeSession && g.Scope != ScopeAlways:
		return fmt.Errorf("grant %s: scope %q is not one of session, always", g.ID, g.Scope)
	case g.Scope == ScopeSession && g.Key.Session == "":
		return fmt.Errorf("grant %s has the scope session and names no session", g.ID)
	case g.Scope == ScopeAlways && g.Key.Session != "":
		return fmt.Errorf("grant %s has the scope always and names the session %s", g.ID, g.Key.Session)
	case g.Key.Tool == "":
		return fmt.Errorf("grant %s names no tool", g.ID)
	case !g.Key.Source.BuiltIn() && g.Key.Source.Digest == "":
		return fmt.Errorf("grant %s: %s is not built in and has no digest, so that it would outlive the code", g.ID, g.Key.Tool)
	case g.RulesDigest == "":
		return fmt.Errorf("grant %s has no digest of the rules, so that it would outlive them", g.ID)
	case len(g.Covers) == 0:
		return fmt.Errorf("grant %s covers nothing", g.ID)
	}
	for _, c := range g.Covers {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("grant %s: %w", g.ID, err)
		}
	}
	return nil
}

// remember decides whether an approval of what the verdict asks for may be kept, and notes the digest of its rules.
func (j *judge) remember(v *Verdict) bool {
	src := j.spec.Source
	if !src.BuiltIn() && src.Digest == "" {
		return false
	}
	var asked []*tongs.Effect
	for i := range v.Effects {
		if v.Effects[i].Decision != tongs.Ask {
			continue
		}
		e := &j.in.Effects[i]
		if !table[v.Effects[i].Step.rank()].Grants || !j.coverable(e) {
			return false
		}
		asked = append(asked, e)
		v.SessionOnly = v.SessionOnly || e.Steers
	}
	v.Rememberable = true
	v.RulesDigest = j.digest(asked...)
	return true
}

// coverable reports whether a grant may answer for the effect.
func (j *judge) coverable(e *tongs.Effect) bool {
	if opaque(e) && !j.standsForTool(e) {
		return false
	}
	_, ok := proposal(e)
	return ok
}

// standsForTool reports whether an unknown effect stands for the tool as such, whose code a person knows: the tool has no plan,
// or it is one from outside, whose execution is the running of its own program. Approving that is approving the tool.
func (j *judge) standsForTool(e *tongs.Effect) bool {
	own := !j.spec.Source.BuiltIn() && e.Kind == tongs.EffectExecute
	return e.Unknown && j.lenient && (j.in.Unplanned || own)
}

// granted answers the verdict's asks from the grants, all of them or none.
func (j *judge) granted(v *Verdict) bool {
	key := &j.in.Key
	if len(j.in.Grants) == 0 || key.Tool != j.spec.Name || key.Source != j.spec.Source {
		return false
	}
	by := make([]string, len(v.Effects))
	var ids []string
	for i := range v.Effects {
		if v.Effects[i].Decision != tongs.Ask {
			continue
		}
		g := j.grantFor(&j.in.Effects[i], v.RulesDigest)
		if g == nil {
			return false
		}
		by[i] = g.ID
		if !slices.Contains(ids, g.ID) {
			ids = append(ids, g.ID)
		}
	}
	for i, id := range by {
		if id != "" {
			v.Effects[i] = Judgement{Decision: tongs.PreApproved, Step: StepGrant, By: grantWord + id}
		}
	}
	v.Decision, v.Step, v.Rule, v.Rememberable = tongs.PreApproved, StepGrant, nil, false
	v.Grant = strings.Join(ids, ",")
	v.By = grantWord + v.Grant
	v.Reason = "A person approved this before and had it remembered."
	return true
}

// grantWord stands before the IDs of grants that answered.
const grantWord = "grant "

// GrantIDs returns the IDs of the grants that a verdict's By names, nil where something else decided.
func GrantIDs(by string) []string {
	ids, ok := strings.CutPrefix(by, grantWord)
	if !ok {
		return nil
	}
	ids, _, _ = strings.Cut(ids, ";")
	return strings.Split(ids, ",")
}

// grantFor returns a grant that covers the effect and was given under the same rules: those of all that is asked, or
// those of this effect alone, so that what was approved by itself holds in a longer command too.
func (j *judge) grantFor(e *tongs.Effect, rules string) *Grant {
	alone := ""
	for i := range j.in.Grants {
		g := &j.in.Grants[i]
		if !g.Fits(j.in.Key) || !g.Covering(*e) {
			continue
		}
		if g.RulesDigest == rules {
			return g
		}
		if alone == "" {
			alone = j.digest(e)
		}
		if g.RulesDigest == alone {
			return g
		}
	}
	return nil
}
