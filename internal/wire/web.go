package wire

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"

	"golang.org/x/net/http/httpproxy"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/network/egress"
	"github.com/tongs-ai/tongs/tools/sql"
	"github.com/tongs-ai/tongs/tools/web"
)

// The variables that providers are found by, where no file names any.
const (
	envSearXNG = "SEARXNG_URL"
	envBrave   = "BRAVE_API_KEY"
	envTavily  = "TAVILY_API_KEY"
)

// addWeb makes the web tools part of the registry, and lets tools make requests.
func (s *System) addWeb(opt *engine.Options) error {
	l := s.Config.Limits
	private := meantForWeb(s.book.get, s.Config.Mode)
	providers, unavailable := searchProviders(s.Config.Web.Search, s.host.Attended)
	tools := web.Options{
		Timeout: l.WebTimeout, MaxTimeout: l.WebTimeoutMax, Bytes: l.WebBytes, ImageBytes: l.ImageBytes,
		FreeBytes: int(l.WebFree), FreeTotal: int(l.WebFreeTotal),
		IgnoreRobots: s.Config.Web.Robots == config.RobotsIgnore, Environ: os.Environ(), Private: private,
		Providers: providers, Unavailable: unavailable,
	}
	if spill := opt.Output.Spill; spill != nil {
		tools.Save = func(name string, data []byte) (string, error) { return spill.Save(id.New("w"), name, data) }
	}
	list, err := web.Tools(tools)
	if err != nil {
		return err
	}
	if err := s.builtIn.RegisterAll(list...); err != nil || s.opt.Memory {
		return err
	}
	proxy, err := webProxy(s.Config.Web.Proxy)
	if err != nil {
		return err
	}
	opt.HTTP = egress.New(egress.Options{
		Private: private, Configured: configured(providers, s.Config.SQL), Proxy: proxy, Timeout: l.WebTimeout,
	}).HTTP
	return nil
}

// meantForWeb is meant for the web tools. An address of this machine or network is asked about in every mode unless a rule
// allows it: one that wants it asked does not take that question away.
func meantForWeb(rules func() []tongs.Rule, mode tongs.Mode) func(host string) bool {
	named := ruleNamesHost(rules, mode)
	allowed := ruleNamesHost(func() []tongs.Rule {
		return slices.DeleteFunc(slices.Clone(rules()), func(r tongs.Rule) bool { return r.Decision != tongs.PreApproved })
	}, mode)
	return func(host string) bool {
		if target, err := network.ParseTarget(host, 443); err == nil && target.Special() {
			return allowed(host)
		}
		return named(host)
	}
}

// configured reports whether a tool sends to a host that somebody configured for it.
func configured(providers []web.Provider, databases []config.SQLConnection) func(tool, host string) bool {
	var hosts, servers []string
	for _, c := range databases {
		if target, err := connection(c).Target(); err == nil {
			servers = append(servers, target.Name())
		}
	}
	for _, p := range providers {
		if target, err := egress.TargetOf(p.URL()); err == nil {
			hosts = append(hosts, target.Name())
		}
	}
	return func(tool, host string) bool {
		return tool == web.SearchTool && slices.Contains(hosts, host) || tool == sql.Name && slices.Contains(servers, host)
	}
}

// webProxy is the proxy that configuration names. The environment counts only where that says so.
func webProxy(name string) (func(*http.Request) (*url.URL, error), error) {
	switch name {
	case "":
		return nil, nil
	case config.ProxyEnvironment:
		choose := httpproxy.FromEnvironment().ProxyFunc()
		return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }, nil
	}
	u, err := url.Parse(name)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "toolsets.web.proxy is no address")
	}
	return http.ProxyURL(u), nil
}

// searchProviders makes the providers of web_search: those that files name, else those that the environment has keys for. The
// error is why there are none although some are named. Where a program starts us, an address that the environment names
// does not count: whoever answers there would see every query.
func searchProviders(named []config.SearchProvider, attended bool) ([]web.Provider, error) {
	if named == nil {
		if address := os.Getenv(envSearXNG); address != "" && attended {
			named = append(named, config.SearchProvider{Provider: web.NameSearXNG, URL: address})
		}
		for provider, variable := range map[string]string{web.NameBrave: envBrave, web.NameTavily: envTavily} {
			if os.Getenv(variable) != "" {
				named = append(named, config.SearchProvider{Provider: provider})
			}
		}
		slices.SortStableFunc(named, func(a, b config.SearchProvider) int { return rank(a.Provider) - rank(b.Provider) })
	}
	var providers []web.Provider
	var errs []error
	for _, n := range named {
		variable := n.KeyEnv
		if variable == "" {
			variable = map[string]string{web.NameBrave: envBrave, web.NameTavily: envTavily}[n.Provider]
		}
		key := ""
		if variable != "" {
			if key = os.Getenv(variable); key == "" {
				errs = append(errs, tongs.Errorf(tongs.CodeConfigError, "the search provider %s has no key: %s is not set", n.Provider, variable))
				continue
			}
		}
		p, err := web.NewProvider(n.Provider, n.URL, key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		providers = append(providers, p)
	}
	if len(providers) > 0 {
		return providers, nil
	}
	return nil, errors.Join(errs...)
}

func rank(provider string) int {
	return slices.Index([]string{web.NameSearXNG, web.NameBrave, web.NameTavily}, provider)
}
