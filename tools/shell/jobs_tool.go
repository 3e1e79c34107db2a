package shell

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

const (
	jobsName    = "shell_jobs"
	defaultWait = 30 * time.Second
	// maxPlanned is how many calls that write to one job may be waiting to be decided.
	maxPlanned = 64
)

// JobsInput are the arguments of shell_jobs.
type JobsInput struct {
	Action  string `json:"action" jsonschema:"What to do." enum:"list,read,write,wait,kill"`
	ID      string `json:"id,omitempty" jsonschema:"Job; for all but list." alias:"job"`
	Cursor  int64  `json:"cursor,omitempty" jsonschema:"Of an earlier result, to read on." min:"0"`
	Input   string `json:"input,omitempty" jsonschema:"Text to write; shells want whole lines."`
	EOF     bool   `json:"eof,omitempty" jsonschema:"Close its input after that."`
	Timeout int    `json:"timeout,omitempty" jsonschema:"Seconds to wait; 30 by default." min:"1" max:"600"`
}

// JobsOutput is the value of shell_jobs.
type JobsOutput struct {
	Jobs   []JobStatus `json:"jobs" jsonschema:"The job, or all of them for list."`
	Output string      `json:"output,omitempty" jsonschema:"What the job wrote since the cursor, stdout and stderr together."`
	Cursor int64       `json:"cursor,omitempty" jsonschema:"Where reading goes on."`
	Lost   int64       `json:"lost,omitempty" jsonschema:"Bytes after the cursor that are no longer kept."`
	Path   string      `json:"path,omitempty" jsonschema:"The file that read_file finds the whole output in."`

	action  string
	display string
	exit    *tongs.Exit
}

// JobStatus is one job.
type JobStatus struct {
	ID       string `json:"id"`
	Command  string `json:"command"`
	Running  bool   `json:"running"`
	ExitCode int    `json:"exitCode" jsonschema:"-1 while it runs."`
	Signal   string `json:"signal,omitempty"`
	Duration int64  `json:"duration" jsonschema:"Milliseconds until now, or until it ended."`
	Output   int64  `json:"output" jsonschema:"Bytes written so far."`
	Ports    []int  `json:"ports,omitempty" jsonschema:"Ports of localhost that later commands reach it at."`
}

// Present tells how the jobs are.
func (o *JobsOutput) Present(r *tongs.Result) {
	if o.exit != nil && o.exit.Report != nil {
		r.SetMeta("sandbox", o.exit.Report)
	}
	if o.action == "list" {
		r.Title = fmt.Sprintf("%d jobs", len(o.Jobs))
		var lines []string
		for _, j := range o.Jobs {
			lines = append(lines, fmt.Sprintf("%s  %s  %s%s", j.ID, j.state(), programoutput.Short(j.Command, titleRunes), j.listens()))
		}
		if r.Content = strings.Join(lines, "\n"); r.Content == "" {
			r.Content = "(no jobs)"
		}
		return
	}
	job := o.Jobs[0]
	r.Title = job.ID + ": " + programoutput.Short(job.Command, titleRunes)
	remarks := []string{job.ID + " " + job.state() + job.listens()}
	if o.Lost > 0 {
		remarks = append(remarks, o.lost())
	}
	if o.exit != nil {
		notes, _ := programoutput.Read(o.exit)
		remarks = append(remarks, notes...)
	}
	remarks = append(remarks, fmt.Sprintf("cursor %d", o.Cursor))
	r.Content = programoutput.Text(o.Output, "", remarks...)
	if o.display != "" {
		r.Display = programoutput.Text(o.display, "", remarks...)
	}
}

func (o *JobsOutput) lost() string {
	text := fmt.Sprintf("%d bytes before this are no longer kept", o.Lost)
	if o.Path != "" {
		text += "; read_file " + o.Path + " has all of it"
	}
	return text
}

func (j JobStatus) state() string {
	switch {
	case j.Running:
		return "is running"
	case j.Signal != "":
		return "ended by a signal: " + j.Signal
	}
	return fmt.Sprintf("ended with exit code %d", j.ExitCode)
}

func (j *job) status() JobStatus {
	st := JobStatus{ID: j.id, Command: j.command, Running: true, ExitCode: -1, Duration: time.Since(j.started).Milliseconds()}
	if exit, ok := j.ended(); ok {
		st.Running, st.ExitCode, st.Signal, st.Duration = false, exit.Code, exit.Signal, exit.Duration.Milliseconds()
	}
	st.Output = j.out.read(0).next
	if st.Running {
		st.Ports = j.ports()
	}
	return st
}

// ports are those that the job listens on, which later commands reach.
func (j *job) ports() []int {
	if p, ok := j.proc.(interface{ Ports() []int }); ok {
		return p.Ports()
	}
	return nil
}

// listens says which ports later commands reach.
func (j JobStatus) listens() string {
	if len(j.Ports) == 0 {
		return ""
	}
	var names []string
	for _, port := range j.Ports {
		names = append(names, fmt.Sprintf("localhost:%d", port))
	}
	return "  (later commands reach it at " + strings.Join(names, ", ") + ")"
}

