package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

// mcpCommands are the commands below 'tongs mcp', which by itself serves: they are about the servers that Tongs uses.
func (a *app) mcpCommands() []*cobra.Command {
	return []*cobra.Command{
		a.mcpAddCommand(), a.mcpListCommand(), a.mcpRemoveCommand(), a.mcpReviewCommand(), a.mcpTestCommand(),
		a.mcpLoginCommand(), a.mcpLogoutCommand(), a.mcpImportCommand(), a.mcpWrapCommand(),
	}
}

func (a *app) mcpAddCommand() *cobra.Command {
	var m config.MCPServer
	var env, headers []string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "add NAME (--url URL | -- COMMAND [ARGUMENT ...])",
		Short: "Add an MCP server and use its tools",
		Long: "Add an MCP server to your configuration. Its tools are named NAME__TOOL. Nothing is started: review the server " +
			"next, so that you read its tool descriptions before a model does.\n\n" +
			"A command runs in the sandbox: it sees the workspace and the configured zones, and reaches only the hosts given " +
			"with --network. The program is pinned: any change needs a new approval. The package of an npx server is " +
			"installed once, by the review; other programs that download what they run (uvx, docker) need 'pin: none'. Write " +
			"credentials as ${VAR}: they are read from the environment when the server starts.",
		Example: "  tongs mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n" +
			"  tongs mcp add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' \\\n" +
			"      --network api.github.com -- github-mcp-server stdio\n" +
			"  tongs mcp add docs --url https://docs.example.com/mcp --tools search,read",
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&m.URL, "url", "", "the address of a server that speaks streamable HTTP")
	f.StringArrayVar(&env, "env", nil, "a variable for the command, as NAME=value")
	f.StringArrayVar(&headers, "header", nil, "a header for the URL, as NAME=value")
	f.StringSliceVar(&m.Tools, "tools", []string{"*"}, "the tools to expose (default: all that you review)")
	f.StringSliceVar(&m.Network, "network", nil, "hosts that the command may reach")
	f.DurationVar(&timeout, "timeout", 0, "how long a call may take (default: 2m)")
	f.BoolVar(&m.Unconfined, "no-sandbox", false, "run the command outside the sandbox")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		m.Name, m.Timeout = args[0], timeout
		var err error
		if m.Env, err = pairs("--env", env); err != nil {
			return err
		}
		if m.Headers, err = pairs("--header", headers); err != nil {
			return err
		}
		if len(args) > 1 {
			m.Command, m.Args = args[1], args[2:]
		}
		return a.addServers([]config.MCPServer{m})
	})
	return cmd
}

func pairs(flag string, list []string) (map[string]string, error) {
	set := map[string]string{}
	for _, p := range list {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, cli.Usagef("%s %q: want NAME=value", flag, p)
		}
		set[key] = value
	}
	return set, nil
}

// addServers adds servers to the configuration and says what comes next.
func (a *app) addServers(list []config.MCPServer) error {
	path, err := wire.AddServers(list)
	if err == nil {
		a.ServersAdded(path, list)
	}
	return err
}

func (a *app) mcpRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove an MCP server",
		Long:    "Remove an MCP server from your configuration, with its approval and your login to it.",
		Example: "  tongs mcp remove github", Args: cobra.ExactArgs(1),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			path, err := a.host().RemoveServer(args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "Removed %s from %s.\n", terminal.Clean(args[0]), terminal.Clean(path))
			return nil
		}),
	}
}

func (a *app) mcpListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List the MCP servers and their state",
		Long:    "List the configured MCP servers and the state of their tools. Nothing is started.",
		Example: "  tongs mcp list\n  tongs mcp list --format json", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		sys, err := a.open(cmd.Context(), wire.Options{Memory: true})
		if err != nil {
			return err
		}
		defer sys.Close()
		states := sys.StatesOf(tongs.SourceMCP)
		if format == "json" {
			return a.JSON(states)
		}
		if len(states) == 0 {
			fmt.Fprintln(a.Err, "No MCP servers are configured. 'tongs mcp add' adds one, 'tongs mcp import' takes over those of another client.")
			return nil
		}
		return a.Servers(states)
	})
	return cmd
}
