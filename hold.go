package tongs

import "context"

// Holder may be implemented by a call's Files, for a tool that changes many files as a whole by other means than Files.
type Holder interface {
	// Hold locks the paths of the effects and checks that each was decided and is still in the decided state; a delete of
	// a directory covers what is in it, and so does a write of one that did not exist. Otherwise it returns a *Need. Release
	// unlocks the paths; changed says in words what was changed, empty for nothing.
	Hold(ctx context.Context, effects []Effect) (release func(changed string), err error)
}

// Namer may be implemented by the FileView of a plan, for a tool that changes directories as a whole: it names what is special
// in them in its plan, so that a person is asked about everything at once.
type Namer interface {
	// Protected reports whether writing or deleting p must be decided by its name, and why.
	Protected(p Path) (why string, ok bool)
}
