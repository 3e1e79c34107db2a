package main

import (
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
)

func (a *app) mcpWrapCommand() *cobra.Command {
	var w wire.Wrapping
	var quiet bool
	cmd := &cobra.Command{
		Use:   "wrap -- COMMAND [ARGUMENT ...]",
		Short: "Run an MCP server of any client in the sandbox",
		Long: "Run a program in the sandbox with its standard streams passed through: put this before the command of an MCP " +
			"server in any client's configuration. The program sees the workspace and reaches only the hosts given with " +
			"--network. The exit code is the program's; refused accesses are reported on standard error when it ends. This " +
			"command asks nothing and logs nothing: the client decides about calls.",
		Example: "  tongs mcp wrap --network packages.example.com -- npx -y example-server .\n" +
			"  tongs mcp wrap --env GITHUB_TOKEN --network api.github.com \\\n" +
			"      -- github-mcp-server stdio\n" +
			"  tongs mcp wrap --read-only --workspace ~/notes -- notes-server",
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.StringSliceVar(&w.Network, "network", nil, "hosts that the program may reach")
	f.StringSliceVar(&w.Read, "read", nil, "further directories that the program may read")
	f.StringSliceVar(&w.Write, "write", nil, "further directories that the program may write to")
	f.StringSliceVar(&w.Env, "env", nil, "variables to pass on, by name")
	f.BoolVar(&w.ReadOnly, "read-only", false, "keep the program from writing to the workspace")
	f.BoolVar(&quiet, "quiet", false, "report nothing")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		if err := w.Check(); err != nil {
			return cli.Usage(err)
		}
		res, err := a.host().Wrap(cmd.Context(), &w, args, &sandbox.Cmd{Stdin: a.in, Stdout: a.Out, Stderr: a.Err})
		if err != nil || res == nil {
			return err
		}
		a.exit = res.Result.ExitCode
		if !quiet {
			a.Wrapped(res)
		}
		return nil
	})
	return cmd
}
