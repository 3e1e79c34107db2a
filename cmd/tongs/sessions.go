package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/worker"
)

func (a *app) sessionsCommand() *cobra.Command {
	cmd := a.sessionsListCommand("sessions", "List and show the sessions of workers")
	cmd.AddCommand(a.sessionsListCommand("list", "List sessions"), a.sessionsShowCommand())
	return cmd
}

func (a *app) sessionsListCommand(name, short string) *cobra.Command {
	var format string
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		Long:    "List the sessions of workers in this workspace, most recently changed first. Resume one with 'tongs run --continue=ID'.",
		Example: "  tongs sessions\n  tongs sessions list --all --format json\n  tongs sessions show s_06ezk1vq8b3m",
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().BoolVar(&all, "all", false, "include other workspaces and sub-workers")
	cmd.Flags().IntVar(&limit, "limit", 20, "list at most `N`, 0 for all")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		return a.withSessions(func(store worker.Store, p wire.Place) error {
			f := worker.Filter{Outermost: !all, Limit: limit}
			if !all {
				f.Workspace = p.Workspace
			}
			list, err := store.List(cmd.Context(), f)
			if err != nil {
				return err
			}
			if len(list) == 0 && format == "table" {
				fmt.Fprintln(a.Err, "No sessions here yet. 'tongs run' starts one.")
				return nil
			}
			return terminal.WriteSessions(a.Out, list, format)
		})
	})
	return cmd
}

func (a *app) withSessions(f func(worker.Store, wire.Place) error) error {
	p, err := a.host().StatePlace()
	if err == nil {
		p.Workspace, p.Limit, err = config.FindWorkspace(a.flags.workspace)
	}
	if err != nil {
		return err
	}
	store := &wire.Sessions{Dir: p.StateDir}
	defer store.Close()
	return f(store, p)
}

func (a *app) sessionsShowCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show the messages and calls of a session", Args: cobra.ExactArgs(1),
		Example: "  tongs sessions show s_06ezk1vq8b3m\n  tongs sessions show s_06ezk1vq8b3m --format json",
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.withSessions(func(store worker.Store, _ wire.Place) error {
			s, entries, err := store.Load(cmd.Context(), args[0], 0)
			if err != nil {
				return tongs.Errorf(tongs.CodeInvalidArgs, "%w; 'tongs sessions' lists them", err)
			}
			if format == "json" {
				if err := a.JSON(s); err != nil {
					return err
				}
				for _, e := range entries {
					if err := a.JSON(e); err != nil {
						return err
					}
				}
				return nil
			}
			return terminal.WriteTranscript(cmd.Context(), a.Out, store, s, entries)
		})
	})
	return cmd
}
