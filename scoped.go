package tongs

// Scoped may be implemented by Commands, for tools that keep a program for later calls.
type Scoped interface {
	// Scope identifies what of the roots a program of this call could use. One that was started for a call is for calls of
	// the same scope only.
	Scope(readOnly bool) (string, error)
}
