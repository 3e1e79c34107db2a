package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) forgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "forge", Short: "Create, approve and manage custom tools",
		Long: "Custom tools are programs in their own directories, ~/.forge/tools/NAME or below $FORGE_TOOLS_DIR. Agents create " +
			"them with create_custom_tool and build_custom_tool; people use these commands or write them by hand. A tool runs " +
			"only as you approved it: any change to its source, its tool.yaml or its program needs a new approval.",
		Example: "  tongs forge new word-count --description 'Counts words' \\\n" +
			"      --param path:string:required\n" +
			"  tongs forge build word-count\n" +
			"  tongs forge approve word-count",
	}
	cmd.AddCommand(a.forgeNewCommand(), a.forgeBuildCommand(), a.forgeTestCommand(), a.forgeListCommand(), a.forgeShowCommand(),
		a.forgeApproveCommand(), a.forgeDisableCommand(), a.forgeHistoryCommand(), a.forgeRollbackCommand(), a.forgeRemoveCommand(), a.forgeExportCommand(), a.forgeImportCommand(), a.forgeStatsCommand())
	return cmd
}

func (a *app) forgeNewCommand() *cobra.Command {
	var d forge.Draft
	var params []string
	var source string
	cmd := &cobra.Command{
		Use: "new NAME --description TEXT", Short: "Create a working custom tool to edit",
		Long: "Create the directory of a custom tool with a tool.yaml, a program that takes the declared parameters, and a test " +
			"that passes. A parameter is NAME:TYPE or NAME:TYPE:required. Types are string, number, integer, boolean and " +
			"array.",
		Example: "  tongs forge new word-count --description 'Counts words' \\\n" +
			"      --param path:string:required --language python",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&d.Description, "description", "", "what the tool does, in one `sentence`")
	cmd.Flags().StringVar(&d.Usage, "usage", "", "`text` on when and how to use it")
	cmd.Flags().StringVar(&d.Language, "language", "go", "the `language`: go, sh or python")
	cmd.Flags().StringVar(&source, "source", "", "a `file` with its program, instead of a template")
	cmd.Flags().StringArrayVar(&params, "param", nil, "a `parameter`: NAME:TYPE or NAME:TYPE:required (repeatable)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		d.Name = args[0]
		for _, p := range params {
			parts := strings.Split(p, ":")
			if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[2] != "required" {
				return cli.Usagef("--param %q: want NAME:TYPE or NAME:TYPE:required", p)
			}
			d.Parameters = append(d.Parameters, forge.Parameter{Name: parts[0], Type: parts[1], Required: len(parts) == 3})
		}
		if source != "" {
			data, err := os.ReadFile(source)
			if err != nil {
				return err
			}
			d.Source = string(data)
		}
		made, err := d.Scaffold()
		if err != nil {
			return err
		}
		sys, err := a.open(cmd.Context(), wire.Options{Memory: true})
		if err != nil {
			return err
		}
		defer sys.Close()
		if why := sys.TakenName(d.Name); why != "" {
			return tongs.Errorf(tongs.CodeInvalidArgs, "a custom tool cannot be named %q: %s; choose another name", d.Name, why)
		}
		dir, err := made.Write(sys.Forge.Dir())
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "Made %s: %s.\nNext: edit it, then tongs forge build %s\n", terminal.Clean(dir), strings.Join(made.Names(), ", "), d.Name)
		return nil
	})
	return cmd
}

func (a *app) forgeBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use: "build NAME", Short: "Compile and test a custom tool in the sandbox", Example: "  tongs forge build word-count", Args: cobra.ExactArgs(1),
		Long: "Compile a custom tool and run its test and the examples in its tool.yaml, in the sandbox without network. A " +
			"build of the same sources is reused.",
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			return a.callAs(cmd.Context(), "build_custom_tool", map[string]any{"name": args[0]})
		}),
	}
}

func (a *app) forgeTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: "Run the test and the examples of a custom tool again", Example: "  tongs forge test word-count", Args: cobra.ExactArgs(1),
		Long: "Compile a custom tool and run its test and examples in the sandbox, even if the same sources were built before.",
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			return a.callAs(cmd.Context(), "build_custom_tool", map[string]any{"name": args[0], "again": true})
		}),
	}
}

