package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/sandbox"
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
		res, err := a.runAtTerminal(cmd.Context(), o.Own, &sandbox.Cmd{Stdin: a.in, Stdout: a.Out, Stderr: a.Err})
		if res == nil {
			return err
		}
		a.exit = res.ExitCode
		a.reportHeld(o.Finish(res))
		if report {
			return a.printReport(res)
		}
		return err
	})
	return cmd
}

// runAtTerminal runs a command with a terminal of its own where we have one, so that shells and editors work in it.
func (a *app) runAtTerminal(ctx context.Context, own *confine.Own, cmd *sandbox.Cmd) (*sandbox.Result, error) {
	in, ok := a.in.(*os.File)
	if !ok || runtime.GOOS != "linux" || !term.IsTerminal(int(in.Fd())) || !terminal.IsTerminal(a.Out) {
		p, err := own.Start(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return p.Wait()
	}
	size := func() (rows, cols uint16) {
		c, r, err := term.GetSize(int(in.Fd()))
		if err != nil {
			return 24, 80
		}
		return uint16(r), uint16(c)
	}
	rows, cols := size()
	cmd.PTY = &sandbox.PTY{Rows: rows, Cols: cols}
	// Every key is the command's from here on, control-C too.
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = term.Restore(int(in.Fd()), old) }()
	p, err := own.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	defer terminal.OnResize(func() { _ = p.Resize(size()) })()
	return p.Wait()
}

func (a *app) printReport(res *sandbox.Result) error {
	r := res.Report
	lines := []string{
		fmt.Sprintf("tier %s, full: %t, exit code %d after %s", r.Tier, r.Full, res.ExitCode, res.Duration.Round(time.Millisecond)),
		"enforced: " + strings.Join(r.Layers, ", "),
	}
	for _, part := range []struct {
		label string
		list  []string
	}{{"missing", r.Missing}, {"limits hit", r.LimitsHit}, {"planted", r.Planted}} {
		if len(part.list) > 0 {
			lines = append(lines, part.label+": "+strings.Join(part.list, "; "))
		}
	}
	for _, d := range r.Denied {
		lines = append(lines, "denied: "+d.Kind+" "+d.Path+d.Host)
	}
	_, err := fmt.Fprintln(a.Err, terminal.CleanLines(strings.Join(lines, "\n")))
	return err
}

// checkSandbox says what the sandbox enforces here, by trying.
func checkSandbox(ctx context.Context) []check {
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return []check{{"sandbox", "fail", err.Error()}}
	}
	defer runner.Close()
	probe := runner.Probe(ctx)
	var checks []check
	best := ""
	for _, t := range probe.Tiers {
		switch {
		case best != "": // a lesser tier, which is not needed
		case !t.OK:
			checks = append(checks, check{"sandbox", "warn", fmt.Sprintf("tier %s does not work: %s\n%s", t.Tier, t.Reason, t.Fix)})
		default:
			best = t.Tier
			checks = append(checks, check{"sandbox", "ok", fmt.Sprintf("tier %s enforces %s", t.Tier, strings.Join(t.Layers, ", "))})
			for _, missing := range t.Missing {
				checks = append(checks, check{"sandbox", "warn", "without " + missing})
			}
		}
	}
	switch best {
	case sandbox.TierA:
	case "":
		checks = append(checks, check{"sandbox", "fail", string(tongs.CodeSandboxUnavailable) + ": nothing here can contain a program, so none is run"})
	default:
		checks = append(checks, check{"sandbox", "warn", "tier " + best + " is not the full sandbox: what is free there is asked for here"})
	}
	return checks
}

// reportHeld says which protected names a program made, and where they are.
func (a *app) reportHeld(held []tongs.Held, left []string) {
	for _, h := range held {
		fmt.Fprintln(a.Err, "tongs: "+terminal.Clean(fmt.Sprintf("the command made %s, which other programs run or obey; it is in %s now", h.Path, h.Host)))
	}
	for _, why := range left {
		fmt.Fprintln(a.Err, "tongs: "+terminal.Clean("the command made a protected name that is still there: "+why))
	}
}
