package tongs

// Scoped may be implemented by Commands, for tools that keep a program for later calls.
type Scoped interface {
	// Scope identifies what a program of this call could use: of the roots, and of what was decided for the call. One that
	// was started for a call is for calls of the same scope only.
	Scope(readOnly bool) (string, error)
}
