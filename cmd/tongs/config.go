package main

import (
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at the configuration", Example: "  tongs config show"}
	cmd.AddCommand(a.configShowCommand(), a.configPresetsCommand())
	return cmd
}

func (a *app) configShowCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show", Short: "Print the merged configuration and where each value comes from",
		Example: "  tongs config show\n  tongs config show --format json", Args: cobra.NoArgs,
	}
	mode := cli.ModeFlag(cmd)
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		place, err := a.host().Locate()
		if err != nil {
			return err
		}
		cfg, err := a.host().Configure(place, mode())
		if err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(cli.ConfigJSON(cfg))
		}
		return a.Config(cfg)
	})
	return cmd
}
