package cli

import (
	"fmt"

	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

// Collected says what was deleted.
func (p *Printer) Collected(c wire.Collected) error {
	_, err := fmt.Fprintf(p.Out, "Removed %s from the log, %s, %s, %s of sessions, %s of spilled output, %s of sessions that are over, and %s that could be undone (%s; %s are left).\n",
		terminal.Plural(int(c.Rows), "call"), terminal.Plural(c.Questions, "question"), terminal.Plural(c.Grants, "grant"),
		terminal.Plural(c.State, "value"), output.Bytes(c.SpillBytes), terminal.Plural(c.Caches, "build cache"),
		terminal.Plural(c.Journal.Entries, "change"), output.Bytes(c.Journal.Bytes), output.Bytes(c.Journal.Left))
	return err
}
