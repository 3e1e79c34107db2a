package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/reference"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// Tools lists tools.
func (p *Printer) Tools(specs []*tongs.Spec) error {
	rows := make([][]string, 0, len(specs))
	for _, s := range specs {
		rows = append(rows, []string{s.Name, s.Needs.String(), s.Default.String(), inShort(s.Description)})
	}
	return p.Table([]string{"TOOL", "NEEDS", "DEFAULT", "DESCRIPTION"}, rows)
}

// inShort is the first paragraph of a description, in one line.
func inShort(description string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(description), "\n\n")
	return strings.Join(strings.Fields(first), " ")
}

// Spec shows a tool: its manual, permissions and arguments.
func (p *Printer) Spec(s *tongs.Spec, manual string) error {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-12s %s\n", label, terminal.Clean(text))
		}
	}
	fmt.Fprintf(&b, "%s (%s)\n%s\n\n", terminal.Clean(s.Name), terminal.Clean(s.DisplayName()), terminal.CleanLines(manual))
	line("aliases:", strings.Join(s.Aliases, ", "))
	line("needs:", s.Needs.String())
	line("optional:", s.Optional.String())
	line("default:", s.Default.String())
	line("toolset:", s.Toolset)
	source := string(s.Source.Kind)
	if s.Source.Name != "" {
		source += " " + s.Source.Name
	}
	line("source:", source)
	b.WriteString("\narguments:\n")
	required := map[string]bool{}
	for _, name := range s.Input.Required {
		required[name] = true
	}
	for _, name := range ArgumentNames(s) {
		p := s.Input.Properties[name]
		what := reference.Type(p)
		if required[name] {
			what += ", required"
		}
		if len(p.Default) > 0 {
			what += ", default " + string(p.Default)
		}
		fmt.Fprintf(&b, "  %s (%s)\n", terminal.Clean(name), terminal.Clean(what))
		if p.Description != "" {
			fmt.Fprintf(&b, "      %s\n", terminal.Clean(p.Description))
		}
	}
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}

// ArgumentNames returns the names of the arguments as the definition orders them, else sorted.
func ArgumentNames(s *tongs.Spec) []string {
	if len(s.Input.PropertyOrder) == len(s.Input.Properties) {
		return s.Input.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Input.Properties))
}

// ServerNotes say what a person should know about servers and tools that are not ready.
func ServerNotes(states []tongs.SourceState) (notes []string) {
	for _, s := range states {
		if s.Detail != "" && s.Status != tongs.StatusReady {
			notes = append(notes, fmt.Sprintf("%s is %s: %s", s.Name, s.Status, s.Detail))
		}
		for _, t := range s.Tools {
			switch t.Status {
			case tongs.StatusQuarantined:
				notes = append(notes, fmt.Sprintf("%s is quarantined: its server describes it otherwise than you approved it", t.Name))
			case tongs.StatusGone, tongs.StatusBroken:
				notes = append(notes, fmt.Sprintf("%s is %s: %s", t.Name, t.Status, t.Detail))
			}
		}
	}
	return notes
}
