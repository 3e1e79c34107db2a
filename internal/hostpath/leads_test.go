package hostpath_test

import (
	"testing"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// A link counts as leading out wherever its text cannot tell that it does not.
func TestLinksThatLeadOut(t *testing.T) {
	for to, out := range map[string]bool{
		"b": false, "../b": false, "./../b": false, "../../x": false, "..": false,
		"/etc/passwd": true, "../../../x": true, "deep/s/../../..": true, "b/../c": true, "../b/..": true,
	} {
		if got := hostpath.LeadsOut("d/e/link", to); got != out {
			t.Errorf("d/e/link -> %s: leads out %t, want %t", to, got, out)
		}
	}
}
