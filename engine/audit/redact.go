package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/secrets"
)

// Redactor makes what a log keeps: without secrets, and bounded. Nil knows the shapes and names of secrets, but no
// values. It is safe for concurrent use.
type Redactor struct {
	secrets *secrets.Redactor
	// bases are those of earlier calls and how they are kept: most calls of a tool have the same one.
	mu    sync.Mutex
	bases map[string]json.RawMessage
}

// maxBases and maxBasis bound what a Redactor remembers of bases.
const (
	maxBases = 256
	maxBasis = 4 << 10
)

// noValues stands in for a nil Redactor.
var noValues Redactor

// NewRedactor returns a Redactor that also knows the values of the secret-looking variables in environ (KEY=value).
func NewRedactor(environ []string) *Redactor { return &Redactor{secrets: secrets.New(environ)} }

func (r *Redactor) known() *secrets.Redactor {
	if r == nil {
		return nil
	}
	return r.secrets
}

// basis is Args for what a decision rests on.
func (r *Redactor) basis(raw json.RawMessage) json.RawMessage {
	if r == nil {
		r = &noValues
	}
	if len(raw) > maxBasis {
		return r.Args(raw)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.bases[string(raw)]
	if !ok {
		if kept = r.Args(raw); r.bases == nil || len(r.bases) >= maxBases {
			r.bases = map[string]json.RawMessage{}
		}
		r.bases[string(raw)] = kept
	}
	return kept
}

// Args returns arguments as a log keeps them: secrets replaced by marks, a string over 2 KiB by an object with its
// sha256, bytes and head, and so the whole where it is over 64 KiB.
func (r *Redactor) Args(args json.RawMessage) json.RawMessage { return r.known().Bounded(args) }

// maxText bounds the texts and names of a row, maxAgents its chain of agents.
const (
	maxText   = 2 << 10
	maxAgents = 100
)

func (r *Redactor) text(s string) string {
	if s == "" {
		return s
	}
	return bounded(r.known().Text(s))
}

func bounded(s string) string {
	if len(s) <= maxText {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:maxText], ""), len(s))
}

func (r *Redactor) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = r.text(out[i])
	}
	return out
}

// Open returns the data of the entry that opens the row.
func (r *Redactor) Open(row *Row) (json.RawMessage, error) {
	if row.Call == "" {
		return nil, fmt.Errorf("audit row of tool %q has no call ID", row.Tool)
	}
	kept := *row
	kept.Seq, kept.Interrupted, kept.Intent, kept.Close, kept.Earlier = 0, false, nil, nil, nil
	kept.Args, kept.Reason = r.Args(row.Args), r.text(row.Reason)
	kept.Tool = r.text(row.Tool)
	for _, name := range []*string{&kept.Call, &kept.Parent, &kept.Session, &kept.Message, &kept.Workspace} {
		*name = bounded(*name)
	}
	kept.Agents = slices.Clone(row.Agents[:min(len(row.Agents), maxAgents)])
	for i := range kept.Agents {
		kept.Agents[i] = bounded(kept.Agents[i])
	}
	return json.Marshal(&kept)
}

// Intent returns the data of the entry that holds in.
func (r *Redactor) Intent(in *Intent) (json.RawMessage, error) {
	kept := *in
	kept.By, kept.Repaired = r.text(in.By), r.texts(in.Repaired)
	kept.Effects = slices.Clone(in.Effects)
	if kept.Effects == nil {
		kept.Effects = []tongs.Effect{}
	}
	for i := range kept.Effects {
		e := &kept.Effects[i]
		was := *e
		e.Argv, e.Env = r.known().Argv(e.Argv), r.known().Argv(e.Env)
		e.Why, e.Host = r.text(e.Why), r.text(e.Host)
		e.Path.Rel = r.known().Text(e.Path.Rel)
		kept.Redacted = kept.Redacted || !e.SameTarget(was) || !keeps(&was)
	}
	if kept.Args = nil; len(in.Args) > 0 {
		kept.Args = r.Args(in.Args)
	}
	kept.Basis = r.basis(in.Basis)
	kept.Redacted = kept.Redacted || !bytes.Equal(kept.Basis, in.Basis)
	return json.Marshal(&kept)
}

// keeps reports whether JSON keeps the target of an effect as it is.
func keeps(e *tongs.Effect) bool {
	odd := func(word string) bool { return !utf8.ValidString(word) }
	return utf8.ValidString(e.Path.Rel) && utf8.ValidString(e.Host) &&
		!slices.ContainsFunc(e.Argv, odd) && !slices.ContainsFunc(e.Env, odd)
}

// Close returns the data of the entry that closes a row.
func (r *Redactor) Close(c *Closing) (json.RawMessage, error) {
	kept := *c
	kept.Error, kept.Title = r.text(c.Error), r.text(c.Title)
	return json.Marshal(&kept)
}