func (s *Set) jobsTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[JobsInput, JobsOutput]{
		Spec: tongs.Spec{
			Name: jobsName, Title: "Background jobs", Toolset: Toolset, Complex: true,
			Description: "Background jobs of shell in this session: " +
				"list, read output, write input, wait for the end, or kill.",
			Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network,
			Hints: tongs.Hints{Destructive: true, OpenWorld: true},
		},
		Plan: s.planJobs, Run: s.runJobs,
	})
}

// checkJobs refuses arguments that do not fit the action.
func checkJobs(in JobsInput) error {
	switch {
	case in.Action != "list" && in.ID == "":
		return tongs.Errorf(tongs.CodeInvalidArgs, "%s needs the id of a job; the action list shows them", in.Action)
	case in.Action == "write" && in.Input == "" && !in.EOF:
		return tongs.Errorf(tongs.CodeInvalidArgs, "there is nothing to write; give input, or eof to close the standard input")
	}
	return nil
}

func (s *Set) planJobs(ctx context.Context, v *tongs.View, in JobsInput) (*tongs.Plan, error) {
	if err := checkJobs(in); err != nil {
		return nil, err
	}
	free := tongs.PreApproved
	if in.Action == "write" && in.Input != "" {
		return s.planWrite(ctx, v, in)
	}
	argv := []string{jobsName, in.Action}
	if in.ID != "" {
		argv = append(argv, in.ID)
	}
	kind := tongs.KindRead
	if in.Action == "kill" || in.Action == "write" {
		kind = tongs.KindExecute
	}
	return &tongs.Plan{
		Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: argv}}, Default: &free,
		Message: "Background jobs: " + strings.TrimSpace(in.Action+" "+in.ID), Kind: kind,
	}, nil
}

// planWrite is the plan of writing to a job: what the program that reads it would do with it.
func (s *Set) planWrite(ctx context.Context, v *tongs.View, in JobsInput) (*tongs.Plan, error) {
	j, err := s.jobs.find(v.Call.Session, in.ID)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	a, err := s.analyseInput(v.Files, j, in.Input)
	if err != nil {
		return nil, err
	}
	if len(j.planned) >= maxPlanned {
		clear(j.planned) // those that wait are planned again
	}
	j.planned[v.Call.ID] = a.Effects
	shown := Input{Command: in.Input}
	return &tongs.Plan{
		Effects: a.Effects, Kind: tongs.KindExecute,
		Message: fmt.Sprintf("Write to %s (%s): %s", j.id, programoutput.Short(j.command, 40), programoutput.Short(in.Input, titleRunes)),
		Preview: func(context.Context) (string, error) { return preview(shown, j.dir, a), nil },
	}, nil
}

// analyseInput returns what input would do to a job, whose lock is held.
func (s *Set) analyseInput(files tongs.FileView, j *job, input string) (*shellsyntax.Analysis, error) {
	interpreter := j.reader
	if j.opaque || interpreter == nil {
		return &shellsyntax.Analysis{Effects: []tongs.Effect{{
			Kind: tongs.EffectExecute, Unknown: true, Why: "what the job does with its input cannot be told",
		}}}, nil
	}
	if isShell(interpreter[0]) && !strings.HasSuffix(input, "\n") {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the input does not end with a newline; a shell reads whole lines, so write whole ones")
	}
	look := &looked{}
	w := s.world(place{files: files, dir: j.dir}, look)
	a, err := shellsyntax.AnalyseStdin(interpreter, input, w, shellsyntax.Options{
		POSIX: path.Base(interpreter[0]) != "bash", Exported: j.exported,
	})
	if err == nil && look.undecided != nil {
		err = look.undecided
	}
	if err != nil {
		return nil, err
	}
	look.add(a)
	return a, nil
}

// reader returns the program that reads the standard input of a command, nil where that is not sure.
func reader(a *shellsyntax.Analysis) []string {
	if len(a.Commands) != 1 || len(a.Commands[0].Argv) == 0 || len(a.Commands[0].Wrappers) > 0 {
		return nil
	}
	argv := a.Commands[0].Argv
	for _, word := range argv {
		if strings.IndexByte(word, 0) >= 0 {
			return nil
		}
	}
	for _, word := range argv[1:] {
		// Any other option or operand may be a script, which reads the input in its own way.
		if isShell(argv[0]) && !slices.Contains([]string{"-i", "-s", "-l", "--norc", "--noprofile", "--login"}, word) {
			return nil
		}
	}
	return argv
}

// given returns the variables that the programs of a command are given.
func given(a *shellsyntax.Analysis) (env []string) {
	for _, e := range a.Effects {
		env = append(env, e.Env...)
	}
	return env
}

func isShell(program string) bool {
	return slices.Contains([]string{"bash", "sh", "dash", "zsh", "ksh"}, path.Base(program))
}

