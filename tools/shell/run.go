package shell

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
	"github.com/tongs-ai/tongs/network"
)

const titleRunes = 80

// Input are the arguments of shell.
type Input struct {
	Command    string `json:"command" jsonschema:"What bash runs." minLength:"1" alias:"cmd,script"`
	Timeout    int    `json:"timeout,omitempty" jsonschema:"Seconds until killed." min:"1"`
	Workdir    string `json:"workdir,omitempty" jsonschema:"Start there, in the workspace." alias:"cwd,directory,working_dir"`
	Background bool   `json:"background,omitempty" jsonschema:"Return at once; see shell_jobs." alias:"run_in_background"`
	Stdin      string `json:"stdin,omitempty" jsonschema:"Text that it reads." alias:"input"`
	PTY        bool   `json:"pty,omitempty" jsonschema:"Give it a terminal." alias:"tty"`
	Persist    bool   `json:"persist,omitempty" jsonschema:"Keep directory and exported variables for the next such command."`
}

// timeout is how long a command may take.
func (o Options) timeout(in Input) time.Duration {
	if in.Timeout <= 0 {
		return o.Timeout
	}
	return min(time.Duration(in.Timeout)*time.Second, o.MaxTimeout)
}

// Output is the value of shell.
type Output struct {
	Stdout   string               `json:"stdout"`
	Stderr   string               `json:"stderr"`
	ExitCode int                  `json:"exitCode" jsonschema:"Exit code; 128 and the number of the signal that ended it. -1 while it runs."`
	Signal   string               `json:"signal,omitempty" jsonschema:"The signal that ended it."`
	Duration int64                `json:"duration" jsonschema:"Milliseconds."`
	TimedOut bool                 `json:"timedOut"`
	Usage    *programoutput.Usage `json:"usage,omitempty"`
	Workdir  string               `json:"workdir,omitempty" jsonschema:"Where the next command with persist will start."`
	Job      string               `json:"job,omitempty" jsonschema:"The background job, for shell_jobs."`
	Cursor   int64                `json:"cursor,omitempty" jsonschema:"Where reading the job goes on."`

	command string
	display string
	exit    *tongs.Exit
	remarks []string
}

// Present tells how the command ended.
func (o *Output) Present(r *tongs.Result) {
	r.Title = programoutput.Short(o.command, titleRunes)
	remarks := o.remarks
	if o.exit != nil {
		remarks = append([]string{programoutput.Ended(o.exit)}, remarks...)
		r.SetMeta("exitCode", o.ExitCode)
		if o.exit.Report != nil {
			r.SetMeta("sandbox", o.exit.Report)
		}
	}
	if o.Job != "" {
		r.SetMeta("job", o.Job)
	}
	r.Content = programoutput.Text(o.Stdout, o.Stderr, remarks...)
	if o.display != "" {
		r.Display = programoutput.Text(o.display, "", remarks...)
	}
}

func (s *Set) shellTool() (tongs.Tool, error) {
	input, aliases, err := tongs.SchemaOf[Input]()
	if err != nil {
		return nil, err
	}
	timeout, most := input.Properties["timeout"], s.opt.MaxTimeout.Seconds()
	timeout.Description = fmt.Sprintf("Seconds until killed; default %g, none in background.", s.opt.Timeout.Seconds())
	timeout.Maximum = &most
	return tongs.New(tongs.Def[Input, Output]{
		Spec: tongs.Spec{
			Input: input, ArgAliases: aliases,
			Name: "shell", Title: "Run command", Aliases: []string{"bash", "execute_command"}, Toolset: Toolset, Complex: true,
			Description: "Runs a bash command in a sandbox. " +
				"Long output is cut and kept. No network unless approved.",
			Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network,
			Hints: tongs.Hints{Destructive: true, OpenWorld: true},
		},
		Plan: s.plan, Run: s.run,
	})
}

// posix reports whether the shell is not bash.
func (s *Set) posix() bool { return path.Base(s.opt.Shell) != "bash" }

// start is where a command starts, and with what.
func (s *Set) start(ctx context.Context, files tongs.FileView, state tongs.StateView, dir tongs.Path, in Input) (place, error) {
	at := place{files: files, dir: dir, confined: !in.Background && s.opt.Full(ctx)}
	if in.Persist {
		kept, err := loadSession(ctx, state)
		if err != nil {
			return at, err
		}
		at.vars = kept.Vars
		if kept.Dir != nil {
			there, err := isDir(files, *kept.Dir)
			if err != nil {
				return at, err
			}
			if there {
				at.dir = *kept.Dir
			}
		}
	}
	if in.Workdir == "" {
		return at, nil
	}
	p, err := files.Resolve(in.Workdir)
	if err != nil {
		return at, err
	}
	info, err := files.Stat(p)
	if err != nil {
		return at, err
	}
	if info.Type != tongs.FileDirectory {
		return at, tongs.Errorf(tongs.CodeInvalidPath, "workdir %s is not a directory; name the directory to run the command in", p)
	}
	at.dir = p
	return at, nil
}