// callAs makes a call that the person who runs this command wants: it is logged like any other, and nobody else is asked.
func (a *app) callAs(ctx context.Context, tool string, args map[string]any) error {
	all := tongs.ModeAll
	sys, err := a.open(ctx, wire.Options{Mode: &all})
	if err != nil {
		return err
	}
	defer sys.Close()
	data, err := json.Marshal(args)
	if err != nil {
		return err
	}
	res := sys.Engine.Call(ctx, &tongs.Call{Tool: tool, Args: data, Reason: "tongs forge"})
	if err := a.Lines(res.Content); err != nil {
		return err
	}
	if res.Error != nil {
		return tongs.Errorf(res.Error.Code, "%s", strings.SplitN(res.Error.Message, "\n", 2)[0])
	}
	return nil
}

func (a *app) forgeListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List custom tools, including broken ones", Example: "  tongs forge list\n  tongs forge list --format json", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		sys, err := a.open(cmd.Context(), wire.Options{Memory: true})
		if err != nil {
			return err
		}
		defer sys.Close()
		states := sys.StatesOf(tongs.SourceForge)
		if format == "json" {
			return a.JSON(states)
		}
		if len(states) == 0 {
			fmt.Fprintf(a.Err, "There are no custom tools in %s. 'tongs forge new' makes one.\n", terminal.Clean(sys.Forge.Dir()))
			return nil
		}
		return a.CustomTools(states)
	})
	return cmd
}

func (a *app) forgeShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a custom tool, or its changes since you approved it", Example: "  tongs forge show word-count",
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			set, err := a.host().OpenForge()
			if err != nil {
				return err
			}
			v, err := set.Look(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.Review(v)
		}),
	}
}

func (a *app) forgeApproveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "approve NAME", Short: "Review and approve a custom tool",
		Long: "Show a custom tool and approve exactly what is shown: all of it the first time, later what changed since you " +
			"last approved it. You confirm by typing at a real terminal.",
		Example: "  tongs forge approve word-count", Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			set, err := a.host().OpenForge()
			if err != nil {
				return err
			}
			v, err := set.Look(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if v.State.Status == tongs.StatusBroken {
				return tongs.Errorf(tongs.CodeConfigError, "%s cannot be used: %s", v.State.Name, v.State.Detail)
			}
			if !v.Changed {
				fmt.Fprintf(a.Err, "%s is what you approved.\n", terminal.Clean(v.State.Name))
				return nil
			}
			return a.Approve(cmd.Context(), set, v, customApproval)
		}),
	}
}

var customApproval = cli.ReviewText{
	Noun: "a custom tool", Command: "tongs forge approve", First: "This is the custom tool %s", Changed: "This changed in the custom tool %s",
}

// onForge is a command over the custom tools.
func (a *app) onForge(use, short, example string, most int, do func(*forge.Set, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.RangeArgs(1, most), RunE: a.run(func(_ *cobra.Command, args []string) error {
		set, err := a.host().OpenForge()
		if err != nil {
			return err
		}
		return do(set, append(args, ""))
	})}
}

func (a *app) forgeDisableCommand() *cobra.Command {
	return a.onForge("disable NAME", "Disable a custom tool until it is approved again", "  tongs forge disable word-count", 1, func(set *forge.Set, args []string) error {
		if err := set.Disable(args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Err, "%s is disabled.\n", terminal.Clean(args[0]))
		return err
	})
}

func (a *app) forgeHistoryCommand() *cobra.Command {
	return a.onForge("history NAME", "List the versions of a custom tool", "  tongs forge history word-count", 1, func(set *forge.Set, args []string) error {
		list, err := set.History(args[0])
		if err != nil {
			return err
		}
		return a.ForgeHistory(list)
	})
}

func (a *app) forgeRollbackCommand() *cobra.Command {
	return a.onForge("rollback NAME [VERSION]", "Go back to an earlier version of a custom tool", "  tongs forge rollback word-count\n  tongs forge rollback word-count 3f9a01c2", 2, func(set *forge.Set, args []string) error {
		v, err := set.Rollback(args[0], args[1])
		if err != nil {
			return err
		}
		return a.ForgeRolledBack(args[0], v)
	})
}

func (a *app) forgeRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Delete a custom tool and its approval", Example: "  tongs forge remove word-count --yes", Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		set, err := a.host().OpenForge()
		if err != nil {
			return err
		}
		if !yes {
			t, err := terminal.Open()
			if err != nil {
				return cli.Usagef("there is no terminal to ask at; --yes deletes it without asking")
			}
			defer t.Close()
			if err := t.Confirm(cmd.Context(), "delete "+args[0]); err != nil {
				return err
			}
		}
		if err := set.Remove(args[0]); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s is deleted.\n", terminal.Clean(args[0]))
		return nil
	})
	return cmd
}