// opaque reports whether a command may run what cannot be told, or take away what is written for the shell next.
func opaque(a *shellsyntax.Analysis) bool {
	return a.ReadsOn || slices.ContainsFunc(a.Effects, func(e tongs.Effect) bool { return e.Kind == tongs.EffectExecute && e.Unknown })
}

func (s *Set) runJobs(ctx context.Context, env *tongs.Env, in JobsInput) (JobsOutput, error) {
	if err := checkJobs(in); err != nil {
		return JobsOutput{}, err
	}
	session := env.Call.Session
	if in.Action == "list" {
		out := JobsOutput{action: in.Action}
		for _, j := range s.jobs.of(session) {
			out.Jobs = append(out.Jobs, j.status())
		}
		return out, nil
	}
	j, err := s.jobs.find(session, in.ID)
	if err != nil {
		return JobsOutput{}, err
	}
	wait := defaultWait
	if in.Timeout > 0 {
		wait = time.Duration(in.Timeout) * time.Second
	}
	waited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	switch in.Action {
	case "write":
		err = s.write(waited, env, j, in)
	case "wait":
		j.wait(waited)
	case "kill":
		j.kill()
	case "read":
		if in.Timeout > 0 {
			j.awaitOutput(waited, in.Cursor)
		}
	}
	if err != nil {
		return JobsOutput{}, err
	}
	out, err := j.result(env, in)
	j.handOver(env) // last: where the result says that it ended, it also tells what became of what it left
	return out, err
}

// handOver has what an ended job left decided with this call: the one that started it is over.
func (j *job) handOver(env *tongs.Env) {
	if _, ended := j.ended(); ended {
		env.Commands.Adopt(j.proc)
	}
}

// awaitOutput waits until there is output after the cursor, or the job ended.
func (j *job) awaitOutput(ctx context.Context, cursor int64) {
	for {
		got := j.read(cursor)
		if len(got.data) > 0 || got.lost > 0 {
			return
		}
		select {
		case <-got.more:
		case <-j.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// result is what the job wrote since the cursor, and how it is.
func (j *job) result(env *tongs.Env, in JobsInput) (JobsOutput, error) {
	out := JobsOutput{action: in.Action}
	exit, ended := j.ended() // before reading: what is read then is all there is
	if ended {
		out.exit = exit
	}
	got := j.read(in.Cursor)
	var screen programoutput.Screen
	stdout := env.Output("stdout")
	if _, err := screen.Tee(stdout).Write(got.data); err != nil {
		return out, err
	}
	out.Output, out.Cursor, out.Lost, out.display = stdout.Excerpt(), got.next, got.lost, screen.Text()
	if p, ok := j.stream.(interface{ Path() string }); ok {
		out.Path = p.Path()
	}
	out.Jobs = []JobStatus{j.status()}
	return out, nil
}

// write writes to the job what was decided. Writes follow one another.
func (s *Set) write(ctx context.Context, env *tongs.Env, j *job, in JobsInput) error {
	over := tongs.Errorf(tongs.CodeExecutionError, "%s has ended and reads no more", j.id)
	if _, ended := j.ended(); ended {
		return over
	}
	select {
	case <-j.writing:
	case <-j.done:
		return over
	case <-ctx.Done():
		return tongs.Errorf(tongs.CodeTimeout, "%s has not read what was written before; read its output, or kill it", j.id)
	}
	if err := s.stillDecided(ctx, env, j, in); err != nil {
		j.writing <- struct{}{}
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(j.proc, in.Input)
		if err == nil && in.EOF {
			err = j.proc.CloseInput()
		}
		done <- err
		j.writing <- struct{}{}
	}()
	return j.written(ctx, done)
}

// written waits until the job has the input. A program that ends as soon as it has read everything had it all the same: once it
// is gone the write returns, and tells.
func (j *job) written(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		_, ended := j.ended()
		switch {
		case err != nil && ended:
			return tongs.Errorf(tongs.CodeExecutionError, "%s ended before it read all of the input", j.id)
		case err != nil:
			return tongs.Errorf(tongs.CodeExecutionError, "%s could not be written to: %w; its input is closed or it has ended", j.id, err)
		}
		return nil
	case <-ctx.Done():
		return tongs.Errorf(tongs.CodeTimeout, "%s does not read; what was written waits for it", j.id)
	}
}

// stillDecided checks that the input would do what it would have done when the call was planned, and notes what it makes
// of the job.
func (s *Set) stillDecided(ctx context.Context, env *tongs.Env, j *job, in JobsInput) error {
	if in.Input == "" {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	a, err := s.analyseInput(env.Files, j, in.Input)
	if err != nil {
		return err
	}
	call := env.Call.ID
	planned := j.planned[call]
	delete(j.planned, call)
	if !slices.EqualFunc(planned, a.Effects, tongs.Effect.Same) {
		return &tongs.Need{Effects: a.Effects, Reason: "what " + j.id + " would do with the input changed since it was decided"}
	}
	j.opaque, j.exported = j.opaque || opaque(a), a.Exported
	return nil
}
