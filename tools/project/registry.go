package project

import (
	"net/url"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/registries"
	"github.com/tongs-ai/tongs/network"
)

// source is a registry that packages come from, for a person to judge.
type source struct {
	url, about string
	hosts      []string
}

func (s source) String() string {
	if s.about == "" {
		return s.url
	}
	return s.url + " (" + s.about + ")"
}

// sources are the registries that the manager would ask for these packages: those that configuration names, else the public one.
func (m *manager) sources(named []registries.Named, packages []wanted) (list []source) {
	for _, w := range packages {
		s := m.sourceOf(named, w)
		known := false
		for _, o := range list {
			known = known || o.url == s.url
		}
		if !known {
			list = append(list, s)
		}
	}
	return list
}

func (m *manager) sourceOf(named []registries.Named, w wanted) source {
	scope, _, scoped := strings.Cut(w.name, "/")
	var best *registries.Named
	for i, n := range named {
		switch {
		case n.Manager != m.kind:
		case scoped && n.Key == scope+":registry":
			return m.namedSource(n)
		case strings.HasSuffix(n.Key, ":registry"):
		case best == nil || n.Project && !best.Project && !variable(best.By):
			best = &named[i]
		}
	}
	if best != nil {
		return m.namedSource(*best)
	}
	s := source{url: m.registry}
	if g, ok := network.FindGroup(m.group); ok {
		s.about, s.hosts = g.About, g.Hosts
	}
	if u, err := url.Parse(m.registry); err == nil && m.group == "npm" {
		s.hosts = []string{u.Hostname()}
	}
	return s
}

func (m *manager) namedSource(n registries.Named) source {
	s := source{url: n.URL, about: n.String(), hosts: []string{n.Host}}
	if g, ok := network.GroupOf(n.Host); ok {
		s.about, s.hosts = g.About+", "+s.about, g.Hosts
	}
	return s
}

// variable reports whether a registry is named by a variable, which counts before every file.
func variable(by string) bool { return by != "" && !strings.ContainsAny(by, "/.") }

// effects are the connections to the registries.
func (s source) effects() (list []tongs.Effect) {
	for _, host := range s.hosts {
		e := tongs.Effect{Kind: tongs.EffectNetwork, Host: host, Why: s.about}
		if t, err := network.ParseTarget(host, 443); err == nil && t.Private() {
			e.Private = true
			e.Why = strings.TrimPrefix(e.Why+"; "+network.WhySpecial, "; ")
		}
		list = append(list, e)
	}
	return list
}
