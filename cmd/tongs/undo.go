package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/tools/undo"
)

func (a *app) undoCommand() *cobra.Command {
	var session, since, format string
	var partial, prompt bool
	cmd := &cobra.Command{
		Use:   "undo [CALL | --prompt | --session SESSION | --since TIME] [-- PATH ...]",
		Short: "Undo file changes by any tool",
		Long: "Undo what a call changed, whichever tool it was. Without a call, undo the newest change in this workspace. With " +
			"paths, undo only the changes to them: paths come after the call, or after --.\n\n" +
			"Files that changed since are never overwritten: in that case nothing is undone, unless --partial leaves them " +
			"out. An undo is itself a call: it is shown, asked for and logged, and can be undone.\n\n" +
			"With 'tongs guard install', this includes what agents do with their own tools: their newest call, with --prompt everything " +
			"since your newest prompt, with --session last everything in their newest session.",
		Example: "  tongs undo\n  tongs undo c_06ezk1vq8b3m\n  tongs undo c_06ezk1vq8b3m src/a.go\n" +
			"  tongs undo --prompt\n  tongs undo --since 10m --partial\n  tongs undo --session s1 -- src",
	}
	mode := cli.ModeFlag(cmd)
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().StringVar(&session, "session", "", "everything this session `ID` changed; last is the newest session of an agent")
	cmd.Flags().BoolVar(&prompt, "prompt", false, "everything an agent changed since your newest prompt")
	cmd.Flags().StringVar(&since, "since", "", "everything changed since this `time`: 2h, or 2026-01-31")
	cmd.Flags().BoolVar(&partial, "partial", false, "skip files that changed since, and undo the rest")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		in := undo.Input{Session: session, Partial: partial}
		named := session == "" && since == "" && !prompt
		in.Call, in.Paths = callAndPaths(cmd, args, named)
		if since != "" {
			at, err := cli.Moment(since, time.Now())
			if err != nil {
				return err
			}
			in.Since = at.Format(time.RFC3339Nano)
		}
		find := func(s *wire.System) (err error) {
			return s.FindChange(&in.Call, named && in.Call == "", prompt, &in.Session)
		}
		return a.takeBack(cmd.Context(), mode(), "undo", format, find, &in)
	})
	return cmd
}

func (a *app) redoCommand() *cobra.Command {
	var format string
	var partial bool
	cmd := &cobra.Command{
		Use:   "redo [CALL] [-- PATH ...]",
		Short: "Redo changes that were undone",
		Long: "Redo what an undo reverted: the undo of the given call, or the newest one in this workspace that was not redone " +
			"yet.",
		Example: "  tongs redo\n  tongs redo c_06ezk1vq8b3m\n" +
			"  tongs redo -- src/a.go",
	}
	mode := cli.ModeFlag(cmd)
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().BoolVar(&partial, "partial", false, "skip files that changed since, and redo the rest")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		in := undo.RedoInput{Partial: partial}
		in.Call, in.Paths = callAndPaths(cmd, args, true)
		find := func(s *wire.System) (err error) {
			if in.Call == "" {
				in.Call, err = s.NewestChange(true)
			}
			return err
		}
		return a.takeBack(cmd.Context(), mode(), "redo", format, find, &in)
	})
	return cmd
}

// callAndPaths divides the words of a command line: the first is a call, where one can be named and it is not after --.
func callAndPaths(cmd *cobra.Command, args []string, named bool) (call string, paths []string) {
	if named && len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return args[0], args[1:]
	}
	return "", args
}

// takeBack calls undo or redo. Find finds what is meant where it was not named.
func (a *app) takeBack(ctx context.Context, mode *tongs.Mode, tool, format string, find func(*wire.System) error, in any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.flags.workspace = cli.Kept(a.host()).Workspace
	sys, err := a.openAsking(ctx, wire.Options{Mode: mode, Tool: tool}, cancel, nil)
	if err != nil {
		return err
	}
	defer sys.Close()
	if err := find(sys); err != nil {
		return err
	}
	args, err := json.Marshal(in)
	if err != nil {
		return err
	}
	res := sys.Engine.Call(ctx, &tongs.Call{Tool: tool, Args: args, Session: sessionOr(""), Sink: a.Sink(format)})
	return a.printed(res, format)
}
