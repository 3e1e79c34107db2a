package policy

import (
	"context"

	"github.com/tongs-ai/tongs"
)

// Unasked is the host of a permit for a program that a person starts themselves: the rules about paths hold for it, and
// nobody is asked about more.
type Unasked struct {
	// Input is what rules are held against.
	Input Input
}

var _ tongs.PermitHost = Unasked{}

var errUnasked = tongs.Errorf(tongs.CodeDenied, "nobody is asked about more than starting the program")

// Decide implements tongs.PermitHost.
func (Unasked) Decide(context.Context, tongs.More) ([]tongs.Effect, error) { return nil, errUnasked }

// Ruled implements tongs.PermitHost.
func (u Unasked) Ruled(kind tongs.EffectKind, below *tongs.Path) (named func(tongs.Path) bool, any bool) {
	return RuledTest(u.Input, kind, below)
}

// Note implements tongs.PermitHost.
func (Unasked) Note(tongs.NoteKind, string) {}
