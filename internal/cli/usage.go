package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/nearest"
)

// UsageError is a mistake on the command line.
type UsageError struct{ error }

// Usage makes a mistake on the command line of an error.
func Usage(err error) error { return UsageError{err} }

// Usagef returns a mistake on the command line.
func Usagef(format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...)}
}

// UnknownCommand says that a group has no such command, and which one may be meant.
func UnknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	if near := nearest.Word(word, names); near != "" {
		return Usagef("%s has no command %q; did you mean %q?", cmd.CommandPath(), word, near)
	}
	return Usagef("%s has no command %q; see '%s --help'", cmd.CommandPath(), word, cmd.CommandPath())
}
