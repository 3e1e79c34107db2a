package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
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

// setup are the flags of one command.
type setup struct {
	write, remove, user, yes bool
	command                  string
}

func (a *app) setupClientCommand(c clientconfig.Client) *cobra.Command {
	var s setup
	cmd := &cobra.Command{
		Use: c.Name, Short: "Set up " + c.Title, Args: cobra.NoArgs,
		Long:    "Show what to add to the configuration of " + c.Title + ", and to which file.",
		Example: "  tongs setup " + c.Name,
	}
	cmd.Flags().StringVar(&s.command, "command", "tongs", "the `command` with which the client starts tongs")
	if c.ForUser() {
		cmd.Flags().BoolVar(&s.user, "user", false, "for all your projects, not only this one")
	}
	if c.Writes {
		cmd.Long += "\nWith --write the file is edited: the change is shown first, and you are asked. Everything else in it stays as it is."
		cmd.Example += "\n  tongs setup " + c.Name + " --write\n  tongs setup " + c.Name + " --write --user\n  tongs setup " + c.Name + " --remove"
		cmd.Flags().BoolVar(&s.write, "write", false, "edit the file")
		cmd.Flags().BoolVar(&s.remove, "remove", false, "remove it from the file")
		cmd.Flags().BoolVar(&s.yes, "yes", false, "do not ask for confirmation")
	}
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		path, err := a.setupFile(c, s.user)
		if err != nil {
			return err
		}
		if s.write && s.remove {
			return cli.Usagef("--write and --remove exclude each other")
		}
		if s.write || s.remove {
			return a.setupEdit(cmd.Context(), c, &s, path)
		}
		text, err := c.Edit(nil, s.command, false)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "Put this into %s:\n", terminal.Clean(path))
		if _, err := a.Out.Write(text); err != nil {
			return err
		}
		c.Next(a.Err)
		return a.offerPreset(cmd.Context(), false)
	})
	return cmd
}

// setupFile is the file that the client reads.
func (a *app) setupFile(c clientconfig.Client, user bool) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if user {
		return c.File("", home, true), nil
	}
	p, err := a.host().Locate()
	if err != nil {
		return "", err
	}
	return c.File(p.Workspace, home, false), nil
}

// setupEdit shows the change, asks, and makes it.
func (a *app) setupEdit(ctx context.Context, c clientconfig.Client, s *setup, path string) error {
	before, err := os.ReadFile(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return err
	}
	after, err := c.Edit(before, s.command, s.remove)
	if err != nil {
		return tongs.Errorf(tongs.CodeConfigError, "%s: %w", path, err)
	}
	if bytes.Equal(before, after) {
		fmt.Fprintf(a.Err, "%s needs no change.\n", terminal.Clean(path))
		return nil
	}
	fmt.Fprint(a.Out, terminal.CleanLines(udiff.Unified(path, path, string(before), string(after))))
	if err := a.agree(ctx, s.yes, "change "+path); err != nil {
		return err
	}
	if err := clientconfig.Replace(path, before, after, fresh); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "Changed %s.\n", terminal.Clean(path))
	if s.remove {
		return nil
	}
	c.Next(a.Err)
	return a.offerPreset(ctx, !s.yes)
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
