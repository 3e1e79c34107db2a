package config_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestUndoable(t *testing.T) {
	c := newSite(t).user("approval: {undoable: preApproved}\n").workspace("approval: {undoable: ask}\n").managed("approval: {undoable: ask}\n").load()
	if len(c.Rules) != 3 {
		t.Fatalf("rules %q", rules(c))
	}
	for i, want := range []struct {
		layer tongs.Layer
		d     tongs.Decision
	}{{tongs.LayerManaged, tongs.Ask}, {tongs.LayerUser, tongs.PreApproved}, {tongs.LayerWorkspace, tongs.Ask}} {
		r := c.Rules[i]
		if !r.Undoable || r.Layer != want.layer || r.Decision != want.d || r.Effects != tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete) || r.Tool+r.Toolset+r.Pattern != "" {
			t.Errorf("rule %d is %+v", i, r)
		}
	}
}

// A workspace file that nobody trusts frees nothing, and config show says so.
func TestUntrustedUndoableIsIgnored(t *testing.T) {
	s := newSite(t).workspace("approval: {undoable: preApproved}\n")
	c := s.load()
	if len(c.Ignored) != 1 || !strings.Contains(c.Ignored[0].What, "undoable") || !c.Rules[0].Untrusted {
		t.Errorf("ignored %+v, rules %q", c.Ignored, rules(c))
	}
	for _, setting := range c.Settings() {
		if strings.HasPrefix(setting.Key, "rules[") {
			t.Errorf("%s is shown as if it counted", setting.Value)
		}
	}
	if c := s.trust().load(); len(c.Ignored) != 0 || c.Rules[0].Untrusted {
		t.Errorf("trusted: ignored %+v, rules %q", c.Ignored, rules(c))
	}
}

func TestUndoableTakesTwoWords(t *testing.T) {
	if err := newSite(t).user("approval: {undoable: blocked}\n").fail(); !strings.Contains(err, "approval.undoable") || !strings.Contains(err, "preApproved") {
		t.Error(err)
	}
	if err := newSite(t).user("toolsets: {filesystem: {approval: {undoable: ask}}}\n").fail(); !strings.Contains(err, `"undoable"`) {
		t.Error(err)
	}
}
