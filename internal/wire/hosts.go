package wire

import (
	"os"

	"github.com/tongs-ai/tongs/internal/registries"
	"github.com/tongs-ai/tongs/network"
)

// knownHost tells a person what a host is, empty where nothing is known. That a project's file names it makes it no better.
func (s *System) knownHost(host string) string {
	if g, ok := network.GroupOf(host); ok {
		return g.About
	}
	home, _ := os.UserHomeDir()
	named, ok := registries.Place{Home: home, Project: s.Files.Dir(), Getenv: os.Getenv}.Find(host)
	if !ok {
		return ""
	}
	return named.Manager + " registry, " + named.String()
}
