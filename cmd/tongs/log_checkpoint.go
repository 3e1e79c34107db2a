package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) logCheckpointCommand() *cobra.Command {
	return &cobra.Command{
		Use: "checkpoint", Short: "Send the log's head to the configured place now",
		Long: "Send the head of the log to the place that audit.checkpoint names. Calls send one automatically when it is due; " +
			"this command sends one now, for example from a timer.",
		Example: "  tongs log checkpoint", Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			p, err := a.host().Locate()
			if err != nil {
				return err
			}
			cfg, err := a.host().Configure(p, nil)
			if err != nil {
				return err
			}
			st, err := wire.OpenState(p.StateDir, cfg.Audit.Checkpoint)
			if err != nil {
				return err
			}
			defer st.Close()
			sent, err := st.DB.Checkpoint(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "Sent entry %d, hash %s\n", sent.Head.Seq, sent.Head.Hash)
			return err
		}),
	}
}
