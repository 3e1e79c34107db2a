// Package cli is what the commands of tongs have in common: it reads flags, arguments and times as people type them, and
// prints what commands found as text, tables or JSON. It decides and changes nothing.
package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/tongs-ai/tongs/internal/terminal"
)

// Printer is where a command writes: results to Out, everything else to Err.
type Printer struct {
	Out, Err io.Writer
	shown    streamed
}

// JSON writes v as one line.
func (p *Printer) JSON(v any) error { return terminal.WriteJSON(p.Out, v) }

// List is the list as JSON should have it: an empty one is [].
func List[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Table writes columns.
func (p *Printer) Table(head []string, rows [][]string) error {
	return terminal.WriteTable(p.Out, head, rows)
}

// Lines writes a text without what a terminal would act on, and ends its last line.
func (p *Printer) Lines(text string) error {
	_, err := fmt.Fprintln(p.Out, terminal.CleanLines(strings.TrimRight(text, "\n")))
	return err
}
