package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed sessions/*.yaml
var sessions embed.FS

// The labels of calls. They were written before the sessions first ran.
const (
	// Free is a call that nobody needs to be asked about: it can be taken back, or changes nothing.
	Free = "free"
	// Needed is a call that cannot be taken back, or that shows what must not be seen.
	Needed = "needed"
	// Git is a call that changes the local repository only, Network one that fetches and sends nothing of the user's. They are
	// counted apart.
	Git, Network = "git", "network"
)

// Session is a scripted coding session.
type Session struct {
	Name  string            `yaml:"-"`
	About string            `yaml:"about"`
	Setup []string          `yaml:"setup"`
	Files map[string]string `yaml:"files"`
	Calls []Call            `yaml:"calls"`
}

// Call is one call of a session.
type Call struct {
	Tool  string
	Args  map[string]any
	Label string
	Why   string
	// Fails is set for a call that is meant to fail.
	Fails bool
}

// UnmarshalYAML reads a call: its tool with the arguments, and what is known about it.
func (c *Call) UnmarshalYAML(data []byte) error {
	var fields map[string]any
	if err := yaml.Unmarshal(data, &fields); err != nil {
		return err
	}
	c.Label = Free
	for key, value := range fields {
		var ok bool
		switch key {
		case "label":
			c.Label, ok = value.(string)
		case "why":
			c.Why, ok = value.(string)
		case "fails":
			c.Fails, ok = value.(bool)
		default:
			c.Tool = key
			c.Args, ok = value.(map[string]any)
		}
		if !ok {
			return fmt.Errorf("%s: %v is not what belongs there", key, value)
		}
	}
	if !slices.Contains([]string{Free, Needed, Git, Network}, c.Label) || c.Label == Needed && c.Why == "" {
		return fmt.Errorf("%s: the label %q is unknown, or has no reason", c.Tool, c.Label)
	}
	return nil
}

// JSON is the arguments, with the address of the registry put in.
func (c *Call) JSON(registry string) (json.RawMessage, error) {
	args := maps.Clone(c.Args)
	if c.Tool == "shell" {
		args["timeout"] = 600 // the build caches of a session are empty when it begins
	}
	data, err := json.Marshal(args)
	return json.RawMessage(strings.ReplaceAll(string(data), "{{registry}}", registry)), err
}

// String is the call in one line.
func (c *Call) String() string {
	for _, key := range []string{"command", "path", "from", "pattern", "language"} {
		if text, ok := c.Args[key].(string); ok {
			return c.Tool + " " + strings.ReplaceAll(text, "\n", "⏎")
		}
	}
	return c.Tool
}

// Sessions are all sessions, by name.
func Sessions() ([]Session, error) {
	entries, err := sessions.ReadDir("sessions")
	if err != nil {
		return nil, err
	}
	var all []Session
	for _, e := range entries {
		data, err := sessions.ReadFile(path.Join("sessions", e.Name()))
		if err != nil {
			return nil, err
		}
		s := Session{Name: strings.TrimSuffix(e.Name(), ".yaml")}
		if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		all = append(all, s)
	}
	return all, nil
}
