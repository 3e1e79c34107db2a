package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) grantsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "grants", Short: "List and revoke remembered approvals",
		Example: "  tongs grants list\n  tongs grants revoke g_1f3",
	}
	cmd.AddCommand(a.grantsListCommand(), a.grantsRevokeCommand())
	return cmd
}

func (a *app) grantsListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List remembered approvals, newest first",
		Example: "  tongs grants list --format json", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		grants, err := sys.Grants.List(cmd.Context())
		if err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(cli.List(grants))
		}
		return a.Grants(grants)
	})
	return cmd
}

func (a *app) grantsRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID...", Short: "Revoke remembered approvals", Example: "  tongs grants revoke g_1f3", Args: cobra.MinimumNArgs(1),
		RunE: a.run(func(cmd *cobra.Command, ids []string) error {
			sys, err := a.host().OpenState()
			if err != nil {
				return err
			}
			defer sys.Close()
			for _, id := range ids {
				found, err := sys.Grants.Revoke(cmd.Context(), id)
				if err != nil {
					return err
				}
				if !found {
					return tongs.Errorf(tongs.CodeInvalidArgs, "there is no grant %q; 'tongs grants list' shows them", id)
				}
				fmt.Fprintf(a.Err, "Revoked %s.\n", terminal.Clean(id))
			}
			return nil
		}),
	}
}
