package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

const (
	// maxDepth is how deep workers may call workers: the outermost is the first.
	maxDepth = 5
	taskName = "task"
	// program is the first word of the effect that starting a worker is.
	program = "worker"
)

// delegation reports whether an effect is the start of a worker.
func delegation(e tongs.Effect) bool {
	return e.Kind == tongs.EffectExecute && len(e.Argv) == 2 && e.Argv[0] == program
}

// TaskInput are the arguments of task.
type TaskInput struct {
	Worker string `json:"worker" jsonschema:"Which one: its name."`
	Prompt string `json:"prompt" jsonschema:"All that it needs to know."`
}

// WorkerInput are the arguments of a tool that is a worker.
type WorkerInput struct {
	Input        string   `json:"input" jsonschema:"What to do, with all that it needs to know." alias:"prompt"`
	Instructions string   `json:"instructions,omitempty" jsonschema:"How to do it."`
	Attachments  []string `json:"attachments,omitempty" jsonschema:"Paths of files to hand over."`
}

// Output is the value of a delegated run.
type Output struct {
	Answer  string `json:"answer"`
	Session string `json:"session"`
	State   State  `json:"state"`
	Turns   int    `json:"turns"`
	Tokens  int64  `json:"tokens"`
}

// Tools returns task, and a tool of its own name for each of the workers. Register them with what takes the runner's calls.
func (r *Runner) Tools(workers ...*File) ([]tongs.Tool, error) {
	in, _, err := tongs.SchemaOf[TaskInput]()
	if err != nil {
		return nil, err
	}
	task := &delegate{runner: r, spec: &tongs.Spec{
		Name: taskName, Title: "Task", Toolset: Toolset, Description: "Have a worker do a task.", Input: in,
		Source: tongs.Source{Kind: tongs.SourceBuiltin}, Needs: tongs.Execute, Default: tongs.PreApproved, Control: true,
	}}
	tools := []tongs.Tool{task}
	for _, f := range workers {
		tool, err := r.tool(f)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// tool makes the tool of a worker's own name.
func (r *Runner) tool(f *File) (tongs.Tool, error) {
	in, aliases, err := tongs.SchemaOf[WorkerInput]()
	if err != nil {
		return nil, err
	}
	description := f.Description
	if description == "" {
		description = "Have the worker " + f.Name + " do a task."
	}
	return &delegate{runner: r, file: f, spec: &tongs.Spec{
		Name: f.Name, Title: f.Name, Toolset: Toolset, Description: description, Complex: true, Input: in, ArgAliases: aliases,
		Source: tongs.Source{Kind: tongs.SourceWorker, Name: f.Name, Digest: f.Hash}, Needs: tongs.Execute, Optional: tongs.Read,
		Default: tongs.Ask,
	}}, nil
}

// delegate is a tool that runs a worker. File is nil for task, which is told which.
type delegate struct {
	runner *Runner
	spec   *tongs.Spec
	file   *File
}

var (
	_ tongs.Tool    = (*delegate)(nil)
	_ tongs.Planner = (*delegate)(nil)
)

// Spec implements tongs.Tool.
func (d *delegate) Spec() *tongs.Spec { return d.spec }

// order is what a call asks of whom.
type order struct {
	file   *File
	prompt string
	paths  []string
	parent *run
}

// read finds out what a call asks of whom, and refuses what cannot be.
func (d *delegate) read(ctx context.Context, by tongs.CallInfo, call *tongs.Call) (o order, err error) {
	o.parent = d.runner.runOf(by)
	name := d.spec.Name
	if d.file == nil {
		var in TaskInput
		if err := json.Unmarshal(call.Args, &in); err != nil {
			return o, tongs.Errorf(tongs.CodeInvalidArgs, "arguments of task: %w", err)
		}
		name, o.prompt = in.Worker, in.Prompt
	} else {
		var in WorkerInput
		if err := json.Unmarshal(call.Args, &in); err != nil {
			return o, tongs.Errorf(tongs.CodeInvalidArgs, "arguments of %s: %w", name, err)
		}
		o.prompt, o.paths = in.Input, in.Attachments
		if in.Instructions != "" {
			o.prompt += "\n\n" + in.Instructions
		}
	}
	if strings.TrimSpace(o.prompt) == "" {
		return o, tongs.Errorf(tongs.CodeInvalidArgs, "the worker %q is asked for nothing; say what it should do", name)
	}
	var from *File
	if o.parent != nil {
		if from = o.parent.file; !slices.Contains(from.Workers, name) {
			return o, tongs.Errorf(tongs.CodeInvalidArgs,
				"the worker %s may not call %q; those that it may are: %s", from.Name, name, strings.Join(from.Workers, ", "))
		}
	}
	if o.file, err = d.runner.opt.Find(ctx, from, name); err != nil {
		return o, err
	}
	return o, o.parent.admits(o.file)
}

// admits refuses a worker that would call itself, and one too deep down.
func (x *run) admits(f *File) error {
	if x == nil {
		return nil
	}
	var names []string
	cycle := false
	for _, above := range x.chain() {
		names = append(names, above.file.Name)
		cycle = cycle || above.file.Path == f.Path
	}
	names = append(names, f.Name)
	switch {
	case cycle:
		return tongs.Errorf(tongs.CodeExecutionError,
			"a worker cannot call itself, also not through others: %s (%s)", strings.Join(names, " > "), f.Path)
	case len(names) > maxDepth:
		return tongs.Errorf(tongs.CodeExecutionError,
			"workers may call each other %d deep: %s is deeper; do it yourself", maxDepth, strings.Join(names, " > "))
	}
	return nil
}

// Plan implements tongs.Planner. Starting a worker is to execute it, at the content that its file has now.
func (d *delegate) Plan(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
	o, err := d.read(ctx, view.Call, call)
	if err != nil {
		return nil, err
	}
	free := tongs.PreApproved
	effect := tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{program, o.file.Name}, Version: tongs.Version(o.file.Hash)}
	plan := &tongs.Plan{Default: &free, Message: fmt.Sprintf("Have the worker %s do: %s", o.file.Name, firstLine(o.prompt)), Kind: tongs.KindExecute}
	if d.file != nil {
		plan.Say = &free
	}
	if !o.file.Trusted && d.runs(ctx, o) {
		effect.MustAsk, effect.Why = true, o.file.Path+" is not trusted, or it changed since you trusted it"
		path, hash := o.file.Path, o.file.Hash
		plan.Preview = func(context.Context) (string, error) { return preview(path, hash) }
	}
	plan.Effects = []tongs.Effect{effect}
	for _, name := range o.paths {
		p, err := view.Files.Resolve(name)
		if err != nil {
			return nil, err
		}
		version, err := view.Files.Version(p)
		if err != nil {
			return nil, err
		}
		plan.Effects = append(plan.Effects, tongs.Effect{Kind: tongs.EffectRead, Path: p, Version: version})
	}
	return plan, nil
}

// runs reports whether the call starts a worker: without a model it only returns what the worker would be told.
func (d *delegate) runs(ctx context.Context, o order) bool {
	return o.parent != nil || d.runner.whyNotRunnable(ctx, o.file) == nil
}

// whyNotRunnable returns why a worker that nobody's worker calls cannot be run.
func (r *Runner) whyNotRunnable(ctx context.Context, f *File) error {
	name, err := r.choose(f, "", nil)
	if err == nil {
		_, err = r.opt.Open(ctx, name)
	}
	return err
}

// preview shows the file that would be started.
func preview(path, hash string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (%.19s)\n%s", path, hash, data), nil
}

func firstLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 120 {
		line, more = string(r[:120]), true
	}
	if more {
		line += "…"
	}
	return line
}

