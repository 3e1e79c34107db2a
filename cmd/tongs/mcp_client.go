package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/internal/secrets"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
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

// fetchNote says what becomes of a server that fetches what it runs.
func fetchNote(m config.MCPServer) string {
	switch name := strings.TrimSuffix(filepath.Base(m.Command), ".exe"); {
	case m.Unpinned:
		return "It fetches what it runs: name the host of its packages under network, or approve it when you are asked."
	case name == "npx":
		return "The review installs its package into a private directory, where it runs from."
	default:
		return name + " fetches what it runs, which cannot be pinned: install the server and name its program, or set 'pin: none' for it."
	}
}

// addServers writes servers into the user's configuration, all or none.
func (a *app) addServers(list []config.MCPServer) error {
	path, data, err := a.userConfig()
	if err != nil {
		return err
	}
	for i := range list {
		m := &list[i]
		if err := wire.AsServer(*m).Check(); err != nil {
			return err
		}
		if data, err = config.AddMCP(data, *m); err != nil {
			return err
		}
	}
	if err := owned.Rewrite(path, data, 0o600); err != nil {
		return err
	}
	for _, m := range list {
		fmt.Fprintf(a.Err, "Added %s to %s.\n", terminal.Clean(m.Name), terminal.Clean(path))
		if hosts := strings.Join(m.Network, ", "); hosts != "" {
			fmt.Fprintf(a.Err, "  It may reach %s.\n", terminal.Clean(hosts))
		} else if mcpclient.Fetches(m.Command) && !m.Unconfined {
			fmt.Fprintln(a.Err, "  "+fetchNote(m))
		}
		values := maps.Clone(m.Env)
		if values == nil {
			values = map[string]string{}
		}
		maps.Copy(values, m.Headers)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if v := values[key]; secrets.SecretName(key) && !strings.Contains(v, "${") && v != "" {
				fmt.Fprintf(a.Err, "  %s is a credential, which stands in the file now; ${VAR} would take it from the environment.\n", terminal.Clean(key))
			}
		}
		fmt.Fprintf(a.Err, "  Next: tongs mcp review %s\n", terminal.Clean(m.Name))
	}
	return nil
}

// userConfig returns the path and the content of the user's own configuration file, which may not exist yet.
func (a *app) userConfig() (path string, data []byte, err error) {
	dir, err := config.FindConfigDir()
	if err != nil {
		return "", nil, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	path = filepath.Join(dir, config.UserFile)
	data, err = config.ReadUser(path)
	return path, data, err
}

func (a *app) mcpRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove an MCP server",
		Long:    "Remove an MCP server from your configuration, with its approval and your login to it.",
		Example: "  tongs mcp remove github", Args: cobra.ExactArgs(1),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			path, data, err := a.userConfig()
			if err != nil {
				return err
			}
			data, found, err := config.RemoveMCP(data, args[0])
			if err != nil {
				return err
			}
			if !found {
				return tongs.Errorf(tongs.CodeInvalidArgs, "%s names no MCP server %q; 'tongs mcp list' shows where each is configured", path, args[0])
			}
			if err := owned.Rewrite(path, data, 0o600); err != nil {
				return err
			}
			p, err := a.host().StatePlace()
			if err != nil {
				return err
			}
			if err := p.ForgetServer(args[0]); err != nil {
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
