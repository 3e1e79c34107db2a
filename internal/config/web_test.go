package config_test

import (
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/config"
)

func TestWeb(t *testing.T) {
	c := newSite(t).load()
	if c.Web.Proxy != "" || c.Web.Robots != config.RobotsRespect || c.Web.Search != nil {
		t.Errorf("by default: %+v", c.Web)
	}
	const own = `
toolsets:
  web:
    proxy: http://user:secret@proxy.example.com:3128
    robots: ignore
    search: [{provider: tavily}, {provider: searxng, url: "http://localhost:8888"}]
`
	c = newSite(t).user(own).load()
	if c.Web.Proxy != "http://user:secret@proxy.example.com:3128" || c.Web.Robots != config.RobotsIgnore || len(c.Web.Search) != 2 ||
		c.Web.Search[1].URL != "http://localhost:8888" {
		t.Errorf("of the user: %+v", c.Web)
	}
	for _, s := range c.Settings() {
		if text, ok := s.Value.(string); ok && strings.Contains(text, "secret") {
			t.Errorf("%s shows a password: %s", s.Key, text)
		}
	}
	// A file that nobody vouches for can only narrow: it says neither who carries requests nor who hears queries.
	c = newSite(t).workspace(own).load()
	if c.Web.Proxy != "" || c.Web.Robots != config.RobotsRespect || c.Web.Search != nil || len(c.Ignored) != 3 {
		t.Errorf("of a workspace: %+v, ignored %+v", c.Web, c.Ignored)
	}
	c = newSite(t).user(own).workspace("toolsets: {web: {robots: respect}}").load()
	if c.Web.Robots != config.RobotsRespect {
		t.Errorf("the stricter word does not stand: %+v", c.Web)
	}
	for _, wrong := range []string{
		"proxy: ftp://x", "proxy: proxy.example.com", "robots: maybe", "search: [{provider: google}]", "search: [{provider: searxng}]",
		"search: [{url: \"http://x\"}]", "search: [{provider: brave, key: x}]", "search: [{provider: brave, url: \"http://u@x\"}]",
	} {
		if msg := newSite(t).user("toolsets: {web: {" + wrong + "}}").fail(); !strings.Contains(msg, "config.yaml") {
			t.Errorf("%s: %s", wrong, msg)
		}
	}
}
