package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/clientconfig"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) setupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "setup", Short: "Connect Tongs to an agent that you use",
		Example: "  tongs setup claude-code\n" +
			"  tongs setup codex --write",
		Long: "Show what to add to the configuration of an MCP client so that it gets the tools of Tongs. With --write, add it.\n" +
			"If you have no configuration of your own yet, the preset coding is offered.",
		Args: cobra.NoArgs,
	}
	for _, c := range clientconfig.All() {
		cmd.AddCommand(a.setupClientCommand(c))
	}
	return cmd
}

func (a *app) setupClientCommand(c clientconfig.Client) *cobra.Command {
	var o clientconfig.Choice
	var write, yes bool
	cmd := &cobra.Command{
		Use: c.Name, Short: "Set up " + c.Title, Args: cobra.NoArgs,
		Long:    "Show what to add to the configuration of " + c.Title + ", and to which file.",
		Example: "  tongs setup " + c.Name,
	}
	cmd.Flags().StringVar(&o.Program, "command", "", "the `command` with which the client starts tongs: by default tongs, or the path of this program if that is not on PATH")
	if c.ForUser() {
		cmd.Flags().BoolVar(&o.User, "user", false, "for all your projects, not only this one")
	}
	if c.Writes {
		cmd.Long += "\nWith --write the file is edited: the change is shown first, and you are asked. Everything else in it stays as it is." +
			"\nWith --exclusive the client's own tools are turned off, so that Tongs sees everything the agent does."
		cmd.Example += "\n  tongs setup " + c.Name + " --write --exclusive\n  tongs setup " + c.Name + " --write --user\n  tongs setup " + c.Name + " --remove"
		cmd.Flags().BoolVar(&write, "write", false, "edit the file")
		cmd.Flags().BoolVar(&o.Exclusive, "exclusive", false, "turn the client's own tools off")
		cmd.Flags().BoolVar(&o.Remove, "remove", false, "remove it from the file")
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
		cmd.MarkFlagsMutuallyExclusive("write", "remove")
	}
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		workspace := ""
		if !o.User {
			p, err := a.host().Locate()
			if err != nil {
				return err
			}
			workspace = p.Workspace
		}
		if o.Program == "" {
			o.Program = clientconfig.Program()
		}
		if write || o.Remove {
			changes, err := c.Changes(workspace, home, o)
			if err != nil {
				return err
			}
			return a.setupEdit(cmd.Context(), &c, o, changes, yes)
		}
		texts, err := c.Texts(workspace, home, o)
		if err != nil {
			return err
		}
		for _, t := range texts {
			fmt.Fprintf(a.Err, "Put this into %s:\n", terminal.Clean(t.Path))
			if _, err := a.Out.Write(t.After); err != nil {
				return err
			}
		}
		c.Next(a.Err, o.Exclusive)
		return a.offerPreset(cmd.Context(), false)
	})
	return cmd
}

// setupEdit shows the changes, asks, and makes them.
func (a *app) setupEdit(ctx context.Context, c *clientconfig.Client, o clientconfig.Choice, changes []clientconfig.Change, yes bool) error {
	var paths []string
	for _, ch := range changes {
		fmt.Fprint(a.Out, terminal.CleanLines(udiff.Unified(ch.Path, ch.Path, string(ch.Before), string(ch.After))))
		paths = append(paths, ch.Path)
	}
	if len(paths) == 0 {
		fmt.Fprintf(a.Err, "The configuration of %s needs no change.\n", c.Title)
		return nil
	}
	if err := a.agree(ctx, yes, "change "+strings.Join(paths, " and ")); err != nil {
		return err
	}
	for _, ch := range changes {
		if err := ch.Make(); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "Changed %s.\n", terminal.Clean(ch.Path))
	}
	if o.Remove {
		return nil
	}
	c.Next(a.Err, o.Exclusive)
	return a.offerPreset(ctx, !yes)
}

// agree has a person say yes at the terminal.
func (a *app) agree(ctx context.Context, yes bool, what string) error {
	if yes {
		return nil
	}
	t, err := terminal.Open()
	if err != nil {
		return cli.Usagef("cannot ask whether to %s: there is no terminal; --yes does it without asking", what)
	}
	defer t.Close()
	key, err := t.Key(ctx, terminal.Clean(what)+"? y yes, n no: ", "yn")
	if err != nil || key != 'y' {
		return errors.Join(errors.New("nothing was changed"), err)
	}
	return nil
}
