package wire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
)

// configure writes the user's configuration.
func (s *site) configure(text string) {
	s.Helper()
	s.ok(os.MkdirAll(s.at("home", "config"), 0o700))
	s.ok(os.WriteFile(s.at("home", "config", "config.yaml"), []byte(text), 0o600))
}

// A rule that was added between the question and the answer is in force when the answer comes: what it blocks is not made,
// whether it is about the command, the tool that would make such a change, or the path, and whoever wrote it.
func TestALateYesIsJudgedByTheRulesOfNow(t *testing.T) {
	for name, meanwhile := range map[string]func(s *site){
		"command": func(s *site) {
			s.configure("toolsets: {shell: {rules: [{pattern: date, approval: blocked}]}}\n")
		},
		"tool": func(s *site) { s.configure("approval: {tools: {shell: blocked}}\n") },
		"file tool": func(s *site) {
			s.configure("approval: {tools: {edit: blocked}}\n")
		},
		"path": func(s *site) {
			s.configure("toolsets: {filesystem: {rules: [{pattern: f, effects: [write], approval: blocked}]}}\n")
		},
		"untrusted workspace": func(s *site) {
			s.write("tongs.yaml", "toolsets: {filesystem: {rules: [{pattern: f, effects: [write], approval: blocked}]}}\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write("f", "old\n")
			q := s.asks(s.shell("date > f"))
			meanwhile(s)
			err := s.answer(q, yesLate)
			if !errors.Is(err, approval.ErrNotMade) || !strings.Contains(err.Error(), "a rule blocks it now") {
				t.Fatalf("answered: %v", err)
			}
			if s.parked(0); s.read("f") != "old\n" {
				t.Errorf("f %q", s.read("f"))
			}
			if err := s.answer(q, yesLate); !errors.Is(err, approval.ErrAnswered) {
				t.Errorf("once more: %v", err)
			}
			if n := s.rows()["refused"]; n != 2 {
				t.Errorf("%d refused rows, want the call and its late approval", n)
			}
		})
	}
}

// A rule of the administrator counts for whoever answers.
func TestALateYesAndAManagedRule(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	q := s.asks(s.shell("date > f"))
	s.ok(os.WriteFile(s.at("policy.yaml"), []byte("toolsets: {filesystem: {rules: [{pattern: f, effects: [write], approval: blocked}]}}\n"), 0o644))
	st, err := Host{Attended: true, Managed: s.at("policy.yaml"), ManagedOwner: os.Getuid()}.OpenState()
	s.ok(err)
	defer st.Close()
	err = st.Questions.Answer(t.Context(), q, approval.Answer{Approved: true, Channel: "terminal", By: "ada"})
	if !errors.Is(err, approval.ErrNotMade) || !strings.Contains(err.Error(), "managed") || s.read("f") != "old\n" {
		t.Errorf("answered: %v; f %q", err, s.read("f"))
	}
}

// Rules that ask do not ask once more, and rules that others use do not count.
func TestALateYesAndRulesThatAsk(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	q := s.asks(s.shell("date > f"))
	s.configure("approval: {mode: none, tools: {shell: ask}}\ntoolsets: {filesystem: {rules: [{pattern: g, effects: [write], approval: blocked}]}}\n")
	if s.ok(s.answer(q, yesLate)); s.read("f") == "old\n" {
		t.Error("it was not made")
	}
}

// A configuration that cannot be read makes nothing, and the answer is kept for when it can.
func TestALateYesWithoutRules(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	q := s.asks(s.shell("date > f"))
	s.configure("approval: {tools: {shell: perhaps}}\n")
	if err := s.answer(q, yesLate); !errors.Is(err, approval.ErrNotMade) || s.read("f") != "old\n" {
		t.Fatalf("answered: %v; f %q", err, s.read("f"))
	}
	st, err := OpenState(s.at("home", "state"), nil)
	s.ok(err)
	defer st.Close()
	if _, err := st.Questions.Settle(t.Context(), q); err == nil || s.read("f") != "old\n" {
		t.Errorf("a program without rules: %v; f %q", err, s.read("f"))
	}
	s.configure("{}\n")
	if res := s.shell("date > f"); res.Error != nil || res.Metadata["recorded"] == nil || s.read("f") == "old\n" {
		t.Errorf("%v\n%s", res.Error, res.Content)
	}
}

// The rules that the call was made under count, too, where the program that answers has others.
func TestALateYesElsewhere(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	q := s.asks(s.shell("date > f"))
	s.configure("approval: {tools: {shell: blocked}}\n")
	t.Setenv("TONGS_CONFIG_DIR", s.at("other"))
	if err := s.answer(q, yesLate); !errors.Is(err, approval.ErrNotMade) || s.read("f") != "old\n" {
		t.Errorf("answered: %v; f %q", err, s.read("f"))
	}
}

// A zone that became read-only, or leads elsewhere, takes no changes that waited.
func TestALateYesInAZone(t *testing.T) {
	for name, c := range map[string]struct {
		now  string
		made bool
	}{
		"as it was": {"rw, path: ZONE", true},
		"read-only": {"ro, path: ZONE", false},
		"elsewhere": {"rw, path: OTHER", false},
		"gone":      {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			zones := func(zone string) string {
				if zone == "" {
					return "{}\n"
				}
				zone = strings.NewReplacer("ZONE", s.at("zone"), "OTHER", s.at("other")).Replace(zone)
				return "zones: {notes: {mode: " + zone + "}}\n"
			}
			for _, dir := range []string{"zone", "other"} {
				s.ok(os.MkdirAll(s.at(dir), 0o755))
				s.ok(os.WriteFile(filepath.Join(s.at(dir), "f"), []byte("old\n"), 0o644))
			}
			s.configure(zones("rw, path: ZONE"))
			s.write("t.sh", "date > "+s.at("zone", "f")+"\n")
			q := s.asks(s.shell("sh ./t.sh"))
			s.configure(zones(c.now))
			err := s.answer(q, yesLate)
			data, readErr := os.ReadFile(s.at("zone", "f"))
			if s.ok(readErr); (string(data) != "old\n") != c.made || errors.Is(err, approval.ErrNotMade) == c.made {
				t.Errorf("answered: %v; f %q", err, data)
			}
		})
	}
}
