package cli

import (
	"fmt"
)

// UsageError is a mistake on the command line.
type UsageError struct{ error }

// Usage makes a mistake on the command line of an error.
func Usage(err error) error { return UsageError{err} }

// Usagef returns a mistake on the command line.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}
