package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/worker"
)

// exitLimit is that of a run which met a limit.
const exitLimit = 2

// runFlags are those of 'tongs run'.
type runFlags struct {
	mode            *tongs.Mode
	model, format   string
	proceed         string // the session to continue, "last" for the newest
	attach          []string
	worker, session string
	prompt          string
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run WORKER [PROMPT ...]",
		Short: "Run a worker: an agent defined in a file",
		Long: "Run a worker, given by its file or by its name in workers/ of the workspace or of your configuration directory. " +
			"The prompt is the rest of the words or, without any, standard input.\n\n" +
			"Calls that need approval ask at the terminal. Ctrl-C once stops the turn, and you can type what to do instead; " +
			"twice quits. Every turn is saved: --continue resumes the newest session here, --continue=ID another one.\n\n" +
			"A worker file that is not trusted, or changed since you trusted it, is shown first. 'tongs worker trust' trusts " +
			"it in its current form.\n\n" +
			"The exit code is 0 if the worker finished, 2 if it reached one of its limits, 3 if it may not be started, and 1 " +
			"if it failed or was stopped. With --format json every event is one line.",
		Example: "  tongs run reviewer.worker \"review the last commit\"\n" +
			"  tongs run researcher --model anthropic:MODEL < question.txt\n" +
			"  tongs run --continue \"and now the tests\"\n" +
			"  tongs run organiser.worker --attach plan.png \"sort it like this\"",
	}
	mode := cli.ModeFlag(cmd)
	cli.FormatFlag(cmd, &f.format, "text", "text", "json")
	cmd.Flags().StringVar(&f.model, "model", "", "use this `model` instead of the worker's: provider:model, or script:FILE")
	cmd.Flags().StringVar(&f.proceed, "continue", "", "resume a session: the newest one here, or this `ID`")
	cmd.Flags().Lookup("continue").NoOptDefVal = "last"
	cmd.Flags().StringArrayVar(&f.attach, "attach", nil, "attach this `file` (repeatable)")
	cmd.Flags().StringVar(&f.session, "session", "", "the `ID` of the new session")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		f.mode = mode()
		if err := a.runArgs(&f, args); err != nil {
			return err
		}
		return a.runWorker(cmd.Context(), f)
	})
	return cmd
}

// runArgs divides the words of the command line into the worker and the prompt.
func (a *app) runArgs(f *runFlags, args []string) error {
	if len(args) > 0 && (f.proceed == "" || isWorkerFile(args[0])) {
		f.worker, args = args[0], args[1:]
	}
	if f.worker == "" && f.proceed == "" {
		return cli.Usagef("which worker? Name its file, or one that 'tongs worker list' shows")
	}
	f.prompt = strings.Join(args, " ")
	if f.prompt == "" || f.prompt == "-" {
		if isTerminalReader(a.in) {
			return cli.Usagef("what should the worker do? Say it after its name, or on standard input")
		}
		data, err := io.ReadAll(io.LimitReader(a.in, 4<<20))
		if err != nil {
			return err
		}
		f.prompt = string(data)
	}
	if strings.TrimSpace(f.prompt) == "" {
		return cli.Usagef("the prompt is empty")
	}
	return nil
}

func isTerminalReader(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && terminal.IsTerminal(f)
}

func isWorkerFile(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".worker" || ext == ".yaml"
}

// runWorker finds the worker, has it admitted, and runs it.
func (a *app) runWorker(ctx context.Context, f runFlags) error {
	old, err := a.sessionToContinue(ctx, &f)
	if err != nil {
		return err
	}
	file, err := a.findWorker(f.worker)
	if err != nil {
		return err
	}
	if err := a.admit(ctx, file); err != nil {
		return err
	}
	job := worker.Job{File: &file.File, Prompt: f.prompt, Model: f.model, Session: f.session, Ruled: true}
	if old != nil {
		job.Continue = old.ID
		if job.Model == "" && file.Model == "" {
			job.Model = old.Model
		}
	}
	for _, path := range f.attach {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("attachment: %w", err)
		}
		job.Attachments = append(job.Attachments, worker.Attachment{Name: filepath.Base(path), Data: data})
	}
	return a.runJob(ctx, f, file, job)
}