// isDir reports whether p is a directory. The error is a *Need.
func isDir(files tongs.FileView, p tongs.Path) (bool, error) {
	info, err := files.Stat(p)
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		return false, need
	}
	return err == nil && info.Type == tongs.FileDirectory, nil
}

// analyse returns what the command would do there. For a call that runs it is a *Need where that cannot be told from
// what was decided.
func (s *Set) analyse(at place, callDir tongs.Path, in Input) (*shellsyntax.Analysis, error) {
	look := &looked{}
	opt := shellsyntax.Options{POSIX: s.posix(), Exported: environ(at.vars)}
	a, err := shellsyntax.Analyse(in.Command, s.world(at, look), opt)
	if err == nil && in.Stdin != "" && len(a.Commands) == 1 {
		// Only where nothing else can have read a part of it is the input what a shell would take for commands.
		opt.Input = &in.Stdin
		a, err = shellsyntax.Analyse(in.Command, s.world(at, look), opt)
	}
	if err != nil {
		return nil, err
	}
	if at.dir != callDir || in.Persist {
		a.Effects = append(a.Effects, tongs.Effect{Kind: tongs.EffectRead, Path: at.dir, Why: "works in this directory"})
	}
	if look.undecided != nil {
		return nil, look.undecided
	}
	look.add(a)
	markPrivate(a.Effects)
	return a, nil
}

// markPrivate marks connections to hosts that are addresses of this machine or network as they are written.
func markPrivate(effects []tongs.Effect) {
	for i := range effects {
		e := &effects[i]
		if e.Kind != tongs.EffectNetwork || e.Unknown {
			continue
		}
		if t, err := network.ParseTarget(e.Host, 443); err == nil && t.Private() {
			e.Private = true
			if e.Why == "" {
				e.Why = network.WhySpecial
			}
		}
	}
}

func (s *Set) plan(ctx context.Context, v *tongs.View, in Input) (*tongs.Plan, error) {
	if err := s.possible(in); err != nil {
		return nil, err
	}
	at, err := s.start(ctx, v.Files, v.State, v.Dir, in)
	if err != nil {
		return nil, err
	}
	at.tells = true
	a, err := s.analyse(at, v.Dir, in)
	if err != nil {
		return nil, err
	}
	markNew(v.Files, a.Effects)
	plan := &tongs.Plan{
		Effects: a.Effects, Message: "Run: " + programoutput.Short(in.Command, titleRunes), Kind: tongs.KindExecute, Contained: !in.Background,
		Records: a.Records, Tells: a.Tells,
		Preview: func(context.Context) (string, error) { return preview(in, at.dir, a), nil },
	}
	if s.freeRead(ctx, a) {
		free := tongs.PreApproved
		plan.Default = &free
	}
	return plan, nil
}

// freeRead reports whether the command is free because it only reads.
func (s *Set) freeRead(ctx context.Context, a *shellsyntax.Analysis) bool {
	return a.ReadOnly && s.opt.FreeReads && s.opt.Full(ctx)
}

// markNew marks the writes that make a new file: as for write_file, only overwriting one needs a word of its own.
func markNew(files tongs.FileView, effects []tongs.Effect) {
	for i := range effects {
		e := &effects[i]
		if e.Kind != tongs.EffectWrite || e.Unknown || e.ByName() {
			continue
		}
		if v, err := files.Version(e.Path); err == nil && v == tongs.Absent {
			e.Incidental = true
		}
	}
}

// possible refuses what cannot be done together, and jobs where there can be none.
func (s *Set) possible(in Input) error {
	switch {
	case in.Background && !s.opt.Background:
		return tongs.Errorf(tongs.CodeInvalidArgs, "background jobs need a program that lives on after the call, such as "+
			"'tongs mcp'; here the command can only be run to its end: leave out background")
	case in.PTY && in.Persist:
		return tongs.Errorf(tongs.CodeInvalidArgs, "pty and persist cannot be used together; leave one of them out")
	case in.PTY && in.Stdin != "" && !strings.HasSuffix(in.Stdin, "\n"):
		return tongs.Errorf(tongs.CodeInvalidArgs, "stdin does not end with a newline, so that a terminal would never pass it on; add one")
	}
	return nil
}

