package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/policy"
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
	formatFlag(cmd, &format, "table", "table", "json")
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
			if grants == nil {
				grants = []policy.Grant{}
			}
			return a.json(grants)
		}
		if len(grants) == 0 {
			fmt.Fprintln(a.err, "No approval is remembered.")
			return nil
		}
		var rows [][]string
		for _, g := range grants {
			covers := make([]string, len(g.Covers))
			for i, c := range g.Covers {
				covers[i] = c.String()
			}
			scope := string(g.Scope)
			if g.Key.Session != "" {
				scope += " " + g.Key.Session
			}
			rows = append(rows, []string{g.ID, scope, g.Key.Tool, g.At.Format(time.DateTime), g.By, strings.Join(covers, "; ")})
		}
		return a.table([]string{"ID", "SCOPE", "TOOL", "GIVEN", "BY", "COVERS"}, rows)
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
				fmt.Fprintf(a.err, "Revoked %s.\n", terminal.Clean(id))
			}
			return nil
		}),
	}
}
