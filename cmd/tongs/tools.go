package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) toolsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "tools",
		Short:   "List the tools",
		Long:    "List the tools that can be called here, or print their definitions in the format of a model provider.",
		Example: "  tongs tools\n  tongs tools --format anthropic > tools.json",
		Args:    cobra.NoArgs,
	}
	formatFlag(cmd, &format, "table", append([]string{"table"}, specs.Formats()...)...)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		host := a.host()
		host.Attended = format != "mcp" // as 'tongs mcp' opens it, which takes less from the environment
		sys, err := host.Open(cmd.Context(), wire.Options{Memory: true})
		if err != nil {
			return err
		}
		defer sys.Close()
		list, broken := sys.Engine.Tools(cmd.Context())
		for _, w := range sys.Warnings() {
			fmt.Fprintln(a.err, "warning: "+terminal.Clean(w))
		}
		for _, note := range serverNotes(sys.StatesOf(tongs.SourceMCP)) {
			fmt.Fprintln(a.err, "mcp: "+terminal.Clean(note))
		}
		for _, name := range slices.Sorted(maps.Keys(broken)) {
			fmt.Fprintf(a.err, "broken: %s: %s\n", terminal.Clean(name), terminal.Clean(broken[name].Error()))
		}
		if format != "table" {
			if list, err = sys.Described(list); err != nil {
				return err
			}
			definitions, err := specs.Format(format, list)
			if err != nil {
				return err
			}
			return a.json(definitions)
		}
		return a.printTools(list)
	})
	return cmd
}

func (a *app) printTools(specs []*tongs.Spec) error {
	rows := make([][]string, 0, len(specs))
	for _, s := range specs {
		rows = append(rows, []string{s.Name, s.Needs.String(), s.Default.String(), s.Description})
	}
	return a.table([]string{"TOOL", "NEEDS", "DEFAULT", "DESCRIPTION"}, rows)
}

func (a *app) describeCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "describe TOOL",
		Short:             "Show the arguments, permissions and defaults of a tool",
		Example:           "  tongs describe edit\n  tongs describe read_file --format json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTools,
	}
	formatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		sys, err := a.open(cmd.Context(), wire.Options{Memory: true})
		if err != nil {
			return err
		}
		defer sys.Close()
		spec, err := sys.Find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if format != "json" {
			manual, err := sys.Manual(spec)
			if err != nil {
				return err
			}
			return a.printSpec(spec, manual)
		}
		list, err := sys.Described([]*tongs.Spec{spec})
		if err != nil {
			return err
		}
		return a.json(specs.Full(list[0]))
	})
	return cmd
}

func (a *app) printSpec(s *tongs.Spec, manual string) error {
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
	for _, name := range propertyOrder(s) {
		p := s.Input.Properties[name]
		what := typeOf(p)
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
	_, err := fmt.Fprint(a.out, b.String())
	return err
}

// propertyOrder returns the names of the arguments as the definition orders them, else sorted.
func propertyOrder(s *tongs.Spec) []string {
	if len(s.Input.PropertyOrder) == len(s.Input.Properties) {
		return s.Input.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Input.Properties))
}

// completeTools completes the name of a tool, then the names of its arguments.
func (a *app) completeTools(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	sys, err := a.open(context.Background(), wire.Options{Memory: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer sys.Close()
	var words []string
	if len(args) == 0 {
		specs, _ := sys.Engine.Tools(context.Background())
		for _, s := range specs {
			words = append(words, s.Name+"\t"+terminal.Clean(s.Description))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	if spec := sys.Spec(args[0]); spec != nil {
		for _, name := range propertyOrder(spec) {
			words = append(words, name+"=")
		}
	}
	return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
