package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/cli"
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
	cli.FormatFlag(cmd, &format, "table", append([]string{"table"}, specs.Formats()...)...)
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
			fmt.Fprintln(a.Err, "warning: "+terminal.Clean(w))
		}
		for _, note := range cli.ServerNotes(sys.StatesOf(tongs.SourceMCP)) {
			fmt.Fprintln(a.Err, "mcp: "+terminal.Clean(note))
		}
		for _, name := range slices.Sorted(maps.Keys(broken)) {
			fmt.Fprintf(a.Err, "broken: %s: %s\n", terminal.Clean(name), terminal.Clean(broken[name].Error()))
		}
		if format != "table" {
			described := sys.Described
			if format == "mcp" {
				described = sys.Offered
			}
			if list, err = described(engine.Usable(list, broken)); err != nil {
				return err
			}
			definitions, err := specs.Format(format, list)
			if err != nil {
				return err
			}
			return a.JSON(definitions)
		}
		return a.Tools(list)
	})
	return cmd
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
	cli.FormatFlag(cmd, &format, "text", "text", "json")
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
			return a.Spec(spec, manual)
		}
		list, err := sys.Described([]*tongs.Spec{spec})
		if err != nil {
			return err
		}
		return a.JSON(specs.Full(list[0]))
	})
	return cmd
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
		for _, name := range cli.ArgumentNames(spec) {
			words = append(words, name+"=")
		}
	}
	return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
