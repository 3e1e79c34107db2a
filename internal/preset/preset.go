// Package preset has the user configurations that "tongs init --preset" writes, what each of them allows, and how often each
// asks in the sessions of test/bench/prompts.
package preset

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs/internal/nearest"
)

//go:embed *.yaml counts.json
var files embed.FS

// Default is the name, in Counts, of running without a configuration file.
const Default = "default"

// Preset is a user configuration to start from.
type Preset struct {
	Name string `json:"name"`
	// Allows are a few lines for a person about what the preset allows.
	Allows []string `json:"allows"`
	// Copies is set where the preset relies on commands running on copies of the workspace.
	Copies bool `json:"-"`
}

// Coding is the preset that is offered to somebody who has no configuration.
const Coding = "coding"

// All are the presets, the one for most people first.
func All() []Preset {
	return []Preset{
		{Name: Coding, Copies: true, Allows: []string{
			"Files in the workspace are edited, moved and deleted without asking; tongs undo takes each change back.",
			"Commands run on a copy of the workspace; changes that can be undone are kept, commits and branches too.",
			"Changes of files that other programs run or obey ask, such as git hooks and CI files.",
			"A package registry is asked about once for each host.",
			"Sending, pushing and reading secrets ask every time.",
		}},
		{Name: "careful", Allows: []string{
			"The agent reads and searches without asking.",
			"Each change of a file asks, new files included.",
			"Commands that may change something ask before they run.",
		}},
		{Name: "unattended", Copies: true, Allows: []string{
			"Files in the workspace are edited, moved and deleted without asking; tongs undo takes each change back.",
			"What needs approval is refused with the reason, and kept for you: tongs approvals list shows it.",
			"That includes pushing and every host.",
		}},
		{Name: "review-only", Copies: true, Allows: []string{
			"The agent reads, searches and runs commands on a copy.",
			"None of its changes are kept.",
		}},
	}
}

// Find returns the preset of this name.
func Find(name string) (Preset, error) {
	var names []string
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	hint := ""
	if near := nearest.Word(name, names); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return Preset{}, fmt.Errorf("there is no preset %q: choose %s%s", name, strings.Join(names, ", "), hint)
}

// YAML is the configuration file.
func (p Preset) YAML() ([]byte, error) { return files.ReadFile(p.Name + ".yaml") }

// Count is what happened in one session: questions by the label of the call that asked, and calls.
type Count struct {
	Calls int `json:"calls"`
	// Needed are questions about what cannot be taken back or must not be seen, Needless those about anything else, apart from Git
	// and Network: questions about the local repository, and about fetching.
	Needed   int `json:"needed"`
	Git      int `json:"git"`
	Network  int `json:"network"`
	Needless int `json:"needless"`
	// Missed are calls that needed a question and had none, Refused those that were refused without one.
	Missed  int `json:"missed"`
	Refused int `json:"refused"`
}

// Questions is how often a person was asked.
func (c Count) Questions() int { return c.Needed + c.Git + c.Network + c.Needless }

// Add adds another count.
func (c *Count) Add(o Count) {
	c.Calls += o.Calls
	c.Needed += o.Needed
	c.Git += o.Git
	c.Network += o.Network
	c.Needless += o.Needless
	c.Missed += o.Missed
	c.Refused += o.Refused
}

// Counts are by configuration, and in it by session.
type Counts map[string]map[string]Count

// Total is that of all sessions of a configuration.
func (c Counts) Total(config string) (sum Count) {
	for _, n := range c[config] {
		sum.Add(n)
	}
	return sum
}

// Measured are the counts of test/bench/prompts, which writes them.
func Measured() (Counts, error) {
	data, err := files.ReadFile("counts.json")
	if err != nil {
		return nil, err
	}
	var c Counts
	return c, json.Unmarshal(data, &c)
}
