package cli

import (
	"fmt"

	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
)

// Collected says what was deleted.
func (p *Printer) Collected(c wire.Collected) error {
	_, err := fmt.Fprintf(p.Out, "Removed %s from the log, %s, %s, %s of sessions, %s of spilled output, %s of sessions that are over, %s that nobody used for a month, and %s that could be undone (%s; %s are left).\n",
		terminal.Plural(int(c.Rows), "call"), terminal.Plural(c.Questions, "question"), terminal.Plural(c.Grants, "grant"),
		terminal.Plural(c.State, "value"), output.Bytes(c.SpillBytes), terminal.Plural(c.Caches, "build cache"),
		terminal.Plural(c.Unused, "build cache"),
		terminal.Plural(c.Journal.Entries, "change"), output.Bytes(c.Journal.Bytes), output.Bytes(c.Journal.Left))
	if err != nil || len(c.Kept) == 0 {
		return err
	}
	if _, err = fmt.Fprintln(p.Out, "Build caches that are kept:"); err != nil {
		return err
	}
	for _, u := range c.Kept {
		if _, err = fmt.Fprintf(p.Out, "  %-10s %s\n", output.Bytes(u.Bytes), cacheWords[u.Owner]); err != nil {
			return err
		}
	}
	return nil
}

// cacheWords say what the caches of an owner are, and how long they are kept.
var cacheWords = map[sandbox.CacheOwner]string{
	sandbox.CacheCopy:      "of sessions, for commands on a copy; removed a day after their last use",
	sandbox.CacheDirect:    "of workspaces, for commands that run directly; removed a month after their last use",
	sandbox.CacheServer:    "of MCP servers; removed a month after their last use",
	sandbox.CacheBuilder:   "of builds of custom tools",
	sandbox.CacheToolchain: "the standard library of Go, compiled for all workspaces; removed a month after its last use",
}
