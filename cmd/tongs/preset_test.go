//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/preset"
)

// Each preset is a valid configuration, in which every key counts.
func TestEveryPresetLoads(t *testing.T) {
	for _, p := range preset.All() {
		t.Run(p.Name, func(t *testing.T) {
			dir := t.TempDir()
			data, err := p.YAML()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, config.UserFile), data, 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load(config.Options{ConfigDir: dir, Managed: filepath.Join(dir, "none.yaml")})
			if err != nil {
				t.Fatal(err)
			}
			if len(cfg.Rules) == 0 || len(cfg.Ignored) != 0 || cfg.AskLater != (p.Name == "unattended") {
				t.Errorf("rules %v, ignored %v, later %v", cfg.Rules, cfg.Ignored, cfg.AskLater)
			}
			if n := len(p.Allows); n == 0 || n > 5 {
				t.Errorf("what it allows is said in %d lines", n)
			}
			for i, line := range strings.Split(string(data), "\n") {
				if len(line) > 130 {
					t.Errorf("line %d is too long to read", i+1)
				}
			}
		})
	}
}

// A person at a terminal sees the change and is asked; no leaves the file as it is.
func TestAllowAsksAtTheTerminal(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(d.dir, "home", "config", config.UserFile)
	before, _ := os.ReadFile(file)
	for _, c := range []struct {
		key  string
		want bool
	}{{"n", false}, {"y", true}} {
		term := d.terminal("allow", "git commit")
		term.expect(`\+.*git commit`)
		term.expect(`y yes, n no`)
		term.typing(c.key)
		if code := term.exit(); (code == 0) != c.want {
			t.Errorf("%s: exit %d", c.key, code)
		}
		after, _ := os.ReadFile(file)
		if got := strings.Contains(string(after), "git commit"); got != c.want || !c.want && string(after) != string(before) {
			t.Errorf("%s: the file is\n%s", c.key, after)
		}
	}
}

// The preset for coding is offered to somebody who has no configuration, at the end of a setup, and to nobody else.
func TestSetupOffersAPreset(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(d.dir, "home", "config", config.UserFile)
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	term := d.terminal("setup", "claude-code", "--write")
	term.expect(`change .*y yes, n no`)
	term.typing("y")
	term.expect(`takes each change back`)
	term.expect(`config.yaml with it\? y yes, n no`)
	term.typing("y")
	if code := term.exit(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	want, err := preset.All()[0].YAML()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != string(want) {
		t.Errorf("%v\n%s", err, data)
	}
	if _, text, code := d.run("setup", "claude-code"); code != 0 || strings.Contains(text, "no configuration yet") {
		t.Errorf("exit %d: %s", code, text)
	}
}
