package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
)

func (a *app) sandboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sandbox", Short: "Try the sandbox that commands run in",
		Example: "  tongs sandbox run -- ls -la /",
		Long:    "Try the sandbox that commands run in. 'tongs doctor' shows what it enforces on this machine.",
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(a.sandboxRunCommand())
	return cmd
}

func (a *app) sandboxRunCommand() *cobra.Command {
	var readOnly, report bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "run -- COMMAND [ARGUMENT ...]",
		Short: "Run a command in the sandbox, as a tool would",
		Long: "Run a command in the sandbox, with the workspace writable and no network. The configured limits, path rules and " +
			"protected names apply as to any command of a tool. It asks nothing and logs nothing, because you run it " +
			"yourself. Protected names that it creates are moved away; it prints where. At a terminal the command gets a " +
			"terminal of its own. The exit code is the command's.",
		Example: "  tongs sandbox run -- ls -la /\n  tongs sandbox run --read-only --report -- make test\n  tongs sandbox run -- bash",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "make the workspace read-only")
	cmd.Flags().BoolVar(&report, "report", false, "print limits, usage and denials on stderr")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "kill everything after this `time` (default: 2m)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		o, err := a.host().OpenOwn(cmd.Context(), &tongs.Command{Argv: args, Dir: tongs.Path{Rel: "."}, ReadOnly: readOnly, Timeout: timeout})
		if err != nil {
			return err
		}
		defer o.Close()
		res, err := a.RunAtTerminal(cmd.Context(), o.Own, a.in)
		if res == nil {
			return err
		}
		a.exit = res.ExitCode
		a.Held(o.Finish(res))
		if report {
			return a.SandboxReport(res)
		}
		return err
	})
	return cmd
}
