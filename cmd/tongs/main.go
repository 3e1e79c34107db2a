// Command tongs gives the tools of Tongs to a person and to scripts: it calls them, explains what a call would do,
// answers questions, and reads the log.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/guard"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailed  = 1 // the tool failed, or we did
	exitUsage   = 2 // wrong usage, invalid arguments, unknown tool
	exitRefused = 3 // denied, blocked, or waiting for approval
)

// version is set by the build.
var version = "dev"

func main() {
	sandbox.Main() // returns at once, except in the helper processes of the sandbox
	if guard.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr) {
		return
	}
	os.Exit(newApp().main(os.Args[1:]))
}

// app is one run of the command: where it reads and writes, and what it came to. Tests make their own.
type app struct {
	cli.Printer
	in io.Reader
	// managed, managedOwner and home override where configuration is found. Only tests set them.
	managed      string
	managedOwner int
	home         string

	flags globalFlags
	exit  int
}

// globalFlags are the flags of every command that opens a workspace.
type globalFlags struct {
	workspace string
}

// host is for whom the systems of this run are wired: a person who started the command.
func (a *app) host() wire.Host {
	return wire.Host{
		Workspace: a.flags.workspace, Version: version, Attended: true, Managed: a.managed, ManagedOwner: a.managedOwner, Home: a.home,
		Warn: func(text string) { fmt.Fprintln(a.Err, "tongs: "+terminal.Clean(text)) },
	}
}

// open wires a system.
func (a *app) open(ctx context.Context, o wire.Options) (*wire.System, error) {
	return a.host().Open(ctx, o)
}

// openAsking wires a system that asks at the terminal; cancel ends the call of a person who presses Ctrl-C there. Around, where it
// is not nil, goes around what asks.
func (a *app) openAsking(
	ctx context.Context, o wire.Options, cancel context.CancelFunc, around func(approval.Channel) approval.Channel,
) (*wire.System, error) {
	ask := &terminal.Asker{Cancel: cancel}
	o.Channels, o.Elicit = []approval.Channel{ask}, terminal.Elicit
	if around != nil {
		o.Channels[0] = around(ask)
	}
	sys, err := a.open(ctx, o)
	if err != nil {
		return nil, err
	}
	ask.Previews, ask.Bell = sys.Previews, sys.Config.Notify.Bell()
	ask.Validate = func(ctx context.Context, tool string, args json.RawMessage) error {
		_, err := sys.Engine.Validate(ctx, tool, args)
		return err
	}
	return sys, nil
}

func newApp() *app { return &app{in: os.Stdin, Printer: cli.Printer{Out: os.Stdout, Err: os.Stderr}} }

// main runs the command and returns the exit code.
func (a *app) main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the first Ctrl-C cancels, a second one ends the process
	// Writing to a pipe that nobody reads ends the command quietly, as it does for any other.
	quietPipe()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	if err := root.ExecuteContext(ctx); err != nil {
		a.fail(cli.Usage(err))
	}
	return a.exit
}

// groups are the commands as help lists them: in the order in which people come to need them.
func (a *app) groups() []group {
	return []group{
		{"start", "Start", []*cobra.Command{a.setupCommand(), a.GuardCommand(a.run, a.host, a.agree), a.initCommand(), a.doctorCommand(), a.serveCommand(), a.mcpCommand()}},
		{"call", "Call tools", []*cobra.Command{a.toolsCommand(), a.describeCommand(), a.callCommand(), a.explainCommand(), a.validateCommand()}},
		{"answer", "Approve", []*cobra.Command{a.approvalsCommand(), a.allowRuleCommand(), a.denyRuleCommand(), a.grantsCommand(), a.trustCommand()}},
		{"history", "History", []*cobra.Command{
			a.logCommand(), a.ChangesCommand(a.run, a.host), a.undoCommand(), a.redoCommand(), a.statsCommand(), a.replayCommand(), a.sessionsCommand(),
		}},
		{"agents", "Agents", []*cobra.Command{a.runCommand(), a.workerCommand()}},
		{"own", "Your own tools", []*cobra.Command{a.forgeCommand(), a.moduleCommand()}},
		{"upkeep", "Upkeep", []*cobra.Command{a.configCommand(), a.sandboxCommand(), a.gcCommand(), a.versionCommand(), a.manCommand()}},
	}
}