// sessionToContinue returns the session to go on with, nil for none, and fills in its worker.
func (a *app) sessionToContinue(ctx context.Context, f *runFlags) (*worker.Session, error) {
	if f.proceed == "" {
		return nil, nil
	}
	p, err := a.host().Locate()
	if err != nil {
		return nil, err
	}
	store := &wire.Sessions{Dir: p.StateDir}
	defer store.Close()
	var s *worker.Session
	if f.proceed == "last" {
		list, err := store.List(ctx, worker.Filter{Outermost: true, Workspace: p.Workspace, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs,
				"there is no session to continue in %s; 'tongs sessions' lists them", p.Workspace)
		}
		s = &list[0]
	} else if s, _, err = store.Load(ctx, f.proceed, 0); err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%w; 'tongs sessions' lists them", err)
	}
	if s.State == worker.Running && terminal.Alive(s.PID) {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "session %s is still running (process %d)", s.ID, s.PID)
	}
	if f.worker == "" {
		f.worker = s.File
	}
	return s, nil
}

// findWorker reads the worker that a word of the command line means: a file, or a name.
func (a *app) findWorker(word string) (*config.Worker, error) {
	p, err := a.host().Locate()
	if err != nil {
		return nil, err
	}
	files := a.host().WorkerFiles(p)
	if isWorkerFile(word) || strings.ContainsRune(word, filepath.Separator) {
		return files.Load(word)
	}
	return files.Find(nil, word)
}

// admit has a person look at a worker that is not trusted.
func (a *app) admit(ctx context.Context, f *config.Worker) error {
	if f.Trusted {
		return nil
	}
	t, err := terminal.Open()
	if err != nil {
		return tongs.Errorf(tongs.CodeApprovalRequired,
			"%s (%.19s) is not trusted, or it changed since you trusted it; read it, then run 'tongs worker trust %s' at a terminal", f.Path, f.Hash, f.Path)
	}
	defer t.Close()
	if err := showWorker(t, f); err != nil {
		return err
	}
	fmt.Fprintln(t, "This worker is not trusted, or it changed since you trusted it.")
	t.Option("t", "trust it, and run it")
	t.Option("y", "run it once; its pre-approvals do not count")
	t.Option("n", "do not run it")
	key, err := t.Key(ctx, "Your choice: ", "tyn")
	if err != nil {
		return tongs.Errorf(tongs.CodeDenied, "the worker was not started")
	}
	fmt.Fprintf(t, "%c\r\n", key)
	switch key {
	case 'n':
		return tongs.Errorf(tongs.CodeDenied, "the worker was not started")
	case 't':
		if err := t.Confirm(ctx, "trust this worker"); err != nil {
			return tongs.Errorf(tongs.CodeDenied, "the worker was not started: %w", err)
		}
		if err := a.rememberTrust(ctx, f); err != nil {
			return err
		}
		return a.reread(f)
	}
	return nil
}

// reread takes up that a file is trusted now. It must still be the one that was shown.
func (a *app) reread(f *config.Worker) error {
	again, err := a.findWorker(f.Path)
	if err != nil {
		return err
	}
	if again.Hash != f.Hash {
		return tongs.Errorf(tongs.CodeStaleFile, "%s changed while it was shown; run it again", f.Path)
	}
	*f = *again
	return nil
}

// showWorker prints a worker file, as it was read.
func showWorker(t *terminal.Terminal, f *config.Worker) error {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return err
	}
	if config.Hash(data) != f.Hash {
		return tongs.Errorf(tongs.CodeStaleFile, "%s changed while it was read; run it again", f.Path)
	}
	fmt.Fprintf(t, "%s:\n", terminal.Clean(f.Path))
	t.Quote(string(data))
	return nil
}

// runJob wires a system around the worker and runs it.
func (a *app) runJob(ctx context.Context, f runFlags, file *config.Worker, job worker.Job) error {
	ctx, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	show := terminal.NewScreen(f.format, a.Out, a.Err)
	defer show.Close()
	stop := terminal.NewInterrupts(quit, show)
	defer stop.End()
	sys, err := a.openAsking(ctx, wire.Options{Mode: f.mode, Worker: file, Lives: true, Warm: true, Events: show.Event}, stop.Press,
		func(c approval.Channel) approval.Channel { return terminal.Paused(c, show) })
	if err != nil {
		return err
	}
	closed := sync.OnceFunc(func() { _ = sys.Close() })
	defer closed()
	for _, w := range file.Warnings {
		show.Note(w)
	}
	job.Stop, job.Further = stop.Turn, stop.Further
	s, err := sys.Workers.Run(ctx, job)
	if err != nil {
		return err
	}
	closed() // whatever the worker left running ends before the last word
	show.End(s)
	switch s.State {
	case worker.Done:
		return nil
	case worker.Limited:
		a.exit = exitLimit
	default:
		a.exit = exitFailed
	}
	return nil
}
