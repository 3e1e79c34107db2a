package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) logVerifyCommand() *cobra.Command {
	var kept, format string
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that the log was not changed",
		Long: "Check the hash chain of the log, compare it with the head file beside the database, and print its head. The head " +
			"file detects accidents: a log that was cut off, emptied, deleted or restored from an old copy. It belongs to the " +
			"same user, so it does not stop somebody who has that user's rights. Heads stored elsewhere do: check them with " +
			"--checkpoint.",
		Example: "  tongs log verify\n  tongs log verify --checkpoint heads.jsonl\n  tongs log verify --checkpoint 5f0c…", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().StringVar(&kept, "checkpoint", "", "a `file` of heads stored elsewhere, or one hash: the log must contain them")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		hash, heads, err := cli.KeptHeads(kept)
		if err != nil {
			return err
		}
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		log := sys.DB.Audit()
		chain, err := log.Verify(cmd.Context(), hash)
		if err != nil {
			return err
		}
		for _, head := range heads {
			loss, err := log.Lacks(cmd.Context(), head)
			if err != nil {
				return err
			}
			if loss != nil {
				loss.Reason = fmt.Sprintf("checkpoint of %s: %s", head.At.Format("2006-01-02 15:04"), loss.Reason)
				chain.Losses = append(chain.Losses, *loss)
			}
		}
		if !chain.OK() {
			a.exit = exitFailed
		}
		if format == "json" {
			return a.JSON(chain)
		}
		return a.Chain(chain, len(heads))
	})
	return cmd
}

func (a *app) logAcceptCommand() *cobra.Command {
	return &cobra.Command{
		Use: "accept", Short: "Accept that log entries are missing",
		Long: "Record in the log that you know about the losses that 'log verify' reports, for example because you restored a " +
			"copy. The log still shows them; verify no longer fails because of them.",
		Example: "  tongs log accept", Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			sys, err := a.host().OpenState()
			if err != nil {
				return err
			}
			defer sys.Close()
			list, err := sys.DB.Audit().Accept(cmd.Context(), terminal.Whoami())
			if err != nil {
				return err
			}
			for _, l := range list {
				fmt.Fprintf(a.Out, "Accepted: %s.\n", l.Reason)
			}
			if len(list) == 0 {
				fmt.Fprintln(a.Out, "Nothing is missing.")
			}
			return nil
		}),
	}
}
