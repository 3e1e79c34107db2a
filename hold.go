package tongs

import "context"

// Holder may be implemented by a call's Files, for a tool that changes many files as a whole by other means than Files.
type Holder interface {
	// Hold locks the paths of the effects and checks that each was decided and is still in the decided state; a delete of
	// a directory covers what is in it, and so does a write of one that did not exist. Otherwise it returns a *Need. Release
	// unlocks the paths; changed says in words what was changed, empty for nothing.
	Hold(ctx context.Context, effects []Effect) (release func(changed string), err error)
}
