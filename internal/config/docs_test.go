package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/config"
)

// The example of the documentation uses keys as they are.
func TestDocumentedExampleIsValid(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("docs/config.md has no example")
	}
	c := newSite(t).user(text).load()
	if len(c.Rules) < 15 || len(c.Zones) != 1 || len(c.Toolsets.MCP) != 1 || len(c.Ignored) != 0 {
		t.Errorf("rules %q, zones %v, ignored %v", rules(c), c.Zones, c.Ignored)
	}
	for _, s := range c.Settings() {
		if strings.HasPrefix(s.Key, "retention.") && s.Origin == "default" {
			t.Errorf("%s is not in the example", s.Key)
		}
	}
}

// What the starter file shows as comments works once somebody takes the marks off.
func TestStarterFileWorks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "cmd", "tongs", "starter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t).workspace(string(text))
	if c := s.load(); len(c.Rules) != 0 || len(c.Zones) != 0 {
		t.Errorf("the starter file says something: %q", rules(c))
	}
	var live strings.Builder
	for line := range strings.Lines(string(text)) {
		live.WriteString(strings.TrimPrefix(line, "# "))
	}
	s.workspace(live.String()).trust()
	if c := s.load(); len(c.Rules) < 8 || len(c.Zones) != 1 || c.Limits == (config.Limits{}) {
		t.Errorf("rules %q, zones %v", rules(c), c.Zones)
	}
}

// Every limit is in the table of the documentation, with its default.
func TestDocumentedLimits(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := 0
	for _, s := range newSite(t).load().Settings() {
		key, ok := strings.CutPrefix(s.Key, "limits.")
		if !ok {
			continue
		}
		if row := fmt.Sprintf("| `%s` | %v |", key, s.Value); !strings.Contains(string(page), row) {
			t.Errorf("docs/config.md has no row that begins %s", row)
		}
		documented++
	}
	if documented != reflect.TypeFor[config.Limits]().NumField() {
		t.Errorf("%d limits are shown, of %d fields", documented, reflect.TypeFor[config.Limits]().NumField())
	}
}
