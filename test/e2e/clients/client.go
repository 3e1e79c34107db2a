//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// nodeVersion is the Node.js that the clients run with.
const nodeVersion = "26.10.0"

// client is an agent, how it is configured, and how it is started.
type client struct {
	name, pkg, version string
	// setup is what 'tongs setup' calls it.
	setup string
	// configure writes the client's own configuration, without tongs; unattended, where there is one, adds to it that
	// approval is left to tongs, after 'tongs setup'.
	configure, unattended func(s *stand) error
	// remote adds a server at an address to the configuration, instead of 'tongs setup'.
	remote func(s *stand, r *remote) error
	// argv starts it without a person; env is added to its environment.
	argv func(s *stand) []string
	env  func(s *stand) []string
	// screen starts its own interface, with the prompt, for a person; nil where it has none.
	screen func(s *stand) []string
	// keys answer its form with yes, a picture being taken before each of them; nil where it shows none.
	keys []string
	// validates is whether it checks arguments itself before it calls, so that the server does not see wrong ones.
	validates bool
	// keeps are the tools of its own that stay after 'tongs setup --exclusive'.
	keeps []string
	// free starts it without a person and without limits of its own, native are calls of its own tools that destroy work; nil where
	// 'tongs guard' does not know the client. settings is the file of its settings that it has before.
	free     func(s *stand) []string
	native   func(s *stand) []model.Native
	settings string
	// rewrites is whether the client writes to that file itself.
	rewrites bool
	// forms is whether it shows the server's forms, so that questions are answered there.
	forms bool
	// talk, where there is one, leads a client that is no command but a server.
	talk func(s *stand, to io.Writer, from *bufio.Reader) error
}

// clients are those that are known.
func clients() []client {
	return []client{opencode(), codex(), codexForms(), claude(), claudeForms(), gemini()}
}

func names() []string {
	var all []string
	for _, c := range clients() {
		all = append(all, c.name)
	}
	return all
}

func find(name string) (client, bool) {
	for _, c := range clients() {
		if c.name == name {
			return c, true
		}
	}
	return client{}, false
}

type object = map[string]any

// writeJSON writes a configuration file below the home of the stand.
func (s *stand) writeJSON(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return s.write(name, data)
}

func (s *stand) write(name string, data []byte) error {
	path := filepath.Join(s.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
