package config

import (
	"fmt"
	"net/url"
	"slices"
)

// Web says how the web tools reach the network.
type Web struct {
	// Proxy carries their requests: an address, ProxyEnvironment, or empty for none.
	Proxy string `json:"proxy,omitempty"`
	// Robots is what they do about a robots.txt.
	Robots Robots `json:"robots"`
	// Search are the providers of web_search, the first one first. Nil means that no file names any.
	Search []SearchProvider `json:"search,omitempty"`
}

// ProxyEnvironment takes the proxy from HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
const ProxyEnvironment = "environment"

// Robots says what is done about a robots.txt.
type Robots string

const (
	// RobotsRespect stays away from what a site asks readers to stay away from.
	RobotsRespect Robots = "respect"
	// RobotsIgnore does not look.
	RobotsIgnore Robots = "ignore"
)

// SearchProvider is one that web_search asks.
type SearchProvider struct {
	Provider string `json:"provider"`
	// URL may be empty where the provider has one of its own.
	URL string `json:"url,omitempty"`
	// KeyEnv is the variable that holds the key, so that no file does; empty means the provider's usual one.
	KeyEnv string `json:"keyEnv,omitempty"`
}

// searchProviders are the names of the providers.
var searchProviders = []string{"searxng", "brave", "tavily"}

// webLayer is what one file says of the web.
type webLayer struct {
	proxy  *located[string]
	robots *located[Robots]
	search *located[[]SearchProvider]
}

// webReaders are the keys of toolsets.web that are not rules.
func (l *layer) webReaders(readers map[string]func(value)) map[string]func(value) {
	readers["proxy"] = func(v value) {
		text, ok := l.text(v)
		if !ok {
			return
		}
		if u, err := url.Parse(text); text != ProxyEnvironment && (err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme)) {
			l.fail(v.pos, "%s should be an http, https or socks5 address, or %s", v.name(), ProxyEnvironment)
			return
		}
		l.web.proxy = &located[string]{text, l.origin(v.pos)}
	}
	readers["robots"] = func(v value) {
		if w, ok := l.word(v, string(RobotsRespect), string(RobotsIgnore)); ok {
			l.web.robots = &located[Robots]{Robots(w), l.origin(v.pos)}
		}
	}
	readers["search"] = l.readProviders
	return readers
}

func (l *layer) readProviders(v value) {
	list := []SearchProvider{}
	for _, item := range l.list(v) {
		var p SearchProvider
		before := len(l.problems)
		l.object(item, map[string]func(value){
			"provider": func(v value) { p.Provider, _ = l.word(v, searchProviders...) },
			"url": func(v value) {
				text, ok := l.text(v)
				if u, err := url.Parse(text); ok && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil) {
					l.fail(v.pos, "%s is %s; write an http or https address", v.name(), quote(text))
				}
				p.URL = text
			},
			"keyEnv": func(v value) { p.KeyEnv, _ = l.text(v) },
		})
		switch {
		case len(l.problems) > before:
		case p.Provider == "":
			l.fail(item.pos, "%s needs a provider", item.name())
		case p.Provider == "searxng" && p.URL == "":
			l.fail(item.pos, "%s needs the url of your SearXNG", item.name())
		default:
			list = append(list, p)
		}
	}
	l.web.search = &located[[]SearchProvider]{list, l.origin(v.pos)}
}

// mergeWeb finds how the web is reached. Whoever carries the requests sees them, so that a file that can only narrow has
// no word about proxy and providers; of the others the one with the most authority stands. Respect for robots.txt stands
// whoever says it.
func (c *Config) mergeWeb(layers []*layer) {
	c.Web.Robots = RobotsRespect
	respected := false
	for _, l := range layers {
		respected = respected || l.web.robots != nil && l.web.robots.value == RobotsRespect
	}
	for _, l := range layers {
		w := l.web
		if w.proxy != nil && c.origins["toolsets.web.proxy"] == "" && c.trusts(l, w.proxy.origin, "proxy") {
			c.Web.Proxy, c.origins["toolsets.web.proxy"] = w.proxy.value, w.proxy.origin
		}
		if w.search != nil && c.Web.Search == nil && c.trusts(l, w.search.origin, "search") {
			c.Web.Search, c.origins["toolsets.web.search"] = w.search.value, w.search.origin
		}
		switch {
		case w.robots == nil:
		case w.robots.value == RobotsRespect:
			c.origins["toolsets.web.robots"] = w.robots.origin
		case respected:
			c.ignore(w.robots.origin, "toolsets.web.robots: ignore", "another file respects it")
		case c.trusts(l, w.robots.origin, "robots: ignore"):
			c.Web.Robots, c.origins["toolsets.web.robots"] = RobotsIgnore, w.robots.origin
		}
	}
}

// trusts reports whether a file may say more than to narrow, and notes where it may not.
func (c *Config) trusts(l *layer, origin, what string) bool {
	if l.narrow {
		c.ignore(origin, "toolsets.web."+what, untrustedWhy(l))
	}
	return !l.narrow
}

func (c *Config) webSettings(add func(key string, value any)) {
	if c.Web.Proxy != "" {
		shown := c.Web.Proxy
		if u, err := url.Parse(shown); err == nil {
			shown = u.Redacted()
		}
		add("toolsets.web.proxy", shown)
	}
	add("toolsets.web.robots", string(c.Web.Robots))
	if len(c.Web.Search) > 0 {
		var names []string
		for _, p := range c.Web.Search {
			name := p.Provider
			if p.URL != "" {
				name = fmt.Sprintf("%s (%s)", name, p.URL)
			}
			names = append(names, name)
		}
		add("toolsets.web.search", names)
	}
}
