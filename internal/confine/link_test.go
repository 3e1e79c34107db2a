package confine

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// A link counts as leading out wherever its text cannot tell that it does not.
func TestLinksThatLeadOut(t *testing.T) {
	for to, out := range map[string]bool{
		"b": false, "../b": false, "./../b": false, "../../x": false, "..": false,
		"/etc/passwd": true, "../../../x": true, "deep/s/../../..": true, "b/../c": true, "../b/..": true,
	} {
		c := &changeset.Change{Path: tongs.Path{Rel: "d/e/link"}}
		c.After.Type, c.After.Target = journal.Link, to
		if got := linkTarget(c) != ""; got != out {
			t.Errorf("d/e/link -> %s: leads out %t, want %t", to, got, out)
		}
	}
}