// Call implements tongs.Tool.
func (d *delegate) Call(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
	o, err := d.read(ctx, env.Call, call)
	if err != nil {
		return nil, err
	}
	if o.parent == nil {
		if err := d.runner.whyNotRunnable(ctx, o.file); err != nil {
			return assist(o, err), nil
		}
	}
	job := Job{File: o.file, Prompt: o.prompt}
	for _, name := range o.paths {
		at, err := attach(env, name, o.file.Attachments.size())
		if err != nil {
			return nil, err
		}
		job.Attachments = append(job.Attachments, at)
	}
	x, err := d.runner.prepare(ctx, job, o.parent, env.Caller, call)
	if err != nil {
		return nil, failed(o.file, err)
	}
	s, err := x.loop(ctx)
	if err != nil {
		return nil, failed(o.file, err)
	}
	return report(s)
}

// failed makes an error that the calling model should see of one that kept a worker from running.
func failed(f *File, err error) error {
	if _, told := errors.AsType[*tongs.Error](err); told {
		return err
	}
	return tongs.Errorf(tongs.CodeExecutionError, "the worker %s could not be run: %w", f.Name, err)
}

// report is the result of a delegated run.
func report(s *Session) (*tongs.Result, error) {
	value, err := json.Marshal(Output{Answer: s.Answer, Session: s.ID, State: s.State, Turns: s.Turns, Tokens: s.Total.Input + s.Total.Output})
	if err != nil {
		return nil, err
	}
	res := &tongs.Result{
		Title: firstLine(s.Answer), Content: s.Answer, Value: value,
		Metadata: map[string]any{"worker": s.ID, "state": string(s.State), "turns": s.Turns, "tokens": s.Total.Input + s.Total.Output},
	}
	if s.State != Done {
		res.Error = tongs.Errorf(tongs.CodeExecutionError, "the worker %s did not finish (%s): %s", s.Worker, s.State, s.Why)
	}
	return res, nil
}

// assist hands the task back to a model that is not ours, with what the worker would have been told.
func assist(o order, why error) *tongs.Result {
	err := tongs.Errorf(tongs.CodeLLMAssistRequired,
		"there is no model here to run the worker %s (%v); do the task yourself, by its instructions", o.file.Name, why)
	var b strings.Builder
	fmt.Fprintf(&b, "Instructions of the worker %s:\n%s\n\nTask:\n%s", o.file.Name, strings.TrimSpace(o.file.Instructions), o.prompt)
	if len(o.paths) > 0 {
		fmt.Fprintf(&b, "\n\nAttachments: %s", strings.Join(o.paths, ", "))
	}
	return &tongs.Result{
		Title: "Task for you: " + o.file.Name, Content: b.String(), Error: err,
		Metadata: map[string]any{"instructions": o.file.Instructions, "prompt": o.prompt},
	}
}

// attach reads a file that is handed over, as the calling worker may read it.
func attach(env *tongs.Env, name string, limit int64) (Attachment, error) {
	p, err := env.Files.Resolve(name)
	if err != nil {
		return Attachment{}, err
	}
	f, err := env.Files.Open(p)
	if err != nil {
		return Attachment{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return Attachment{}, err
	}
	return Attachment{Name: p.String(), Data: data}, nil
}
