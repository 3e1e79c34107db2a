package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) moduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "module", Short: "Review and approve module tools",
		Long: "Modules are files of functions in TypeScript, JavaScript, Python or Go, and npm packages, listed in your " +
			"configuration or a worker file under toolsets.custom and toolsets.external. A module runs only as you approved " +
			"it, including everything it imports: any change needs a new approval.",
		Example: "  tongs module list\n  tongs module review tools.ts",
	}
	cmd.AddCommand(a.moduleListCommand(), a.moduleShowCommand(), a.moduleReviewCommand(), a.moduleForgetCommand())
	return cmd
}

func (a *app) moduleListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List the modules and their state", Example: "  tongs module list\n  tongs module list --format json", Args: cobra.NoArgs,
		Long: "List the configured modules and the state of their tools. No module code is run.",
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		sys, err := a.open(cmd.Context(), wire.Options{Memory: true})
		if err != nil {
			return err
		}
		defer sys.Close()
		states := sys.StatesOf(tongs.SourceModule)
		if format == "json" {
			return a.JSON(states)
		}
		if len(states) == 0 {
			fmt.Fprintln(a.Err, "No modules are configured. Name one in your configuration: toolsets: {custom: {module: ./tools.ts, tools: [name]}}")
			return nil
		}
		return a.Modules(states)
	})
	return cmd
}

func (a *app) moduleShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show MODULE", Short: "Show a module, or its changes since you approved it", Example: "  tongs module show tools.ts",
		Long: "Show the sources of a module, or how they differ from what you approved, and the packages that it imports. " +
			"Nothing is run.",
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			sys, err := a.open(cmd.Context(), wire.Options{Memory: true})
			if err != nil {
				return err
			}
			defer sys.Close()
			v, _, err := sys.LookAt(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.Review(v)
		}),
	}
}

func (a *app) moduleReviewCommand() *cobra.Command {
	return &cobra.Command{
		Use: "review MODULE", Short: "Review and approve a module", Aliases: []string{"approve"},
		Long: "Show a module and approve exactly what is shown, with the packages that it imports: all of it the first time, " +
			"later what changed since you last approved it. You confirm by typing at a real terminal. The module is then " +
			"loaded in the sandbox, without network and read-only, and its tool definitions are shown and stored. Give a " +
			"module that only a worker file names by its path.",
		Example: "  tongs module review tools.ts", Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			sys, err := a.open(cmd.Context(), wire.Options{})
			if err != nil {
				return err
			}
			defer sys.Close()
			v, configured, err := sys.LookAt(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if v.Changed {
				if err := a.Approve(cmd.Context(), sys.Modules, v, moduleApproval); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(a.Err, "%s is what you approved.\n", terminal.Clean(v.State.Name))
			}
			if !configured {
				return nil
			}
			text, err := sys.Modules.Learn(cmd.Context(), v.State.Name)
			if text != "" {
				_ = a.Lines(text)
			}
			return err
		}),
	}
}

var moduleApproval = cli.ReviewText{
	Noun: "a module", Command: "tongs module review", First: "This is the module %s", Changed: "This changed in the module %s",
}

func (a *app) moduleForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "forget MODULE", Short: "Revoke the approval of a module", Example: "  tongs module forget tools.ts", Args: cobra.ExactArgs(1),
		Long: "Revoke the approval of a module: every call of its tools asks until it is reviewed again.",
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			sys, err := a.open(cmd.Context(), wire.Options{Memory: true})
			if err != nil {
				return err
			}
			defer sys.Close()
			if err := sys.Modules.Forget(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "The approval of %s is taken back.\n", terminal.Clean(args[0]))
			return nil
		}),
	}
}
