package wire

import (
	"os"
	"slices"

	"github.com/tongs-ai/tongs/internal/registries"
	"github.com/tongs-ai/tongs/network"
)

// registries is where registries are named.
func (s *System) registries() registries.Place {
	home, _ := os.UserHomeDir()
	return registries.Place{Home: home, Project: s.Files.Dir(), Getenv: os.Getenv}
}

// mirrors are the registries that are expected at localhost, which to a program is its own.
func (s *System) mirrors() (list []network.Target) {
	for _, n := range s.registries().Read() {
		t, err := network.ParseTarget(n.Host, 0)
		if err != nil || !t.Loopback() || slices.ContainsFunc(list, func(o network.Target) bool { return o.Port == t.Port }) {
			continue
		}
		list = append(list, t)
	}
	return list
}

// knownHost tells a person what a host is, empty where nothing is known. That a project's file names it makes it no better.
func (s *System) knownHost(host string) string {
	if g, ok := network.GroupOf(host); ok {
		return g.About
	}
	named, ok := s.registries().Find(host)
	if !ok {
		return ""
	}
	return named.Manager + " registry, " + named.String()
}