func (s *Set) run(ctx context.Context, env *tongs.Env, in Input) (Output, error) {
	if err := s.possible(in); err != nil {
		return Output{}, err
	}
	at, err := s.start(ctx, env.Files, env.State, env.Dir, in)
	if err != nil {
		return Output{}, err
	}
	a, err := s.analyse(at, env.Dir, in)
	if err != nil {
		return Output{}, err
	}
	markNew(env.Files, a.Effects)
	cmd := &tongs.Command{
		Argv: []string{s.opt.Shell, "-c", in.Command}, Dir: at.dir, Env: environ(at.vars), TTY: in.PTY,
		ReadOnly: a.ReadOnly, Full: s.freeRead(ctx, a), Effects: a.Effects, Ports: true,
	}
	if in.Stdin != "" {
		cmd.Stdin = strings.NewReader(in.Stdin)
	}
	if in.Background {
		return s.startJob(ctx, env, in, cmd, a)
	}
	cmd.Timeout = s.opt.timeout(in)
	return s.foreground(ctx, env, in, at, cmd)
}

// foreground runs the command to its end.
func (s *Set) foreground(ctx context.Context, env *tongs.Env, in Input, at place, cmd *tongs.Command) (Output, error) {
	var screen programoutput.Screen
	stdout, stderr := env.Output("stdout"), env.Output("stderr")
	cmd.Stdout, cmd.Stderr = screen.Tee(stdout), screen.Tee(stderr)
	var keep *keeper
	if in.Persist {
		keep = newKeeper(cmd.Stdout, s.posix())
		cmd.Stdout, cmd.Argv[2] = keep, keep.wrap(in.Command)
	}
	exit, err := env.Commands.Run(ctx, cmd)
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		return Output{}, need
	}
	if exit == nil {
		return Output{}, err
	}
	out := Output{
		Stdout: stdout.Excerpt(), Stderr: stderr.Excerpt(), ExitCode: exit.Code, Signal: exit.Signal,
		Duration: exit.Duration.Milliseconds(), TimedOut: exit.TimedOut,
		command: in.Command, display: screen.Text(), exit: exit,
	}
	out.remarks, out.Usage = programoutput.Read(exit)
	if keep != nil {
		if err := s.keep(ctx, env, at, keep, &out); err != nil {
			return out, err
		}
	}
	switch {
	case exit.TimedOut:
		return out, tongs.Errorf(tongs.CodeTimeout, "the command was killed after %s; its output until then is kept%s",
			cmd.Timeout, s.longer(in))
	case ctx.Err() != nil:
		return out, stopped(ctx)
	}
	if killed := programoutput.Killed("the command", exit); err == nil && killed != nil {
		return out, killed
	}
	return out, err
}

// longer says what to do about a command that takes long.
func (s *Set) longer(in Input) (say string) {
	if s.opt.timeout(in) < s.opt.MaxTimeout {
		say = fmt.Sprintf("; give it a longer timeout (%g at most)", s.opt.MaxTimeout.Seconds())
	}
	if s.opt.Background {
		say += "; or run it with background"
	}
	return say
}

// stopped says how a call ended that somebody ended.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		return tongs.Errorf(tongs.CodeTimeout, "the time of the call was over, and the command was killed; its output until then is kept")
	}
	return tongs.Errorf(tongs.CodeCancelled, "the call was cancelled, and the command was killed; its output until then is kept")
}

// startJob starts the command as a job and waits a moment for what it has to say.
func (s *Set) startJob(ctx context.Context, env *tongs.Env, in Input, cmd *tongs.Command, a *shellsyntax.Analysis) (Output, error) {
	j, err := s.jobs.start(ctx, env, in, cmd, a)
	if err != nil {
		return Output{}, err
	}
	settled, cancel := context.WithTimeout(ctx, s.opt.Settle)
	defer cancel()
	j.wait(settled)
	got := j.read(0)
	stdout := env.Output("stdout")
	if _, err := stdout.Write(got.data); err != nil {
		return Output{}, err
	}
	out := Output{
		Stdout: stdout.Excerpt(), ExitCode: -1, Duration: time.Since(j.started).Milliseconds(), Job: j.id, Cursor: got.next,
		command: in.Command, remarks: []string{"running as the job " + j.id + "; shell_jobs looks after it" + j.status().listens()},
	}
	if exit, ok := j.ended(); ok {
		out.ExitCode, out.Signal, out.Duration, out.exit = exit.Code, exit.Signal, exit.Duration.Milliseconds(), exit
		out.remarks, out.Usage = programoutput.Read(exit)
		out.remarks = append([]string{"the job " + j.id + " has ended already"}, out.remarks...)
	}
	j.handOver(env)
	return out, nil
}