type group struct {
	id, title string
	commands  []*cobra.Command
}

// inOrder has commands listed as they are added.
var inOrder = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

func (a *app) root() *cobra.Command {
	inOrder()
	root := &cobra.Command{
		Use:   "tongs",
		Short: "Safe hands for AI agents",
		Long: "Tongs runs tools for AI agents. It checks what a call would do, asks you when it should, runs the call with exactly " +
			"the permissions that were decided, and logs it.",
		Example: "  # call a tool\n  tongs call read_file path=go.mod\n\n" +
			"  # show what a call would do, and which rule decides\n  tongs explain write_file path=notes.txt content=hello\n\n" +
			"  # list the questions that wait for your answer\n  tongs approvals list",
		Version: version, SilenceErrors: true, SilenceUsage: true,
	}
	root.PersistentFlags().StringVar(&a.flags.workspace, "workspace", "", "the `directory` that tools work in (default: the current one)")
	for _, g := range a.groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(a.Out, terminal.Help(cmd)) })
	root.SetHelpCommandGroupID("upkeep")
	root.SetCompletionCommandGroupID("upkeep")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Aliases = append(cmd.Aliases, "completions")
		}
	}
	a.ownUsageErrors(root)
	return root
}

// ownUsageErrors makes every wrong use of a command an error that we show, at once and plainly, and that exits with 2:
// words that a group of commands does not know, wrong flags, and a wrong number of arguments.
func (a *app) ownUsageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.fail(cli.Usagef("%w; see '%s --help'", err, cmd.CommandPath()))
		return nil
	})
	check, run := cmd.Args, cmd.RunE
	switch {
	case cmd.HasSubCommands():
		cmd.Args = cobra.ArbitraryArgs
		if run != nil {
			cmd.Annotations = map[string]string{terminal.RunsAlone: "yes"}
		}
		cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && run != nil: // a group that does something of its own
				return run(cmd, args)
			case len(args) == 0:
				return cmd.Help()
			}
			return cli.UnknownCommand(cmd, args[0])
		})
	case run != nil && check != nil:
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				a.fail(cli.Usagef("%w; see '%s --help'", err, cmd.CommandPath()))
				return nil
			}
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.ownUsageErrors(sub)
	}
}

// run makes a command's function of one that returns its error: it is shown, and becomes the exit code.
func (a *app) run(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f(cmd, args); err != nil {
			if ctx := cmd.Context(); ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) && tongs.CodeOf(err) == tongs.CodeInternal {
				err = tongs.Errorf(tongs.CodeCancelled, "%w", err)
			}
			a.fail(err)
		}
		return nil
	}
}

// fail shows an error and sets the exit code.
func (a *app) fail(err error) {
	a.exit = exitCode(err)
	if errors.Is(err, errShown) || errors.Is(err, syscall.EPIPE) {
		return
	}
	fmt.Fprintf(a.Err, "tongs: %s\n", terminal.CleanLines(err.Error()))
}

// errShown is returned where the failure was shown already.
var errShown = errors.New("shown")

// shown marks err as shown: it only decides the exit code.
func shown(err error) error { return fmt.Errorf("%w: %w", errShown, err) }

func exitCode(err error) int {
	if _, ok := errors.AsType[cli.UsageError](err); ok {
		return exitUsage
	}
	switch code := tongs.CodeOf(err); {
	case err == nil:
		return exitOK
	case code == tongs.CodeInvalidArgs || code == tongs.CodeUnknownTool:
		return exitUsage
	case code.Refused():
		return exitRefused
	}
	return exitFailed
}
