package wire

import (
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/state"
)

// What a state directory says was approved counts only for a person, for the program that names it, and in the user's own place. A
// place that somebody forgot to ask about counts for nothing.
func TestApprovalsOfAStateDirectory(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "state")
	own := Host{Home: home}
	ownDir := func() string {
		t.Setenv("TONGS_STATE_DIR", "")
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("HOME", home)
		p, err := own.StatePlace()
		if err != nil {
			t.Fatal(err)
		}
		return p.StateDir
	}()
	for name, c := range map[string]struct {
		host Host
		dir  string
		want bool
	}{
		"a server, its own place":              {own, ownDir, true},
		"a server, elsewhere":                  {own, dir, false},
		"a person, elsewhere":                  {Host{Home: home, Attended: true}, dir, true},
		"a program that names the directory":   {Host{Home: home, StateDir: dir}, dir, true},
		"a program that names other things":    {Host{Home: home, ConfigDir: dir, ForgeDir: dir}, dir, false},
		"a person, and no directory was found": {Host{Home: home, Attended: true}, "", false},
	} {
		if got := c.host.trust(c.dir).count; got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (Place{StateDir: dir}).approvals.count {
		t.Error("a place that was not asked about counts")
	}
}

// Every kind of approval is hidden where the directory does not count, and there where it does.
func TestApprovalsThatDoNotCountAreNotThere(t *testing.T) {
	dir := t.TempDir()
	db, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Trust().Set(t.Context(), "/ws/tongs.yaml", "sha256:x", "test"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	counting, none := approvals{dir: dir, count: true}, approvals{dir: dir}
	for _, c := range []struct {
		approvals
		want bool
	}{{counting, true}, {none, false}, {approvals{}, false}} {
		if got, err := c.vouched("/ws/tongs.yaml", "sha256:x"); got != c.want || err != nil {
			t.Errorf("vouched: %t, %v", got, err)
		}
		_, grants := c.grants(policy.NewMemoryBook()).(sessionGrants)
		_, servers := c.servers().(unpinned)
		hidden := []bool{grants, servers, c.logins() == nil, c.forge("tools").NoApprovals, c.modules().NoApprovals}
		for i, h := range hidden {
			if h == c.want {
				t.Errorf("%d is hidden: %t, counts: %t", i, h, c.want)
			}
		}
	}
}
