package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/config"
)

// Direct asks before anything runs, so it is the stricter word, and that of any file stands.
func TestStricterWritesStand(t *testing.T) {
	const direct, outcome = "sandbox: {writes: direct}\n", "sandbox: {writes: outcome}\n"
	for _, c := range []struct {
		name                     string
		managed, user, workspace string
		trusted                  bool
		want                     config.Writes
		ignored                  int
	}{
		{name: "nobody", want: config.Outcome},
		{name: "the user", user: direct, want: config.Direct},
		{name: "an untrusted workspace asks before", workspace: direct, want: config.Direct},
		{name: "and cannot ask less", user: direct, workspace: outcome, want: config.Direct, ignored: 1},
		{name: "nor can a trusted one", user: direct, workspace: outcome, trusted: true, want: config.Direct, ignored: 1},
		{name: "the administrator", managed: direct, user: outcome, want: config.Direct, ignored: 1},
		{name: "a user stricter than the administrator", managed: outcome, user: direct, want: config.Direct},
		{name: "all agree", managed: outcome, user: outcome, workspace: outcome, want: config.Outcome},
	} {
		s := newSite(t).managed(c.managed).user(c.user).workspace(c.workspace)
		if c.trusted {
			s.trust()
		}
		if got := s.load(); got.Sandbox.Writes != c.want || len(got.Ignored) != c.ignored {
			t.Errorf("%s: %s, ignored %v", c.name, got.Sandbox.Writes, got.Ignored)
		}
	}
}

// What is let through is written undecided: only a file that somebody vouches for can say so.
func TestThrough(t *testing.T) {
	s := newSite(t).user("sandbox: {through: [node_modules, ~/.cache/x]}\n").workspace("sandbox: {through: [src, node_modules]}\n")
	c := s.load()
	home := strings.TrimSuffix(c.Sandbox.Through[1], filepath.FromSlash("/.cache/x"))
	if len(c.Sandbox.Through) != 2 || !filepath.IsAbs(home) || len(c.Ignored) != 2 || !strings.Contains(c.Ignored[0].What, `"src"`) {
		t.Errorf("through %q, ignored %v", c.Sandbox.Through, c.Ignored)
	}
	if c = s.trust().load(); len(c.Sandbox.Through) != 3 || len(c.Ignored) != 0 {
		t.Errorf("through %q, ignored %v", c.Sandbox.Through, c.Ignored)
	}
	want := []string{filepath.Join(s.opt.Workspace, "node_modules"), c.Sandbox.Through[1], filepath.Join(s.opt.Workspace, "src")}
	if got := c.Sandbox.Paths(s.opt.Workspace); !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	for _, wrong := range []string{".", "..", "../x", "a/../..", "''", "'**/node_modules'", "[x]"} {
		if msg := newSite(t).user("sandbox: {through: [" + wrong + "]}\n").fail(); !strings.Contains(msg, "through") {
			t.Errorf("%s: %s", wrong, msg)
		}
	}
}

func TestWritesOfARule(t *testing.T) {
	c := newSite(t).user("toolsets: {shell: {rules: [{pattern: 'make ', approval: preApproved, writes: outcome}, " +
		"{pattern: 'go ', approval: preApproved, writes: direct}, {pattern: 'npm ', approval: preApproved}]}}\n").load()
	if !c.Rules[0].Outcome || c.Rules[1].Outcome || c.Rules[2].Outcome {
		t.Errorf("rules %+v", c.Rules)
	}
	if got := c.Rules[0].String(); got != `toolset shell execute "make ": preApproved, on a copy (user, config.yaml:1)` {
		t.Errorf("%s", got)
	}
	for _, wrong := range []string{
		"toolsets: {shell: {rules: [{pattern: 'make ', approval: ask, writes: outcome}]}}",
		"toolsets: {shell: {rules: [{pattern: 'make ', approval: blocked, writes: direct}]}}",
		"toolsets: {shell: {rules: [{pattern: 'build/**', effects: [write], approval: preApproved, writes: outcome}]}}",
		"toolsets: {shell: {rules: [{pattern: 'make ', approval: preApproved, writes: both}]}}",
		"toolsets: {filesystem: {rules: [{pattern: 'a', approval: preApproved, writes: outcome}]}}",
		"sandbox: {writes: maybe}",
		"sandbox: {write: direct}",
	} {
		if msg := newSite(t).user(wrong + "\n").fail(); !strings.Contains(msg, "writ") {
			t.Errorf("%s: %s", wrong, msg)
		}
	}
}

// How much undo keeps is about the whole state of the user: no workspace, trusted or not, can make it forget.
func TestWorkspaceCannotMakeUndoForget(t *testing.T) {
	s := newSite(t).user("limits: {journalBytes: 1GiB}\n").workspace("limits: {journalBytes: 16MiB}\nretention: {changes: 1h}\n")
	for range 2 {
		if c := s.load(); c.Limits.JournalBytes != 1<<30 || c.Retention.Changes.Hours() != 30*24 || len(c.Ignored) != 2 {
			t.Errorf("%d, %s, ignored %v", c.Limits.JournalBytes, c.Retention.Changes, c.Ignored)
		}
		s.trust()
	}
	if c := s.managed("limits: {journalBytes: 64MiB}\n").load(); c.Limits.JournalBytes != 64<<20 {
		t.Errorf("the administrator's is %d", c.Limits.JournalBytes)
	}
}
