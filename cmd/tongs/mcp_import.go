package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/clientconfig"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) mcpImportCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "import FILE [NAME ...]",
		Short: "Import MCP servers from another client's configuration",
		Long: "Import MCP servers from the configuration file of another client: .mcp.json and ~/.claude.json (Claude Code), " +
			"claude_desktop_config.json, .vscode/mcp.json, .cursor/mcp.json, settings.json (Gemini CLI), opencode.json, and " +
			"config.toml (Codex). Give names to import only some. The file is only read. Entries that cannot be imported are " +
			"reported.",
		Example: "  tongs mcp import .mcp.json\n  tongs mcp import ~/.codex/config.toml github\n  tongs mcp import .vscode/mcp.json --dry-run",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print what would be added")
	cmd.RunE = a.run(func(_ *cobra.Command, args []string) error {
		list, notes, err := clientconfig.Import(args[0], func(m config.MCPServer) error { return wire.AsServer(m).Check() })
		if err != nil {
			return err
		}
		if list, err = clientconfig.Only(list, args[1:]); err != nil {
			return cli.Usage(err)
		}
		for _, n := range notes {
			fmt.Fprintln(a.Err, "note: "+terminal.Clean(n))
		}
		if dry {
			for _, m := range list {
				if _, err := fmt.Fprint(a.Out, config.MCPText(m, 0)); err != nil {
					return err
				}
			}
			return nil
		}
		list, known, err := wire.NewServers(list)
		if err != nil {
			return err
		}
		for _, m := range known {
			fmt.Fprintf(a.Err, "note: %s is configured already, and stays as it is\n", terminal.Clean(m.Name))
		}
		if len(list) == 0 {
			fmt.Fprintln(a.Err, "There is nothing to add.")
			return nil
		}
		return a.addServers(list)
	})
	return cmd
}
